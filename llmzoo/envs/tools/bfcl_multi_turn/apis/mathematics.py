"""Arithmetic. It has no state."""

from __future__ import annotations

import math
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis import logarithms
from llmzoo.envs.tools.bfcl_multi_turn.apis.base import API

MAX_PRECISION = 10_000  # digits of a root
MAX_BITS = 200_000  # of a power
_TOO_LONG = (
    "Exceeds the limit (4300 digits) for integer string conversion; "
    "use sys.set_int_max_str_digits() to increase the limit"
)
_MAX_ROUNDED = 20_000  # digits before the point that rounding may remove: no integer has more
_METRES = {"km": 1000, "m": 1, "cm": 0.01, "mm": 0.001, "um": 1e-6, "nm": 1e-9}
_IMPERIAL = {
    "cm_to_in": 0.393701,
    "in_to_cm": 2.54,
    "m_to_ft": 3.28084,
    "ft_to_m": 0.3048,
    "m_to_yd": 1.09361,
    "yd_to_m": 0.9144,
    "km_to_miles": 0.621371,
    "miles_to_km": 1.60934,
    "kg_to_lb": 2.20462,
    "lb_to_kg": 0.453592,
}
_NO_NUMBERS = {"error": "Both inputs must be numbers"}
_NO_LIST = {"error": "All elements in the list must be numbers"}
_TOO_LARGE = {"error": "Conversion resulted in a value too large to represent"}


class MathAPI(API):
    about = "Arithmetic."

    def logarithm(self, value: float, base: float, precision: int) -> Any:
        """Compute a logarithm.

        value: The number.
        base: The base.
        precision: Digits of the result.
        """
        try:
            return {"result": logarithms.logarithm(value, base, precision)}
        except Exception as error:
            return {"error": str(error)}

    def mean(self, numbers: list[float]) -> Any:
        """Compute the mean of numbers.

        numbers: The numbers.
        """
        if not numbers:
            return {"error": "Cannot calculate mean of an empty list"}
        try:
            return {"result": sum(numbers) / len(numbers)}
        except TypeError:
            return _NO_LIST

    def standard_deviation(self, numbers: list[float]) -> Any:
        """Compute the standard deviation of numbers, those being the whole population.

        numbers: The numbers.
        """
        if not numbers:
            return {"error": "Cannot calculate standard deviation of an empty list"}
        try:
            mean = sum(numbers) / len(numbers)
            return {"result": math.sqrt(sum((x - mean) ** 2 for x in numbers) / len(numbers))}
        except TypeError:
            return _NO_LIST

    def si_unit_conversion(self, value: float, unit_in: str, unit_out: str) -> Any:
        """Convert a length between metric units.

        value: The length.
        unit_in: Its unit: "km", "m", "cm", "mm", "um" or "nm".
        unit_out: The unit of the result, one of the same.
        """
        if not isinstance(value, (int, float)):
            return {"error": "Value must be a number"}
        if unit_in not in _METRES or unit_out not in _METRES:
            return {"error": f"Conversion from '{unit_in}' to '{unit_out}' is not supported"}
        try:
            return {"result": value * _METRES[unit_in] * (1 / _METRES[unit_out])}
        except OverflowError:
            return _TOO_LARGE

    def imperial_si_conversion(self, value: float, unit_in: str, unit_out: str) -> Any:
        """Convert between imperial and metric units.

        value: The quantity.
        unit_in: Its unit: "cm", "in", "m", "ft", "yd", "km", "miles", "kg", "lb", "celsius" or "fahrenheit".
        unit_out: The unit of the result: the other one of cm and in, m and ft, m and yd, km and miles,
        """
        if not isinstance(value, (int, float)):
            return {"error": "Value must be a number"}
        if unit_in == unit_out:
            return {"result": value}
        try:
            if (unit_in, unit_out) == ("celsius", "fahrenheit"):
                return {"result": value * 1.8 + 32}
            if (unit_in, unit_out) == ("fahrenheit", "celsius"):
                return {"result": (value - 32) * (5 / 9)}
            key = f"{unit_in}_to_{unit_out}"
            if key not in _IMPERIAL:
                return {"error": f"Conversion from '{unit_in}' to '{unit_out}' is not supported"}
            return {"result": value * _IMPERIAL[key]}
        except OverflowError:
            return _TOO_LARGE

    def add(self, a: float, b: float) -> Any:
        """Add two numbers.

        a: A number.
        b: Another number.
        """
        try:
            return {"result": a + b}
        except TypeError:
            return _NO_NUMBERS

    def subtract(self, a: float, b: float) -> Any:
        """Subtract a number from another.

        a: The number from which to subtract.
        b: The number to subtract.
        """
        try:
            return {"result": a - b}
        except TypeError:
            return _NO_NUMBERS

    def multiply(self, a: float, b: float) -> Any:
        """Multiply two numbers.

        a: A number.
        b: Another number.
        """
        if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
            return _NO_NUMBERS
        return {"result": a * b}

    def divide(self, a: float, b: float) -> Any:
        """Divide a number by another.

        a: The number to divide.
        b: The number by which to divide.
        """
        try:
            if b == 0:
                return {"error": "Cannot divide by zero"}
            return {"result": a / b}
        except TypeError:
            return _NO_NUMBERS

    def power(self, base: float, exponent: float) -> Any:
        """Raise a number to a power.

        base: The number.
        exponent: The power.
        """
        if isinstance(base, int) and isinstance(exponent, int):
            size = abs(base)
            if size > 1 and exponent > 0 and size.bit_length() * exponent > MAX_BITS:
                raise ValueError(_TOO_LONG)
        try:
            return {"result": base**exponent}
        except TypeError:
            return _NO_NUMBERS

    def square_root(self, number: float, precision: int) -> Any:
        """Compute a square root.

        number: The number.
        precision: Digits of the result.
        """
        try:
            if number < 0:
                return {"error": "Cannot calculate square root of a negative number"}
            if precision > MAX_PRECISION:
                return {"error": f"The precision must be at most {MAX_PRECISION} digits"}
            return {"result": Context(prec=precision).sqrt(Decimal(number))}
        except (TypeError, InvalidOperation):
            wrong = "Input must be a number or computation resulted in an invalid operation"
            return {"error": wrong}

    def absolute_value(self, number: float) -> Any:
        """Compute the absolute value of a number.

        number: The number.
        """
        try:
            return {"result": abs(number)}
        except TypeError:
            return {"error": "Input must be a number"}

    def round_number(self, number: float, decimal_places: int = 0) -> Any:
        """Round a number.

        number: The number.
        decimal_places: Digits to keep after the point.
        """
        if isinstance(number, int) and isinstance(decimal_places, int):
            decimal_places = max(decimal_places, -_MAX_ROUNDED)
        try:
            return {"result": round(number, decimal_places)}
        except TypeError:
            wrong = "First input must be a number, second input must be an integer"
            return {"error": wrong}

    def percentage(self, part: float, whole: float) -> Any:
        """Compute how many percent of a whole a part is.

        part: The part.
        whole: The whole.
        """
        try:
            if whole == 0:
                return {"error": "Whole value cannot be zero"}
            return {"result": (part / whole) * 100}
        except TypeError:
            return _NO_NUMBERS

    def min_value(self, numbers: list[float]) -> Any:
        """Find the smallest of numbers.

        numbers: The numbers.
        """
        if not numbers:
            return {"error": "Cannot find minimum of an empty list"}
        try:
            return {"result": min(numbers)}
        except TypeError:
            return _NO_LIST

    def max_value(self, numbers: list[float]) -> Any:
        """Find the largest of numbers.

        numbers: The numbers.
        """
        if not numbers:
            return {"error": "Cannot find maximum of an empty list"}
        try:
            return {"result": max(numbers)}
        except TypeError:
            return _NO_LIST

    def sum_values(self, numbers: list[float]) -> Any:
        """Add up numbers.

        numbers: The numbers.
        """
        if not numbers:
            return {"error": "Cannot calculate sum of an empty list"}
        try:
            return {"result": sum(numbers)}
        except TypeError:
            return _NO_LIST
