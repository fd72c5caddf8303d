"""What the environments of a crowd share: members who act at the same time, messages, and the one-agent form.

A *member* is a philosopher or a fisher. Each is an agent; with ``num_agents=1`` one agent plays all of them.
An episode has as many rounds as its task says. An answer that cannot be read costs its agent :data:`FORM` in
this round (if the agent plays several members, times the share of them without an action), and the member
does nothing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.crowd.actions import read_answer
from llmzoo.envs.messages import MAX_MESSAGE_CHARS, quote_message
from llmzoo.envs.tasks import Tasks, describe_task
from llmzoo.errors import ConfigError

Task = TypeVar("Task")
World = TypeVar("World")
Value = TypeVar("Value")

FORM = -0.05
SLOPPY = 0.2  # how often a noisy expert errs
FEWEST_MEMBERS, MOST_MEMBERS = 2, 8
MAX_ROUNDS = 100  # more than any task has


@dataclass(frozen=True, slots=True)
class CrowdState(Generic[Task, World]):
    """The state of an episode. round: from 0. messages: of the last round, by agent. problems: what was wrong
    with the last answer of an agent."""

    task: Task
    world: World
    round: int = 0
    messages: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoundResult(Generic[World]):
    """What a round did. local: named reward components of members, where each is an agent."""

    world: World
    team: Mapping[str, float]
    done: bool
    success: bool
    local: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def count_members(
    name: str,
    num_agents: int,
    members: int | None,
    default: int,
    fewest: int = FEWEST_MEMBERS,
) -> int:
    """How many members there are; raises :class:`llmzoo.errors.ConfigError`.

    ``name``: of the argument ``members``, whose default None stands for ``num_agents``, or for ``default`` if
    one agent plays all.
    """
    if num_agents != 1:
        check_range("num_agents", num_agents, fewest, MOST_MEMBERS)
    if members is None:
        members = default if num_agents == 1 else num_agents
    check_range(name, members, fewest, MOST_MEMBERS)
    if num_agents not in (1, members):
        raise ConfigError(
            f"num_agents must be 1, or as many as {name} ({members}), got {num_agents}"
        )
    return members


class CrowdEnv(TextEnv[CrowdState[Task, World]], Generic[Task, World, Value]):
    """Members who act at the same time, each played by an agent, or all by one.

    Parameters
    ----------
    tasks: where the tasks of the split come from.
    members: their names.
    alone: the name of the one agent that plays all members; "" if each is an agent.
    message_chars: the longest message of an agent in a round, 0 for no messages.
    prompt: ``"full"`` explains itself in words; ``"terse"`` holds the same in few tokens.
    """

    def __init__(
        self,
        tasks: Tasks[Task],
        members: Sequence[str],
        alone: str,
        *,
        message_chars: int = 0,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        render_mode: str | None = None,
    ):
        check_range("message_chars", message_chars, 0, MAX_MESSAGE_CHARS)
        super().__init__(
            [alone] if alone else list(members),
            simultaneous=True,
            max_turns=MAX_ROUNDS,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.tasks = tasks
        self.members = tuple(members)
        self.alone = bool(alone)
        self.message_chars = 0 if alone else message_chars
        self.prompt_style = prompt

    # What an environment supplies

    idle: Value  # what a member does whose answer cannot be read

    def initial_world(self, task: Task) -> World:
        """The world before the first round."""
        raise NotImplementedError

    def rounds(self, task: Task) -> int:
        """How many rounds there are."""
        raise NotImplementedError

    def fingerprint(self, task: Task) -> str:
        """A text that is the same for tasks that count as one; the task's id is a hash of it."""
        raise NotImplementedError

    def read(self, task: Task, line: str) -> Value | None:
        """The action on a line; None if it is none. Raises :class:`llmzoo.envs.text.MalformedError`."""
        raise NotImplementedError

    def advance(
        self, state: CrowdState[Task, World], values: Sequence[Value]
    ) -> RoundResult[World]:
        """What the actions of all members do."""
        raise NotImplementedError

    def hears(self, listener: str, speaker: str) -> bool:
        """Whether a member reads the messages of another one."""
        raise NotImplementedError

    def rules(self, task: Task, agent: str) -> str:
        """The role of an agent, the task and the actions, in words."""
        raise NotImplementedError

    def describe_world(self, state: CrowdState[Task, World], agent: str) -> Sequence[str]:
        """What an agent sees of the world now, in lines."""
        raise NotImplementedError

    def terse(self, state: CrowdState[Task, World], agent: str) -> Sequence[str]:
        """The task and the world in few tokens, in lines."""
        raise NotImplementedError

    def measure(self, state: CrowdState[Task, World]) -> Mapping[str, Any]:
        """What the last infos say of the episode."""
        raise NotImplementedError

    def choose(self, member: str) -> Value:
        """The expert's action."""
        raise NotImplementedError

    def confuse(self, value: Value, rng: random.Random) -> Value:
        """What a sloppy player does instead."""
        raise NotImplementedError

    # Implementation of TextEnv

    def reset_task(self, rng: random.Random, task: int | str | None) -> CrowdState[Task, World]:
        chosen = self.tasks.sample(rng) if task is None else self.tasks[task]
        return CrowdState(chosen, self.initial_world(chosen))

    def task_info(self) -> Mapping[str, Any]:
        task = self.episode.task
        return describe_task(self.tasks, self.fingerprint(task), task)

    def final_info(self, agent: str) -> Mapping[str, Any]:
        return {"success": self.success, **self.measure(self.episode)}

    def apply(
        self, state: CrowdState[Task, World], actions: Mapping[str, str]
    ) -> tuple[CrowdState[Task, World], Outcome]:
        values: dict[str, Value] = {}
        messages: dict[str, str] = {}
        problems: dict[str, str] = {}
        local: dict[str, dict[str, float]] = {agent: {} for agent in actions}
        for agent, text in actions.items():
            played = self.members_of(agent)
            answer = read_answer(
                text,
                played,
                lambda line: self.read(state.task, line),
                named=self.alone,
                message_chars=self.message_chars,
            )
            values |= answer.values
            if answer.message:
                messages[agent] = answer.message
            if answer.problems:
                unread = max(1, len(played) - len(answer.values))
                local[agent]["form"] = FORM * unread / len(played)
                problems[agent] = _join(answer.problems)
        result = self.advance(state, [values.get(name, self.idle) for name in self.members])
        for member, components in result.local.items():
            local[member] |= components
        after = replace(
            state,
            world=result.world,
            round=state.round + 1,
            messages=messages,
            problems=problems,
        )
        errors = {agent: f"malformed: {problem}" for agent, problem in problems.items()}
        done = result.done or after.round >= self.rounds(state.task)
        return after, Outcome(result.team, local, done, errors, result.success)

    def observation(self, state: CrowdState[Task, World], agent: str) -> str:
        rounds = self.rounds(state.task)
        number = min(state.round + 1, rounds)
        problem = state.problems.get(agent)
        if self.prompt_style == "terse":
            name = self.metadata["name"].removesuffix("_v0")
            who = "" if self.alone else f" {self.members.index(agent)}/{len(self.members)}"
            lines = [f"{name}{who} round {number}/{rounds}", *self.terse(state, agent)]
            for speaker, text in self.heard(state, agent):
                lines += [f"{self.members.index(speaker)} {quote_message(text)}"]
            lines += [f"malformed {problem}"] if problem else []
            return "\n".join([*lines, "actions" if self.alone else "action", ""])
        lines = [self.rules(state.task, agent)]
        if self.alone:
            lines += [
                "Write a line for each, with the name before the action, such as "
                f"{self.write(self.members[0], self.idle)}."
            ]
        elif self.message_chars:
            lines += [
                f"You may add a line: say TEXT, a message of at most {self.message_chars} characters, which "
                f"{self.audience()} will read in the next round."
            ]
        lines += ["", f"Round {number} of {rounds}.", *self.describe_world(state, agent)]
        for speaker, text in self.heard(state, agent):
            lines += [f"{speaker} said:", quote_message(text)]
        lines += [f"Your last answer was malformed: {problem}."] if problem else []
        return "\n".join([*lines, "", "Your actions:" if self.alone else "Your action:"])

    def audience(self) -> str:
        """Who reads a message, in words."""
        raise NotImplementedError

    def heard(self, state: CrowdState[Task, World], agent: str) -> list[tuple[str, str]]:
        """The messages of the last round that an agent reads, with their speakers."""
        return [
            (speaker, text)
            for speaker, text in state.messages.items()
            if speaker != agent and self.hears(agent, speaker)
        ]

    def expert(self, agent: str) -> str:
        return "\n".join(self.write(name, self.choose(name)) for name in self.members_of(agent))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """The expert's actions, one in five of them replaced."""
        lines = []
        for name in self.members_of(agent):
            value = self.choose(name)
            value = self.confuse(value, rng) if rng.random() < SLOPPY else value
            lines += [self.write(name, value)]
        return "\n".join(lines)

    def members_of(self, agent: str) -> tuple[str, ...]:
        """The members that an agent plays."""
        return self.members if self.alone else (agent,)

    def write(self, member: str, value: Value) -> str:
        """An action as text."""
        return f"{member}: {value}" if self.alone else str(value)


def _join(problems: Sequence[str], most: int = 3) -> str:
    """The first of the problems."""
    more = len(problems) - most
    return "; ".join(problems[:most]) + (f"; {more} more" if more > 0 else "")
