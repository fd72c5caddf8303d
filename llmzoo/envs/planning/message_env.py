"""Rounds of messages before all agents act at once: what the environments of this family share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.messages import (
    NOT_DELIVERED,
    check_message_limit,
    parse_message,
    penalize_undelivered,
)
from llmzoo.envs.text import replace_surrogates

MAX_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class MessageState:
    """What was written in an episode so far; its state extends it.

    messages: what was delivered of each agent in each round. delivery_errors: what was wrong with the messages
    of the last round.
    """

    messages: tuple[Mapping[str, str], ...] = ()
    delivery_errors: Mapping[str, str] = field(default_factory=dict)


T = TypeVar("T")
MessageStateT = TypeVar("MessageStateT", bound=MessageState)


@dataclass(frozen=True, slots=True)
class PlanningView(Generic[T]):
    """What an agent reads.

    ``messages``: what each of ``agents`` wrote in each round so far. ``rounds``: of messages. ``limit``:
    characters of a message. ``delivery_error``: what was wrong with the agent's last message, "" for nothing.
    """

    task: T
    agent: str
    agents: Sequence[str]
    messages: Sequence[Mapping[str, str]]
    rounds: int
    limit: int
    delivery_error: str

    @property
    def number(self) -> int:
        """Of the round, from 1."""
        return min(len(self.messages), self.rounds) + 1

    @property
    def is_message_round(self) -> bool:
        """Whether a message is asked for."""
        return self.number <= self.rounds

    def message_lines(self) -> list[str]:
        """The lines of the messages, in sentences."""
        lines = []
        for number, round_messages in enumerate(self.messages, start=1):
            lines += ["", f"Messages of round {number}:"]
            lines += [
                f"{'You' if agent == self.agent else agent}: {replace_surrogates(round_messages[agent])}"
                for agent in self.agents
            ]
        return lines

    def terse_message_lines(self) -> list[str]:
        """The same in few words."""
        return [
            f"{'you' if agent == self.agent else number} {replace_surrogates(round_messages[agent])}"
            for round_messages in self.messages
            for number, agent in enumerate(self.agents)
        ]

    def status_lines(self) -> list[str]:
        """The lines on the round, and on a message that was not delivered."""
        lines = [""]
        if len(self.agents) > 1:
            lines += [f"Round {self.number} of {self.rounds + 1}."]
        if self.delivery_error:
            lines += [f"Your last message was not delivered: {self.delivery_error}."]
        return lines


class MessageEnv(TextEnv[MessageStateT]):
    """Agents that write messages at the same time for some rounds, and then all act at once.

    A single agent writes no messages.
    """

    def __init__(
        self,
        agents: list[str],
        *,
        rounds: int,
        message_chars: int,
        team_weight: float,
        render_mode: str | None,
    ):
        check_range("rounds", rounds, 0, MAX_ROUNDS)
        self.rounds = rounds if len(agents) > 1 else 0
        self.message_chars = check_message_limit(message_chars)
        super().__init__(
            agents,
            simultaneous=True,
            max_turns=self.rounds + 1,
            team_weight=team_weight,
            render_mode=render_mode,
        )

    def judge(
        self, state: MessageStateT, actions: Mapping[str, str]
    ) -> tuple[MessageStateT, Outcome]:
        """Judge the actions of the last round; the episode ends."""
        raise NotImplementedError

    def is_message_round(self, state: MessageStateT) -> bool:
        """Whether the round is one of messages."""
        return len(state.messages) < self.rounds

    def apply(
        self, state: MessageStateT, actions: Mapping[str, str]
    ) -> tuple[MessageStateT, Outcome]:
        if not self.is_message_round(state):
            return self.judge(state, actions)
        read = {a: parse_message(actions[a], self.message_chars) for a in self.possible_agents}
        sent = {agent: message or NOT_DELIVERED for agent, (message, _) in read.items()}
        delivery_errors = {agent: reason for agent, (_, reason) in read.items() if reason}
        state = replace(state, messages=(*state.messages, sent), delivery_errors=delivery_errors)
        return state, penalize_undelivered(delivery_errors)

    def message_lines(self) -> list[str]:
        """The lines of the messages, for a person."""
        lines = []
        for number, round_messages in enumerate(self.episode.messages, start=1):
            lines += [
                f"Round {number}",
                *(f"  {agent}: {text}" for agent, text in round_messages.items()),
            ]
        return lines
