"""Paired tests of the learners of ``llmzoo bench``, on the tasks that they share.

A learner's seeds play the same tasks, so a task is one cluster of results
(:mod:`llmzoo.evaluation.statistics`). The p-values of all pairs on all environments are corrected together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from llmzoo.evaluation.statistics import holm_correction
from llmzoo.report.compare import COLUMNS, PairedComparison, compare_pair, comparison_rows

Row = Mapping[str, Any]
MAX_SHOWN_PAIRS = 15  # pairs in the table; the file has all
SIGNIFICANCE_LEVEL = 0.05


def run_paired_tests(rows: Sequence[Row]) -> dict[str, list[PairedComparison]]:
    """Every pair of learners by environment, after training.

    ``rows``: as in :mod:`llmzoo.report.bench`, with ``ids``, ``solved`` and ``returns``. Rows without
    them (diverged runs, earlier versions) and those of self-play are left out, and so are pairs of learners
    whose tasks differ.
    """
    by_env: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if {"ids", "solved", "returns"} <= row.keys() and not row.get("self_play"):
            by_env.setdefault(row["env"], {}).setdefault(row["learner"], []).append(row)
    measured = [
        (env, first, second, compare_pair(one, other))
        for env, learners in by_env.items()
        for (first, one), (second, other) in combinations(
            [(name, _pool_seeds(of_seeds)) for name, of_seeds in learners.items()], 2
        )
        if set(one["ids"]) == set(other["ids"])
    ]
    corrected = holm_correction([result["p_value"] for *_, result in measured])
    pairs: dict[str, list[PairedComparison]] = {}
    for (env, first, second, result), p in zip(measured, corrected, strict=True):
        pairs.setdefault(env, []).append(
            PairedComparison(first=first, second=second, p_holm=p, **result)
        )
    return pairs


def tests_grid(
    pairs: Mapping[str, Sequence[PairedComparison]],
) -> tuple[str, list[str], list[list[str]]]:
    """What the tests found, and the head and the lines of their table, smallest p first.

    Without pairs all three are empty.
    """
    every = sorted(
        ((env, pair) for env, of_env in pairs.items() for pair in of_env),
        key=lambda named: named[1].p_value,
    )
    if not every:
        return "", [], []
    differ = sum(pair.p_holm < SIGNIFICANCE_LEVEL for _, pair in every)
    found = (
        f"{differ} of {len(every)} pairs differ in success at {SIGNIFICANCE_LEVEL:.0%}, by the exact sign-flip test on the "
        "same tasks (one seed: McNemar's test), corrected for their number (Holm). Intervals of returns "
        "are bootstrapped over tasks. The tests cover tasks and sampling, not how training varies between seeds."
        + (f" The {MAX_SHOWN_PAIRS} with the smallest p:" if len(every) > MAX_SHOWN_PAIRS else "")
    )
    lines = [[env, *next(comparison_rows([pair]))] for env, pair in every[:MAX_SHOWN_PAIRS]]
    return found, ["environment", "learners", *COLUMNS[1:]], lines


def markdown_section(pairs: Mapping[str, Sequence[PairedComparison]]) -> str:
    """The tests in Markdown, to follow the table of the bench; nothing without pairs."""
    found, head, lines = tests_grid(pairs)
    if not found:
        return ""
    table = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    table += [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join(["", found, "", *table]) + "\n"


def _pool_seeds(rows: Sequence[Row]) -> dict[str, Any]:
    """The evaluations of several seeds as one."""
    return {
        "ids": [id for row in rows for id in row["ids"]],
        "solved": "".join(row["solved"] for row in rows),
        "returns": {
            agent: [value for row in rows for value in row["returns"][agent]]
            for agent in rows[0]["returns"]
        },
    }
