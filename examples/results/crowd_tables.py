"""Tables of philosophers_v0 with another scripted player, or another reward, for the study crowd_philosophers.

* :class:`LeftFirst` has a scripted player that knows the words and the rules but does not coordinate: everyone
  takes the left fork first. Where all are hungry from the start, everyone then holds one fork after the first round.
* :class:`EitherFirst` has one that takes a random fork first. It does not coordinate either, but it tries both orders.
* :class:`FourTerms` pays for safety, efficiency and fairness, and not for meals. A team that never takes a fork gets
  all of it. arXiv 2606.07845 reports this property of its own reward of four terms, whose equation
  we could not read: this one is ours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from llmzoo.envs.crowd.crowd_env import RoundResult
from llmzoo.envs.crowd.fairness import measure_fairness
from llmzoo.envs.crowd.philosophers.env import DinnerState, Philosophers
from llmzoo.envs.crowd.philosophers.table import (
    LEFT,
    RIGHT,
    WAIT,
    Table,
    is_deadlock,
    is_hungry,
    lay_table,
    play_round,
)
from llmzoo.envs.crowd.philosophers.tasks import Guests

FORKS_OF_A_MEAL = 2


class LeftFirst(Philosophers):
    """The same table; its expert takes the left fork first, then the right one."""

    def choose(self, member: str) -> str:
        state, number = self.episode, self.members.index(member)
        if not is_hungry(state.task[number], state.world, number, state.round):
            return WAIT
        left, right = state.world.holds(number)
        if left or right:
            return RIGHT if left else LEFT
        return self.first_fork(member)

    def first_fork(self, member: str) -> str:
        return LEFT


class EitherFirst(LeftFirst):
    """The same table; its expert takes a random fork first, then the other one."""

    def first_fork(self, member: str) -> str:
        state = self.episode
        return random.Random(f"{state.task} {state.round} {member}").choice([LEFT, RIGHT])


@dataclass(frozen=True, slots=True)
class CountedTable(Table):
    """attempts: how often someone wrote ``left`` or ``right`` so far."""

    attempts: int = 0


class FourTerms(Philosophers):
    """The same table; the team is paid at the end, for how it ended and not for meals.

    A third each for safety (no deadlock), efficiency (two forks for each meal / attempts to take a fork; 1 without
    an attempt) and fairness (that of the infos, 1 without a meal). The fourth term is that of the form.
    """

    metadata: ClassVar[dict[str, Any]] = {
        **Philosophers.metadata,
        "team_components": ["safety", "efficiency", "fairness"],
    }

    def initial_world(self, task: Guests) -> CountedTable:
        table = lay_table(len(task))
        return CountedTable(table.holders, table.eating, table.meals)

    def advance(self, state: DinnerState, values: Sequence[str]) -> RoundResult[Table]:
        found = play_round(state.world, state.task, state.round, values)
        attempts = state.world.attempts + sum(value in (LEFT, RIGHT) for value in values)
        table = CountedTable(found.holders, found.eating, found.meals, attempts)
        deadlock, whole = (
            is_deadlock(table),
            sum(table.meals) == sum(guest.meals for guest in state.task),
        )
        done = deadlock or whole
        if not done and state.round + 1 < self.rounds(state.task):
            return RoundResult(table, {}, done=False, success=False)
        shares = [had / guest.meals for had, guest in zip(table.meals, state.task, strict=True)]
        terms = {
            "safety": float(not deadlock),
            "efficiency": FORKS_OF_A_MEAL * sum(table.meals) / attempts if attempts else 1.0,
            "fairness": measure_fairness(shares),
        }
        paid = {name: value / len(terms) for name, value in terms.items()}
        return RoundResult(table, paid, done=done, success=whole)
