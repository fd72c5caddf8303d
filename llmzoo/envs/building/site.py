"""What the building environments share: rounds of orders given at the same time, rewards and prompts.

Every round each agent writes orders, one a line. All are carried out together, agent by agent, and the world
stays from round to round.

* team: the components of :meth:`BuildingSite.progress`, from 0 at the start to 1 in all when the work is
  finished. The reward of a round is their change (potential-based, gamma 1), so building and tearing down again
  earns nothing.
* form, per agent: -0.1 x the share of the round's orders that are refused; -0.1 for an answer without orders.
* overlap, per agent: -0.1 x the share of the cells it wrote that another agent wrote in the same round.

The two local components are never positive, so an episode earns at most 1, and doing nothing earns 0.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from llmzoo.envs.argument_checks import check_choice, check_range
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.building import orders
from llmzoo.envs.building.orders import Orders, Reader
from llmzoo.envs.messages import MAX_MESSAGE_CHARS
from llmzoo.envs.tasks import Tasks, describe_task
from llmzoo.envs.text import MalformedError, replace_surrogates

Task = TypeVar("Task")
World = TypeVar("World")

FORM, OVERLAP = -0.1, -0.1
MAX_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class OrdersResult(Generic[World]):
    """The result of the orders of a round. overlap: by agent, the share of its cells that another agent wrote too.
    refused: by agent, what could not be done."""

    world: World
    overlap: Mapping[str, float] = field(default_factory=dict)
    refused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SiteState(Generic[Task, World]):
    """The state of an episode. messages: of each past round, by agent. feedback: what became of each agent's
    last answer. team_rewards: the team reward components so far."""

    task: Task
    world: World
    messages: tuple[Mapping[str, str], ...] = ()
    feedback: Mapping[str, str] = field(default_factory=dict)
    team_rewards: Mapping[str, float] = field(default_factory=dict)


class BuildingSite(TextEnv[SiteState[Task, World]], Generic[Task, World]):
    """Agents that give orders at the same time.

    Parameters
    ----------
    tasks: where the tasks of the split come from.
    agents: their names.
    max_turns: rounds.
    most: the maximum number of orders of an agent in a round.
    message_chars: the longest message of an agent in a round, 0 for no messages.
    prompt: ``"full"`` explains itself in words; ``"terse"`` holds the same in few tokens.
    """

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "render_modes": ["ansi", "human", "rgb_array"],
        "render_fps": 1,
    }

    def __init__(
        self,
        tasks: Tasks[Task],
        agents: Sequence[str],
        *,
        max_turns: int,
        most: int,
        message_chars: int,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        render_mode: str | None = None,
    ):
        check_range("max_turns", max_turns, 1, MAX_ROUNDS)
        check_range("message_chars", message_chars, 0, MAX_MESSAGE_CHARS)
        super().__init__(
            list(agents),
            simultaneous=True,
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.tasks = tasks
        self.most = most
        self.message_chars = message_chars
        self.prompt_style = prompt

    def halves(self, agent: str) -> list[int]:
        """The halves of the work that an agent does: both if it is alone."""
        alone = len(self.possible_agents) == 1
        return [0, 1] if alone else [self.possible_agents.index(agent)]

    # What an environment supplies

    def initial_world(self, task: Task) -> World:
        """The world at the start."""
        raise NotImplementedError

    def order_readers(self, task: Task, agent: str) -> Mapping[str, Reader]:
        """How each order of an agent is read, by its verb."""
        raise NotImplementedError

    def execute(self, task: Task, world: World, given: Mapping[str, Orders]) -> OrdersResult[World]:
        """What the orders of all agents do."""
        raise NotImplementedError

    def progress(self, task: Task, world: World) -> Mapping[str, float]:
        """The team reward components that the world is worth: all 0 at the start, 1 in all at the end.

        The part "whole" is paid if the work is done, and only then.
        """
        raise NotImplementedError

    def rules(self, task: Task, agent: str) -> str:
        """The role of an agent, the task and the orders, in words."""
        raise NotImplementedError

    def describe_world(self, state: SiteState[Task, World], agent: str) -> str:
        """What an agent sees of the world, with words around it."""
        raise NotImplementedError

    def terse(self, state: SiteState[Task, World], agent: str) -> str:
        """All that an agent needs, in few tokens."""
        raise NotImplementedError

    def fingerprint(self, task: Task) -> str:
        """A text that identifies the task; its id in ``infos`` is a hash of it."""
        return repr(task)

    # Implementation of TextEnv

    def reset_task(self, rng: random.Random, task: int | str | None) -> SiteState[Task, World]:
        chosen = self.tasks.sample(rng) if task is None else self.tasks[task]
        return SiteState(chosen, self.initial_world(chosen))

    def task_info(self) -> Mapping[str, Any]:
        task = self.episode.task
        return describe_task(self.tasks, self.fingerprint(task), task)

    def apply(
        self, state: SiteState[Task, World], actions: Mapping[str, str]
    ) -> tuple[SiteState[Task, World], Outcome]:
        given: dict[str, Orders] = {}
        feedback: dict[str, str] = {}
        errors: dict[str, str] = {}
        local: dict[str, dict[str, float]] = {agent: {} for agent in self.possible_agents}
        for agent in self.possible_agents:
            try:
                given[agent] = self.read(state.task, agent, actions[agent])
            except MalformedError as reason:
                given[agent] = Orders()
                feedback[agent] = f"malformed: {reason}"
                errors[agent] = f"malformed: {reason}"
                local[agent]["form"] = FORM
        done = self.execute(state.task, state.world, given)
        for agent in self.possible_agents:
            if agent in feedback:
                continue
            answer = _without_refused(given[agent], done.refused.get(agent, ()))
            feedback[agent] = orders.summarize_orders(answer)
            if answer.refused:
                count = len(answer.given) + len(answer.refused) + bool(answer.message)
                local[agent]["form"] = FORM * len(answer.refused) / count
                errors[agent] = f"refused: {'; '.join(answer.refused[:3])}"
        for agent, part in done.overlap.items():
            if part:
                local[agent]["overlap"] = OVERLAP * part
        parts = self.progress(state.task, done.world)
        messages = {agent: answer.message for agent, answer in given.items() if answer.message}
        whole = parts["whole"] > 0
        team = {name: value - state.team_rewards.get(name, 0.0) for name, value in parts.items()}
        state = SiteState(state.task, done.world, (*state.messages, messages), feedback, parts)
        return state, Outcome(team, local, whole, errors, whole)

    def read(self, task: Task, agent: str, text: str) -> Orders:
        """The orders of an answer; raises :class:`MalformedError`."""
        readers = self.order_readers(task, agent)
        return orders.parse_orders(text, readers, most=self.most, message_chars=self.message_chars)

    def observation(self, state: SiteState[Task, World], agent: str) -> str:
        number = min(self.turn + 1, self.max_turns)
        last = state.feedback.get(agent)
        if self.prompt_style == "terse":
            who = self.possible_agents.index(agent)
            name = self.metadata["name"].removesuffix("_v0")
            message_lines = [
                f"{'you' if builder == agent else self.possible_agents.index(builder)} {replace_surrogates(text)}"
                for words in state.messages
                for builder, text in words.items()
            ]
            lines = [
                f"{name} {who} {number}/{self.max_turns}",
                self.terse(state, agent),
                *message_lines,
            ]
            return "\n".join([*lines, *([f"last {last}"] if last else []), "orders", ""])
        lines = [
            self.rules(state.task, agent),
            "",
            f"Round {number} of {self.max_turns}.",
            self.describe_world(state, agent),
        ]
        for past, words in enumerate(state.messages, start=1):
            lines += [
                f"{'You' if builder == agent else builder} in round {past}: {replace_surrogates(text)}"
                for builder, text in words.items()
            ]
        lines += [f"Your last answer: {last}."] if last else []
        return "\n".join([*lines, "", "Your orders:"])

    def message_rule(self) -> str:
        """The rule about messages, "" where there are none."""
        if not self.message_chars or len(self.possible_agents) == 1:
            return ""
        return (
            f"\nsay TEXT: a message of at most {self.message_chars} characters, one a round. The other reads "
            "it in the next round. The other knows only what you say."
        )


def _without_refused(answer: Orders, late: Sequence[str]) -> Orders:
    """The orders without those that were refused when they were carried out."""
    if not late:
        return answer
    numbers = {int(reason.removeprefix("line ").partition(":")[0]) for reason in late}
    kept = tuple(order for order in answer.given if order[0] not in numbers)
    return replace(answer, given=kept, refused=(*answer.refused, *late))


def site_agents(num_agents: int, two: Sequence[str], alone: str) -> list[str]:
    """The agents of an environment for two, or for one that does the work of both."""
    check_choice("num_agents", num_agents, (1, 2))
    return list(two) if num_agents == 2 else [alone]
