"""The table of coverage: one run in each environment, imitation of the expert and then MAGRPO."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from logs import Row
from readings import markdown

from llmzoo.evaluation.statistics import mcnemar_test

SIGNIFICANT = 0.05
FEWEST_DIFFERENT = 0.01  # share of groups: below it there is nothing to learn from
NEARLY_ALWAYS = 0.98  # greedy success


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """A line for each environment: success, greedy success, return, and what MAGRPO added."""
    lines = []
    for row in rows:
        if "error" in row:
            lines.append([f"`{row['task']}`", row["error"], *[""] * 5])
            continue
        measured = [row["before"], *row["after_stages"]]
        success = " → ".join(f"{one['success']:.0%}" for one in measured)
        greedy = " → ".join(f"{one['greedy']['success']:.0%}" for one in measured)
        returned = " → ".join(f"{_learners_return(row, one):.2f}" for one in measured)
        lines.append(
            [
                f"`{row['task']}`",
                row["before"]["tasks"],
                success,
                greedy,
                returned,
                f"{groups_that_differ(row):.0%}",
                what_magrpo_added(row),
            ]
        )
    head = ["environment", "tasks", "success", "greedy success", "return"]
    return {"coverage": markdown([*head, "groups that differ", "MAGRPO"], lines)}


def groups_that_differ(row: Row) -> float:
    """The share of groups whose returns are not all equal, over the learning agents and iterations."""
    points = [point["flat_groups"] for point in row["curve"] if "flat_groups" in point]
    return fmean(1 - flat for point in points for flat in point.values())


def what_magrpo_added(row: Row) -> str:
    """The change from imitation to the end of the run, as the first of these that holds.

    Success of the same tasks by McNemar's test, return by intervals of 95% that do not overlap. All hold
    for this run alone.
    """
    start, end = row["after_stages"]
    for name, first, second in (
        ("greedy success", start["greedy"], end["greedy"]),
        ("success", start, end),
    ):
        if mcnemar_test(_marks(first), _marks(second)).p_value < SIGNIFICANT:
            return f"{name} {'rises' if second['success'] > first['success'] else 'falls'}"
    for agent in _learners(row):
        before, after = (one["return_ci95"][agent] for one in (start, end))
        if before and after and (after[0] > before[1] or after[1] < before[0]):
            return f"return {'rises' if after[0] > before[1] else 'falls'}"
    if start["greedy"]["success"] >= NEARLY_ALWAYS:
        return "nothing left to learn"
    if groups_that_differ(row) < FEWEST_DIFFERENT:
        return "no group differs"
    return "no clear change"


def _marks(measured: Row) -> list[bool]:
    return [mark == "1" for mark in measured["solved"]]


def _learners(row: Row) -> list[str]:
    """The agents with a learning policy."""
    return list(next(point["flat_groups"] for point in row["curve"] if "flat_groups" in point))


def _learners_return(row: Row, measured: Row) -> float:
    return fmean(measured["mean_return"][agent] for agent in _learners(row))
