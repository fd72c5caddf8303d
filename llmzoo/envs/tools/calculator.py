"""The calculator: arithmetic, exact as long as numbers are rational.

An expression is rewritten as Python, parsed by ``ast`` and computed from a whitelist of nodes.
Precedence is Python's: ``+ -``; ``* / // %``; signs; ``^`` (also written ``**``, from the right:
``2^3^2`` is 512, ``-2^2`` is -4); then ``!`` and the percent sign after a number. A ``%`` before a
number, a name or a parenthesis is the remainder, any other the percent sign. ``//``, ``%`` and
``round`` are Python's: they round down, they take the divisor's sign, halves go to even.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

from llmzoo.envs.text import truncate
from llmzoo.envs.tools.toolbox import Tool, ToolError, tool
from llmzoo.sandbox import syntax

Number = int | Fraction | float

MAX_CHARS = 1_000  # of an expression
MAX_DEPTH = 50  # of parentheses, functions and powers in each other
MAX_BITS = 10_000  # of an exact number's numerator or denominator
MAX_EXPONENT = 300  # of a number in scientific notation
MAX_FACTORIAL = 1_000
MAX_DECIMALS = 30  # after the point, of an exact result

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<percent>%(?!\s*[A-Za-z_0-9.(]))"
    r"|(?P<sign>\*\*|//|[-+*/%^!(),])|(?P<other>\S))"
)
_SAME_SIGN = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-"})
_PYTHON = {"^": "**", "!": " ._factorial", "%": " ._percent"}


class CalculationError(ToolError):
    """An expression that cannot be read, or that has no value here."""


@tool
def calculator(expression: str) -> str:
    """Work out an arithmetic expression, exactly where that is possible. Operators: + - * / //
    (rounded down) % (remainder, or percent after a number) ^ (power) ! and parentheses; constants
    pi and e; functions sqrt, abs, round(x, n), floor, ceil, min, max, log (natural), log10, log2,
    exp, sin, cos, tan, gcd, lcm, factorial.

    Args:
        expression: such as "(12840 - 9310) / 9310 * 100"
    """
    return format_number(evaluate(expression))


def calculator_tools() -> tuple[Tool, ...]:
    return (calculator,)


def evaluate(expression: str) -> Number:
    """The value of an expression; raises :class:`CalculationError`."""
    if len(expression) > MAX_CHARS:
        raise CalculationError(f"the expression is longer than {MAX_CHARS} characters")
    values: dict[str, Number] = {}
    source = _as_python(expression, values)
    try:
        return _value(syntax.parse(source, mode="eval").body, values, 0)
    except (SyntaxError, MemoryError, RecursionError):
        raise CalculationError(
            f"{truncate(expression, 60)!r} cannot be read: write every operator, closed parentheses, and "
            "numbers without commas"
        ) from None
    except ZeroDivisionError as error:
        raise CalculationError("division by zero") from error
    except OverflowError as error:
        raise CalculationError("a number is too large") from error


def format_number(value: Number) -> str:
    """Integers and finite decimals in full, anything else with 12 significant digits."""
    if isinstance(value, float):
        return f"{value + 0.0:.12g}"  # no -0
    if value.denominator == 1:
        return str(value.numerator)
    if 10**MAX_DECIMALS % value.denominator == 0:
        digits = str(abs(value.numerator) * 10**MAX_DECIMALS // value.denominator)
        digits = digits.zfill(MAX_DECIMALS + 1)
        decimals = digits[-MAX_DECIMALS:].rstrip("0")
        return f"{'-' * (value < 0)}{digits[:-MAX_DECIMALS]}.{decimals}"
    with localcontext() as context:
        context.prec = 12
        rounded = Decimal(value.numerator) / Decimal(value.denominator)
    small = abs(rounded.adjusted()) < 300
    return f"{float(rounded):.12g}" if small else f"{rounded:.11e}"


def _as_python(expression: str, values: dict[str, Number]) -> str:
    """The expression in Python's syntax: numbers are names of ``values``, other names begin with
    ``name_``, and what follows a number, such as ``!``, is an attribute."""
    source, depth = "", 0
    for token in _TOKEN.finditer(expression.translate(_SAME_SIGN)):
        text = token[0].strip()
        if token["other"]:
            raise CalculationError(f"{text!r} is not part of arithmetic")
        depth += (text == "(") - (text == ")")
        if depth > MAX_DEPTH:
            raise CalculationError(f"nested deeper than {MAX_DEPTH}")
        if token["number"]:
            exponent = token["exponent"] or "0"
            if len(exponent) > 4 or abs(int(exponent)) > MAX_EXPONENT:
                raise CalculationError(f"the number {truncate(text, 40)} is too large or too small")
            values[f"value_{len(values)}"] = _check_size(Fraction(text))
            text = f"value_{len(values) - 1}"
        elif token["name"]:
            text = f"name_{text}"
        elif token["percent"] or text != "%":
            text = _PYTHON.get(text, text)
        source += f" {text}"
    return source.strip()


def _value(node: ast.expr, values: dict[str, Number], depth: int) -> Number:
    if depth > MAX_DEPTH:
        raise CalculationError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(node, ast.BinOp):
        spine = []  # of operations in a row, which do not nest
        while isinstance(node, ast.BinOp):
            spine.append(node)
            node = node.left
        result = _value(node, values, depth)
        for operation in reversed(spine):
            other = _value(operation.right, values, depth + isinstance(operation.op, ast.Pow))
            result = _check_size(_OPERATORS[type(operation.op)](result, other))
        return result
    match node:
        case ast.UnaryOp():
            negative = False
            while isinstance(node, ast.UnaryOp):
                negative ^= isinstance(node.op, ast.USub)
                node = node.operand
            result = _value(node, values, depth)
            return -result if negative else result
        case ast.Attribute(value=inner, attr=name):
            result = _value(inner, values, depth + 1)
            return _check_size(_factorial(result) if name == "_factorial" else _divide(result, 100))
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Name(id=name) if name.removeprefix("name_") in CONSTANTS:
            return CONSTANTS[name.removeprefix("name_")]
        case ast.Name(id=name) if _function(name):
            raise SyntaxError  # a function without its numbers
        case ast.Call(func=ast.Name(id=name), args=arguments) if name not in values:
            return _call(name, [_value(argument, values, depth + 1) for argument in arguments])
    raise SyntaxError


def _function(name: str) -> tuple[int, int, Callable[..., Number]]:
    name = name.removeprefix("name_")
    if name not in FUNCTIONS:
        known = ", ".join([*CONSTANTS, *FUNCTIONS])
        raise CalculationError(f"unknown name {truncate(name, 40)!r}; known are {known}")
    return FUNCTIONS[name]


def _call(name: str, arguments: list[Number]) -> Number:
    least, most, function = _function(name)
    name = name.removeprefix("name_")
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} or {'more' if most > 2 else most}"
        raise CalculationError(f"{name} takes {wanted} numbers, got {len(arguments)}")
    try:
        return _check_size(function(*arguments))
    except ValueError as error:  # such as the logarithm of a negative number
        raise CalculationError(f"{name} is not defined there") from error


def _check_size(value: Number) -> Number:
    """``value``; refused where it is too large."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CalculationError("a number is too large")
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise CalculationError("a number is too large")
    return value


def _divide(a: Number, b: Number) -> Number:
    """``a / b``, exact where both are."""
    return a / b if isinstance(a, float) or isinstance(b, float) else Fraction(a) / b


def _power(base: Number, exponent: Number) -> Number:
    """``base`` to the ``exponent``; exact for whole exponents, and for halves where the root is."""
    if isinstance(base, float) or isinstance(exponent, float) or exponent.denominator > 1:
        if base < 0 and exponent != int(exponent):
            raise CalculationError("a negative number has no such power")
        if isinstance(exponent, Fraction) and exponent.denominator == 2:
            return _power(_root(base), exponent.numerator)
        return float(base) ** float(exponent)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length()) - 1
    if bits * abs(exponent.numerator) > MAX_BITS:  # never more than the result has
        raise CalculationError("a power is too large")
    return Fraction(base) ** exponent.numerator


def _root(x: Number) -> Number:
    """The square root, exact for squares of fractions."""
    if x < 0:
        raise CalculationError("a negative number has no square root")
    if not isinstance(x, float):
        exact = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
        if exact * exact == x:
            return exact
    return math.sqrt(x)


def _factorial(n: Number) -> Number:
    up_to = _as_integer(n)
    if not 0 <= up_to <= MAX_FACTORIAL:
        raise CalculationError(f"factorials are those of 0 to {MAX_FACTORIAL}")
    return math.factorial(up_to)


def _round(x: Number, digits: Number = 0) -> Number:
    """``x`` to so many digits after the point, or before it where ``digits`` is negative."""
    places = _as_integer(digits)
    if abs(places) > MAX_EXPONENT:
        raise CalculationError(f"round takes at most {MAX_EXPONENT} digits")
    # as a fraction: a float that is rounded to two digits is exactly that decimal from then on
    return round(Fraction(x), places)


def _as_integer(x: Number) -> int:
    """``x``, which must be an integer."""
    if isinstance(x, float) or x.denominator > 1:
        raise CalculationError(f"a whole number is needed, got {truncate(format_number(x), 40)}")
    return x.numerator


_OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e}
# name: (fewest arguments, most arguments, function)
FUNCTIONS: dict[str, tuple[int, int, Callable[..., Number]]] = {
    "sqrt": (1, 1, _root),
    "abs": (1, 1, abs),
    "round": (1, 2, _round),
    "floor": (1, 1, math.floor),
    "ceil": (1, 1, math.ceil),
    "min": (1, MAX_CHARS, lambda *values: min(values)),
    "max": (1, MAX_CHARS, lambda *values: max(values)),
    **{name: (1, 1, getattr(math, name)) for name in ("log", "log10", "log2", "exp")},
    **{name: (1, 1, getattr(math, name)) for name in ("sin", "cos", "tan")},
    "gcd": (2, MAX_CHARS, lambda *values: math.gcd(*map(_as_integer, values))),
    "lcm": (2, MAX_CHARS, lambda *values: math.lcm(*map(_as_integer, values))),
    "factorial": (1, 1, _factorial),
}
