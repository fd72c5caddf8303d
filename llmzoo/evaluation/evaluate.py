"""Evaluates policies on held-out tasks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo.evaluation.collect import (
    DEFAULT_CONCURRENCY,
    PoliciesLike,
    as_policy_mapping,
    collect_chunks,
    has_no_solution,
    resolve_policy,
    scripted_agents,
    task_label,
    with_style_args,
)
from llmzoo.evaluation.episode_folder import open_episode_folder
from llmzoo.evaluation.statistics import Z95, clustered_wilson_interval, mean_interval, pass_at_k
from llmzoo.policies.base import Policy
from llmzoo.policies.endpoint import EndpointPolicy
from llmzoo.policies.settings import SamplingPolicy
from llmzoo.records import Episode
from llmzoo.runs.provenance import record_start
from llmzoo.runs.run_folder import check_new_folder

_MAX_NAMED = 20  # ids in a note; the result has all of them
FEW_TASKS = 30  # with fewer, the interval is too wide to compare learners


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The result of an evaluation.

    ``success_ci95`` is the Wilson interval of the success rate, with distinct tasks as units. If
    agents play against each other, ``success`` is the first agent's and ``win_rate`` has the
    fraction of tasks that each agent won. ``solved`` has the result of each episode, in order, so
    that two evaluations of the same tasks can be compared
    (:func:`llmzoo.evaluation.statistics.mcnemar_test`). In JSON it is a string of 0 and 1.
    ``return_ci95`` is :func:`mean_interval` of ``returns``, again with distinct tasks as units.

    With several samples per task, ``success`` is the success rate over all episodes, which is
    pass@1, and ``pass_at`` has :func:`pass_at` for 1, 2, 4 and so on up to ``samples``.
    ``majority`` counts a task as solved if the most common final answer of its samples is right.
    Environments whose answers can be compared put them into ``infos`` as ``answer``.
    """

    env: str
    policy: str
    split: str
    source: str
    feedback: str | None  # what agents learn about the solution; None if not declared
    decoding: str  # "sampled" or "greedy"
    tasks: int  # tasks played
    samples: int  # episodes per task
    split_tasks: int | None  # tasks in the split; None for an endless generator
    distinct_tasks: int  # distinct tasks among those played; sources may repeat tasks
    ids: tuple[str, ...]  # the task of each episode, in the order of the source
    skipped: int  # unreadable records of the source
    left_out: int  # records that the environment excludes
    no_solution: tuple[str, ...]  # ids of tasks that a scripted policy has no solution for
    seed: int
    success: float
    success_ci95: tuple[float, float]
    solved: tuple[bool, ...]  # for each episode, with a task's samples together
    pass_at: Mapping[int, float] | None  # pass@k by k; None for one sample
    pass_at_ci95: Mapping[int, tuple[float, float] | None] | None
    majority: float | None  # success of the most common answer; None if answers cannot be compared
    win_rate: Mapping[str, float] | None  # per agent; None if agents do not play against each other
    draws: float | None  # share of tasks without a winner
    mean_return: Mapping[str, float]  # per agent, undiscounted
    return_ci95: Mapping[str, tuple[float, float] | None]  # None for a single task
    returns: Mapping[str, tuple[float, ...]]  # of each episode, in order
    mean_turns: float  # decisions of the agent with the most decisions
    answers: int  # completions of all agents in all tasks
    refused: int  # empty completions because the prompt was too long for the model
    episodes_failed: int  # episodes with a failed judge, tool or endpoint; counted as not solved
    answers_failed: int  # empty completions because the call of an endpoint failed
    tokens: int  # sampled tokens of all completions
    usage: Mapping[str, int] | None  # tokens "read" and "written" by endpoints, as they count them
    seconds: float
    notes: tuple[str, ...] = ()  # caveats for reading the numbers

    def to_dict(self) -> dict[str, Any]:
        solved = "".join("1" if solved else "0" for solved in self.solved)
        return {
            **asdict(self),
            "success_ci95": list(self.success_ci95),
            "return_ci95": {a: ends and list(ends) for a, ends in self.return_ci95.items()},
            "returns": {a: [round(x, 6) for x in xs] for a, xs in self.returns.items()},
            "ids": list(self.ids),
            "no_solution": list(self.no_solution),
            "solved": solved,
            "pass_at": _with_string_keys(self.pass_at),
            "pass_at_ci95": _with_string_keys(self.pass_at_ci95),
            "notes": list(self.notes),
        }


def _with_string_keys(values: Mapping[int, Any] | None) -> dict[str, Any] | None:
    """The mapping with string keys, as in JSON."""
    return None if values is None else {str(k): value for k, value in values.items()}


def format_task_count(evaluation: Mapping[str, Any]) -> str:
    """``200 of 1319``: the tasks of an evaluation and of its split.

    For unlimited splits, and results of earlier versions, only the first number.
    """
    count = evaluation.get("split_tasks")
    return str(evaluation["tasks"]) if count is None else f"{evaluation['tasks']} of {count}"


def evaluate(
    env: str | Callable[[], AECEnv],
    policy: PoliciesLike,
    *,
    tasks: int | Literal["all"] = 200,
    split: str = "test",
    seed: int = 0,
    greedy: bool = False,
    samples: int = 1,
    env_args: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    concurrency: int = DEFAULT_CONCURRENCY,
    on_episode_end: Callable[[Episode], object] | None = None,
) -> Evaluation:
    """Play each of the first ``tasks`` tasks of a split, or ``"all"``; see :func:`llmzoo.collect`.

    If ``env`` is a function that takes ``split``, it is called with it. A scripted policy gives an
    empty action for a task whose solution it does not know; ``no_solution`` lists these tasks.

    ``samples``: episodes per task, for pass@k. ``out``: a folder in which every episode is saved as
    it ends (:mod:`llmzoo.evaluation.episode_folder`); with ``resume``, an interrupted evaluation
    continues there, and episodes in which the call of an endpoint failed are played again.
    ``concurrency``: episodes played at once.

    Raises :class:`llmzoo.errors.ConfigError` for any other kind of environment or policy, and
    :class:`llmzoo.errors.EndpointError` if an endpoint does not respond: if its first 8 calls fail,
    if 32 calls in a row fail later, over a minute or more, or if no call for an agent has succeeded
    at the end.
    """
    if out is not None and not resume:
        check_new_folder(Path(out))
    policies, name = resolve_policy(policy, env, seed=seed, split=split, env_args=env_args)
    started, before = time.monotonic(), _endpoint_usage(policies)
    args = dict(env_args or {})
    options: dict[str, Any] = {
        **{"tasks": tasks, "split": split, "seed": seed, "greedy": greedy},
        **{"env_args": args, "concurrency": concurrency},
    }
    with ExitStack() as stack:
        saved = None
        if out is not None:
            config = {"env": str(env), "policy": name, "samples": samples, **options}
            config["policies"] = _policy_settings(policies)
            config["env_args"] = (
                with_style_args(env, policies, args) if isinstance(env, str) else args
            )
            saved = stack.enter_context(
                open_episode_folder(
                    Path(out), config, resume=resume, replay_interrupted=not is_billed(policies)
                )
            )
            record_start(Path(out))
        chunks = collect_chunks(
            env, policies, **options, repeats=samples, on_episode_end=on_episode_end, saved=saved
        )
        episodes = [episode for chunk in chunks for episode in chunk]
        usage = _endpoint_usage(policies)
        evaluation = compute_evaluation(
            episodes,
            policy=name,
            split=split,
            seed=seed,
            greedy=greedy,
            samples=samples,
            scripted=scripted_agents(policies, episodes[0].totals),
            usage={name: usage[name] - before[name] for name in usage}
            if is_billed(policies)
            else None,
            seconds=time.monotonic() - started,
        )
        if saved is not None:
            saved.finish(evaluation.to_dict())
    return evaluation


def compute_evaluation(
    episodes: Sequence[Episode],
    *,
    policy: str,
    split: str,
    seed: int,
    greedy: bool,
    samples: int,
    scripted: Collection[str],
    usage: Mapping[str, int] | None,
    seconds: float,
) -> Evaluation:
    """The evaluation whose episodes these are, in the order of tasks, with a task's samples together.

    ``scripted``: the agents that scripted policies play. The other arguments are fields of
    :class:`Evaluation`.
    """
    result = _summarize(episodes, scripted, samples)
    return Evaluation(
        policy=policy,
        split=split,
        decoding="greedy" if greedy else "sampled",
        seed=seed,
        seconds=seconds,
        usage=usage,
        **result,
        notes=tuple(_notes(result, episodes[0].info, split)),
    )


def _policy_settings(policies: Policy | Mapping[str, Policy]) -> dict[str, Any]:
    """The settings of each agent's policy that must not change when an evaluation is resumed."""
    settings: dict[str, dict[str, Any]] = {}
    hashes: dict[int, str | None] = {}  # agents may share a model, which can be large
    for agent, policy in as_policy_mapping(policies).items():
        model = policy if isinstance(policy, SamplingPolicy) else None
        sampling, chat = model and model.sampling_for(agent), model and model.chat_for(agent)
        if model is not None and id(model) not in hashes:
            hashes[id(model)] = model.hash_weights()
        settings[agent] = {
            "policy": policy.name,
            "sampling": sampling and asdict(sampling),
            "chat": chat and asdict(chat),
            "weights": hashes.get(id(model)),
        }
    return settings


def _endpoint_usage(policies: Policy | Mapping[str, Policy]) -> dict[str, int]:
    """Tokens that endpoints have read and written so far."""
    endpoints = {
        id(p): p for p in as_policy_mapping(policies).values() if isinstance(p, EndpointPolicy)
    }
    return {
        "read": sum(policy.tokens_read for policy in endpoints.values()),
        "written": sum(policy.tokens_written for policy in endpoints.values()),
    }


def is_billed(policies: Policy | Mapping[str, Policy]) -> bool:
    """Whether completions come from a server whose calls are not repeated unnecessarily."""
    return any(
        isinstance(policy, EndpointPolicy) for policy in as_policy_mapping(policies).values()
    )


def _summarize(
    episodes: Sequence[Episode], scripted: Collection[str], samples: int
) -> dict[str, Any]:
    """The fields of an :class:`Evaluation` that are computed from the episodes."""
    count, info = len(episodes), episodes[0].info
    solved = tuple(episode.success for episode in episodes)
    by_content: dict[Any, list[Episode]] = {}  # the episodes of each distinct task
    for number, episode in enumerate(episodes):
        by_content.setdefault(episode.info.get("task_id", number // samples), []).append(episode)
    agents = tuple(episodes[0].totals)
    returns = {a: tuple(episode.totals[a] for episode in episodes) for a in agents}
    ids = tuple(task_label(episode, number // samples) for number, episode in enumerate(episodes))
    unanswered = [has_no_solution(episode, scripted) for episode in episodes]
    decisions = [decision for episode in episodes for decision in episode.decisions]
    return {
        "env": episodes[0].env_id,
        "source": str(info.get("source", "environment")),
        "feedback": info.get("feedback"),
        "tasks": count // samples,
        "samples": samples,
        "split_tasks": info.get("tasks"),
        "distinct_tasks": len(by_content),
        "ids": ids,
        "skipped": info.get("skipped", 0),
        "left_out": info.get("left_out", 0),
        "no_solution": tuple(
            dict.fromkeys(id for id, missing in zip(ids, unanswered, strict=True) if missing)
        ),
        "success": sum(solved) / count,
        "success_ci95": clustered_wilson_interval(
            [[e.success for e in es] for es in by_content.values()], Z95
        ),
        "solved": solved,
        **_pass_at_metrics(by_content.values(), samples),
        **_outcome_rates([e.info["outcomes"] for e in episodes if "outcomes" in e.info]),
        "mean_return": {a: sum(returns[a]) / count for a in agents},
        "return_ci95": {
            a: mean_interval([[e.totals[a] for e in es] for es in by_content.values()])
            for a in agents
        },
        "returns": returns,
        "mean_turns": sum(max(len(e.decisions_of(a)) for a in e.agents) for e in episodes) / count,
        "answers": len(decisions),
        "refused": sum(d.completion.refused and d.agent not in scripted for d in decisions),
        "episodes_failed": sum(e.failure != "" for e in episodes),
        "answers_failed": sum(d.completion.failure != "" for d in decisions),
        "tokens": sum(len(decision.completion.ids) for decision in decisions),
    }


def _pass_at_metrics(by_content: Iterable[Sequence[Episode]], samples: int) -> dict[str, Any]:
    """``pass_at`` with its intervals, and ``majority``.

    ``by_content``: the episodes of each distinct task. A set may contain a task several times.
    """
    if samples == 1:
        return {"pass_at": None, "pass_at_ci95": None, "majority": None}
    clusters = [[es[i : i + samples] for i in range(0, len(es), samples)] for es in by_content]
    widths = sorted({*(2**i for i in range(samples.bit_length()) if 2**i <= samples), samples})
    each_k = {
        k: [
            [pass_at_k(k, sum(e.success for e in es), samples) for es in cluster]
            for cluster in clusters
        ]
        for k in widths
    }
    tasks = [episodes for cluster in clusters for episodes in cluster]
    majorities = [right for right in map(_is_majority_right, tasks) if right is not None]
    return {
        "pass_at": {k: sum(map(sum, rates)) / len(tasks) for k, rates in each_k.items()},
        "pass_at_ci95": {k: _clamp_to_unit(mean_interval(rates)) for k, rates in each_k.items()},
        "majority": sum(majorities) / len(tasks) if majorities else None,
    }


def _clamp_to_unit(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    return ends and (max(0.0, ends[0]), min(1.0, ends[1]))


def _is_majority_right(task_episodes: Sequence[Episode]) -> bool | None:
    """Whether the most common answer (the earliest in a tie) is right; None without answers."""
    answers = [e.info.get("answer") for e in task_episodes]
    counts = Counter(answer for answer in answers if answer is not None)
    if not counts:
        return None
    chosen = max(counts, key=lambda answer: counts[answer])
    return task_episodes[answers.index(chosen)].success


def _outcome_rates(outcomes: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """``win_rate`` and ``draws``; ``outcomes``: for each task, "won", "drawn" or "lost" per agent."""
    if not outcomes:
        return {"win_rate": None, "draws": None}
    won = {
        agent: sum(one[agent] == "won" for one in outcomes) / len(outcomes) for agent in outcomes[0]
    }
    drawn = sum("drawn" in one.values() for one in outcomes)
    return {"win_rate": won, "draws": drawn / len(outcomes)}


def _notes(result: Mapping[str, Any], info: Mapping[str, Any], split: str) -> Iterator[str]:
    """Caveats for reading the numbers of an evaluation."""
    tasks, split_tasks, unsolved = result["tasks"], result["split_tasks"], result["no_solution"]
    if split_tasks is not None and split_tasks < FEW_TASKS:
        low, high = result["success_ci95"]
        yield (
            f"the {info.get('split', split)} split of this source has {split_tasks} tasks, too few to "
            f"compare learners: the 95% interval of the {tasks} tasks played is [{low:.1%}, {high:.1%}]. "
            "Use a source with more tasks (source: hub, or a file)"
        )
    if result["distinct_tasks"] < tasks:
        yield (
            f"{result['distinct_tasks']} of the {tasks} tasks are distinct: the interval counts "
            "results on the same task as one cluster"
        )
    if result["skipped"]:
        yield f"unreadable records of the source that were skipped: {result['skipped']}"
    if result["left_out"]:
        yield (
            "records of the source that the environment leaves out, as its page says: "
            f"{result['left_out']}"
        )
    if unsolved:
        more = f" and {len(unsolved) - _MAX_NAMED} more" if len(unsolved) > _MAX_NAMED else ""
        yield (
            "tasks without a known solution, which were not attempted and count as not solved: "
            f"{len(unsolved)} of {tasks} ({', '.join(unsolved[:_MAX_NAMED])}{more})"
        )
    if result["refused"]:
        yield (
            f"{result['refused']} of {result['answers']} prompts were too long for the model and got "
            "an empty completion. Lower max_new_tokens, or use a model with a longer context"
        )
    if result["answers_failed"]:
        yield (
            f"{result['answers_failed']} of {result['answers']} completions are empty because the call of an "
            "endpoint failed: the success rate counts them as wrong"
        )
    elif result["episodes_failed"]:
        yield (
            f"a judge, a tool or an endpoint failed in {result['episodes_failed']} episodes, which count as "
            "not solved: evaluate again when it works"
        )
    if result["feedback"] == "verdict":
        yield (
            "agents are told whether their answers are right: with several rounds the success rate "
            "is pass@rounds, not pass@1"
        )
