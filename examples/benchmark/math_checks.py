"""Checks of mathematical answers per second, ours and math-verify's.

The generated mix is what ``math_v0`` asks over all families and levels, each answer against itself,
a slip of it, and another spelling; none of the verdicts is a remembered one.
The formulas are pairs of expressions, compared by their values. Theirs is math-verify, called in
this process.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence

from timing import Row, alternating, rate, row

from llmzoo.envs.math import answers, generator, players

_TASKS = 4_000
_AT_ONCE = 200
_FORMULAS = [
    (r"\sin({n}x)^2", r"1 - \cos({n}x)^2"),
    (r"\frac{{1}}{{\sqrt{{{n}}}+1}}", r"\frac{{\sqrt{{{n}}}-1}}{{{n}-1}}"),
    (r"x^2 + {n}x", r"x(x - {n})"),
    (r"\sum_{{k=1}}^n k + {n}", r"{n} + \sum_{{k=1}}^n k"),
]


def compare(seconds: float, repeats: int) -> list[Row]:
    pairs = _generated()
    formulas = [
        (a.format(n=n), b.format(n=n)) for n in range(2, 2 + 25 * repeats) for a, b in _FORMULAS
    ]
    checked = _in_turn(_same, formulas)
    few = pairs[:: len(pairs) // 300]
    ours, theirs = alternating([_all(_same, few), _all(_math_verify(), few)], repeats)
    return [
        row("math_checks_generated", rate(_in_turn(_same, pairs), seconds), "checks/s"),
        row("math_checks_vs_math_verify", ours, "checks/s", theirs=theirs),
        row("math_checks_formulas", rate(checked, min(seconds, 1.0)), "checks/s"),
    ]


def _same(gold: str, given: str) -> bool:
    answers._texts_match.cache_clear()
    return answers.answers_match(gold, given)


def _generated() -> list[tuple[str, str]]:
    rng = random.Random(0)
    pairs = []
    for _ in range(_TASKS):
        task = generator.sample_task(rng, family=None, level=None)
        slipped = answers.extract_boxed(players.sloppy_reasoner_answer(task, rng)) or ""
        other = task.answer.replace(" ", "  ").replace("-", "\u2212")
        pairs += [(task.answer, given) for given in (task.answer + " ", slipped, f"${other}$")]
    return pairs


def _in_turn(
    same: Callable[[str, str], bool], pairs: Sequence[tuple[str, str]]
) -> Callable[[], int]:
    """Some pairs at a call, going on where the last call ended."""
    at = 0

    def work() -> int:
        nonlocal at
        for number in range(at, at + _AT_ONCE):
            same(*pairs[number % len(pairs)])
        at += _AT_ONCE
        return _AT_ONCE

    return work


def _all(same: Callable[[str, str], bool], pairs: Sequence[tuple[str, str]]) -> Callable[[], int]:
    def work() -> int:
        for gold, given in pairs:
            same(gold, given)
        return len(pairs)

    return work


def _math_verify() -> Callable[[str, str], bool]:
    from math_verify import parse, verify

    logging.getLogger("math_verify").setLevel(logging.ERROR)

    def same(gold: str, given: str) -> bool:
        read = [parse(f"${text}$", parsing_timeout=None) for text in (gold, given)]
        return bool(verify(*read, timeout_seconds=None))

    return same
