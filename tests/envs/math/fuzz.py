r"""Wrong answers built from right ones, a generator for each rule of the grammar of answers.

python -m tests.envs.math.fuzz [--count 24000] [--seed 0]

Every answer is made from its gold and differs from it in value: ``5,005`` and ``2x = 5`` for 5. The
command prints how many of each rule were accepted and exits with 1 where any was.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

from llmzoo.envs.math import answers
from llmzoo.envs.math.answers import expressions

# gold and answers that are not the gold
Case = tuple[str, list[str]]


def integers(rng: random.Random) -> Case:
    n = rng.choice([rng.randrange(4, 10), rng.randrange(10, 1000), rng.randrange(1000, 90_000)])
    g, h = str(n), str(n + rng.randrange(1, 9))
    wrong = [
        *(f"{g},00{g}"[: len(g) + 1 + 4], f"{g}, 00{g}", f"00{g},{g}", f"{g},{g}", f"{g};{g}"),
        *(f"{g},000", f"{g} 000", rf"{g}\,000", f"{g}{{,}}000", rf"{g},\!000", f"{g}.{g}", f"{g},0"),
        *(f"({g}, {g})", f"[{g}, {g}]", rf"\{{{g}, {g}\}}", rf"\{{{g}, 00{g}\}}", f"{g} {g}"),
        *(f"{g} or {h}", f"{g} and {h}", f"{g}, {h}", f"{h}, {g}", rf"{g} \text{{ or }} {g}"),
        *(rf"{g} \pm 1", f"[{g}, {h}]", f"({int(g) - 1}, {h})", f"{g}-{h}", f"{g}..{h}", f"{g}:00"),
        *(f"{g} + 1", f"-{g}", f"{g}0", f"0.{g}", f"{g}.5", f"{g}^2", rf"\sqrt{{{g}}}", f"{g}!"),
        *(rf"\frac{{1}}{{{g}}}", rf"\frac{{{g}}}{{2}}", f"{g}/0", rf"\frac{{{g}}}{{0}}", f"{g}e1"),
        *(f"{g}x", f"x{g}", f"x + {g}", f"x^{g}", f"x_{{{g}}}", f"{g}i", rf"{g}\pi", f"{g}e"),
        *(f"2x = {g}", f"-x = {g}", f"x^2 = {g}", f"x + 1 = {g}", f"0 = {g}", f"{h} = {g}"),
        *(f"x > {g}", rf"x \geq {g}", rf"x \neq {g}", rf"\neq {g}", f"< {g}", f"x = {g} = {h}"),
        *(rf"{h} \approx {g}", rf"x \in \{{{g}, {h}\}}", rf"-x \in \{{{g}\}}"),
        *(rf"\{{{g}, {h}\}}", rf"{g} \cup {h}", rf"\{{{g}\}} \cup \{{{h}\}}", rf"\{{\{{{g}, {h}\}}\}}"),
        *(rf"\log {g}", rf"\sin {g}", rf"\ln({g})", rf"\max({g}, {h})", rf"|{h}|", rf"\binom{{{g}}}{{2}}"),
        *(f"{g} million", f"{g} dozen", rf"{g} \text{{ hundred}}", f"{g} squared", f"{g} and a half"),
        *(rf"{g} \text{{ or more}}", rf"\text{{at least }} {g}", rf"\text{{not }} {g}", f"{g} is wrong"),
        *(rf"{g} \pmod{{{h}}}", f"{g}_7", f"{g}°x", f"{g}%x", rf"\begin{{pmatrix}} {g} \\ {g} \end{{pmatrix}}"),
        *(rf"\begin{{pmatrix}} {g} \end{{pmatrix}}", f"{g}^0 + {g}", f"{g}^{{-1}}", f"0 * {g}"),
        *(rf"\frac{{{g}}}{{{g}}}", f"{g} - {g}", f"{g}:{g}", f"{g}:1:1", f"1:{g}", f"1/{g}", f"{g}\\frac{{1}}{{2}}"),
        *(f"any number, such as {g}", f"it is {h}, or {g}", f"maybe {g}, maybe {h}", f"not {g}"),
        *(f"The answer is {h}, not {g}", f"between {g} and {h}", f"the answer is {g} or {h}"),
        *(f"\\boxed{{{g}}}, \\boxed{{{h}}}", f"$x = {g}$ or $x = {h}$", f"{g} = x = {h}", f"{g}'"),
        *(f"twice {g}", f"half of {g}", f"minus {g}", f"{g}ths", f"{g} tenths", f"{g}%%", f"x \\in {g}"),
        *(f"{g} too many", f"{g} is too small", f"{g}thousand", f"{g}th root", f"{g} to {h}", f"{g}x^0"),
        *(f"f({g})", f"f(x) = {g}x", rf"{g} \text{{ of }} {h}", rf"{g}\overline{{{g}}}", f"{g}.00001"),
    ]  # fmt: skip
    return g, wrong


def empties(rng: random.Random) -> Case:
    gold = rng.choice(
        ["5", "1234", "3/8", r"3\sqrt{2}", "x^2 + 1", "(1, 2)", r"\{1, 2\}", "[0, 1)"]
    )
    inside = rng.choice(
        ["", " ", ",", ";", ", ,", r"\,", r"\text{}", "{}", r"\{\}", "()", "[]", "$$"]
    )
    return gold, [
        *(rf"\{{{inside}\}}", f"({inside})", f"[{inside}]", f"{{{inside}}}", inside, f"x = {inside}"),
        *(rf"\{{\{{{inside}\}}\}}", rf"\{{{inside}\}}, \{{{inside}\}}", rf"({inside}, {inside})"),
        *(rf"x \in \{{{inside}\}}", rf"\{{{inside}\}} \cup \{{{inside}\}}", rf"[{inside}, {inside})"),
        *(r"\emptyset", r"\varnothing", "∅", "nan", "NaN", r"\infty", "undefined", r"\frac{0}{0}", "None"),
        *("x", "x = x", "0 = 0", "1 = 1", r"x \in \mathbb{R}", r"(-\infty, \infty)", "true", "all of them"),
        *(r"\begin{pmatrix} \end{pmatrix}", r"\begin{pmatrix} & \end{pmatrix}", r"\boxed{\boxed{}}", r"\sqrt{}"),
        *(r"\frac{}{}", ":", "::", "=", "==", "±", r"\pm", "+", "-", "%", "°", "$", "!", "^", "_", "«»", "…"),
    ]  # fmt: skip


def decimals(rng: random.Random) -> Case:
    n, after_point = rng.randrange(1, 10_000), rng.randrange(1, 5)
    value = Fraction(2 * n + 1, 10**after_point)
    gold = _decimal(value, after_point)
    whole, _, rest = gold.partition(".")
    return gold, [
        *(
            f"{gold}1",
            f"{gold}, {gold}",
            f"-{gold}",
            f"{whole}",
            f"{whole}, {rest}",
            f"{rest}.{whole}9",
        ),
        *(
            f"{gold}x",
            f"{gold}.1",
            f"{whole}:{rest}",
            f"{whole}/{rest}7",
            f"1{gold}",
            f"({whole}, {rest})",
        ),
        _decimal(value + Fraction(1, 10 ** (after_point + 6)), after_point + 6),
        _decimal(value - Fraction(1, 10**after_point), after_point),
        *(f"{gold}%x", f"{gold}e1", f"{gold}^2", rf"\frac{{{whole}}}{{{rest}9}}"),
    ]


def fractions(rng: random.Random) -> Case:
    value = Fraction(rng.randrange(1, 60), rng.choice([3, 7, 9, 11, 13, 17, 19, 23]))
    p, q = value.numerator, value.denominator
    if q == 1:
        p, q = p + 1, 3 if (p + 1) % 3 else 7
        value = Fraction(p, q)
        p, q = value.numerator, value.denominator
    near = int(value * 10**6)
    return rng.choice([f"{p}/{q}", rf"\frac{{{p}}}{{{q}}}"]), [
        *(f"{p + q}/{q}", f"{p}/{q + 1}", f"-{p}/{q}", f"{p}, {q}", f"({p}, {q})", f"{p}.{q}7", f"{p}/{q}x"),
        *(f"1 {p}/{q}", f"{p}/{q}, {p}/{q}", f"{p}/{q}/2", rf"\frac{{{p}}}{{{q}}}^2", f"{p}:{q + p + 1}"),
        *(rf"\sqrt{{\frac{{{p}}}{{{q}}}}}", rf"\frac{{{p}}}{{{q}}} + 1", f"{p}/{q}:00", f"{q * 2}/{p}"),
        *(_decimal(Fraction(near + k, 10**6), 6) for k in (-2, -1, 2, 3)),
        _decimal(value, 5),
        _decimal(value, 3),
    ]  # fmt: skip


def radicals(rng: random.Random) -> Case:
    a, b, c = rng.randrange(2, 20), rng.choice([2, 3, 5, 7, 11, 13]), rng.randrange(2, 9)
    gold = rng.choice(
        [rf"{a}\sqrt{{{b}}}", rf"{c}+{a}\sqrt{{{b}}}", rf"\frac{{{a}\sqrt{{{b}}}}}{{{c + b}}}"]
    )
    return gold, [
        *(f"{gold} + 1", f"-({gold})", f"({gold})^2 + 1", f"({gold})x", f"{gold}, {gold}", f"{gold} + 10^{{-9}}"),
        *(gold.replace(rf"\sqrt{{{b}}}", rf"\sqrt{{{b + 1}}}"), gold.replace(r"\sqrt", r"\sqrt[3]")),
        *(gold.replace(rf"\sqrt{{{b}}}", str(b)), rf"\sqrt{{{gold}}}", rf"\pm ({gold})", rf"x > {gold}"),
        *(rf"({gold})(1 + 10^{{-12}})", rf"2x = {gold}", rf"\{{{gold}, 1\}}", rf"\log({gold})", rf"({gold})i"),
        f"{float(expressions.evaluate(gold)):.4f}",
    ]  # fmt: skip


def functions(rng: random.Random) -> Case:
    a, b = rng.randrange(2, 40), rng.randrange(2, 9)
    gold = rng.choice(
        [
            rf"\ln {a}",
            rf"\log_{{{b}}} {a * b + 1}",
            rf"\sin {b}",
            rf"e^{{{b}}}",
            rf"\arctan {b}",
            rf"{b}\pi",
        ]
    )
    return gold, [
        *(f"{gold} + 10^{{-9}}", f"{gold} + 0.0000001", f"-{gold}", f"2{gold}", f"{gold} + 1", rf"{gold} \cdot 2"),
        *(gold.replace(r"\ln", r"\log") + "+0.1", f"{gold}, {gold}", f"x = -{gold}", rf"\sqrt{{{gold}}}", f"({gold})^2"),
        *(rf"\{{{gold}, {a}\}}", f"{gold} x", rf"\frac{{1}}{{{gold}}}", str(a), str(b)),
    ]  # fmt: skip


def polynomials(rng: random.Random) -> Case:
    a, b, c = rng.randrange(2, 9), rng.randrange(1, 9), rng.randrange(1, 9)
    n = rng.randrange(2, 5)
    gold = f"{a}x^{n} + {b}x - {c}"
    return gold, [
        *(f"{a + 1}x^{n} + {b}x - {c}", f"{a}x^{n} - {b}x - {c}", f"{a}x^{n} + {b}x + {c}"),
        *(f"{a}y^{n} + {b}y - {c}", f"{a}x^{n + 1} + {b}x - {c}", f"({gold})^2", f"-({gold})"),
        *(f"{gold} = 0", f"2({gold})", f"x({gold})", f"{a}x^{n} + {b}x", str(a + b - c), f"{gold}, {gold}"),
        *(f"{gold} + 10^{{-9}}", f"{gold} + 0.0000001x", f"{a}X^{n} + {b}X - {c}", rf"|{gold}|"),
        *(rf"\sqrt{{({gold})^2}}", f"{gold} > 0", f"f({gold})", rf"\frac{{{gold}}}{{x}}", f"{a}x^{n} + {b}x_1 - {c}"),
        rf"\frac{{1}}{{{gold}}}",
    ]  # fmt: skip


def tuples(rng: random.Random) -> Case:
    items = rng.sample(range(-20, 900), rng.randrange(2, 5))
    while items == sorted(items) or items == sorted(items, reverse=True):
        rng.shuffle(items) if len(items) > 2 else items.insert(0, items[0] + 1)
    inner = ", ".join(map(str, items))
    swapped = ", ".join(map(str, [*items[1:], items[0]]))
    tight = "".join(str(item) for item in items)
    return f"({inner})", [
        *(f"({swapped})", f"[{inner}]", rf"\{{{inner}\}}", f"({inner}, {items[0]})", f"({inner}, )"),
        *(f"({', '.join(map(str, items[1:]))})", str(items[0]), f"({items[0]})", tight, "()", f"(, {inner})"),
        *(f"({inner}), ({swapped})", f"-({inner})", f"({inner}]", f"2({inner})", f"({inner.replace(', ', ' + ')})"),
        *(f"x = {items[0]}", f"({inner.replace(', ', '; ')}; 1)", f"(x, {inner})"),
        f"({inner.replace(str(items[-1]), 'x')})",
    ]  # fmt: skip


def lists(rng: random.Random) -> Case:
    items = sorted(rng.sample(range(1, 99), rng.randrange(2, 5)))
    inner = ", ".join(map(str, items))
    gold = rng.choice([inner, rf"\{{{inner}\}}", inner.replace(", ", r" \text{ and } ", 1)])
    more = ", ".join(map(str, [*items, items[-1] + 1]))
    fewer = ", ".join(map(str, items[:-1]))
    return gold, [
        *(more, fewer, rf"\{{{more}\}}", rf"\{{{fewer}\}}", f"{fewer}, {fewer}", str(items[0]), rf"\{{{items[0]}\}}"),
        *("".join(map(str, items)), f"[{items[0]}, {items[-1]}]x", rf"\{{{inner}, \}} \cup \{{0\}}", r"\{\}", ","),
        *(f"x > {items[0]}", f"{inner}, x", f"{items[0]} + {items[1]}", f"{inner}, {items[0]}"),
        rf"\{{{inner}, {items[0]}\}}",
        *(", ".join(str(item + 1) for item in items), ", ".join(str(-item) for item in items), f"{items[0]}:{items[1]}"),
    ]  # fmt: skip


def intervals(rng: random.Random) -> Case:
    a = rng.randrange(-30, 30)
    b = a + rng.randrange(2, 40)
    left, right = rng.choice("(["), rng.choice(")]")
    other_left, other_right = "([".replace(left, ""), ")]".replace(right, "")
    low, high = ("<" if left == "(" else r"\le"), ("<" if right == ")" else r"\le")
    gold = rng.choice([rf"x \in {left}{a}, {b}{right}", rf"{a} {low} x {high} {b}"])
    return gold, [
        *(rf"x \in {other_left}{a}, {b}{right}", rf"{left}{a}, {b}{other_right}", rf"{left}{a}, {b + 1}{right}"),
        *(rf"y \in {left}{a}, {b}{right}", rf"-x \in {left}{a}, {b}{right}", rf"2x \in {left}{a}, {b}{right}"),
        *(rf"x \notin {left}{a}, {b}{right}", rf"{a} {low} y {high} {b}", rf"{a} {low} -x {high} {b}"),
        *(rf"{a} {low} 2x {high} {b}", rf"{a} {low} x", rf"x {high} {b}", rf"x > {a}", f"{a}, {b}", rf"\{{{a}, {b}\}}"),
        *(rf"{left}{a}, \infty)", rf"(-\infty, {b}{right}", r"(-\infty, \infty)", rf"{left}{b}, {a}{right}", str(a)),
        *(rf"{left}{a}, {b}{right} \cup \{{{b + 1}\}}", rf"{left}{a - 1}, {b}{right}", rf"x^2 \in {left}{a}, {b}{right}"),
    ]  # fmt: skip


def rays(rng: random.Random) -> Case:
    a = rng.randrange(1, 50)
    gold = rng.choice([f"x > {a}", rf"({a}, \infty)", rf"x \in ({a}, \infty)"])
    return gold, [
        *(rf"[{a}, \infty)", rf"x \ge {a}", f"x < {a}", rf"(-\infty, {a})", rf"({a}, -\infty)", f"-x > {a}"),
        *(f"x > -{a}", f"2x > {a}", f"{a} > x", rf"x \neq {a}", rf"({a}, {a + 1})", rf"(-{a}, \infty)", f"x = {a}"),
        *(rf"({a}, \infty) \cup \{{0\}}", f"x > {a}, x < {a}", f"x > {a + 1}", rf"-({a}, \infty)", rf"{a} + \infty"),
    ]  # fmt: skip


def times_of_day(rng: random.Random) -> Case:
    hour, minute = rng.randrange(1, 6), rng.randrange(0, 30)
    half = rng.choice(["", " p.m.", " a.m.", r" \text{ PM}"])
    other = " a.m." if "p" in half.lower() else " p.m."
    gold = f"{hour}:{minute:02}{half}"
    wrong = [
        *(f"{hour + 1}:{minute:02}{half}", f"{hour}:{minute + 1:02}{half}", f"{2 * hour}:{2 * minute:02}{half}"),
        *(f"{hour + 4}:{minute:02}{half}", f"{hour}/{minute + 60}", f"{hour}.{minute:02}", f"{hour},{minute:02}"),
        *(f"{hour}{minute:02}", str(hour), f"{minute:02}:{hour:02}:01", f"{hour} : {minute + 1}", f"{hour}:{minute:02}:30"),
        *(f"({hour}, {minute + 1})", f"3{hour}:{minute:02}"),
    ]  # fmt: skip
    return gold, [*wrong, f"{hour}:{minute:02}{other}"] if half else wrong


def units(rng: random.Random) -> Case:
    n = rng.randrange(2, 90)
    unit = rng.choice(["cm", "m", "km", "kg", "g", "hours", "minutes", "dollars", "feet", "inches"])
    gold = rf"{n}\text{{ {unit}}}"
    others = {"cm", "nm", "km", "kg", "mg", "seconds", "days", "cents", "miles", "liters"} - {unit}
    return gold, [
        *(rf"{n}\text{{ {other}}}" for other in sorted(others)),
        *(
            f"{n + 1} {unit}",
            f"{n} {unit}^2",
            f"{n} square {unit}",
            f"{n} cubic {unit}",
            f"-{n} {unit}",
        ),
        *(
            f"{n} {unit} or {n + 1} {unit}",
            f"{n} {unit} per day",
            f"{n} million {unit}",
            f"not {n} {unit}",
        ),
        *(f"{n}, {n} {unit}", f"{n} half {unit}", f"{n} dozen {unit}", f"less than {n} {unit}"),
    ]


def ratios(rng: random.Random) -> Case:
    a, b = rng.randrange(2, 9), rng.randrange(2, 9)
    b += a == b
    return f"{a}:{b}", [
        *(f"{b}:{a}", f"{a}:{b + 1}", f"{a}:{b}:1", f"{a}:0", f"0:{b}", "0:0", f"{a}, {b}", f"({a}, {b})"),
        *(f"{a}/{b + 1}", f"{a}{b}", f"{a}:{a}", f"x:{b}", f"{a}:x", f"{a}:", f":{b}", f"-{a}:{b}", f"{a}:{b}:0"),
    ]  # fmt: skip


def percents(rng: random.Random) -> Case:
    n = rng.randrange(2, 99)
    return rf"{n}\%", [
        *(rf"{n + 1}\%", rf"{10 * n}\%", str(n * 10), f"{n / 1000}", f"-{n}%", f"{n}%, {n}%", f"{n}% or {n + 1}%"),
        *(f"{n}/10", f"{n * 100}", f"{n}x%", f"100 - {n}%" if n != 50 else "1%", f"{n}.5%", f"0.{n:02}%"),
    ]  # fmt: skip


def bases(rng: random.Random) -> Case:
    base = rng.randrange(3, 9)
    digits = "".join(str(rng.randrange(1, base)) for _ in range(3))
    return f"{digits}_{base}", [
        *(f"{digits}_{base + 1}", f"{digits}0_{base}", f"{digits[::-1]}1_{base}", f"{digits}0", f"-{digits}_{base}"),
        *(f"{digits}x", f"{digits}, {base}", f"{digits}_{{{base}{base}}}", f"{digits}.{base}", f"{int(digits) + 1}_{base}"),
    ]  # fmt: skip


def choices(rng: random.Random) -> Case:
    letter, other = rng.sample("ABCDE", 2)
    return rng.choice([letter, rf"\text{{({letter})}}"]), [
        *(other, f"({other})", f"{letter}{other}", f"{letter}, {other}", f"{letter} or {other}", "ABCDE", f"not {letter}"),
        *(rf"\text{{({other})}}", f"{other}) {letter}", f"{letter} and {other}", f"({letter}) ({other})", f"{letter}^2"),
        *(f"{letter}!", f"f({letter})", rf"\overline{{{letter}}}", f"{letter} > 1", rf"\int {letter} dx", f"{letter}, 3"),
        *(f"2{letter}", f"-{letter}", f"{letter} + {other}", "x", "1", rf"\{{{letter}, {other}\}}", f"{letter}{letter}"),
    ]  # fmt: skip


_DAYS = ["Monday", "Tuesday", "Friday", "Sunday"]


def words(rng: random.Random) -> Case:
    word, other = rng.sample([*_DAYS, "even", "odd number", "parabola", "ellipse", "circle"], 2)
    return rng.choice([word, rf"\text{{{word}}}"]), [
        *(other, f"not {word}", rf"\text{{not {word}}}", f"{word} or {other}", f"{word}, {other}", word[:-1], word[::-1]),
        *(f"{word} and {other}", f"{word} {other}", rf"\text{{{word}}} \text{{ or }} \text{{{other}}}", f"either {word}"),
        *(f"{word}s or none", f"neither {word} nor {other}", f"2 {word}", rf"\{{{word}, {other}\}}", "x"),
    ]  # fmt: skip


def equations(rng: random.Random) -> Case:
    a, b = rng.randrange(2, 9), rng.randrange(1, 9)
    gold = f"y = {a}x + {b}"
    return gold, [
        *(f"y = {a}x - {b}", f"y = {a + 1}x + {b}", f"y = -{a}x + {b}", f"2y = {a}x + {b}", f"x = {a}y + {b}"),
        *(f"z = {a}x + {b}", f"y > {a}x + {b}", f"y = {a}x + {b}, y = 0", f"y = {a}x", f"{a}x + {b} = 0", "y = x"),
        *(f"y^2 = ({a}x + {b})^2", f"(y - {a}x - {b})(x - 1) = 0", "y = y", "0 = 0", f"-y = {a}x + {b}", str(b)),
        *(f"y = {a}x + {b} + 10^{{-9}}", f"|y| = {a}x + {b}", rf"y \neq {a}x + {b}", f"y = {a}x = {b}"),
    ]  # fmt: skip


def assignments(rng: random.Random) -> Case:
    a = rng.randrange(2, 50)
    b = a + rng.randrange(1, 50)
    return f"x = {a}, y = {b}", [
        *(f"x = {b}, y = {a}", f"({b}, {a})", f"x = {a}", f"y = {b}", f"{b}, {a}"),
        *(f"x = {a}, y = {b + 1}", f"({a}, {b}, 0)"),
        *(f"x = {a}, x = {b}", f"x = {a}, z = {b}", f"2x = {a}, y = {b}", f"x = {a}, -y = {b}", f"x < {a}, y = {b}", f"{a}"),
        *(f"[{a}, {b}]x", rf"\{{{a}\}}", f"x = {a} = y", f"{a}/{b}", f"x + y = {a + b}", f"{a}:{b}", f"{a + b}"),
    ]  # fmt: skip


def matrices(rng: random.Random) -> Case:
    a, b, c, d = rng.sample(range(-20, 40), 4)

    def matrix(*rows: tuple[int, ...]) -> str:
        body = r" \\ ".join(" & ".join(map(str, row)) for row in rows)
        return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"

    gold = matrix((a, b), (c, d))
    return gold, [
        *(matrix((a, c), (b, d)), matrix((a, b), (c, d + 1)), matrix((a, b)), matrix((a, b, c, d)), matrix((c, d), (a, b))),
        *(f"2{gold}", f"-{gold}", f"[[{a}, {c}], [{b}, {d}]]", str(a), f"({a}, {b}, {c}, {d})", f"{gold}^{{-1}}"),
        *(f"{gold} + {gold}", matrix((a, b), (c, d), (a, b)), rf"\det {gold}", f"{gold}, {gold}", matrix((a,), (c,))),
    ]  # fmt: skip


RULES: tuple[Callable[[random.Random], Case], ...] = (
    *(integers, empties, decimals, fractions, radicals, functions, polynomials, tuples, lists),
    *(intervals, rays, times_of_day, units, ratios, percents, bases, choices, words, equations),
    *(assignments, matrices),
)


def cases(count: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """``count`` triples of a rule's name, a gold and a wrong answer, the rules by turns."""
    rng = random.Random(seed)
    made = 0
    while True:
        for rule in RULES:
            gold, wrong = rule(rng)
            for answer in wrong:
                if answer == gold:
                    continue
                if made == count:
                    return
                yield rule.__name__, gold, answer
                made += 1


def accepted(count: int, seed: int) -> list[tuple[str, str, str]]:
    """The cases that are taken for right."""
    return [case for case in cases(count, seed) if answers.answers_match(case[1], case[2])]


def _decimal(value: Fraction, after_point: int) -> str:
    """``value`` cut to so many digits after the point."""
    digits = str(abs(int(value * 10**after_point))).zfill(after_point + 1)
    return f"{'-' if value < 0 else ''}{digits[:-after_point]}.{digits[-after_point:]}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.envs.math.fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--count", type=int, default=24_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    began = time.monotonic()
    made = Counter(rule for rule, _, _ in cases(args.count, args.seed))
    wrong = accepted(args.count, args.seed)
    taken = Counter(rule for rule, _, _ in wrong)
    for rule, number in sorted(made.items()):
        print(f"{rule:14} {taken[rule]} accepted of {number}")
    for rule, gold, answer in wrong[:40]:
        print(f"accepted ({rule}): {answer!r} for {gold!r}")
    print(f"{len(wrong)} accepted of {args.count} in {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
