"""Plain episodes, played many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pettingzoo import AECEnv

from llmzoo.policies.base import Policy, policies_by_agent
from llmzoo.records import Completion, Decision, Episode
from llmzoo.rollout.scheduler import (
    Rollout,
    SampleRequest,
    build_request,
    has_slow_steps,
    rollout_keys,
    run_rollouts,
)
from llmzoo.rollout.stepping import (
    StepRequest,
    agents_to_act,
    is_over,
    is_success,
    read_infos,
    service_failure,
    skip_dead,
    step_each,
)


def play_episodes(
    env_fn: Callable[[], AECEnv],
    policy: Policy | Mapping[str, Policy],
    seeds: Sequence[int],
    *,
    tasks: Sequence[int] | None = None,
    greedy: bool = False,
    env_id: str = "",
    on_episode_end: Callable[[int, Episode], object] | None = None,
) -> list[Episode]:
    """Play one episode per seed.

    ``tasks`` gives each episode its task number (``reset(options={"task": i})``). All episodes are
    played in lockstep: in each round, each policy is called once for all agents that wait for it.
    ``on_episode_end`` is called with each episode as it ends, and the index of its seed.
    """
    envs = [env_fn() for _ in seeds]
    numbers = tasks if tasks is not None else [None] * len(seeds)
    for env, seed, number in zip(envs, seeds, numbers, strict=True):
        env.reset(seed=seed, options=None if number is None else {"task": number})
    agent_policies = policies_by_agent(policy, envs[0].possible_agents) if envs else {}
    rollouts = [
        episode_rollout(env, seed, greedy=greedy, env_id=env_id)
        for env, seed in zip(envs, seeds, strict=True)
    ]
    if on_episode_end is not None:
        rollouts = [
            _report_episode_end(r, index, on_episode_end) for index, r in enumerate(rollouts)
        ]
    return run_rollouts(
        rollouts, agent_policies, keys=rollout_keys(seeds), early=has_slow_steps(envs)
    )


def _report_episode_end(
    rollout: Rollout, index: int, on_episode_end: Callable[[int, Episode], object]
) -> Rollout:
    episode = yield from rollout
    on_episode_end(index, episode)
    return episode


def episode_rollout(
    env: AECEnv, seed: int, *, greedy: bool = False, env_id: str = "", with_state: bool = False
) -> Rollout:
    """A rollout from the current state of ``env`` to the end; returns an :class:`Episode`.

    ``with_state``: ``env.state()`` is recorded too, for a central critic.
    """
    record = _EpisodeRecord(env)
    final_state = ""
    skip_dead(env)
    while not is_over(env):
        requests = [build_request(env, agent, seed) for agent in agents_to_act(env)]
        state = str(env.state()) if with_state else ""
        completions = yield [SampleRequest(request, 1, greedy) for request in requests]
        rewards_per_step = yield StepRequest(
            env, tuple(completion.text for (completion,) in completions), step_each
        )
        for request, (completion,), rewards in zip(
            requests, completions, rewards_per_step, strict=True
        ):
            record.add_decision(request.agent, str(request.observation), completion, state)
            record.add_reward(rewards)
        record.update_from_env([request.agent for request in requests])
        final_state = str(env.state()) if with_state else ""
        skip_dead(env)
    return Episode(
        env_id=env_id,
        seed=seed,
        decisions=tuple(
            Decision(**fields, reward=sum(amount for _, amount in fields["paid_after"]))
            for fields in record.decisions
        ),
        terminated=record.terminated,
        truncated=record.truncated,
        success=record.success,
        totals=record.totals,
        info=record.info,
        final=record.final,
        cut_off=tuple(record.cut_off),
        failure=record.failure,
        timed_task=env.metadata.get("time_limit") == "task",
        final_state=final_state,
    )


class _EpisodeRecord:
    """An episode so far. Its decisions may still receive rewards at later steps."""

    def __init__(self, env: AECEnv):
        self.env = env
        self.decisions: list[dict[str, Any]] = []  # fields of each Decision except its reward
        self.totals = dict.fromkeys(env.possible_agents, 0.0)
        self.info: Mapping[str, Any] = {}
        self.success = self.terminated = self.truncated = False
        self.final: dict[str, str] = {}  # the last observation of agents that are done
        self.cut_off: list[str] = []
        self.failure = ""
        self._latest: dict[str, dict[str, Any]] = {}  # the latest decision of each agent

    def add_decision(
        self, agent: str, observation: str, completion: Completion, state: str
    ) -> None:
        """Add a decision."""
        self.failure = self.failure or completion.failure
        turn = self._latest[agent]["turn"] + 1 if agent in self._latest else 0
        self._latest[agent] = {
            "agent": agent,
            "turn": turn,
            "observation": observation,
            "completion": completion,
            "paid_after": (),
            "info": {},
            "state": state,
        }
        self.decisions.append(self._latest[agent])

    def add_reward(self, rewards: Mapping[str, float]) -> None:
        """Add the rewards of the last decision's step to the latest decision of each agent."""
        for agent, reward in rewards.items():
            if reward:
                self.totals[agent] += reward
                if agent in self._latest:
                    self._latest[agent]["paid_after"] += ((len(self.decisions) - 1, reward),)

    def update_from_env(self, agents: Sequence[str]) -> None:
        """Read the state after a round of steps; ``agents``: those that decided in it."""
        env = self.env
        for agent, info in read_infos(
            env, agents
        ).items():  # simultaneous actions have taken effect
            self._latest[agent]["info"] = info
        self.info = dict(next(iter(env.infos.values()), {}))
        self.success = is_success(env)
        self.failure = self.failure or service_failure(env)
        self.terminated = any(env.terminations.values())
        self.truncated = any(env.truncations.values())
        for agent in env.agents:
            over = env.terminations[agent] or env.truncations[agent]
            if over and agent not in self.final:
                self.final[agent] = str(env.observe(agent) or "")
                if not env.terminations[agent]:
                    self.cut_off.append(agent)
