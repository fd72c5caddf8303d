"""What an answer is paid after its own step, until its agent decides again.

In a task in turns an agent may be paid when others act: a planner when the executor answers, a
speaker when the judge does. A continuation plays the others' next answers in a copy of the episode.

An environment says in its ``metadata`` where continuations can be left out:

* ``paid_by_others``: the agents that are ever paid at another agent's step; None where not known.
* ``judged_at_once``: the agents whose own step already pays what their answer is worth, by a
  measure of its own, although they are paid at other agents' steps too.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from pettingzoo import AECEnv

from llmzoo.envs.base import TEAM_PART
from llmzoo.policies.base import Request
from llmzoo.rollout.branching import deciders, fork, is_over
from llmzoo.rollout.lines import Act, Ask, Line


def request(env: AECEnv, agent: str, seed: int) -> Request:
    """What a policy is asked for ``agent``, where the episode stands."""
    return Request(agent=agent, observation=env.observe(agent) or "", env=env, seed=seed)


def continuations_of(env: AECEnv, agent: str, continuations: int | None) -> int:
    """How often others play on after each answer of ``agent``.

    ``continuations``: as asked for; None stands for one, or none where ``env`` declares the agent
    ``judged_at_once``. It is 0 where no other agent's step ever pays this one.
    """
    paid_by_others = env.metadata.get("paid_by_others")
    if paid_by_others is not None and agent not in paid_by_others:
        return 0
    if continuations is None:
        return 0 if agent in (env.metadata.get("judged_at_once") or ()) else 1
    return continuations


def judged(
    forks: Sequence[AECEnv],
    agent: str,
    rewards: Sequence[float],
    seed: int,
    continuations: int,
    team_weight: float,
) -> Line:
    """A part of a line of play: what each of several answers of ``agent`` is worth.

    ``forks`` [K]: the episode after each answer, left as they are; ``rewards`` [K]: what its step
    paid. Returns [K]: all that is paid until ``agent`` decides again, the team parts weighted by
    ``team_weight``; the mean over ``continuations`` where others decide before that.
    """
    worth = [weighted(f, agent, r, team_weight) for f, r in zip(forks, rewards, strict=True)]
    waiting = [i for i, f in enumerate(forks) if continuations and _waits(f, agent)]
    if waiting:
        copies = [(i, fork(forks[i])) for i in waiting for _ in range(continuations)]
        later = yield [_play_until_turn(copy, agent, seed) for _, copy in copies]
        for i in waiting:
            worth[i] = fmean(
                weighted(copy, agent, rewards[i] + paid, team_weight)
                for (of, copy), paid in zip(copies, later, strict=True)
                if of == i
            )
    return worth


def weighted(env: AECEnv, agent: str, reward: float, team_weight: float) -> float:
    """``reward``, all that ``agent`` was paid since its last answer, with its team parts weighted."""
    parts = env.infos.get(agent, {}).get("reward_parts", {})
    names = env.metadata.get("team_parts", (TEAM_PART,))
    return reward + (team_weight - 1.0) * sum(parts.get(name, 0.0) for name in names)


def _waits(env: AECEnv, agent: str) -> bool:
    """Whether other agents decide before ``agent`` does, while it is still in the episode."""
    if is_over(env) or agent not in env.agents:
        return False
    if env.terminations[agent] or env.truncations[agent]:
        return False
    return agent not in deciders(env)


def _play_until_turn(env: AECEnv, agent: str, seed: int) -> Line:
    """Others answer once each time, until ``agent`` decides again; returns what it was paid."""
    paid = 0.0
    while _waits(env, agent):
        answers = yield [Ask(request(env, other, seed)) for other in deciders(env)]
        step = yield Act(env, tuple(completion.text for (completion,) in answers))
        paid += step.get(agent, 0.0)
    return paid
