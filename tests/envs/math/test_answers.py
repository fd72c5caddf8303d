"""Answers of mathematics: which are the same, which are not, and what hostile texts cost."""

from __future__ import annotations

import importlib.util
import json
import random
import string
import threading
import time
from fractions import Fraction

import pytest

from llmzoo import testing
from llmzoo.envs.math import answers, exact
from llmzoo.envs.math.answers import expressions, finding, reading
from llmzoo.envs.math.answers.cleaning import clean
from llmzoo.errors import MissingExtraError
from tests.envs.math import fuzz, pairs

SAME = [  # gold, given
    (r"\frac{v_0^2}{2g}", r"\frac{v^2_0}{2g}"),
    ("v_0^2", "v^{2}_{0}"),
    ("a_{10}^{n}", "a^{n}_{10}"),
    (r"\alpha_1^2", r"\alpha^2_1"),
    (r"\sum_{i=1}^{n} i", r"\sum^{n}_{i=1} i"),
    (r"(0,9)\cup(9,36)", r"(0,36)\setminus\{9\}"),
    (r"(0,36)\setminus\{9\}", r"(9,36)\cup(0,9)"),
    (r"(0,9)\cup(9,36)", r"x \in (0,36) \setminus \left\{9\right\}"),
    (r"(-\infty,0)\cup(0,\infty)", r"\mathbb{R}\setminus\{0\}"),
    (r"(0,1]", r"[0,1] \setminus \{0\}"),
    (r"(0,1)\cup(1,2)\cup(2,3)", r"(0,3)\setminus\{2,1\}"),
    (r"(0,1)\cup(1,2)\cup(4,5)", r"((0,2)\cup(4,5))\setminus\{1\}"),
    (r"[0,1)", r"[0,1)\setminus\{1\}"),
    (r"A \setminus B", r"A \setminus B"),
    ("12", "12"),
    ("1234", "1,234"),
    ("1234", "1{,}234"),
    ("1234567", r"1\,234\,567"),
    ("1234", "1 234"),
    ("7", "007"),
    ("073", "73"),
    ("-5", "−5"),
    ("0.5", ".5"),
    ("5", "5."),
    ("1000000", "1e6"),
    ("1500000", r"1.5\times10^{6}"),
    ("3/8", r"\frac{3}{8}"),
    ("3/8", "0.375"),
    ("1/2", r"\frac12"),
    ("1/2", r"\dfrac{1}{2}"),
    (r"1\frac{4}{5}", "9/5"),
    ("9/5", "1 4/5"),
    (r"50\%", "50"),
    (r"50\%", "0.5"),
    ("0.5", "50%"),
    ("5", "5 cm"),
    ("0.123", "0,123"),
    (r"\$18.90", "18.9"),
    (r"\$18.90", "18.90 dollars"),
    ("5", "x=5"),
    ("5", "$5$"),
    (r"\left(1,2\right)", "(1, 2)"),
    (r"\left[ -2, 7 \right)", "[-2,7)"),
    (r"\{1,2\}", r"\left\{2, 1\right\}"),
    ("1, 2", "2 and 1"),
    ("1,2", "x=1 or x=2"),
    (r"\text{Tuesday}", "Tuesday"),
    (r"\text{(A)}", "A"),
    ("A", "(A)"),
    (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt{3}}"),
    (r"3\sqrt{2}", r"\sqrt{18}"),
    (r"\sqrt[3]{54}", r"3\sqrt[3]{2}"),
    ("x^2+2x+1", "(x+1)^2"),
    (r"\frac{1}{x+1}", r"\frac{x-1}{x^2-1}"),
    ("2x+3", "3+2x"),
    (r"\frac{\pi}{4}", r"0.25\pi"),
    ("y=2x+3", "2x+3"),
    ("y=2x+3", "y-2x=3"),
    ("x>2", r"(2,\infty)"),
    (r"(2,\infty)", "x > 2"),
    (r"(-\infty,3]", r"x \le 3"),
    (r"(-\infty,1)\cup(3,\infty)", r"(3,\infty) \cup (-\infty,1)"),
    (r"(-\infty,1)\cup(3,\infty)", r"x<1 \text{ or } x>3"),
    (r"0.\overline{6}", "2/3"),
    ("1/3", "0.333333"),
    ("1/3", "0.33333333"),
    ("90", r"90^\circ"),
    (r"90^\circ", "90 degrees"),
    (r"\pi", "3.14159265"),
    ("11 : 21", "22 : 42"),
    ("2:3", "2/3"),
    ("2^{10}", "1024"),
    ("10!", "3628800"),
    (r"\binom{5}{2}", "10"),
    ("6+2i", "2i+6"),
    ("i", "i"),
    (r"\frac{3}{4}-\frac{1}{4}i", r"\frac{3-i}{4}"),
    ("e^{2}", "e^2"),
    (r"\emptyset", r"\varnothing"),
    ("531_8", "531_{8}"),
    ("531_8", "531"),
    ("12", "The answer is 12."),
    ("12", "So she has 12 apples left."),
    ("12", "#### 12"),
    ("1,234", "The total is $1,234."),
    ("-4", "the result is -4"),
    ("3.5", r"approximately \boxed{3.5}"),
    (r"\frac{1}{2}", "1/2 "),
    ("(3,4)", "(x,y)=(3,4)"),
    ("x=3, y=4", "x = 3 and y = 4"),
    ("x=3, y=4", "(3,4)"),
    (r"3\pm\sqrt{5}", r"3+\sqrt5, 3-\sqrt5"),
    (r"\pm 2", "2, -2"),
    (r"\log_2 8", "3"),
    (r"\sin 30^\circ", r"\frac12"),
    ("2n+1", "a_n = 2n+1"),
    (r"\frac{n(n+1)}{2}", r"\frac{n^2+n}{2}"),
    ("2^{n+1}", r"2\cdot 2^n"),
    (r"\frac{a^2b}{c}", "a^2 b c^{-1}"),
    (r"15\mbox{ cm}^2", "15"),
    (r"5.4 \text{ cents}", "5.4"),
    (r"1,\!000", "1000"),
    (r"\text{June 20}", "June 20"),
    ("even", r"\text{even}"),
    ("0", "-0"),
    ("0", "0.0"),
    (r"10\text{ units}", "10"),
    (r"\frac{270}7\text{ degrees}", "270/7"),
    ("16", r"\boxed{4^2}"),
    (r"-\frac{1}{2}", r"\frac{-1}{2}"),
    (r"-\frac{1}{2}", r"\frac{1}{-2}"),
    ("2", r"\sqrt{4}"),
    ("(1,2),(3,4)", "(3,4), (1,2)"),
    ("4", "x=4, where x is the number"),
    ("64 square feet", "64 ft^2"),
    (r"x \in [1,2]", "[1,2]"),
    ("120", r"120^{\circ}"),
    (r"3\text{ hours}", "3 h"),
    ("25", r"25\%"),
    (r"x \neq 3", r"x \ne 3"),
    ("80", r"\$80"),
    (r"6\sqrt{3}\text{ cm}", r"6\sqrt3"),
    ("42", r"\text{42}"),
    ("42", r"\mathbf{42}"),
    ("p - q", "p-q"),
    ("3", "3.000"),
    (r"\frac{2}{3}", r"\frac{4}{6}"),
    ("3,5,7", "7, 5, and 3"),
    ("1:2:3", "2:4:6"),
    ("No", "no"),
    ("True", r"\text{True}"),
    ("3x - 4y = 7", "4y - 3x + 7 = 0"),
    ("(-1)^n", "(-1)^{n}"),
    (r"\sqrt{13}", "13^{1/2}"),
    (r"8\%", "8 percent"),
    (r"\frac{3}{7}", "3:7"),
    ("17", r"17\text{ (seventeen)}"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{bmatrix} 1\\2\end{bmatrix}"),
    (r"\ln 2", r"\ln(2)"),
    (r"\sqrt{x^2+1}", "(x^2+1)^{1/2}"),
    (r"\frac{\ln 8}{\ln 2}", "3"),
    (r"\tan x", r"\frac{\sin x}{\cos x}"),
    (r"2\pi r", r"2r\pi"),
    (r"1/(1+\sqrt2)", r"\sqrt{2}-1"),
    (r"\sqrt{7+4\sqrt3}", r"2+\sqrt3"),
    (r"\frac{5}{4}\text{ or } 1.25", "1.25"),
    ("123456789012345678901234567890", "123456789012345678901234567890.0"),
    (r"\frac{2}{5}", r"{2 \over 5}"),
    ("15", r"{6 \choose 2}"),
    (r"\sfrac{1}{2}", "1/2"),
    (r"2\sqrt{3}", "2*3**0.5"),
    ("12", r"12 \, \text{m}^3"),
    ("12", r"\text{12 cm}"),
    ("12", "(B) 12"),
    ("3:30 p.m.", "3:30 PM"),
    ("3:30 p.m.", "3:30"),
    (r"\{x \mid x > 3\}", "x > 3"),
    (r"(-\infty,-1)\cup(1,\infty)", "(-inf,-1) U (1,inf)"),
    ("-1, 0, 1", r"0, \pm 1"),
    (r"\{-2,-1,1,2\}", r"\{\pm 1, \pm 2\}"),
    (r"(\pm 1, 2)", "(1, 2), (-1, 2)"),
    (r"\begin{pmatrix} 1&2\\3&4 \end{pmatrix}", "[[1, 2], [3, 4]]"),
    ("2A_{16}", "2a_{16}"),
    ("413_5", r"(413)_{\text{five}}"),
    (r"\text{no solution}", "no solution"),
    (r"\text{Evelyn}", "The answer is Evelyn."),
    (r"\frac{1}{2}", "The probability is 1/2."),
    (r"\frac{1}{2}", r"The probability is \frac{1}{2}."),
    ("(2, 3)", "The answer is (2, 3)."),
    ("42", "So $x = 3$. The final answer is 42. I hope it is correct."),
    ("42", "First one, then another. " * 100 + "The answer is 42."),
    ("42", r"First \boxed{41}, corrected: \boxed{42}"),
    ("42", "<answer>42</answer>"),
    ("C", "C) 12"),
    ("B", "b"),
    ("5", r"5 \\"),
    (r"\$5", r"5\$"),
    (r"\infty", r"+\infty"),
    ("2^5", "2⁵"),
    ("x_1", "x₁"),
    (r"\alpha", "α"),
    (r"\frac{3}{8}", "⅜"),
    ("|x|", "abs(x)"),
    ("7", r"\approx 7"),
    (r"\sqrt{x^4}", "x^2"),
    # spaces that are missing
    ("2^6 * 3^5 * 5^4", "2^6 3^5 5^4"),
    ("(11,7)or(7,11)", r"(7,11),\ (11,7)"),
    (r"\cot x", r"\cotx"),
    (r"2\pi r", r"2\pir"),
    ("sin x", "sinx"),
    # by their values
    (r"\sin(2x)", r"2 \sin x \cos x"),
    (r"\sin^{-1} x", r"\arcsin x"),
    (r"\sin(x)^2", r"1 - \cos^2 x"),
    (r"\sin x^2", r"\sin(x^2)"),
    (r"\cos(x)", r"\sin(90^\circ - x)"),
    (r"\sqrt{xy}", r"\sqrt{x}\sqrt{y}"),
    (r"x^{2/3}", r"\sqrt[3]{x}^2"),
    ("-2", r"\sqrt[3]{-8}"),
    (r"n!", r"n \cdot (n-1)!"),
    (r"\binom{n}{2}", r"\frac{n(n-1)}{2}"),
    ("-1", r"e^{i\pi}"),
    (r"\frac{\log 8}{\log 2}", "3"),
    ("5", "x = 2 + 3 = 5"),
    ("5", "12 men - 7 men = 5 men"),
    ("55", r"\sum_{k=1}^{10} k = 55"),
    ("x^2 + y^2 = 1", "2y^2 = 2 - 2x^2"),
    (r"\ln 2", "0.693147"),
    ("2/3", "0.666666"),
    ("2/3", "0.666667"),
    # amounts, times, and what was asked for by its letters
    ("5000000", "5 million"),
    ("20:34", "08:34 P.M."),
    ("20:34", "20:34:00"),
    ("33", "m + n = 33"),
    ("5", "2 + 3 = 5"),
    ("60 mph", "60 miles per hour"),
    ("f(x) = 2x + 3", "y = 2x + 3"),
    (r"\emptyset", r"\{\}"),
    (r"\frac{\pi}{6}", r"30^\circ"),
    ("15", "15 m/s"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", "(1, 2)"),
    ("C", "The correct option is C."),
    ("14916", "14 {, }916"),
    ("1,234 and 5,678", "1234, 5678"),
    ("(100, 200)", "(100,200)"),
    ("34", "Final Answer: The largest $n$ is 34."),
    (r"x \neq 5", "The solution is $x != 5$"),
]
DIFFERENT = [  # gold, given
    ("v_0^2", "v_2^0"),
    ("v_0^2", "v^0_2"),
    ("x_8^2", "x^{28}"),
    (r"(0,9)\cup(9,36)", r"(0,36)\setminus\{8\}"),
    (r"(0,9)\cup(9,36)", r"[0,36)\setminus\{9\}"),
    (r"(0,9)\cup(9,36)", r"(0,36)\setminus\{40\}"),
    (r"(0,9)\cup(9,36)", r"(0,36)\setminus\{\}"),
    (r"(0,9)\cup(9,36)", r"\{9\}\setminus(0,36)"),
    (r"(0,9)\cup(9,36)", r"(0,36)\setminus\{9, 12\}"),
    (r"(0,9)\cup(9,36)", r"(0,36)\setminus[9,9]"),
    (r"(0,36)", r"(0,36)\setminus\{9\}"),
    (r"x \in (0,36)\setminus\{9\}", r"y \in (0,36)\setminus\{9\}"),
    (r"A \setminus B", r"B \setminus A"),
    (r"\{1\}", r"\{1,2\}\setminus\{2\}"),
    ("12", "The answer is A) 12, B) 13."),
    ("5", "The answer is (A) 5 (B) 6"),
    ("5", "The answer is A. 5, B. 6"),
    ("980", "The answer is 980!"),
    ("5", "The answer is 5!=120"),
    ("3", "The answer is 3! ways"),
    ("5", "5,000"),
    ("1.234", "1,234"),
    ("12", "13"),
    ("1234", "1, 234"),
    (r"5\text{ cm}", "5 m"),
    ("(1,2)", "(2,1)"),
    ("[0,1)", "(0,1)"),
    ("[0,1]", "(0,1)"),
    (r"\{1,2\}", r"\{1,3\}"),
    ("1,2", "1"),
    ("1", "1,2"),
    ("x=1", "y=1"),
    ("x>2", "x<2"),
    ("x>2", r"x \ge 2"),
    ("1/3", "0.33"),
    ("0.0000001", "0"),
    (r"3\sqrt2", r"3\sqrt3"),
    ("x^2+1", "x^2"),
    ("A", "B"),
    ("Tuesday", "Wednesday"),
    ("100", "10"),
    ("2/3", "3/2"),
    ("(1,2)", "(1,2,3)"),
    ("1/2", "1/3"),
    ("5", "-5"),
    ("-5", "5"),
    ("50", "0.5"),
    ("0.5", "50"),
    ("10^{10^{10}}", "10^{10}"),
    ("1", "1 or 2 or 3"),
    ("3", "1 or 2 or 3"),
    ("7", ""),
    ("7", "x"),
    (r"\sin x", r"\cos x"),
    (r"2\pi", "2"),
    ("2", "2x"),
    ("2i", "2"),
    ("531_8", "531_9"),
    ("345", "531_8"),
    (r"(2,\infty)", r"[2,\infty)"),
    ("x=3,y=4", "x=4,y=3"),
    ("y=2x", "y=3x"),
    ("14", "1 4"),
    ("1.5", "15"),
    ("6", r"2 \times 4"),
    (r"\frac{1}{2}", r"\frac{1}{2}x"),
    ("e", "2.7"),
    ("12", "twelve or 13"),
    ("1000", "1,00"),
    ("0.5", "5"),
    (r"\sqrt{2}", "1.41"),
    (r"\{1\}", r"\{1,2\}"),
    ("5 or 6", "5"),
    ("(0,1)", r"\{0,1\}"),
    ("3", "3!"),
    ("3!", "3"),
    ("5", "5 - 1"),
    ("2^{100}", "2^{99}"),
    (r"12\text{ apples}", "13 apples"),
    ("I think", "so"),
    ("7", r"\sqrt{7}"),
    ("7", r"\boxed{\sqrt{7}}"),
    ("7", r"The answer is $\sqrt{7}$."),
    ("7", r"x \geq 7"),
    ("7", r"\leq 7"),
    ("7", r"\ne 7"),
    ("7", r"\log_2 7"),
    ("7", r"\frac{1}{7}"),
    ("7", "log(7)"),
    ("7", r"\max(7, 3)"),
    ("7", "x+7 where x is free"),
    ("7", "x^7 apples"),
    ("7", "It is not 7"),
    ("7", "anything except 7"),
    ("7", "between 1 and 7"),
    ("7", "all of 1 to 7"),
    ("7", "at least 7"),
    ("7", "answer is 7 or 8"),
    ("7", "answer: 7, 8, 9"),
    ("7", r"\boxed{6}, \boxed{7}"),
    ("7", "2 7"),
    ("6", "2 3"),
    ("3", "answer is 3 + 4 = 7"),
    ("5", r"\begin{pmatrix}5\end{pmatrix}"),
    ("1/2", "1..5"),
    ("B", r"\boxed{\text{A and B}}"),
    ("A", "(A) or (B)"),
    ("C", "B"),
    ("3:30 PM", "3:30 AM"),
    ("x", r"\sqrt{x^2}"),
    (r"(-\infty,-1)\cup(1,\infty)", r"(-\infty,\infty)"),
    ("Monday", "The day is not Monday."),
    # a comma separates or groups, and a list is no value
    ("5", "5,005"),
    ("5", "5, 005"),
    ("5", "5, 5"),
    ("5", "5 or 5"),
    ("5", r"\{5, 005\}"),
    ("5", "5,0"),
    ("5", "[5, 5]"),
    ("1234", "(1,234)"),
    ("1.234", "1,234"),
    ("1,234", "1, 234"),
    # what says nothing
    ("5", r"\{\}"),
    ("5", r"\{\{\}\}"),
    ("5", r"\{\}, \{\}"),
    ("5", "()"),
    ("5", ","),
    ("5", r"\emptyset"),
    (r"\emptyset", r"\{\{\}\}"),
    (r"\{1, 2\}", r"\{\}"),
    ("5", "x = x"),
    # times are no ratios
    ("3:00", "7:00"),
    ("4:30 p.m.", "2:15 p.m."),
    ("11:21", "22:42"),
    ("2:3", "0:0"),
    # a name that is not the name, and equations of something else
    (r"x \in [-2,7]", r"y \in [-2,7]"),
    (r"x \in [-2,7]", r"-x \in [-2,7]"),
    (r"x \in [-2,7]", "-2, 7"),
    ("1 < x < 2", "1 < y < 2"),
    ("5", "2x = 5"),
    ("5", "-x = 5"),
    ("5", "x + 1 = 5"),
    ("5", "3 = 5"),
    ("5", "2 3 = 5"),
    ("5", r"\frac{1}{0} = 5"),
    ("1/2", "The probability is 1/2.2"),
    ("120", "The angle is 120^{c}"),
    (r"\{1, 2\}", r"2x = \{1, 2\}"),
    (r"20\text{ m}", "20 m per day"),
    # words that take it back
    ("5", "5 million"),
    ("5", r"5 \text{ dozen}"),
    ("5", "5 squared"),
    ("5", "5 or more"),
    ("5", "5 is wrong"),
    ("5 cm", "5 nm"),
    ("a circle", "a parabola"),
    ("odd number", "odd ellipse"),
    ("B", "B and A"),
    ("B", "not B"),
    ("B", "-B"),
    ("C", "C^2"),
    ("C", r"x \to C"),
    ("C", "C, 3"),
    ("C", r"\neg C"),
    ("5", "5%%"),
    ("5", r"x \in 5"),
    ("5", "twice 5"),
    ("5", "half of 5"),
    ("5", "minus 5"),
    ("5", "5ths"),
    ("5", "5 is too small"),
    ("0", "0 or 3"),
    ("0", "0 (or 3)"),
    ("0", "0x"),
    ("5", r"\not= 5"),
    ("Tuesday", r"\neq Tuesday"),
    ("y = 2x", "twice y = 2x"),
    ("y = 2x", "not y = 2x"),
    ("y = 2x", "y = x = 2x"),
    (r"\infty", r"\infty + 1"),
    ("x^2 + 1", r"x^2 + 1^\prime"),
    # near is not equal
    (r"\ln 2", r"\ln 2 + 0.0000001"),
    (r"\log_2 3", "1.58496"),
    ("1/3", "0.333335"),
    (r"\ln 2", r"\log 2"),
    (r"\sin(x)^2", r"\sin x^2"),
    ("2", r"\log 100"),
    ("x^2 + 1", r"x^2 + 1 + 10^{-9}"),
    ("8x^2 + 3x - 5", "|8x^2 + 3x - 5|"),
    ("f(2x)", "2f(x)"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}, 5"),
]


@pytest.mark.parametrize(("gold", "given"), SAME)
def test_same(gold, given):
    assert answers.answers_match(gold, given)


@pytest.mark.parametrize(("gold", "given"), DIFFERENT)
def test_different(gold, given):
    assert not answers.answers_match(gold, given)


@pytest.mark.slow
def test_no_wrong_answer_built_from_a_right_one_is_accepted():
    """A part of ``python -m tests.envs.math.fuzz``, with another seed than that of the command."""
    assert fuzz.accepted(3_000, seed=7) == []
    assert len({rule for rule, _, _ in fuzz.cases(3_000, seed=7)}) == len(fuzz.RULES)


def test_numbers_are_exact():
    assert not answers.answers_match("0.1", "0.1000000000000000055")
    assert not answers.answers_match("100000000000000000000", "100000000000000000001")
    assert answers.answers_match("0.30", "3/10")
    assert answers.answers_match("1/3", "0.3333333333333")  # thirteen places round it
    assert not answers.answers_match("1/3", "0.33333")  # five do not


@pytest.mark.parametrize("seed", range(20))
def test_every_spelling_of_a_rational_is_one(seed):
    rng = random.Random(seed)
    value = Fraction(rng.randrange(-5000, 5000), rng.choice([1, 2, 3, 4, 7, 8, 20, 360]))
    top, bottom, sign = abs(value.numerator), value.denominator, "-" if value < 0 else ""
    whole, rest = divmod(top, bottom)
    spellings = [
        f"{sign}{top}/{bottom}",
        rf"{sign}\frac{{{top}}}{{{bottom}}}",
        rf"\frac{{{sign}{3 * top}}}{{{3 * bottom}}}",
        rf"$x = {sign}\dfrac{{{top}}}{{{bottom}}}$",
        rf"\boxed{{{sign}{top:,}/{bottom}}}",
    ]
    if rest and whole:
        spellings.append(rf"{sign}{whole}\frac{{{rest}}}{{{bottom}}}")
    if bottom == 1:
        spellings += [f"{sign}{top}.0", f"{sign}0{top}", f"{sign}{top}e0"]
    for spelling in spellings:
        if sign and r"\frac" in spelling and spelling[1:2].isdigit():
            continue  # minus a mixed number is read as that
        assert answers.answers_match(str(value), spelling), spelling
        assert not answers.answers_match(str(value + 1), spelling), spelling


@pytest.mark.parametrize("seed", range(20))
def test_expanded_polynomials_are_the_same(seed):
    rng = random.Random(seed)
    a, b, c, d = (rng.randrange(1, 12) for _ in range(4))
    factored = f"({a}x + {b})({c}x - {d})"
    expanded = f"{a * c}x^2 + {b * c - a * d}x - {b * d}".replace("+ -", "- ")
    assert answers.answers_match(expanded, factored)
    assert not answers.answers_match(f"{expanded} + 1", factored)


@pytest.mark.parametrize("seed", range(20))
def test_radicals_are_as_large_as_their_floats(seed):
    rng = random.Random(seed)
    numbers = [rng.randrange(2, 400) for _ in range(4)]
    left = rf"\sqrt{{{numbers[0]}}} + \frac{{{numbers[1]}}}{{\sqrt{{{numbers[2]}}}}}"
    size = float(expressions.evaluate(left))
    assert size == pytest.approx(numbers[0] ** 0.5 + numbers[1] / numbers[2] ** 0.5)
    squared = rf"({left})^2"
    sum_of_terms = (
        rf"{numbers[0]} + \frac{{{numbers[1] ** 2}}}{{{numbers[2]}}}"
        rf" + 2 \cdot {numbers[1]} \sqrt{{\frac{{{numbers[0]}}}{{{numbers[2]}}}}}"
    )
    assert expressions.same_value(squared, clean(sum_of_terms)) is True


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"so \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"\boxed{1} and then \boxed{2}", "2"),
        (r"\fbox{7}", "7"),
        (r"\boxed 5", "5"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\text{a} {b {c}}}", r"\text{a} {b {c}}"),
        (r"\boxed{1} \boxed{2", None),
        (r"\boxed", None),
        (r"\boxedness{3}", None),
        ("no box", None),
    ],
)
def test_boxed(text, content):
    assert answers.extract_boxed(text) == content


def test_boxes_of_one_enumeration_belong_together():
    assert finding.extract_last_boxes(r"$\boxed{1}$, $\boxed{2}$") == "1 ; 2"
    assert finding.extract_last_boxes(r"First \boxed{9}." + "Then " * 20 + r"\boxed{2}") == "2"


def test_last_formula_and_last_number_of_a_text():
    assert finding.extract_answer(r"As $a = 2$ we get \( b = 3 \).") == "b = 3"
    assert finding.extract_answer("It costs $5 for one and $7 for two.") == (
        "It costs $5 for one and $7 for two."
    )
    assert finding.extract_number("353 g - 79 g = 274 g, and 79 g are left") == "79"
    assert finding.extract_number("The answer is 1,250, since 5 * 250 is that") == "1,250"
    assert finding.extract_number("AZYUK2A") is None


@pytest.mark.parametrize(
    ("gold", "given", "verdict"),
    [
        ("B", "The answer is (B)", True),
        ("A", "The answer is A.", True),
        ("A", "A good guess is (C)", False),
        ("C", r"\boxed{\textbf{(C)}\ 12}", True),
        ("12", r"\boxed{\textbf{(C)}\ 12}", True),
        ("C", "It is B or C", False),
        ("B", "(B) a circle", True),
        ("B", "B) A circle", True),
    ],
)
def test_choices(gold, given, verdict):
    assert answers.answers_match(gold, given) is verdict


@pytest.mark.parametrize(
    ("gold", "printed", "verdict"),
    [
        ("2, 3", "[3, 2]", True),
        (r"\{1, 4\}", "{4, 1}", True),
        ("(2, -3)", "(2, -3)", True),
        ("(1,2), (3,4)", "[(3, 4), (1, 2)]", True),
        ("3/8", "0.375", True),
        ("[1,2]", "1, 2", False),
        ("2, 3", "[2, 3, 4]", False),
    ],
)
def test_what_programs_print(gold, printed, verdict):
    assert answers.answers_match(gold, printed) is verdict


@pytest.mark.parametrize(
    "given",
    [
        *("(A) the answer is B", "A) = B", "A. Answer: B", "(A) is wrong; it is B", "(A) but B"),
        *("(A) is not the answer; the answer is B", "(A) no, B", "A. B. C.", "A) + 1", "(A) not"),
    ],
)
def test_a_choice_that_says_something_else_is_no_answer(given):
    assert not answers.answers_match(r"\text{(A)}", given)
    assert not answers.answers_match(r"\text{(B)}", given)


@pytest.mark.parametrize(
    ("given", "golds"),
    [
        ("(A) the answer is 6", ["6"]),
        ("5 we get No", ["No"]),
        ("5 hence (B)", ["B"]),
        ("5 is even", ["even"]),
        ("12 is correct", ["12"]),
    ],
)
def test_one_answer_has_one_reading(given, golds):
    assert [
        g for g in ("A", "B", "5", "6", "12", "No", "even") if answers.answers_match(g, given)
    ] == golds


@pytest.mark.parametrize(
    "given",
    [
        *(
            "5 sixths",
            "5 tens",
            "5 score",
            "5 at minimum",
            "5 reciprocal",
            "reciprocal 5",
            "5 etc.",
        ),
        *("5 negated", "negated 5", "5 up to sign", "5 among others", "x = 6 = 5", "square of 5"),
    ],
)
def test_words_and_steps_that_change_a_number(given):
    assert not answers.answers_match("5", given)


@pytest.mark.parametrize("given", ["5 apples", "5 feet of rope", "5 is the minimum", "5 quarters"])
def test_words_that_say_what_is_counted(given):
    assert answers.answers_match("5", given)


def test_only_the_last_number_of_a_text_counts():
    hedged = "it is 3, or 4, or 5"
    assert [n for n in range(10) if answers.answers_match(str(n), hedged)] in ([], [5])


# Real pairs, and math-verify beside ours


@pytest.mark.slow
def test_agrees_with_every_labelled_pair_that_math_verify_gets_right(shared_data):
    lines = (shared_data / "math_equiv_dev.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    asked = [(record["gold"], record["pred"]) for record in records]
    wrong = {
        name: {r["id"] for r, v in zip(records, verdicts, strict=True) if v != r["expected"]}
        for name, verdicts in (
            ("ours", [answers.answers_match(*pair) for pair in asked]),
            ("theirs", pairs.math_verify(asked)),
        )
    }
    print(wrong)  # where the two differ: python -m pytest -s
    # 1 <= |z| <= 3/2 as a union of intervals: the only one that an equation must be solved for
    assert wrong["ours"] - wrong["theirs"] <= {"eq0191"}
    assert len(wrong["ours"]) < len(wrong["theirs"])


# Hostile texts

HUGE = [
    "9" * 20_000,
    "10**10**10",
    "9^9^9^9",
    "10^{10^{10^{10}}}",
    "1000000!",
    "3" + "!" * 50,
    "1e999999999",
    "2^{99999}",
    r"\binom{999999}{5000}",
    "(x+y+z+w)^{30}",
    r"\sqrt{99999999999977}",
    "1/0",
    r"\frac{1}{x-x}",
    "0^{-1}",
    "(" * 5_000,
    "{" * 20_000,
    "((1" * 300,
    r"\frac" * 4_000,
    r"\boxed{" * 2_500,
    r"\boxed{1}" * 2_000,
    r"\sqrt" * 3_000,
    r"\pm 1" * 200,
    r"\(" * 9_000,
    r"\[" * 9_000,
    "$" * 20_000,
    "$1$ and " * 2_000,
    "^" * 20_000,
    "1," * 9_000,
    "1;2," * 200,
    "-" * 20_000,
    "|x|" * 300,
    "f(x)" * 240 + "=1",
    "a_" * 500,
    "x<" * 300,
    "1:" * 300,
    "1 " * 450,
    " " * 20_000,
    r"\text{a}" * 140,
    r"\begin{pmatrix}" * 60,
    r"\begin{pmatrix}" + "1&" * 400 + r"\end{pmatrix}",
    "0." + "1" * 30 + r"\overline{" + "9" * 30 + "}",
    "\ud800\udfff\x00",
    "[" * 12 + "1, 2" + "]" * 12,
    "the answer is " * 1_400,
    "1" + "+1" * 480,
    "x" + "*x" * 480,
    "__import__('os').system('true')",
    "exit()",
    "yes : no",
    "1 : «no»",
    "(A) " * 240,
    "A) (B) " * 140,
    "not " * 5_000 + "7",
    "the answer " + "7 , " * 4_000,
    "the 7" + " -" * 400,
    "{" * 300 + r" \over " + "{}" * 200,
    "½" * 300,
    "</a>" * 4_000,
    r"[0,1] \cup " * 50 + "[0,1]",
    "[[1]," * 100 + "[1]]",
    "±1," * 300,
    "1" + "±1" * 11,
    r"\{x|" * 160,
]
GOLDS = [
    "5",
    "2:3",
    r"\text{yes}:2",
    "3:30 PM",
    "3/8",
    r"3\sqrt{2}",
    "x^2 + 1",
    "(1, 2)",
    r"\{1, 2\}",
    r"[0, \infty)",
    "Tuesday",
]


@pytest.mark.parametrize("text", HUGE, ids=range(len(HUGE)))
def test_hostile_text_is_refused_at_once(text, no_collector):
    for gold in GOLDS:
        for pair in ((gold, text), (text, gold)):
            began = time.process_time()
            assert answers.answers_match(*pair) is False
            assert time.process_time() - began < 0.2
    began = time.process_time()
    answers.extract_boxed(text)
    assert time.process_time() - began < 0.2


def test_noise_never_raises():
    rng = random.Random(5)
    signs = [
        *string.printable,
        *"≤∈π∞∪±«»√²⏎",
        r"\frac",
        r"\sqrt",
        "{",
        "}",
        r"\{",
        r"\}",
        r"\text{",
    ]
    texts = ["".join(rng.choices(signs, k=rng.randrange(1, 60))) for _ in range(100)]
    for text in [*texts, *testing.hostile_texts(40, seed=2)]:
        for gold in GOLDS:
            answers.answers_match(gold, text)
            answers.answers_match(text, gold)


@pytest.mark.parametrize("text", ["", "   ", "$$", r"\boxed{}"])
def test_nothing_is_no_answer(text):
    assert not answers.answers_match(text, text)
    assert not answers.answers_match("0", text)


def test_expressions_without_a_value_equal_nothing():
    for text in ("1/0", "f(", "2^3^", r"\frac{1}{x-x}", "9^9^9^9"):
        assert expressions.evaluate(text) is None
        assert not expressions.same_value(text, "1")
        assert not expressions.same_value("1", text)


def test_expressions_are_compared_in_many_threads():
    verdicts = {}

    def work(number):
        for n in range(2, 14):  # the same texts in all threads, which share what is remembered
            power = answers.answers_match(rf"\sin({n}x)^2 + n!", rf"n! + 1 - \cos({n}x)^2")
            verdicts[number, n] = power, answers.answers_match(rf"\ln {n}", rf"\ln {n + 1}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(verdicts) == 6 * 12
    assert set(verdicts.values()) == {(True, False)}


@pytest.mark.parametrize(
    ("gold", "given"),
    [
        ("55", r"\sum_{k=1}^{10} k"),
        ("6", r"\prod_{k=1}^{3} k"),
        ("6", r"\int_0^6 1 dx"),
        ("6", r"\lim_{x \to 6} x"),
        *(("6", r"\max(6, 5)"), ("6", r"\min(6, 7)"), ("6", r"\gcd(6, 12)"), ("6", r"\lcm(2, 3)")),
        ("6", r"\det\begin{pmatrix} 2 & 0 \\ 0 & 3 \end{pmatrix}"),
    ],
)
def test_work_that_is_left_to_the_checker_is_no_answer(gold, given):
    assert not answers.answers_match(gold, given)


@pytest.mark.parametrize(
    ("gold", "given"), [("85", "37 + 48"), ("85", "170/2"), ("1024", "2^{10}")]
)
def test_arithmetic_may_be_left_to_do_but_in_generated_tasks(gold, given):
    assert answers.answers_match(gold, given)
    assert not exact.exact_answers_match(gold, given)


def test_brackets_keep_what_they_hold_together():
    assert reading.split_outside_brackets(r"(1, 2), \{3, 4\}, 5", ",") == [
        "(1, 2)",
        r"\{3, 4\}",
        "5",
    ]
    assert reading.parse_answer("f(x = 1) = 2") == reading.Relation(("f(x = 1)", "2"), ("=",))
    assert reading.split_outside_brackets("1), 2", ",") == [
        "1)",
        "2",
    ]  # a bracket too many closes nothing


def test_missing_mpmath_is_named_with_its_extra(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "mpmath" else find(name)
    )
    with pytest.raises(MissingExtraError, match=r"math_v0.*llmzoo-marl\[math\]"):
        answers.require_mpmath("math_v0")


def test_checks_are_fast(no_collector):
    """A thousand a second is asked for, on one core of a busy machine."""
    pairs = [(str(n), rf"\frac{{{3 * n}}}{{3}}") for n in range(1_000)]
    began = time.process_time()
    assert all(answers.answers_match(gold, given) for gold, given in pairs)
    assert time.process_time() - began < 1.0
