"""The turns of a call between a service agent and a customer."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Episode:
    """The state of an episode.

    paid: what of the task was done at the last step, as the scoring counts it. again: the seat that answered
    last answers next too.
    """

    talk: AnyTalk
    paid: Any
    again: bool = False


class ServiceEnv(TextEnv):
    """Base of the environments in which a customer calls a service agent.

    A subclass sets ``toolset`` and ``tasks``, and says how a call begins, what a step pays, what the seats read
    and what the scripted players answer. With one seat, the scripted customer answers after each message of
    the agent.
    """

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "team_and_local": False,
        "paid_by_others": [AGENT, USER],
    }
    toolset: Toolset[Any]
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
        if num_agents not in (1, 2):
            raise ConfigError(f"num_agents must be 1 or 2, got {num_agents}")
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

    # What a subclass supplies

    def begun(self, task: Any) -> AnyTalk:
        """The call of a task at its start."""
        raise NotImplementedError

    def content(self, task: Any) -> str:
        """All of a task but its name."""
        raise NotImplementedError

    def parts(self, paid: Any, said: AnyTalk) -> tuple[dict[str, float], Any]:
        """What a step pays, and what is done after it. paid: what was done before it; None: nothing was
        judged yet."""
        raise NotImplementedError

    def seat(self, side: Side, said: AnyTalk, left: int) -> str:
        """The prompt of a side. left: the rounds that are left."""
        raise NotImplementedError

    def best(self, side: Side, said: AnyTalk) -> str:
        """The scripted expert's answer; the customer's is the scripted customer's."""
        raise NotImplementedError

    def sloppy(self, side: Side, said: AnyTalk, rng: random.Random) -> str:
        """A sloppy player's answer."""
        raise NotImplementedError

    # The turns

    def begin(self, rng: random.Random, task: int | str | None) -> None:
        chosen = self.tasks.sample(rng) if task is None else self.tasks[task]
        said = self.begun(chosen)
        self.episode = Episode(said, self.parts(None, said)[1])

    def describe(self) -> Mapping[str, Any]:
        task = self.episode.talk.task
        return {**described(self.tasks, self.content(task), task), "intent": task.goal}

    def play(self, agent: str, text: str) -> Outcome:
        said, error = talk.answered(
            self.episode.talk, self.toolset, _SIDES[agent], text, self.max_steps
        )
        malformed = error.startswith("malformed")
        said = replace(said, answers=said.answers + 1, malformed=said.malformed + malformed)
        again = said.steps > 0 and not said.over
        if not again and USER not in self.possible_agents and not said.over:
            said = self._customer(said)
        last = not again and agent == self.possible_agents[-1]
        if last and self.turn + 1 >= self.max_turns:
            said = replace(said, over=True)
        parts, paid = self.parts(self.episode.paid, said)
        self.success = said.over and parts[VERDICT] > 0
        self.episode = Episode(said, paid, again)
        return Outcome(team=parts, done=said.over, errors={agent: error} if error else {})

    def keeps_turn(self, agent: str) -> bool:
        return self.episode.again

    def prompt(self, agent: str) -> str:
        return self.seat(_SIDES[agent], self.episode.talk, self.max_turns - self.turn)

    def board(self) -> str:
        return prompts.whole(self.episode.talk)

    def expert(self, agent: str) -> str:
        return self.best(_SIDES[agent], self.episode.talk)

    def amateur(self, agent: str, rng: random.Random) -> str:
        return self.sloppy(_SIDES[agent], self.episode.talk, rng)

    def _customer(self, said: AnyTalk) -> AnyTalk:
        """The talk after the scripted customer's turn."""
        for _ in range(self.max_steps):
            answer = self.best("user", said)
            said, _ = talk.answered(said, self.toolset, "user", answer, self.max_steps)
            if said.over or not said.steps:
                break
        return said
