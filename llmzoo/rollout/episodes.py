"""Plain episodes, many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pettingzoo import AECEnv

from llmzoo.policies.base import Policy, Request, seat_policies
from llmzoo.records import Completion, Decision, Episode
from llmzoo.rollout.scheduler import Ask, Rollout, rollout_keys, run, slow_steps
from llmzoo.rollout.stepping import Act, deciders, is_over, skip_dead, step_each, succeeded


@dataclass(slots=True)
class _Open:
    """A decision whose rewards are still coming in."""

    agent: str
    turn: int
    observation: str
    completion: Completion
    payments: list[tuple[int, float]] = field(default_factory=list)
    info: Mapping[str, Any] = field(default_factory=dict)
    state: str = ""


def episodes(
    env_fn: Callable[[], AECEnv],
    policy: Policy | Mapping[str, Policy],
    seeds: Sequence[int],
    *,
    tasks: Sequence[int] | None = None,
    greedy: bool = False,
    env_id: str = "",
    ended: Callable[[], object] | None = None,
) -> list[Episode]:
    """Play one episode per seed.

    ``tasks`` gives each its task number (``reset(options={"task": i})``). All episodes are played
    in lockstep: each policy is called once a round with every seat that waits for it. ``ended`` is
    called once for each episode that has ended.
    """
    envs = [env_fn() for _ in seeds]
    numbers = tasks if tasks is not None else [None] * len(seeds)
    for env, seed, number in zip(envs, seeds, numbers, strict=True):
        env.reset(seed=seed, options=None if number is None else {"task": number})
    seats = seat_policies(policy, envs[0].possible_agents) if envs else {}
    lines = [
        play_episode(env, seed, greedy=greedy, env_id=env_id)
        for env, seed in zip(envs, seeds, strict=True)
    ]
    if ended is not None:
        lines = [_telling(line, ended) for line in lines]
    return run(lines, seats, keys=rollout_keys(seeds), early=slow_steps(envs))


def _telling(line: Rollout, ended: Callable[[], object]) -> Rollout:
    """A line of play that says when it has ended."""
    episode = yield from line
    ended()
    return episode


def play_episode(
    env: AECEnv, seed: int, *, greedy: bool = False, env_id: str = "", with_state: bool = False
) -> Rollout:
    """A line of play from where ``env`` stands to the end; returns an :class:`Episode`.

    ``with_state``: ``env.state()`` is recorded too, as a central critic reads it.
    """
    taken: list[_Open] = []
    latest: dict[str, _Open] = {}
    turns: dict[str, int] = {}
    totals = dict.fromkeys(env.possible_agents, 0.0)
    info: Mapping[str, Any] = {}
    success = terminated = truncated = False
    final: dict[str, str] = {}
    cut: dict[str, bool] = {}
    final_state = ""
    skip_dead(env)
    while not is_over(env):
        agents = deciders(env)
        requests = [
            Request(agent=a, observation=env.observe(a) or "", env=env, seed=seed) for a in agents
        ]
        state = str(env.state()) if with_state else ""
        answers = yield [Ask(request, 1, greedy) for request in requests]
        paid = yield Act(env, tuple(completion.text for (completion,) in answers), step_each)
        steps = zip(agents, requests, answers, paid, strict=True)
        for agent, request, (completion,), rewards in steps:
            observation = str(request.observation)
            decision = _Open(agent, turns.get(agent, 0), observation, completion, state=state)
            turns[agent] = decision.turn + 1
            latest[agent] = decision
            taken.append(decision)
            for name, reward in rewards.items():
                if reward:
                    totals[name] += reward
                    if name in latest:
                        latest[name].payments.append((len(taken) - 1, reward))
        for agent in agents:  # what came of answers given at the same time is known now
            latest[agent].info = dict(env.infos.get(agent, {}))
        info = dict(next(iter(env.infos.values()), {}))
        success = succeeded(env)
        terminated = any(env.terminations.values())
        truncated = any(env.truncations.values())
        for agent in env.agents:
            over = env.terminations[agent] or env.truncations[agent]
            if over and agent not in final:
                final[agent] = str(env.observe(agent) or "")
                cut[agent] = not env.terminations[agent]
        final_state = str(env.state()) if with_state else ""
        skip_dead(env)
    return Episode(
        env_id=env_id,
        seed=seed,
        decisions=tuple(
            Decision(
                agent=d.agent,
                turn=d.turn,
                observation=d.observation,
                completion=d.completion,
                reward=sum(amount for _, amount in d.payments),
                paid_after=tuple(d.payments),
                info=d.info,
                state=d.state,
            )
            for d in taken
        ),
        terminated=terminated,
        truncated=truncated,
        success=success,
        totals=totals,
        info=info,
        final=final,
        cut_off=tuple(agent for agent in final if cut[agent]),
        timed_task=env.metadata.get("time_limit") == "task",
        final_state=final_state,
    )
