"""Evaluates policies on held-out tasks; confidence intervals and paired tests of success rates."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo.policies.base import Policy
from llmzoo.records import Episode
from llmzoo.training.collecting import (
    Playable,
    collect,
    id_of,
    is_scripted,
    named_player,
    without_solution,
)

Z95 = 1.959964
_MOST_NAMED = 20  # ids in a note; the result has all of them
FEW_TASKS = 30  # with fewer, the interval is too wide to compare learners


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The result of an evaluation.

    ``success_ci95`` is the Wilson interval of the success rate, with distinct tasks as units. If
    agents play against each other, ``success`` is the first agent's and ``win_rate`` has the share
    of tasks that each agent won. ``solved`` has the result of each task, in order, so that two
    evaluations of the same tasks can be compared (:func:`paired`). In JSON it is a string of 0 and 1.
    """

    env: str
    policy: str
    split: str
    source: str
    feedback: str | None  # what agents are told of the answer key; None if it is not declared
    decoding: str  # "sampled" or "greedy"
    tasks: int  # tasks played
    split_tasks: int | None  # tasks in the split; None for an endless generator
    distinct_tasks: int  # distinct tasks among those played; sources may repeat tasks
    ids: tuple[str, ...]  # ids of the tasks, in the order of the source
    skipped: int  # bad records of the source
    left_out: int  # records that the environment does not play
    no_solution: tuple[str, ...]  # ids of the tasks for which a scripted player knew no answer
    seed: int
    success: float
    success_ci95: tuple[float, float]
    solved: tuple[bool, ...]
    win_rate: Mapping[str, float] | None  # per agent; None if nobody plays against others
    draws: float | None  # share of tasks without a winner
    mean_return: Mapping[str, float]  # per agent, undiscounted
    mean_turns: float  # decisions of the busiest agent
    answers: int  # answers of all agents in all tasks
    refused: int  # answers left empty because the prompt was too long for the model
    tokens: int  # sampled tokens of all answers
    seconds: float
    notes: tuple[str, ...] = ()  # what to keep in mind when the numbers are read

    def to_dict(self) -> dict[str, Any]:
        solved = "".join("1" if solved else "0" for solved in self.solved)
        return {
            **asdict(self),
            "success_ci95": list(self.success_ci95),
            "ids": list(self.ids),
            "no_solution": list(self.no_solution),
            "solved": solved,
            "notes": list(self.notes),
        }


def counted(evaluation: Mapping[str, Any]) -> str:
    """``200 of 1319``: the tasks of an evaluation and of its split.

    Endless splits, and results of earlier versions, give the first number only.
    """
    count = evaluation.get("split_tasks")
    return str(evaluation["tasks"]) if count is None else f"{evaluation['tasks']} of {count}"


def wilson(successes: float, trials: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (E. B. Wilson, 1927); z=1.96 for 95%.

    Both may be effective numbers, which need not be integers (:func:`clustered`).
    """
    if trials == 0:
        return 0.0, 1.0
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else max(0.0, centre - half)  # exact at the ends
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return low, high


def clustered(solved: Sequence[Sequence[bool]], z: float = Z95) -> tuple[float, float]:
    """The interval of a success rate over several evaluations of the same tasks.

    ``solved[s][i]``: whether evaluation s solved task i. Results on one task under several seeds
    are correlated, so each task is a cluster. The interval is Wilson's with the number of trials
    divided by the design effect: the variance of the rate with tasks as clusters over that of
    independent trials (J. N. K. Rao and A. J. Scott, 1992; coverage: N. Dean and M. Pagano, 2015).
    For one evaluation this is Wilson's interval. A design effect below 1 counts as 1. If all or
    none are solved it cannot be estimated, and each task counts once.

    The interval covers the choice of tasks and the sampling of answers, not the variation of
    training between seeds.
    """
    results = [[one[i] for one in solved if i < len(one)] for i in range(max(map(len, solved)))]
    return _of_clusters(results, z)


def _of_clusters(results: Sequence[Sequence[bool]], z: float) -> tuple[float, float]:
    """The interval for correlated results within each sequence."""
    successes, trials = sum(map(sum, results)), sum(map(len, results))
    if successes in (0, trials):
        return wilson(len(results) if successes else 0, len(results), z)
    rate = successes / trials
    between = sum((sum(of_task) - rate * len(of_task)) ** 2 for of_task in results)
    effect = max(1.0, between / (trials * rate * (1 - rate)))
    return wilson(successes / effect, trials / effect, z)


def pooled(measured: Sequence[Mapping[str, Any]]) -> tuple[float, tuple[float, float]]:
    """The success rate over evaluations of the same tasks, and its interval (:func:`clustered`).

    ``measured``: evaluations as written to files, with ``solved`` as a string of 0 and 1. If one
    lacks it, each distinct task counts once, which gives the widest possible interval.
    """
    if all("solved" in one for one in measured):
        solved = [[mark == "1" for mark in one["solved"]] for one in measured]
        return sum(map(sum, solved)) / sum(map(len, solved)), clustered(solved)
    rate = sum(one["success"] * one["tasks"] for one in measured)
    rate /= sum(one["tasks"] for one in measured)
    distinct = max(one["tasks"] for one in measured)
    return rate, wilson(rate * distinct, distinct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Two policies on the same tasks: the number of distinct tasks that each solved under more seeds
    than the other, and the p-value of no difference."""

    only_first: int
    only_second: int
    p_value: float  # exact, two-sided


def paired(first: Sequence[bool], second: Sequence[bool]) -> Paired:
    """McNemar's exact test (Q. McNemar, 1947) of two evaluations of the same tasks.

    Under the null hypothesis, a task that only one policy solved is equally likely to be either's.
    Raises ``ValueError`` for different numbers of tasks.
    """
    return paired_over_seeds([first], [second])


def paired_over_seeds(first: Sequence[Sequence[bool]], second: Sequence[Sequence[bool]]) -> Paired:
    """The same test for policies that were evaluated on the same tasks under several seeds.

    A task's difference is the number of seeds under which the first policy solved it minus that of
    the second. Under the null hypothesis each difference is equally likely to have the other sign.
    The p-value is the share of all choices of signs whose sum is at least as far from 0 (R. A.
    Fisher's randomization test, 1935, computed exactly). With one seed this is McNemar's test.
    Raises ``ValueError`` for different numbers of seeds or tasks.
    """
    seeds = list(zip(first, second, strict=True))
    of_seeds = [[a - b for a, b in zip(one, other, strict=True)] for one, other in seeds]
    differences = [sum(of_task) for of_task in zip(*of_seeds, strict=True)]
    sums = {0: 1}  # sum of signed differences -> number of sign choices that give it
    for size in map(abs, filter(None, differences)):
        added: dict[int, int] = {}
        for value, count in sums.items():
            for signed in (value - size, value + size):
                added[signed] = added.get(signed, 0) + count
        sums = added
    as_far = sum(count for value, count in sums.items() if abs(value) >= abs(sum(differences)))
    return Paired(
        only_first=sum(difference > 0 for difference in differences),
        only_second=sum(difference < 0 for difference in differences),
        p_value=as_far / sum(sums.values()),
    )


def evaluate(
    env: str | Callable[[], AECEnv],
    policy: Playable,
    *,
    tasks: int | Literal["all"] = 200,
    split: str = "test",
    seed: int = 0,
    greedy: bool = False,
    env_args: Mapping[str, Any] | None = None,
    ended: Callable[[], object] | None = None,
) -> Evaluation:
    """Play each of the first ``tasks`` tasks of a split once, or ``"all"``; see :func:`llmzoo.collect`.

    If a function makes the environment, ``split`` only labels the result. A scripted player gives an
    empty answer to a task whose solution it does not know; ``no_solution`` lists these tasks.
    """
    player, name = named_player(policy, env, seed=seed, split=split, env_args=env_args)
    started = time.monotonic()
    options: dict[str, Any] = {"tasks": tasks, "split": split, "seed": seed, "greedy": greedy}
    episodes = collect(env, player, **options, env_args=env_args, ended=ended)
    result = _summed_up(episodes, player)
    return Evaluation(
        policy=name,
        split=split,
        decoding="greedy" if greedy else "sampled",
        seed=seed,
        seconds=time.monotonic() - started,
        **result,
        notes=tuple(_notes(result, episodes[0].info, split)),
    )


def _summed_up(
    episodes: Sequence[Episode], player: Policy | Mapping[str, Policy]
) -> dict[str, Any]:
    """The fields of an :class:`Evaluation` that the episodes give."""
    count, info = len(episodes), episodes[0].info
    solved = tuple(episode.success for episode in episodes)
    by_content: dict[Any, list[bool]] = {}  # the results of each distinct task
    for number, episode in enumerate(episodes):
        by_content.setdefault(episode.info.get("task_id", number), []).append(episode.success)
    ids = tuple(id_of(episode, number) for number, episode in enumerate(episodes))
    unanswered = [without_solution(episode, player) for episode in episodes]
    decisions = [decision for episode in episodes for decision in episode.decisions]
    return {
        "env": episodes[0].env_id,
        "source": str(info.get("source", "environment")),
        "feedback": info.get("feedback"),
        "tasks": count,
        "split_tasks": info.get("tasks"),
        "distinct_tasks": len(by_content),
        "ids": ids,
        "skipped": info.get("skipped", 0),
        "left_out": info.get("left_out", 0),
        "no_solution": tuple(id for id, missing in zip(ids, unanswered, strict=True) if missing),
        "success": sum(solved) / count,
        "success_ci95": _of_clusters([*by_content.values()], Z95),
        "solved": solved,
        **_outcomes([e.info["outcomes"] for e in episodes if "outcomes" in e.info]),
        "mean_return": {a: sum(e.totals[a] for e in episodes) / count for a in episodes[0].totals},
        "mean_turns": sum(max(len(e.of(a)) for a in e.agents) for e in episodes) / count,
        "answers": len(decisions),
        "refused": sum(
            d.completion.refused and not is_scripted(player, d.agent) for d in decisions
        ),
        "tokens": sum(len(decision.completion.ids) for decision in decisions),
    }


def _outcomes(outcomes: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """``win_rate`` and ``draws``; ``outcomes``: for each task, "won", "drawn" or "lost" per agent."""
    if not outcomes:
        return {"win_rate": None, "draws": None}
    won = {
        agent: sum(one[agent] == "won" for one in outcomes) / len(outcomes) for agent in outcomes[0]
    }
    drawn = sum("drawn" in one.values() for one in outcomes)
    return {"win_rate": won, "draws": drawn / len(outcomes)}


def _notes(result: Mapping[str, Any], info: Mapping[str, Any], split: str) -> Iterator[str]:
    """What to keep in mind when the numbers of an evaluation are read."""
    tasks, split_tasks, unsolved = result["tasks"], result["split_tasks"], result["no_solution"]
    if split_tasks is not None and split_tasks < FEW_TASKS:
        low, high = result["success_ci95"]
        yield (
            f"the {info.get('split', split)} split of this source has {split_tasks} tasks, too few to "
            f"compare learners: the 95% interval [{low:.1%}, {high:.1%}] of the {tasks} played is "
            "all there is. Use a source with more tasks (source: hub, or a file)"
        )
    if result["distinct_tasks"] < tasks:
        yield (
            f"{result['distinct_tasks']} of the {tasks} tasks are distinct: the interval counts "
            "results on the same task as one cluster"
        )
    if result["skipped"]:
        yield f"bad records of the source that were skipped: {result['skipped']}"
    if result["left_out"]:
        yield (
            "records of the source that the environment leaves out, as its page says: "
            f"{result['left_out']}"
        )
    if unsolved:
        more = f" and {len(unsolved) - _MOST_NAMED} more" if len(unsolved) > _MOST_NAMED else ""
        yield (
            "tasks without a known solution, which got no answer and count as not solved: "
            f"{len(unsolved)} of {tasks} ({', '.join(unsolved[:_MOST_NAMED])}{more})"
        )
    if result["refused"]:
        yield (
            f"{result['refused']} of {result['answers']} prompts were too long for the model and got "
            "an empty answer. Lower max_new_tokens, or use a model with a longer context"
        )
    if result["feedback"] == "verdict":
        yield (
            "agents are told whether their answers are right: over several rounds the success rate "
            "is a pass@rounds, not a pass@1"
        )
