"""One agent of an AEC environment, from each of its turns to its next; others play in between."""

from __future__ import annotations

import copy
import math
from collections import Counter
from typing import Any, NamedTuple

from gymnasium.spaces import Text
from pettingzoo import AECEnv

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.policies.base import Request
from llmzoo.policies.chance import mixed
from llmzoo.rollout.scheduler import Ask, Rollout
from llmzoo.rollout.stepping import Act, step_each


class Arrival(NamedTuple):
    """What an agent meets at its turn, or at its end.

    ``reward``: all that it was paid since its last answer, and before its first one.
    """

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated


class Seat:
    """The agent ``agent`` of ``env``.

    :meth:`begin` and :meth:`act` are lines of play (:mod:`llmzoo.rollout.scheduler`) that ask for the
    others' answers and return an :class:`Arrival`; any number of seats can be run at once.
    """

    def __init__(self, env: AECEnv, agent: str | None = None):
        agents = list(env.possible_agents)
        if agent is None and len(agents) > 1:
            raise ConfigError(f"seat must be one of {', '.join(agents)}: {env} has several")
        if agent is not None and agent not in agents:
            raise UnknownNameError("seat", agent, agents)
        self.env = env
        self.agent = agent or agents[0]
        self.others = [other for other in agents if other != self.agent]
        for each in agents:
            if not isinstance(env.action_space(each), Text):
                raise ConfigError(
                    f"{each} of {env} acts in {env.action_space(each)}, not in text; "
                    "llmzoo.adapters.discrete_to_text helps where actions are numbered"
                )
        self._chance = 0
        self._asked: Counter[str] = Counter()
        self._before: Arrival | None = None  # the first turn's, until it is answered

    def begin(self, seed: int | None, options: dict[str, Any] | None, chance: int) -> Rollout:
        """Start an episode and play it up to the agent's first turn.

        ``chance`` fixes the others' chance. What the agent is paid before its first answer comes
        with the reward of that answer. Where others end the episode before, it is over at once.
        """
        self.env.reset(seed=seed, options=options)
        self._chance = chance
        self._asked.clear()
        yield from self._others()
        self._before = self._arrival()
        return self._before

    def act(self, text: str) -> Rollout:
        """Answer with ``text``, and play up to the agent's next turn or its end.

        In an episode that was over before its first turn nothing is left to answer.
        """
        before, self._before = self._before, None
        if before is not None and before.over:
            return before
        yield Act(self.env, (text,), step_each)
        yield from self._others()
        arrival = self._arrival()
        return arrival if before is None else _joined(before, arrival)

    def _others(self) -> Rollout:
        env = self.env
        while self.agent in env.agents and env.agent_selection != self.agent:
            agents = self._waiting()
            if not agents:
                env.step(None)
                continue
            answers = yield [Ask(self._request(agent)) for agent in agents]
            yield Act(env, tuple(completion.text for (completion,) in answers), step_each)

    def _waiting(self) -> list[str]:
        """The others whose turn it is: one, or in a simultaneous task the next ones of the round."""
        env = self.env
        first = env.agents.index(env.agent_selection)
        together = env.metadata.get("is_parallelizable", False)
        found: list[str] = []
        for agent in env.agents[first:] if together else [env.agent_selection]:
            if agent == self.agent or env.terminations[agent] or env.truncations[agent]:
                break
            found.append(agent)
        return found

    def _request(self, agent: str) -> Request:
        self._asked[agent] += 1
        return Request(
            agent=agent,
            observation=str(self.env.observe(agent) or ""),
            env=self.env,
            seed=self._chance,
            key=mixed(self._chance, agent, self._asked[agent]),
        )

    def _arrival(self) -> Arrival:
        if self.agent not in self.env.agents:
            raise ConfigError(f"{self.env} removed {self.agent} before it could read its end")
        observation, reward, terminated, truncated, info = self.env.last()
        if not math.isfinite(reward):
            raise ConfigError(f"{self.env} paid {self.agent} {reward}: rewards are finite numbers")
        return Arrival(
            str(observation or ""),
            float(reward),
            bool(terminated),
            bool(truncated),
            copy.deepcopy(dict(info)),
        )


def _joined(before: Arrival, after: Arrival) -> Arrival:
    """``after`` with what was paid before."""
    parts = dict(after.info.get("reward_parts", {}))
    for name, value in before.info.get("reward_parts", {}).items():
        parts[name] = parts.get(name, 0.0) + value
    info = {**after.info, "reward_parts": parts} if parts else after.info
    return after._replace(reward=before.reward + after.reward, info=info)
