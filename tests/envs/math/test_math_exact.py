"""Answers of generated tasks: what is read, as what, and what is none."""

from __future__ import annotations

import itertools
import math
import random
import time
from fractions import Fraction

import pytest

from llmzoo.envs.math import exact, generator
from llmzoo.envs.math.exact import ExactAnswer

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("85", 85), ("-3", -3), ("+7", 7), ("\u22123", -3), ("- 3", -3), ("007", 7), ("-0", 0)),
        *(("3/8", Fraction(3, 8)), ("-\\frac{3}{8}", Fraction(-3, 8)), ("\\dfrac12", HALF)),
        *(("\\frac{-3}{8}", Fraction(-3, 8)), ("2.50", Fraction(5, 2)), (".5", HALF), ("2.", 2)),
        *(("2 1/2", Fraction(5, 2)), ("-2\\frac{1}{2}", Fraction(-5, 2)), ("50%", HALF)),
        *(("50\\%", HALF), ("1,234", 1234), ("1{,}234", 1234), ("1\\,234", 1234), ("1 234", 1234)),
        *(("\\$5", 5), ("12 apples", 12), ("12\\text{ square metres}", 12), ("12 m^2", 12)),
        *(("60 km/h", 60), ("5 m", 5), ("x = 5", 5), ("x=-1/2", -HALF), ("(3)", 3), ("{3}", 3)),
        *(("2.5\\text{ hours}", Fraction(5, 2)), ("\\text{3}", 3), ("$85$", 85)),
    ],
)
def test_numbers(text, value):
    assert exact.parse_exact(text) == ExactAnswer("", (value,))


def test_a_plain_integer_is_read_as_any_number_is():
    rng = random.Random(0)
    for digits in (1, 2, 10, 40, 41, 200):
        for sign in ("", "-"):
            text = sign + "".join(rng.choice("0123456789") for _ in range(digits))
            assert (
                exact.parse_exact(text)
                == exact.parse_exact(f"{text} ")
                == ExactAnswer("", (int(text),))
            )


@pytest.mark.parametrize(
    ("text", "form", "parts"),
    [
        ("(2, -3)", "()", (2, -3)),
        ("\\left( 2 , -3 \\right)", "()", (2, -3)),
        ("(x, y) = (2, -3)", "()", (2, -3)),
        ("y = -3, x = 2", "()", (2, -3)),
        ("(1, 2, 3)", "()", (1, 2, 3)),
        ("\\{4, 1\\}", "{}", (1, 4)),
        ("{4, 1, 4.0}", "{}", (1, 4)),
        ("x = 4, x = 1", "{}", (1, 4)),
        ("x = 4 or x = 1", "{}", (1, 4)),
        ("4, 1", ",", (4, 1)),
        ("-4 and 1", ",", (-4, 1)),
        ("(2, \\infty)", "()", (2, math.inf)),
        ("x \\in [2, ∞)", "[)", (2, math.inf)),
        ("\\left(-\\infty, \\dfrac{3}{2}\\right]", "(]", (-math.inf, Fraction(3, 2))),
        ("x > 2", "()", (2, math.inf)),
        ("x \\leq 5", "(]", (-math.inf, 5)),
        ("5 >= x", "(]", (-math.inf, 5)),
        ("-1 < x \\le 4", "(]", (-1, 4)),
        ("4 \\geq x > -1", "(]", (-1, 4)),
    ],
)
def test_several_numbers(text, form, parts):
    assert exact.parse_exact(text) == ExactAnswer(form, parts)


@pytest.mark.parametrize(
    "text",
    [
        *("7 is wrong", "7ths", "7 tenths", "7 too many", "7 or more", "x \\in 7", "x ∈ 7"),
        *(
            "5 sixths",
            "5 tens",
            "5 quarters",
            "5 score",
            "5 log",
            "5 sin",
            "5 negated",
            "5 reciprocal",
        ),
        *("37+48", "37 + 48", "56/8", "6/16", "\\frac{56}{8}", "3/1", "7 \\cdot 8", "7 \\times 8"),
        *("7(8)", "(7)(8)", "5!", "2^3", "\\sqrt{49}", "93 - 8", "x", "", " ", "1..2", "--5"),
        *("\\frac{37+48}{1}", "10^{2}", "\\binom{4}{2}", "85 \\pm 3", "1101_2", "3 = 3", "1/0"),
        *("2 5/2", "1 < 2", "4 > x < 5", "3x", "3 pi", "3i", "3e", "2 thousand"),
        *("85 or", "3 dozen", "50 percent", "nan", "inf", "(inf)", "1,23,4)", "(1, 2", "]1, 2["),
        *("8 5", "12 34", "1\n2", "\ud800", "\x00", "\u0663", "85 \\text{not} 3", "[3/6, 4]", ","),
        *("(,)", "(1,,2)", "x = 3, y = 4, x = 5", "x =", "((1, 2), 3)", "1e3", "True", "m"),
    ],
)
def test_what_is_no_answer(text):
    assert exact.parse_exact(text) is None


@pytest.mark.parametrize(
    ("gold", "given", "verdict"),
    [
        ("3/8", "0.375", True),
        ("1/3", "0.333333333", False),  # a rounded number is another
        ("50", "50%", False),  # a percent is a hundredth, whatever is asked
        ("1/2", "50%", True),
        ("2", "2 thousand", False),
        ("12.5", "12,5", False),
        ("1234", "1,234", True),
        ("{3, 4}", "4, 3", True),
        ("(3, 4)", "3, 4", True),
        ("(3, 4)", "4, 3", False),
        ("{3, 4}", "(3, 4)", False),
        ("(3, 4)", "[3, 4]", False),
        ("(3, 4)", "3 < x < 4", True),  # one way of writing for two things
        ("(2, \\infty)", "x > 2", True),
        ("[2, \\infty)", "x > 2", False),
        ("3", "3, 3", False),
        ("3", "", False),
        ("", "", False),
    ],
)
def test_same(gold, given, verdict):
    assert exact.exact_answers_match(gold, given) is verdict
    assert exact.exact_answers_match(given, gold) is verdict


def test_no_answer_is_two_numbers_at_once():
    """Of all that reads as a number, what equals the same number is equal."""
    texts = ["50", "50%", "0.5", "1/2", "500/10%", "50.0", "50 m", "0.50", "1 000", "1,000", "1000"]
    for a, b, c in itertools.permutations(texts, 3):
        if exact.exact_answers_match(a, b) and exact.exact_answers_match(b, c):
            assert exact.exact_answers_match(a, c)


def test_every_generated_answer_is_read():
    for family, level in itertools.product(generator.FAMILIES, generator.LEVELS):
        for seed in range(50):
            task = generator.sample_task(random.Random(seed), family=family, level=level)
            assert exact.parse_exact(task.answer) is not None, task


@pytest.mark.parametrize(
    "text",
    [
        *("(" * 500, "1," * 250, "1 " * 250, "9" * 500, "x=" * 250, "1/" * 250, "\\frac{" * 80),
        *("\\text{" * 80, "a" * 500, "1" + " a" * 249, "1 < " * 120, "-" * 500, "." * 500),
        *("\\left" * 100, "9." * 250, "9," + "999," * 120, "1/2 " * 120, "9" * 499 + "%"),
    ],
)
def test_hostile_texts_are_read_at_once(text, no_collector):
    started = time.process_time()
    exact.parse_exact(text)
    assert time.process_time() - started < 0.1
