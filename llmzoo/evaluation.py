"""The one evaluation loop, and the interval that goes with every success rate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pettingzoo import AECEnv

from llmzoo.collecting import Playable, collect, named_player


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What an evaluation found. ``success_ci95`` is the Wilson interval of the success rate.

    ``solved`` says of each task, in their order, whether it was: two evaluations of the same tasks
    can be compared task by task (:func:`paired`). Written as JSON it is a string of 0 and 1.
    """

    env: str
    policy: str
    split: str
    source: str
    decoding: str  # "sampled" or "greedy"
    tasks: int
    seed: int
    success: float
    success_ci95: tuple[float, float]
    solved: tuple[bool, ...]
    mean_return: Mapping[str, float]  # per agent, undiscounted
    mean_turns: float  # decisions of the busiest agent
    tokens: int  # sampled
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        solved = "".join("1" if solved else "0" for solved in self.solved)
        return {**asdict(self), "success_ci95": list(self.success_ci95), "solved": solved}


def wilson(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval of a proportion (E. B. Wilson, 1927); z=1.96 for 95%."""
    if trials == 0:
        return 0.0, 1.0
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else max(0.0, centre - half)  # exact at the ends
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Two policies on the same tasks: those that only one of them solved, and McNemar's test."""

    only_first: int
    only_second: int
    p_value: float  # exact, two-sided


def paired(first: Sequence[bool], second: Sequence[bool]) -> Paired:
    """McNemar's exact test (Q. McNemar, 1947) of two evaluations of the same tasks.

    If neither policy is better, each of the tasks that only one of them solved is as likely to be
    the one's as the other's. Raises ``ValueError`` for different numbers of tasks.
    """
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    differing = only_first + only_second
    fewer = min(only_first, only_second)
    tail = sum(math.comb(differing, k) for k in range(fewer + 1)) / 2**differing
    return Paired(only_first=only_first, only_second=only_second, p_value=min(1.0, 2 * tail))


def evaluate(
    env: str | Callable[[], AECEnv],
    policy: Playable,
    *,
    tasks: int = 200,
    split: str = "test",
    seed: int = 0,
    greedy: bool = False,
    env_args: Mapping[str, Any] | None = None,
    ended: Callable[[], object] | None = None,
) -> Evaluation:
    """Play each of the first ``tasks`` tasks of a split once, as :func:`llmzoo.collect` does.

    Of an environment that a function makes, ``split`` only labels the result.
    """
    player, name = named_player(policy)
    started = time.monotonic()
    played = collect(
        env,
        player,
        tasks=tasks,
        split=split,
        seed=seed,
        greedy=greedy,
        env_args=env_args,
        ended=ended,
    )
    seconds = time.monotonic() - started
    solved = tuple(e.success for e in played)
    successes = sum(solved)
    agents = list(played[0].totals)
    return Evaluation(
        env=played[0].env_id,
        policy=name,
        split=split,
        source=str(played[0].info.get("source", "environment")),
        decoding="greedy" if greedy else "sampled",
        tasks=len(played),
        seed=seed,
        success=successes / len(played),
        success_ci95=wilson(successes, len(played)),
        solved=solved,
        mean_return={a: sum(e.totals[a] for e in played) / len(played) for a in agents},
        mean_turns=sum(max(len(e.of(a)) for a in e.agents) for e in played) / len(played),
        tokens=sum(len(d.completion.ids) for e in played for d in e.decisions),
        seconds=seconds,
    )
