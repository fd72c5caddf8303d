"""The turns of a call between a service agent and a customer."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.settings import one_of
from llmzoo.envs.tasks import Tasks, described
from llmzoo.envs.tools.service import prompts, talk
from llmzoo.envs.tools.service.talk import AnyTalk
from llmzoo.envs.tools.service.toolset import Side, Toolset
from llmzoo.errors import ConfigError

AGENT, USER = "agent_0", "user_1"
VERDICT = "verdict"  # the part that is paid for success
_SIDES: Mapping[str, Side] = {AGENT: "assistant", USER: "user"}


class Domain(NamedTuple):
    """What makes one service differ from another."""

    toolset: Toolset[Any]
    begin: Callable[[Any], AnyTalk]  # the call of a task at its start
    content: Callable[[Any], str]  # all of a task but its name
    # what a step pays, and what is done after it. Reads what was done before it (None: nothing was judged yet)
    # and the talk
    parts: Callable[[Any, Any], tuple[dict[str, float], Any]]
    prompt: Callable[..., str]  # of a side, its talk, the rounds that are left, terse=
    # the scripted players
    agent: Callable[[Any], str]
    customer: Callable[[Any], str]
    sloppy_agent: Callable[[Any, random.Random], str]
    sloppy_customer: Callable[[Any, random.Random], str]


@dataclass(frozen=True, slots=True)
class Episode:
    """The state of an episode.

    paid: what of the task was done at the last step, as the scoring counts it. again: the agent that answered
    last answers next too.
    """

    talk: AnyTalk
    paid: Any
    again: bool = False


class ServiceEnv(TextEnv):
    """Base of the environments in which a customer calls a service agent.

    A subclass sets ``domain`` and ``tasks``. With one agent, the scripted customer answers after each message
    of the agent.
    """

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "team_and_local": False,
        "delayed_reward_agents": [AGENT, USER],
    }
    domain: Domain
    tasks: Tasks[Any]
    episode: Episode

    def __init__(
        self,
        *,
        num_agents: int,
        max_turns: int,
        max_steps: int,
        prompt: str,
        team_weight: float,
        render_mode: str | None,
    ):
        one_of("num_agents", num_agents, (1, 2))
        for name, value in (("max_turns", max_turns), ("max_steps", max_steps)):
            if value < 1:
                raise ConfigError(f"{name} must be at least 1, got {value}")
        one_of("prompt", prompt, ("full", "terse"))
        super().__init__(
            [AGENT, USER][:num_agents],
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.max_steps = max_steps
        self.terse = prompt == "terse"

    def begin(self, rng: random.Random, task: int | str | None) -> None:
        chosen = self.tasks.sample(rng) if task is None else self.tasks[task]
        said = self.domain.begin(chosen)
        self.episode = Episode(said, self.domain.parts(None, said)[1])

    def describe(self) -> Mapping[str, Any]:
        task = self.episode.talk.task
        return {**described(self.tasks, self.domain.content(task), task), "intent": task.goal}

    def play(self, agent: str, text: str) -> Outcome:
        said, error = talk.answered(
            self.episode.talk, self.domain.toolset, _SIDES[agent], text, self.max_steps
        )
        malformed = error.startswith("malformed")
        said = replace(said, answers=said.answers + 1, malformed=said.malformed + malformed)
        again = said.steps > 0 and not said.over
        if not again and USER not in self.possible_agents and not said.over:
            said = self._customer(said)
        last = not again and agent == self.possible_agents[-1]
        if last and self.turn + 1 >= self.max_turns:
            said = replace(said, over=True)
        parts, paid = self.domain.parts(self.episode.paid, said)
        self.success = said.over and parts[VERDICT] > 0
        self.episode = Episode(said, paid, again)
        return Outcome(team=parts, done=said.over, errors={agent: error} if error else {})

    def keeps_turn(self, agent: str) -> bool:
        return self.episode.again

    def prompt(self, agent: str) -> str:
        left = self.max_turns - self.turn
        return self.domain.prompt(_SIDES[agent], self.episode.talk, left, terse=self.terse)

    def board(self) -> str:
        return prompts.whole(self.episode.talk)

    def expert(self, agent: str) -> str:
        player = self.domain.agent if agent == AGENT else self.domain.customer
        return player(self.episode.talk)

    def amateur(self, agent: str, rng: random.Random) -> str:
        player = self.domain.sloppy_agent if agent == AGENT else self.domain.sloppy_customer
        return player(self.episode.talk, rng)

    def _customer(self, said: AnyTalk) -> AnyTalk:
        """The talk after the scripted customer's turn."""
        for _ in range(self.max_steps):
            answer = self.domain.customer(said)
            said, _ = talk.answered(said, self.domain.toolset, "user", answer, self.max_steps)
            if said.over or not said.steps:
                break
        return said
