"""Attempts: several actions in a row by one agent for the same observation, all of which count.

An environment declares in ``metadata["attempts"]`` which agents act several times in a row, and how
often. It guarantees that the agent reads the same observation each time, that no attempt changes
the reward of another, that an attempt is rewarded at its own step, and that only the last one ends
the episode. The attempts then form a group: completions of one prompt, each with its own return. A
tree needs no forks for them. All are carried out in one copy of the episode, so an agent whose
reward depends on their outcomes, such as a proposer rewarded by how many attempts solve its puzzle,
is rewarded in the same copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pettingzoo import AECEnv

from llmzoo.records import Completion
from llmzoo.rollout.scheduler import Rollout, SampleRequest, build_request
from llmzoo.rollout.stepping import TOTAL, StepRequest, read_infos, rewards_by_component


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts of an agent. ``rewards``: those of each attempt's step, by (agent, component). ``infos``: the
    agent's info after each attempt."""

    completions: Sequence[Completion]
    rewards: Sequence[Mapping[tuple[str, str], float]]
    infos: Sequence[Mapping[str, Any]]

    def total(self, agent: str) -> float:
        """The sum of the rewards of ``agent`` during the attempts."""
        return sum(step_rewards.get((agent, TOTAL), 0.0) for step_rewards in self.rewards)


def attempt_count(env: AECEnv, agents: Sequence[str]) -> int:
    """How many actions in a row the next agents to act take for their current observation."""
    declared: Mapping[str, int] = env.metadata.get("attempts") or {}
    return declared.get(agents[0], 1) if len(agents) == 1 else 1


def sample_attempts(env: AECEnv, agent: str, count: int, seed: int) -> Rollout:
    """Part of a rollout: sample ``count`` completions for ``agent``, and step ``env`` with each of them."""
    (completions,) = yield [SampleRequest(build_request(env, agent, seed), count)]
    rewards, infos = [], []
    for completion in completions:
        before = dict(env.infos)
        step = yield StepRequest(env, (completion.text,))
        rewards.append(rewards_by_component(before, env.infos, step, [agent]))
        infos.append(read_infos(env, [agent])[agent])
    return Attempts(completions, rewards, infos)
