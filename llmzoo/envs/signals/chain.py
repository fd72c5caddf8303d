"""A chain of agents: each writes a message that only the next one reads, and the last one answers.

The base class of the environments of this family. Reward components:

* ``right``, of the team: 0.5 x the share of the answer's values that are right.
* ``solved``, of the team: 0.5 if all of them are right.
* ``form``, of each agent for its own text: 0.1 if it can be read.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, TextEnv
from llmzoo.envs.messages import NOT_DELIVERED
from llmzoo.envs.signals.code import Alphabet
from llmzoo.envs.tasks import Tasks, describe_task
from llmzoo.envs.text import MalformedError

RIGHT, SOLVED, FORM = 0.5, 0.5, 0.1
SLOPPY = 0.25  # how often a noisy expert errs

T = TypeVar("T")
Values = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChainState(Generic[T]):
    """The state of an episode.

    messages: of the agents so far, None for one that was not delivered. answer: of the last agent; None
    before it and if it cannot be read.
    """

    task: T
    messages: tuple[str | None, ...] = ()
    answer: Values | None = None


class ChainEnv(TextEnv[ChainState[T]], Generic[T]):
    """Agents in a chain, for one round. A single agent reads everything and answers.

    A subclass says what an agent reads (:meth:`TextEnv.observation`), how an answer is read (:meth:`read`) and which
    one is right (:meth:`solution`).
    """

    metadata: dict[str, Any] = {**TextEnv.metadata, "team_components": ["right", "solved"]}

    def __init__(
        self,
        agents: list[str],
        tasks: Tasks[T],
        alphabet: Alphabet,
        *,
        prompt: str,
        team_weight: float,
        render_mode: str | None,
    ):
        super().__init__(agents, team_weight=team_weight, render_mode=render_mode)
        self.metadata["delayed_reward_agents"] = agents[:-1]
        self.prompt_style = prompt
        self.tasks = tasks
        self.alphabet = alphabet

    # What a subclass supplies

    def read(self, text: str) -> Values:
        """The values that an answer names; raises :class:`MalformedError`."""
        raise NotImplementedError

    def solution(self, task: T) -> Values:
        """The right answer."""
        raise NotImplementedError

    def describe_mistake(self, task: T, answer: Values) -> str:
        """What is wrong with an answer, for the error."""
        raise NotImplementedError

    def expert_values(self, agent: str) -> Values:
        """What the scripted expert of an agent infers from its prompt: values to send or to answer."""
        raise NotImplementedError

    def write(self, values: Values) -> str:
        """An answer as text."""
        raise NotImplementedError

    def confuse_values(self, values: Values, rng: random.Random) -> Values:
        """Values that a sloppy player confuses with these."""
        raise NotImplementedError

    # Implementation of TextEnv

    def reset_task(self, rng: random.Random, task: int | str | None) -> ChainState[T]:
        return ChainState(self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        return describe_task(self.tasks, repr(self.episode.task), self.episode.task)

    def apply(
        self, state: ChainState[T], actions: Mapping[str, str]
    ) -> tuple[ChainState[T], Outcome]:
        ((agent, text),) = actions.items()
        text = text[: MAX_ACTION_CHARS + 1]
        if agent != self.agents[-1]:
            return self._send(state, agent, text)
        try:
            answer = self.read(text)
        except MalformedError as reason:
            return state, Outcome(done=True, errors={agent: f"malformed: {reason}"})
        solution = self.solution(state.task)
        solved = answer == solution
        right = sum(a == b for a, b in zip(answer, solution, strict=True)) / len(solution)
        return replace(state, answer=answer), Outcome(
            team={"right": RIGHT * right, "solved": SOLVED * solved},
            local={agent: {"form": FORM}},
            done=True,
            errors={} if solved else {agent: f"wrong: {self.describe_mistake(state.task, answer)}"},
            success=solved,
        )

    def _send(self, state: ChainState[T], agent: str, text: str) -> tuple[ChainState[T], Outcome]:
        """Deliver a message to the next agent, if it can be read."""
        try:
            message = self.alphabet.read(text)
        except MalformedError as reason:
            undelivered = replace(state, messages=(*state.messages, None))
            return undelivered, Outcome(errors={agent: f"malformed: {reason}"})
        delivered = replace(state, messages=(*state.messages, message))
        return delivered, Outcome(local={agent: {"form": FORM}})

    def expert(self, agent: str) -> str:
        return self._format_values(agent, self.expert_values(agent))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """The expert's text; one time in four, that of something similar."""
        values = self.expert_values(agent)
        return self._format_values(
            agent, self.confuse_values(values, rng) if rng.random() < SLOPPY else values
        )

    def board(self) -> str:
        state = self.episode
        lines = [self.render_task()]
        for agent, message in zip(self.possible_agents, state.messages, strict=False):
            lines += [f"{agent}: {message or NOT_DELIVERED}"]
        if state.answer is not None:
            lines += [f"{self.possible_agents[-1]}: {self.write(state.answer)}"]
        return "\n".join(lines)

    def render_task(self) -> str:
        """The task, for a person."""
        raise NotImplementedError

    # What an agent reads

    def received_message(self, state: ChainState[T], agent: str) -> str | None:
        """The message that was sent to an agent; None if there is none, or none was delivered."""
        sent = state.messages[: self.possible_agents.index(agent)]
        return sent[-1] if len(sent) == self.possible_agents.index(agent) and sent else None

    def quote_message(self, state: ChainState[T], agent: str) -> str:
        """The message to an agent, as its prompt shows it."""
        return self.received_message(state, agent) or (
            "none" if self.prompt_style == "terse" else NOT_DELIVERED
        )

    def message_instructions(self, following: str) -> str:
        """How to write a message, in a sentence or two."""
        letters, most = ", ".join(self.alphabet.letters), self.alphabet.max_len
        length = "one letter" if most == 1 else f"1 to {most} letters"
        return (
            f"Write a message to {following} of {length} out of {letters}, and nothing else. A letter "
            "may occur more than once. What the letters mean is up to you."
        )

    def _format_values(self, agent: str, values: Sequence[int]) -> str:
        if agent == self.possible_agents[-1]:
            return self.write(tuple(values))
        return self.alphabet.encode(values, self.values)

    values: int  # how many values an attribute or a place has
