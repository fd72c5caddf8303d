"""Several answers of one agent to the same observation, all of which count: its attempts.

An environment declares in ``metadata["attempts"]`` which agents answer several times in a row, and
how often. It promises that the agent reads the same each time, that no attempt changes what another
one is paid, that an attempt is paid at its own step, and that none but the last ends the episode.
Then the attempts are what a group is: answers to one prompt, each with a return of its own. A tree
needs no forks for them. All are carried out in one copy of the episode, so whoever is paid by what
they come to, such as a proposer by how many solve its puzzle, is paid in the same copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pettingzoo import AECEnv

from llmzoo.records import Completion
from llmzoo.rollout.scheduler import Rollout, SampleRequest, build_request
from llmzoo.rollout.stepping import TOTAL, StepRequest, rewards_by_component


@dataclass(frozen=True, slots=True)
class Attempts:
    """The n attempts of an agent, each with what its step paid, by (agent, part), and the agent's info after it."""

    completions: Sequence[Completion]
    rewards: Sequence[Mapping[tuple[str, str], float]]
    infos: Sequence[Mapping[str, Any]]

    def total(self, agent: str) -> float:
        """All that ``agent`` was paid meanwhile."""
        return sum(paid.get((agent, TOTAL), 0.0) for paid in self.rewards)


def attempt_count(env: AECEnv, agents: Sequence[str]) -> int:
    """How often the agents that choose next answer in a row to what they read now."""
    declared: Mapping[str, int] = env.metadata.get("attempts") or {}
    return declared.get(agents[0], 1) if len(agents) == 1 else 1


def sample_attempts(env: AECEnv, agent: str, count: int, seed: int) -> Rollout:
    """A part of a rollout: ``agent`` answers ``count`` times, and ``env`` is stepped with all answers."""
    (completions,) = yield [SampleRequest(build_request(env, agent, seed), count)]
    rewards, infos = [], []
    for completion in completions:
        before = dict(env.infos)
        step = yield StepRequest(env, (completion.text,))
        rewards.append(rewards_by_component(before, env.infos, step, [agent]))
        infos.append(env.infos.get(agent, {}))
    return Attempts(completions, rewards, infos)
