"""What a written class is worth: methods, tests and overlap, on the published scale of 6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from llmzoo.envs.coding import judging
from llmzoo.envs.coding.class_eval.tasks import ClassTask, Half
from llmzoo.sandbox.results import Verdict

WEIGHTS = {"methods": 2.0, "tests": 4.0, "overlap": -1.0}
MOST = 6.0
NOTHING = dict.fromkeys(WEIGHTS, 0.0)  # of a whole that is no program

Scale = Literal["unit", "paper"]


def judge(task: ClassTask, program: str, half: Half) -> Verdict:
    """The verdict of a half of the tests. They import what the task imports themselves: where they
    took it from the program, the program could put something else in its place."""
    return judging.check(program, f"{task.imports}\n{half.source}")


def score(writers: Mapping[str, int], passed: float, scale: Scale = "unit") -> dict[str, float]:
    """The parts of the reward.

    ``writers``: how many seats wrote each method. ``passed``: the share of the hidden tests. For 4
    methods of which 3 are written, one of them twice, and half of the tests:
    2 x 3/4 + 4 x 1/2 - 1/4 = 3.25 of 6.
    """
    shares = {
        "methods": sum(count > 0 for count in writers.values()) / len(writers),
        "tests": passed,
        "overlap": sum(count > 1 for count in writers.values()) / len(writers),
    }
    whole = MOST if scale == "unit" else 1.0
    return {name: WEIGHTS[name] * share / whole for name, share in shares.items()}
