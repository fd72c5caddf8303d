"""Arithmetic worked out by hand, and against Python's own on random expressions."""

from __future__ import annotations

import ast
import operator
import random
import time
from fractions import Fraction

import pytest

from llmzoo.envs.tools.calculator import CalculationError, calculator, evaluate, format_number

WORKED_OUT = {
    # precedence and association
    "1 + 2 * 3": "7",
    "(1 + 2) * 3": "9",
    "10 - 4 - 3": "3",
    "100 / 10 / 2": "5",
    "2 * 3 ^ 2": "18",
    "2^3^2": "512",
    "2**3**2": "512",
    "-2^2": "-4",
    "(-2)^2": "4",
    "2^-1": "0.5",
    "-2^-2": "-0.25",
    "--3": "3",
    "-+-3": "3",
    "2 * -3": "-6",
    "1 - -1": "2",
    # exact numbers
    "0.1 + 0.2": "0.3",
    "1/3 * 3": "1",
    "10/4": "2.5",
    "1/8": "0.125",
    "1/3": "0.333333333333",
    "2/3": "0.666666666667",
    "-7/8": "-0.875",
    "0.05": "0.05",
    ".5 + 1.": "1.5",
    "1e3": "1000",
    "2.5e-3": "0.0025",
    "1e20 + 1": "100000000000000000001",
    "2^64": "18446744073709551616",
    "12840 * 19 - 7": "243953",
    "1.10 * 3": "3.3",
    "10^20 / 3": "3.33333333333e+19",
    "1/2^40": "9.09494701773e-13",
    # rounding down, remainder, percent
    "7 // 2": "3",
    "-7 // 2": "-4",
    "7.5 // 2": "3",
    "7 % 3": "1",
    "-7 % 3": "2",
    "7 % (-3)": "-2",
    "7.5 % 2": "1.5",
    "50%": "0.5",
    "200 * 15% + 3": "33",
    "10% * 10%": "0.01",
    "(12840 - 9310) / 9310 * 100": "37.9162191192",
    # factorials
    "3!": "6",
    "0!": "1",
    "2^3!": "64",
    "3!^2": "36",
    "-3!": "-6",
    "3!!": "720",
    "100! / 98!": "9900",
    # functions and constants
    "sqrt(16)": "4",
    "sqrt(2.25)": "1.5",
    "sqrt(2)": "1.41421356237",
    "4^0.5": "2",
    "9^1.5": "27",
    "8^(1/3)": "2",
    "abs(-5/2)": "2.5",
    "round(2.675, 2)": "2.68",
    "round(2.5)": "2",
    "round(-1234.5, -2)": "-1200",
    "round(pi, 4)": "3.1416",
    "floor(-2.5)": "-3",
    "ceil(2.1)": "3",
    "min(3, 1, 2)": "1",
    "max(1/3, 0.3)": "0.333333333333",
    "log(e)": "1",
    "log10(1000)": "3",
    "log2(1024)": "10",
    "exp(0)": "1",
    "sin(pi / 2)": "1",
    "cos(0)": "1",
    "tan(0)": "0",
    "gcd(12, 18)": "6",
    "gcd(12, 18, 27)": "3",
    "lcm(4, 6)": "12",
    "factorial(5)": "120",
    "pi": "3.14159265359",
    "4 × 3 − 10 ÷ 5": "10",
    "-(pi - pi)": "0",
    "0^0": "1",
    "(-1)^1000001": "-1",
    "1^1000000": "1",
    "((((2))))": "2",
}


@pytest.mark.parametrize(("expression", "value"), WORKED_OUT.items())
def test_worked_out(expression, value):
    assert calculator.call({"expression": expression}).text == value


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("", "cannot be read"),
        ("   ", "cannot be read"),
        ("5 -", "cannot be read"),
        ("(1 + 2", "cannot be read"),
        ("1 + 2)", "cannot be read"),
        ("* 3", "cannot be read"),
        ("2 3", "cannot be read"),
        ("2(3)", "cannot be read"),
        ("2pi", "cannot be read"),
        ("(1)(2)", "cannot be read"),
        (
            "1,000 + 2",
            "cannot be read: write every operator, closed parentheses, and numbers without",
        ),
        ("x + 1", "unknown name 'x'; known are pi, e, sqrt"),
        ("sqrt 4", "cannot be read"),
        ("sqrt()", "sqrt takes 1 numbers, got 0"),
        ("sqrt(1, 2)", "sqrt takes 1 numbers, got 2"),
        ("round(1, 2, 3)", "round takes 1 or 2 numbers, got 3"),
        ("gcd(4)", "gcd takes 2 or more numbers, got 1"),
        ("1 / 0", "division by zero"),
        ("1 // 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("1 / (pi - pi)", "division by zero"),
        ("0 ^ -1", "division by zero"),
        ("sqrt(-1)", "a negative number has no square root"),
        ("(-8) ^ (1/3)", "a negative number has no such power"),
        ("log(0)", "log is not defined there"),
        ("log(-1)", "log is not defined there"),
        ("2.5!", "a whole number is needed, got 2.5"),
        ("(-1)!", "factorials are those of 0 to 1000"),
        ("gcd(1.5, 2)", "a whole number is needed, got 1.5"),
        ("2 < 3", "'<' is not part of arithmetic"),
        ("__import__('os').system('x')", "is not part of arithmetic"),
        ("eval(1)", "unknown name 'eval'"),
        ("1 if 1 else 2", "cannot be read"),
        ("１ + 1", "is not part of arithmetic"),
        ("\ud800", "is not part of arithmetic"),
    ],
)
def test_what_has_no_value_says_why(expression, error):
    with pytest.raises(CalculationError) as caught:
        evaluate(expression)
    assert error in str(caught.value)
    str(caught.value).encode()


@pytest.mark.parametrize(
    "expression",
    [
        "2^100000",
        "9^9^9^9",
        "2^(10^18)",
        "(1/3)^99999",
        "10^(-10^9)",
        "99999!",
        "1001!",
        "1000!!",
        "1000! * 1000!",
        "exp(1000)",
        "1e999",
        "1e-999",
        "1e99999999999999999999",
        "1e300 * 1e300 * 1e300 * pi",
        "e ^ 1000",
        "sqrt(1000! + 1) + 1000! * pi",
        "(" * 100 + "1" + ")" * 100,
        "2^" * 60 + "1",
        "abs(" * 60 + "1" + ")" * 60,
        "1" + "+1" * 10_000,
        "9" * 20_000,
        "(" * 20_000,
        "round(1, 10^9)",
        "round(1e300, -999)",
        "lcm(" + ",".join(str(10**13 + i) for i in range(60)) + ")" + "^10" * 4,
    ],
)
def test_what_is_too_large_is_refused_at_once(expression, no_collector):
    started = time.process_time()
    reply = calculator.call({"expression": expression})
    assert time.process_time() - started < 0.1
    assert reply.error
    assert len(reply.text) < 400


@pytest.mark.parametrize("expression", ["9" * 900, "1000!", "2^9999", "1/7^3000", "-" * 900 + "1"])
def test_what_is_just_small_enough_is_quick(expression, no_collector):
    started = time.process_time()
    assert calculator.call({"expression": expression}).error is None
    assert time.process_time() - started < 0.1


OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def by_python(node):
    """The value of Python's own syntax tree of an expression, in fractions."""
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](by_python(node.left), by_python(node.right))
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](by_python(node.operand))
    return Fraction(str(node.value))


def written(rng, depth):
    """A random expression that Python and the calculator read alike."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(
            [str(rng.randrange(1000)), f"{rng.randrange(50)}.{rng.randrange(100):02}"]
        )
    kind = rng.choice(["binary"] * 5 + ["power", "sign", "parentheses"])
    inner = written(rng, depth - 1)
    if kind == "sign":
        return f"{rng.choice('-+')}{inner}"
    if kind == "parentheses":
        return f"({inner})"
    if kind == "power":
        return f"({inner}) ** {rng.choice(['', '-'])}{rng.randrange(4)}"
    sign = rng.choice(["+", "-", "*", "/", "//", "%"])
    right = written(rng, depth - 1)
    if sign == "%" and right[0] in "+-":  # here that is a percent sign
        right = f"({right})"
    return f"{inner}{rng.choice(['', ' '])}{sign} {right}"


def test_agrees_with_python_on_random_expressions():
    rng = random.Random(0)
    compared = 0
    for _ in range(4_000):
        expression = written(rng, 4)
        try:
            expected = by_python(ast.parse(expression, mode="eval").body)
        except ZeroDivisionError:
            with pytest.raises(CalculationError, match="division by zero"):
                evaluate(expression)
            continue
        value = evaluate(expression)
        assert value == expected, expression
        assert not isinstance(value, float)
        compared += 1
    assert compared > 3_000


def test_what_is_shown_is_the_value():
    rng = random.Random(1)
    for _ in range(2_000):
        value = Fraction(rng.randrange(-(10**9), 10**9), rng.randrange(1, 10**5))
        told = Fraction(format_number(value if value.denominator > 1 else int(value)))
        assert abs(told - value) <= abs(value) * Fraction(1, 10**11)


def test_random_text_is_a_value_or_an_error():
    rng = random.Random(2)
    pieces = [
        "1",
        "2.5",
        "e",
        "pi",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        "^",
        "!",
        "%",
        ",",
        "sqrt(",
        "max(",
    ]
    for _ in range(5_000):
        text = "".join(rng.choices(pieces, k=rng.randrange(1, 12)))
        reply = calculator.call({"expression": text})
        assert reply.text
        assert reply.error is None or not reply.error[0].isupper(), (text, reply.error)
