"""The one evaluation loop, and the interval that goes with every success rate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo.training.collecting import (
    Playable,
    collect,
    id_of,
    is_scripted,
    named_player,
    without_solution,
)

Z95 = 1.959964
_MOST_NAMED = 20  # ids that a note names; the result has all of them
FEW_TASKS = 30  # with fewer the interval is so wide that learners can hardly be told apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The result of an evaluation. ``success_ci95`` is the Wilson interval of the success rate, by distinct tasks.

    Where agents play against each other, ``success`` is the first agent's and ``win_rate`` has each
    agent's share of tasks won.

    ``solved`` says of each task, in their order, whether it was: two evaluations of the same tasks
    can be compared task by task (:func:`paired`). Written as JSON it is a string of 0 and 1.
    """

    env: str
    policy: str
    split: str
    source: str
    feedback: (
        str | None
    )  # what seats are told of the answer key; None: the environment says nothing
    decoding: str  # "sampled" or "greedy"
    tasks: int  # that were played
    split_tasks: int | None  # that the split of the source has; None of a generator without end
    distinct_tasks: int  # of those played; a generator may draw a task again, a file repeat one
    ids: tuple[str, ...]  # of the tasks, in the order in which they stand in the source
    skipped: int  # bad records of the source
    left_out: int  # records of it that the environment does not play
    no_solution: tuple[str, ...]  # ids of the tasks that a scripted player left without an answer
    seed: int
    success: float
    success_ci95: tuple[float, float]
    solved: tuple[bool, ...]
    win_rate: Mapping[str, float] | None  # per agent that plays against others; None: nobody does
    draws: float | None  # share of tasks without a winner
    mean_return: Mapping[str, float]  # per agent, undiscounted
    mean_turns: float  # decisions of the busiest agent
    answers: int  # of all agents in all tasks
    refused: int  # of them, those left empty as the prompt was too long for the model
    tokens: int  # sampled in these answers
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
    """``200 of 1319``: the tasks of an evaluation, and those that its split has.

    Only the first number where the split has no end, and in results of earlier versions.
    """
    count = evaluation.get("split_tasks")
    return str(evaluation["tasks"]) if count is None else f"{evaluation['tasks']} of {count}"


def wilson(successes: float, trials: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (E. B. Wilson, 1927); z=1.96 for 95%.

    Both may be effective numbers, which need not be whole (:func:`clustered`).
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
    are alike, so they are a cluster and not so many trials. The interval is Wilson's with the
    number of trials divided by the design effect: the variance of the rate with tasks as clusters,
    over that of independent trials (J. N. K. Rao and A. J. Scott, 1992; its coverage: N. Dean and
    M. Pagano, 2015). Of one evaluation it is Wilson's. A design effect below 1 counts as 1; where
    all or none are solved it cannot be estimated and each task counts once.

    It covers the choice of tasks and the sampling of answers by these policies. It does not cover
    how much training differs from seed to seed.
    """
    results = [[one[i] for one in solved if i < len(one)] for i in range(max(map(len, solved)))]
    return _of_clusters(results, z)


def _of_clusters(results: Sequence[Sequence[bool]], z: float) -> tuple[float, float]:
    """The interval where the results in one of the sequences are alike."""
    successes, trials = sum(map(sum, results)), sum(map(len, results))
    if successes in (0, trials):
        return wilson(len(results) if successes else 0, len(results), z)
    rate = successes / trials
    between = sum((sum(of_task) - rate * len(of_task)) ** 2 for of_task in results)
    effect = max(1.0, between / (trials * rate * (1 - rate)))
    return wilson(successes / effect, trials / effect, z)


def pooled(measured: Sequence[Mapping[str, Any]]) -> tuple[float, tuple[float, float]]:
    """The success rate over evaluations of the same tasks, and its interval (:func:`clustered`).

    ``measured``: evaluations as written to files, with ``solved``, a string of 0 and 1. Where one of
    them has none, but ``success`` and ``tasks``, each distinct task counts once: the widest that
    the interval can be.
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
    """Two policies on the same tasks: how many distinct tasks only the one solved, or the one
    solved under more seeds than the other did, and the test of no difference."""

    only_first: int
    only_second: int
    p_value: float  # exact, two-sided


def paired(first: Sequence[bool], second: Sequence[bool]) -> Paired:
    """McNemar's exact test (Q. McNemar, 1947) of two evaluations of the same tasks.

    If neither policy is better, each of the tasks that only one of them solved is as likely to be
    the one's as the other's. Raises ``ValueError`` for different numbers of tasks.
    """
    return paired_over_seeds([first], [second])


def paired_over_seeds(first: Sequence[Sequence[bool]], second: Sequence[Sequence[bool]]) -> Paired:
    """The same test where each policy was evaluated on the same tasks under several seeds.

    The unit is the distinct task, and its difference is the number of seeds under which the first
    solved it minus that of the second. If neither policy is better, each task's difference is as
    likely to have the other sign; the p-value is the share of all choices of signs whose sum is at
    least as far from 0 (R. A. Fisher's randomization test, 1935, computed exactly). With one seed
    it is McNemar's. Raises ``ValueError`` for different numbers of seeds or tasks.
    """
    seeds = list(zip(first, second, strict=True))
    of_seeds = [[a - b for a, b in zip(one, other, strict=True)] for one, other in seeds]
    differences = [sum(of_task) for of_task in zip(*of_seeds, strict=True)]
    sums = {0: 1}  # of the differences under a choice of signs: how many choices give each
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
    """Play each of the first ``tasks`` tasks of a split once, as :func:`llmzoo.collect` does; ``"all"``
    plays every one.

    Of an environment that a function makes, ``split`` only labels the result. A task whose solution
    a scripted player does not know is played with an empty answer, and named in ``no_solution``.
    """
    player, name = named_player(policy, env, seed=seed, split=split, env_args=env_args)
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
    alike: dict[Any, list[bool]] = {}  # results on one content
    for number, episode in enumerate(played):
        alike.setdefault(episode.info.get("task_id", number), []).append(episode.success)
    interval = _of_clusters([*alike.values()], Z95)
    ids = tuple(id_of(episode, number) for number, episode in enumerate(played))
    unanswered = [without_solution(episode, player) for episode in played]
    no_solution = tuple(name for name, missing in zip(ids, unanswered, strict=True) if missing)
    info = played[0].info
    decisions = [decision for e in played for decision in e.decisions]
    refused = sum(
        decision.completion.refused and not is_scripted(player, decision.agent)
        for decision in decisions
    )
    agents = list(played[0].totals)
    return Evaluation(
        env=played[0].env_id,
        policy=name,
        split=split,
        source=str(info.get("source", "environment")),
        feedback=info.get("feedback"),
        decoding="greedy" if greedy else "sampled",
        tasks=len(played),
        split_tasks=info.get("tasks"),
        distinct_tasks=len(alike),
        ids=ids,
        skipped=info.get("skipped", 0),
        left_out=info.get("left_out", 0),
        no_solution=no_solution,
        seed=seed,
        success=sum(solved) / len(played),
        success_ci95=interval,
        solved=solved,
        **_outcomes([e.info["outcomes"] for e in played if "outcomes" in e.info]),
        mean_return={a: sum(e.totals[a] for e in played) / len(played) for a in agents},
        mean_turns=sum(max(len(e.of(a)) for a in e.agents) for e in played) / len(played),
        answers=len(decisions),
        refused=refused,
        tokens=sum(len(decision.completion.ids) for decision in decisions),
        seconds=seconds,
        notes=(
            *_of_few_tasks(info, split, len(played), interval),
            *_of_repeats(len(alike), len(played)),
            *_of_records(info),
            *_of_no_solution(no_solution, len(played)),
            *_of_refused(refused, len(decisions)),
            *_of_feedback(info),
        ),
    )


def _outcomes(outcomes: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """``win_rate`` and ``draws``; ``outcomes``: of each task "won", "drawn" or "lost" by agent."""
    if not outcomes:
        return {"win_rate": None, "draws": None}
    won = {
        agent: sum(one[agent] == "won" for one in outcomes) / len(outcomes) for agent in outcomes[0]
    }
    drawn = sum("drawn" in one.values() for one in outcomes)
    return {"win_rate": won, "draws": drawn / len(outcomes)}


def _of_few_tasks(
    info: Mapping[str, Any], split: str, played: int, interval: tuple[float, float]
) -> Iterator[str]:
    count = info.get("tasks")
    if count is not None and count < FEW_TASKS:
        low, high = interval
        yield (
            f"the {info.get('split', split)} split of this source has {count} tasks, too few to "
            f"compare learners: the 95% interval [{low:.1%}, {high:.1%}] of the {played} played is "
            "all there is. Take a source with more tasks (source: hub, or a file)"
        )


def _of_repeats(distinct: int, tasks: int) -> Iterator[str]:
    if distinct < tasks:
        yield (
            f"{distinct} of the {tasks} tasks are distinct: the interval takes results on one of "
            "them for alike"
        )


def _of_records(info: Mapping[str, Any]) -> Iterator[str]:
    if info.get("skipped"):
        yield f"bad records of the source that were skipped: {info['skipped']}"
    if info.get("left_out"):
        yield (
            "records of the source of a kind that the environment leaves out, as its page says: "
            f"{info['left_out']}"
        )


def _of_no_solution(ids: Sequence[str], tasks: int) -> Iterator[str]:
    if ids:
        more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
        yield (
            f"tasks without a known solution, which were left without an answer and count as not "
            f"solved: {len(ids)} of {tasks} ({', '.join(ids[:_MOST_NAMED])}{more})"
        )


def _of_refused(refused: int, answers: int) -> Iterator[str]:
    if refused:
        yield (
            f"{refused} of {answers} prompts were refused, as too long for the model: they were "
            "answered with an empty text. Lower max_new_tokens, or take a model with a longer context"
        )


def _of_feedback(info: Mapping[str, Any]) -> Iterator[str]:
    if info.get("feedback") == "verdict":
        yield (
            "seats are told whether their answers are right: over several rounds the success rate is "
            "a pass@rounds, not a pass@1"
        )
