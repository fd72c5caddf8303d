"""The metrics of an iteration; docs/metrics.md explains each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

from llmzoo.engine.base import Iteration
from llmzoo.records import Batch, Completion, Episode, Group
from llmzoo.rollout.stepping import RolloutClock

SEPARATE_TURNS = 8  # turns with separate metrics; all later ones are pooled
LATER_TURNS = "later"


@dataclass(frozen=True, slots=True)
class _CompletionResult:
    """A completion, its return, and the agent's info right after it."""

    agent: str
    turn: int
    completion: Completion
    returned: float
    info: Mapping[str, Any]


def iteration_metrics(iteration: Iteration, agents: Collection[str]) -> dict[str, Any]:
    """All metrics of an iteration. ``agents``: the learning agents."""
    return {
        **batch_metrics(iteration.batch, agents),
        **iteration.update_metrics,
        **timing_metrics(
            iteration.clock,
            tokens=iteration.tokens + iteration.update_metrics.get("demonstrated_tokens", 0),
            rollout_seconds=iteration.rollout_seconds,
            update_seconds=iteration.update_seconds,
        ),
    }


def batch_metrics(batch: Batch, agents: Collection[str]) -> dict[str, Any]:
    """How the episodes of a batch ended, and statistics of the completions of ``agents``, the learning
    agents.

    Tree rollouts have groups and plain ones have episodes; their metrics have the same names.
    """
    results = [
        result
        for result in (*_group_results(batch.groups), *_episode_results(batch.episodes))
        if result.agent in agents
    ]
    agents_with_returns = sorted({agent for ending in batch.endings for agent in ending.totals})
    return {
        "success": _mean(ending.success for ending in batch.endings),
        "return": {
            a: _mean(ending.totals[a] for ending in batch.endings) for a in agents_with_returns
        },
        "episodes_failed": len(batch.failures),
        "groups": len(batch.groups),
        **_completion_metrics(results),
        "agents": {
            agent: _agent_metrics(
                [result for result in results if result.agent == agent],
                [group for group in batch.groups if group.agent == agent],
            )
            for agent in sorted({result.agent for result in results})
        },
    }


def timing_metrics(
    clock: RolloutClock, *, tokens: int, rollout_seconds: float, update_seconds: float
) -> dict[str, Any]:
    """How an iteration's time was spent, and how much was done in it.

    ``clock`` has the times of the iteration's rollouts. Rollout time that is not sampling time is
    the environments' time: creating, copying, stepping and reading them.
    """
    total = max(1e-9, rollout_seconds + update_seconds)
    # trees report their steps; plain episodes step once per completion
    steps = clock.steps or clock.answers
    return {
        "tokens": tokens,
        "env_steps": steps,
        "rollout_seconds": rollout_seconds,
        "sampling_seconds": clock.sampling_seconds,
        "stepping_seconds": rollout_seconds - clock.sampling_seconds,
        "update_seconds": update_seconds,
        "tokens_per_second": tokens / total,
        "env_steps_per_second": steps / total,
    }


def _group_results(groups: Iterable[Group]) -> list[_CompletionResult]:
    return [
        _CompletionResult(group.agent, group.turn, completion, returned, info)
        for group in groups
        for completion, returned, info in zip(
            group.completions,
            group.returns,
            group.infos or [{}] * len(group.returns),
            strict=True,
        )
    ]


def _episode_results(episodes: Iterable[Episode]) -> list[_CompletionResult]:
    return [
        _CompletionResult(
            decision.agent, decision.turn, decision.completion, returned, decision.info
        )
        for episode in episodes
        for decision, returned in zip(episode.decisions, episode.returns(), strict=True)
    ]


def _agent_metrics(results: Sequence[_CompletionResult], groups: Sequence[Group]) -> dict[str, Any]:
    turns = sorted({min(result.turn, SEPARATE_TURNS) for result in results})
    return {
        **_result_metrics(results, groups),
        "turns": {
            LATER_TURNS if turn == SEPARATE_TURNS else str(turn): _result_metrics(
                [result for result in results if min(result.turn, SEPARATE_TURNS) == turn],
                [group for group in groups if min(group.turn, SEPARATE_TURNS) == turn],
            )
            for turn in turns
        },
    }


def _result_metrics(
    results: Sequence[_CompletionResult], groups: Sequence[Group]
) -> dict[str, Any]:
    """Statistics of one agent's completions, of all turns or of one turn, and of their outcomes."""
    comparable = [group for group in groups if len(group.returns) > 1]
    spread = {
        "return_std": _mean(pstdev(group.returns) for group in comparable),
        "flat_groups": _mean(not group.has_return_variance for group in comparable),
    }
    return {
        "return": _mean(result.returned for result in results),
        **(spread if comparable else {}),
        **_info_metrics([result.info for result in results if result.info]),
        **_completion_metrics(results),
    }


def _info_metrics(infos: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the environment reported about actions, if anything."""
    numbers: dict[str, Any] = {}
    reward_components = [info["reward_components"] for info in infos if "reward_components" in info]
    if reward_components:
        names = sorted({name for parts in reward_components for name in parts})
        numbers["reward"] = _mean(sum(parts.values()) for parts in reward_components)
        numbers["reward_components"] = {
            n: _mean(parts.get(n, 0.0) for parts in reward_components) for n in names
        }
    if infos:
        numbers["success"] = _mean(bool(info.get("success")) for info in infos)
        numbers["invalid"] = _mean(bool(info.get("error")) for info in infos)
    return numbers


def _completion_metrics(results: Sequence[_CompletionResult]) -> dict[str, Any]:
    return {
        "completions": len(results),
        "completion_tokens": _mean(len(result.completion.ids) for result in results),
        "truncated": _mean(result.completion.truncated for result in results),
        "refused": sum(result.completion.refused for result in results),
    }


def _mean(values: Iterable[float]) -> float:
    """The mean, or 0 without values."""
    numbers = list(values)
    return fmean(numbers) if numbers else 0.0
