"""Scores of a written class: methods, tests and overlap, on the published scale of 6 or on a scale of 1
in which methods without passing tests earn little."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from llmzoo.envs.coding import judging
from llmzoo.envs.coding.class_eval.tasks import ClassTask, Half
from llmzoo.sandbox.limits import DEFAULT_LIMITS, Limits
from llmzoo.sandbox.results import Verdict

Scale = Literal["unit", "paper"]
WEIGHTS: Mapping[Scale, Mapping[str, float]] = {
    "paper": {"methods": 2.0, "tests": 4.0, "overlap": -1.0},
    "unit": {"methods": 0.1, "tests": 0.9, "overlap": -0.05},
}
NOTHING = {"methods": 0.0, "tests": 0.0, "overlap": 0.0}
BEGUN = 0.25  # of a method for a definition that is begun in an unreadable answer


def judge(task: ClassTask, program: str, half: Half, limits: Limits = DEFAULT_LIMITS) -> Verdict:
    """The verdict of some of the tests. The tests repeat the task's imports: a program could replace
    what it imports itself."""
    return judging.check(program, f"{task.imports}\n{half.source}", limits=limits)


def score(writers: Mapping[str, int], passed: float, scale: Scale = "unit") -> dict[str, float]:
    """The reward components.

    ``writers``: how many agents wrote each method. ``passed``: the share of the hidden tests. For 4
    methods of which 3 are written, one of them twice, and half of the tests, in the paper's scale:
    2 x 3/4 + 4 x 1/2 - 1/4 = 3.25 of 6.
    """
    shares = {
        "methods": sum(count > 0 for count in writers.values()) / len(writers),
        "tests": passed,
        "overlap": sum(count > 1 for count in writers.values()) / len(writers),
    }
    return {name: WEIGHTS[scale][name] * share for name, share in shares.items()}


def score_unmerged(
    writers: Mapping[str, int], begun: Collection[str], scale: Scale = "unit"
) -> dict[str, float]:
    """The parts for answers that make no program: nothing in the paper's scale. The unit scale pays for
    written methods, and a quarter for those that are only ``begun``."""
    if scale == "paper":
        return NOTHING
    shares = [1.0 if count else BEGUN * (name in begun) for name, count in writers.items()]
    return {**NOTHING, "methods": WEIGHTS[scale]["methods"] * sum(shares) / len(shares)}
