"""The agent-turn tree: at every turn a group of completions, each rewarded in a copy of the episode.

It is a rollout (see :mod:`llmzoo.rollout.scheduler`) that returns a :class:`Batch`. Agents that are
not trained (scripted, frozen) act once and form no group.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo.envs.base import TEAM_COMPONENT
from llmzoo.envs.forking import fork
from llmzoo.records import Batch, ComponentReturns, EpisodeOutcome, Group, drop_unknown_returns
from llmzoo.rollout.attempts import Attempts, attempt_count, sample_attempts
from llmzoo.rollout.scheduler import Rollout, SampleRequest, build_request
from llmzoo.rollout.stepping import (
    TOTAL,
    StepRequest,
    agents_to_act,
    failure_reason,
    is_over,
    is_success,
    latest_infos,
    nan_rewards,
    read_infos,
    read_outcomes,
    skip_dead,
)

AgentAttempts = tuple[
    str, AECEnv, Attempts
]  # the agent, the episode after its attempts, the attempts


def agent_turn_tree(
    env: AECEnv,
    seed: int,
    *,
    group_size: int,
    trained: Collection[str],
    select: Literal["greedy", "sample", "random"] = "greedy",
    team_weight: float = 1.0,
    continuations: int | None = None,
) -> Rollout:
    """At every agent's turn, ``group_size`` completions for the same observation; one of them is carried out.

    Each completion is stepped in its own fork of the episode. Its reward is ``team_weight`` x its team
    components + its local components (or the plain reward if the environment names no components), summed
    over everything the agent receives until its next decision. If other agents act before then, the episode
    is continued in ``continuations`` copies of the fork, with one completion per turn, and the reward is the
    mean over the copies. None means one continuation, or none for the environment's
    ``immediate_credit_agents``. Completions sampled in continuations are never carried out in the episode,
    and form no group unless they are attempts. If an action is refused, its agent retries within the
    continuation, so the rewards that follow from the retry are credited to the refused completion too.

    An agent that acts several times in a row (:mod:`llmzoo.rollout.attempts`) has its attempts as its group,
    here and in continuations: a solver's attempts both score the proposal and train the solver.

    Then one completion is carried out before the next agent acts: the best one (``greedy``), one sampled with
    probability proportional to exp(reward) (``sample``), or any (``random``). In a simultaneous task each
    agent's completions are combined with the others' first completions.

    An environment's ``metadata`` may say where continuations can be left out:

    * ``delayed_reward_agents``: agents that can be rewarded at another agent's step; None if unknown.
    * ``immediate_credit_agents``: agents whose own step already rewards their action, by a separate
      measure, although they are also rewarded at other agents' steps.
    * ``retries``: an agent whose action is refused (``infos[agent]["error"]``) may act again.

    This is the tree of AT-GRPO (PettingLLMs, arXiv 2510.11062).
    """
    groups: list[Group] = []
    rng = random.Random(f"{seed}/select")
    totals, turns = dict.fromkeys(env.possible_agents, 0.0), dict.fromkeys(env.possible_agents, 0)
    success = False
    skip_dead(env)
    for step in itertools.count():
        if is_over(env):
            break
        agents = agents_to_act(env)
        if (count := attempt_count(env, agents)) > 1:
            env, agent = fork(env), agents[0]
            attempts = yield from sample_attempts(env, agent, count, seed)
            if agent in trained:
                groups.append(
                    _attempts_group(
                        env, agent, turns[agent], (seed, step, agent), attempts, team_weight
                    )
                )
            for other in totals:
                totals[other] += attempts.total(other)
            success = is_success(env)
            turns[agent] += count
            continue
        completions_by_agent = yield [
            SampleRequest(build_request(env, a, seed), group_size if a in trained else 1)
            for a in agents
        ]
        first = tuple(completions[0].text for completions in completions_by_agent)
        chosen = list(first)
        next_env = None
        for index, (agent, completions) in enumerate(
            zip(agents, completions_by_agent, strict=True)
        ):
            joint_actions = [(*first[:index], c.text, *first[index + 1 :]) for c in completions]
            continuation_count = (
                _continuation_count(env, agent, continuations) if agent in trained else 0
            )
            forks = [fork(env) for _ in joint_actions]
            rewards_by_fork = yield [
                StepRequest(f, texts) for f, texts in zip(forks, joint_actions, strict=True)
            ]
            other_completions = [
                theirs[0] for theirs in completions_by_agent if theirs is not completions
            ]
            for i, completion in enumerate(completions):
                if any(c.failure for c in (completion, *other_completions)):
                    rewards_by_fork[i] = nan_rewards(rewards_by_fork[i])
            component_rewards, other_attempts = yield from _evaluate_completions(
                forks,
                agent,
                [p.get(agent, 0.0) for p in rewards_by_fork],
                seed,
                continuation_count,
                team_weight,
            )
            rewards = tuple(amounts[TOTAL] for amounts in component_rewards)
            best = _select_completion(rewards, select, rng)
            chosen[index] = completions[best].text
            if agent in trained:
                groups.append(
                    Group(
                        agent=agent,
                        turn=turns[agent],
                        key=(seed, step, agent),
                        prompt_ids=completions[0].prompt_ids,
                        completions=tuple(completions),
                        returns=rewards,
                        components=_components(component_rewards),
                        infos=tuple(read_infos(f, [agent])[agent] for f in forks),
                    )
                )
            for number, (other, after, attempts) in enumerate(other_attempts):
                if other in trained:
                    key = (seed, step, agent, number, other)
                    groups.append(
                        _attempts_group(after, other, turns[other], key, attempts, team_weight)
                    )
            if len(agents) == 1:
                next_env, chosen_rewards = forks[best], rewards_by_fork[best]
        if next_env is None:
            next_env = fork(env)
            chosen_rewards = yield StepRequest(next_env, tuple(chosen))
        env = next_env
        for agent, reward in chosen_rewards.items():
            totals[agent] += reward
        success = is_success(env)
        for agent in agents:
            turns[agent] += 1
    known_groups = drop_unknown_returns(groups)
    if any(map(math.isnan, totals.values())):
        return Batch(groups=known_groups, failures=(failure_reason(env),))
    outcome = EpisodeOutcome(
        seed=seed,
        success=success,
        totals=totals,
        decisions=sum(turns.values()),
        outcomes=read_outcomes(env),
    )
    return Batch(groups=known_groups, endings=(outcome,))


def _attempts_group(
    env: AECEnv,
    agent: str,
    turn: int,
    key: tuple[int | str, ...],
    attempts: Attempts,
    team_weight: float,
) -> Group:
    """The group of an agent's attempts; ``env``: the episode after them."""
    component_rewards = [
        _weighted_rewards(env, info, step_rewards.get((agent, TOTAL), 0.0), team_weight)
        for step_rewards, info in zip(attempts.rewards, attempts.infos, strict=True)
    ]
    return Group(
        agent=agent,
        turn=turn,
        key=key,
        prompt_ids=attempts.completions[0].prompt_ids,
        completions=tuple(attempts.completions),
        returns=tuple(amounts[TOTAL] for amounts in component_rewards),
        components=_components(component_rewards),
        infos=tuple(attempts.infos),
    )


def _select_completion(rewards: Sequence[float], select: str, rng: random.Random) -> int:
    """The index of the completion to carry out. One with unknown reward (nan) is chosen only if all are unknown."""
    known = [i for i, reward in enumerate(rewards) if not math.isnan(reward)]
    if 0 < len(known) < len(rewards):
        return known[_select_completion([rewards[i] for i in known], select, rng)]
    if not known:
        return 0
    if select == "greedy":
        return max(range(len(rewards)), key=lambda i: rewards[i])
    if select == "random":
        return rng.randrange(len(rewards))
    if select == "sample":
        top = max(rewards)
        return rng.choices(range(len(rewards)), [math.exp(r - top) for r in rewards])[0]
    raise ValueError(f"select must be 'greedy', 'sample' or 'random', got {select!r}")


def _continuation_count(env: AECEnv, agent: str, continuations: int | None) -> int:
    """How many continuations to play after each completion of ``agent``; None: see :func:`agent_turn_tree`."""
    if env.metadata.get("retries", False):
        return continuations or 1
    delayed_reward_agents = env.metadata.get("delayed_reward_agents")
    if delayed_reward_agents is not None and agent not in delayed_reward_agents:
        return 0
    if continuations is None:
        return 0 if agent in (env.metadata.get("immediate_credit_agents") or ()) else 1
    return continuations


def _evaluate_completions(
    forks: Sequence[AECEnv],
    agent: str,
    rewards: Sequence[float],
    seed: int,
    continuations: int,
    team_weight: float,
) -> Rollout:
    """Evaluate several completions of ``agent``. Returns the reward components of each completion [K], and
    the attempts that other agents made in the continuations.

    ``forks`` [K]: the episode after each completion; not modified. ``rewards`` [K]: the reward of each
    completion's own step.
    """
    component_rewards = [
        _weighted_rewards(f, latest_infos(f).get(agent, {}), r, team_weight)
        for f, r in zip(forks, rewards, strict=True)
    ]
    other_attempts: list[AgentAttempts] = []
    waiting = [i for i, f in enumerate(forks) if continuations and _is_waiting(f, agent)]
    if waiting:
        copies = [(i, fork(forks[i])) for i in waiting for _ in range(continuations)]
        later = yield [_play_until_turn(copy, agent, seed) for _, copy in copies]
        other_attempts = [row for *_, found in later for row in found]
        for i in waiting:
            continued = [
                _weighted_rewards(copy, info, rewards[i] + later_reward, team_weight)
                for (index, copy), (later_reward, info, _) in zip(copies, later, strict=True)
                if index == i
            ]
            component_rewards[i] = {
                n: fmean(amounts.get(n, 0.0) for amounts in continued)
                for n in _component_names(continued)
            }
    return component_rewards, other_attempts


def _weighted_rewards(
    env: AECEnv, info: Mapping[str, Any], reward: float, team_weight: float
) -> dict[str, float]:
    """All rewards of an agent since its last action: ``reward`` under ``TOTAL``, and each named component.

    Team components, and their share of ``TOTAL``, are multiplied by ``team_weight``. ``info``: the agent's
    info dict, which holds the components under ``"reward_components"``.
    """
    components: Mapping[str, float] = info.get("reward_components", {})
    team = [
        name
        for name in env.metadata.get("team_components", (TEAM_COMPONENT,))
        if name in components
    ]
    total = reward + (team_weight - 1.0) * sum(components[name] for name in team)
    return {TOTAL: total, **components, **{name: team_weight * components[name] for name in team}}


def _component_names(component_rewards: Sequence[Mapping[str, float]]) -> list[str]:
    return list(dict.fromkeys(name for amounts in component_rewards for name in amounts))


def _components(component_rewards: Sequence[Mapping[str, float]]) -> dict[str, ComponentReturns]:
    """The named components of the rewards of K completions."""
    named = [name for name in _component_names(component_rewards) if name != TOTAL]
    return {
        name: ComponentReturns(
            returns=tuple(amounts.get(name, 0.0) for amounts in component_rewards)
        )
        for name in named
    }


def _is_waiting(env: AECEnv, agent: str) -> bool:
    """Whether play must continue before ``agent`` has a new decision: others act first, or its refused action
    is retried."""
    if is_over(env) or agent not in env.agents:
        return False
    if env.terminations[agent] or env.truncations[agent]:
        return False
    return agent not in agents_to_act(env) or _must_retry(env, agent)


def _must_retry(env: AECEnv, agent: str) -> bool:
    """Whether the agent's action was refused and it is still its turn."""
    refused = env.infos.get(agent, {}).get("error") is not None
    return env.metadata.get("retries", False) and refused and agents_to_act(env) == [agent]


def _play_until_turn(env: AECEnv, agent: str, seed: int) -> Rollout:
    """Play until ``agent`` has a new decision to make. Each agent gives one completion per turn, or all its
    attempts. Returns the reward of ``agent``, its info with the reward components summed over that time, and
    the attempts made."""
    reward = 0.0
    components: defaultdict[str, float] = defaultdict(
        float
    )  # includes those of its refused actions
    other_attempts: list[AgentAttempts] = []
    while _is_waiting(env, agent):
        acting = agents_to_act(env)
        if agent in acting:
            _add_components(components, env.infos[agent])
        if (count := attempt_count(env, acting)) > 1:
            attempts = yield from sample_attempts(env, acting[0], count, seed)
            other_attempts.append((acting[0], env, attempts))
            reward += attempts.total(agent)
            continue
        completions = yield [SampleRequest(build_request(env, each, seed)) for each in acting]
        step = yield StepRequest(env, tuple(completion.text for (completion,) in completions))
        reward += step.get(agent, 0.0)
    info = latest_infos(env).get(agent, {})
    _add_components(components, info)
    return reward, {**info, "reward_components": dict(components)}, other_attempts


def _add_components(components: defaultdict[str, float], info: Mapping[str, Any]) -> None:
    for name, amount in info.get("reward_components", {}).items():
        components[name] += amount
