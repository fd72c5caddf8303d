"""# Dining philosophers

Philosophers sit at a round table with a fork between each two neighbours, and eat with two forks. All act at the same
time, none sees what the others are about to do, and the dinner is short.

| | |
|---|---|
| id | `philosophers_v0` |
| agents | `philosopher_0`, `philosopher_1`, ..., at the same time; with `num_agents=1`: `host_0`, who plays all of them |
| observation, action | text |
| rounds | as the task says: those of the shortest dinner, and `slack` (2) more |
| success | every philosopher has had all its meals |

**The table.** Each philosopher is hungry from some round on, wants some meals, and eats for some rounds. All of them
read these numbers. An agent also reads its own meals, and of its two forks whether it holds them, or whether they are
free or taken.

**Actions.** One word a round:

| word | what it does |
|---|---|
| `left`, `right` | takes this fork if it is free; if both neighbours take it, the lower number gets it |
| `release` | puts down all forks; a neighbour may take them in the same round |
| `wait` | nothing |

Who holds both forks has a meal. It eats in the rounds after that, whatever it writes, and then both forks lie on the
table again. Who is not hungry yet, or has had all its meals, gets no fork. If every philosopher holds exactly
one fork, the dinner ends: **deadlock**.

With `message_chars` above 0, a line `say TEXT` may stand beside the word. The two neighbours read it in the next round.
With `num_agents=1` the answer has a line for each philosopher, such as `philosopher_0: left`.

**Rewards**

| part | paid to | worth |
|---|---|---|
| team: meals | all | 1 / (the meals that all want), for each meal |
| form | own answer | -0.05 in each round whose answer cannot be read; for `host_0` times the share of philosophers without an action |

The most is 1, and waiting earns nothing. Someone whose answer cannot be read waits. The first of two forks is paid for only
in a later round. `at_grpo`, which compares answers by the reward of one round, therefore seldom sees a difference;
learners that play the dinner to its end, such as `magrpo`, do ([shares](../testing_tables.md)).

**Infos.** At the end: `deadlock`, `meals` (by philosopher), `throughput` (meals per round), `fairness` (1 minus the Gini
coefficient of the shares of their meals that they have had, scaled so that 0 is all for one), and `starved` (how many had
no meal).

**Arguments.** `num_agents` (3; 2 to 8, or 1), `philosophers` (None: as many as agents, or 3 for one agent), `slack` (2; 0
to 20), `hungry_by` (4; 1 to 4: the round from which everyone is hungry; with 1 all are from the start, as in DPBench),
`message_chars` (0: no messages; up to 2,000), `prompt` ("full" or "terse"), `team_weight`, `split` ("train", "test",
"all"), `render_mode`.

**Tasks.** Each philosopher is hungry from round 1 to `hungry_by` on, wants 1 or 2 meals, and eats for 1 to 3 rounds. The split is by
content: turns and mirror images of a table stay together. Two philosophers have 300 tasks, and other numbers thousands.

**The shortest dinner** is exact: no joint play serves all meals in fewer rounds. A program goes around the table from
schedule to schedule (`schedule.py`), and a test compares it with a search over all joint actions.

**The scripted expert** needs no messages. It computes the shortest dinner from the numbers that its prompt lists and
follows its own part. If it finds its forks or meals otherwise than planned, it takes the fork with the lower number
first.

Source: DPBench (Hasan and BusiReddyGari, "DPBench: Structural Determinants of Multi-Agent LLM Coordination Under
Simultaneous Resource Contention", 2026, [arXiv 2602.13255](https://arxiv.org/abs/2602.13255)), of which these are the
rules for simultaneous actions. There everyone is always hungry, a meal takes one round, and there is no reward. A test
compares both engines over recorded episodes. They differ in one case: there, a philosopher who releases while it
eats lets a neighbour have a meal with a fork that lies on the table; here, the action of a philosopher who eats has no effect.
The same authors train with a reward of four terms ("GRPO Does Not Close the Multi-Agent Coordination Gap", 2026, [arXiv
2606.07845](https://arxiv.org/abs/2606.07845)), which they report to be largest for doing nothing. It is not offered here: only
meals are paid. Prompts are our own. Numbers are not comparable.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.base import TextEnv, make_env_fns
from llmzoo.envs.crowd.crowd_env import CrowdEnv, CrowdState, RoundResult, count_members
from llmzoo.envs.crowd.fairness import measure_fairness
from llmzoo.envs.crowd.philosophers import players, tasks
from llmzoo.envs.crowd.philosophers.schedule import plan_dinner
from llmzoo.envs.crowd.philosophers.table import (
    ACTIONS,
    WAIT,
    Table,
    forks_of,
    is_deadlock,
    lay_table,
    play_round,
)
from llmzoo.envs.crowd.philosophers.tasks import Guests
from llmzoo.envs.tasks import generate_tasks

DEFAULT_PHILOSOPHERS = 3

DinnerState = CrowdState[Guests, Table]


class Philosophers(CrowdEnv[Guests, Table, str]):
    """A round table with a fork between each two philosophers."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "philosophers_v0",
        "team_components": ["meals"],
    }
    idle = WAIT

    def __init__(
        self,
        *,
        num_agents: int = 3,
        philosophers: int | None = None,
        slack: int = 2,
        hungry_by: int = tasks.LATEST,
        split: str = "train",
        **options: Any,
    ):
        count = count_members("philosophers", num_agents, philosophers, DEFAULT_PHILOSOPHERS)
        check_range("slack", slack, 0, 20)
        check_range("hungry_by", hungry_by, 1, tasks.LATEST)
        earlier = "" if hungry_by == tasks.LATEST else f", hungry by {hungry_by}"
        super().__init__(
            generate_tasks(
                tasks.sample_task,
                tasks.canonical,
                split=split,
                name=f"philosophers, {count}{earlier}",
                philosophers=count,
                hungry_by=hungry_by,
            ),
            [f"philosopher_{number}" for number in range(count)],
            "host_0" if num_agents == 1 else "",
            **options,
        )
        self.slack = slack

    def initial_world(self, task: Guests) -> Table:
        return lay_table(len(task))

    def rounds(self, task: Guests) -> int:
        return plan_dinner(task).rounds + self.slack

    def fingerprint(self, task: Guests) -> str:
        return tasks.canonical(task)

    def read(self, task: Guests, line: str) -> str | None:
        word = line.strip().lower()
        return word if word in ACTIONS else None

    def advance(self, state: DinnerState, values: Sequence[str]) -> RoundResult[Table]:
        table = play_round(state.world, state.task, state.round, values)
        wanted = sum(guest.meals for guest in state.task)
        had = sum(table.meals)
        whole = had == wanted
        new = had - sum(state.world.meals)
        return RoundResult(table, {"meals": new / wanted}, whole or is_deadlock(table), whole)

    def hears(self, listener: str, speaker: str) -> bool:
        apart = self.members.index(listener) - self.members.index(speaker)
        return apart % len(self.members) in (1, len(self.members) - 1)

    def audience(self) -> str:
        return "your neighbours" if len(self.members) > 2 else "the other"

    def measure(self, state: DinnerState) -> Mapping[str, Any]:
        meals = state.world.meals
        shares = [had / guest.meals for had, guest in zip(meals, state.task, strict=True)]
        return {
            "deadlock": is_deadlock(state.world),
            "meals": dict(zip(self.members, meals, strict=True)),
            "throughput": sum(meals) / state.round,
            "fairness": measure_fairness(shares),
            "starved": meals.count(0),
        }

    def choose(self, member: str) -> str:
        state, number = self.episode, self.members.index(member)
        meals = plan_dinner(state.task).meals[number]
        return players.choose_action(state.world, state.task, state.round, number, meals)

    def confuse(self, value: str, rng: random.Random) -> str:
        return rng.choice([action for action in ACTIONS if action != value])

    def rules(self, task: Guests, agent: str) -> str:
        count = len(self.members)
        who = f"You are {agent}, one of {count} philosophers at a round table."
        if self.alone:
            who = f"You are {agent}. You tell {count} philosophers at a round table what to do."
        if count == 2:
            who += " Two forks lie between them, and each is the left one of one and the right one of the other."
        elif self.alone:
            who += " A fork lies between each two neighbours; philosopher_1 sits to the right of philosopher_0."
        else:
            left, right = (self.members[(self.members.index(agent) + i) % count] for i in (-1, 1))
            who += f" A fork lies between each two neighbours: {left} is on your left, {right} on your right."
        return "\n".join(
            [
                who,
                "Each round all act at the same time, each with one word:",
                "left, right: take this fork, if it is free; if both neighbours take it, the lower number gets it",
                "release: put down all forks that you hold; a neighbour may take them in the same round",
                "wait: do nothing",
                "Who holds both forks has a meal, eats in the rounds after that, and then puts both forks down. "
                "Who is not hungry gets no fork. If every philosopher holds exactly one fork, the dinner ends. "
                "All of you earn the same for every meal.",
                *(
                    f"{name}: hungry from round {guest.hungry_from + 1}, wants {guest.meals} "
                    f"{'meal' if guest.meals == 1 else 'meals'}, eats {guest.eating} "
                    f"{'round' if guest.eating == 1 else 'rounds'}"
                    for name, guest in zip(self.members, task, strict=True)
                ),
            ]
        )

    def describe_world(self, state: DinnerState, agent: str) -> list[str]:
        lines = []
        for name in self.members_of(agent):
            number = self.members.index(name)
            had, wanted = state.world.meals[number], state.task[number].meals
            left, right = self._fork_words(state.world, number)
            who = f"{name}:" if self.alone else "You:"
            lines += [
                f"{who} {self._status(state, number)}, meals {had} of {wanted}, left fork {left}, right fork {right}."
            ]
        return lines

    def terse(self, state: DinnerState, agent: str) -> list[str]:
        guests = " ".join(f"{g.hungry_from + 1}.{g.meals}.{g.eating}" for g in state.task)
        lines = [f"guests {guests}"]
        for name in self.members_of(agent):
            number = self.members.index(name)
            left, right = self._fork_words(state.world, number)
            who = f"{name} " if self.alone else ""
            lines += [f"{who}meals {state.world.meals[number]} left {left} right {right}"]
            if state.world.eating[number]:
                lines[-1] += " eating"
        return lines

    def board(self) -> str:
        """Who holds which forks, for a person."""
        state = self.episode
        lines = [f"round {state.round} of {self.rounds(state.task)}"]
        for number, (name, guest) in enumerate(zip(self.members, state.task, strict=True)):
            left, right = state.world.holds(number)
            forks = " and ".join(["left"] * left + ["right"] * right) or "no fork"
            lines += [
                f"{name}: {self._status(state, number)}, holds {forks}, "
                f"meals {state.world.meals[number]} of {guest.meals}"
            ]
        return "\n".join([*lines, *(["deadlock"] if is_deadlock(state.world) else [])])

    def _status(self, state: DinnerState, number: int) -> str:
        guest, table = state.task[number], state.world
        if table.eating[number]:
            rounds = table.eating[number]
            return f"eating for {rounds} more {'round' if rounds == 1 else 'rounds'}"
        if table.meals[number] >= guest.meals:
            return "full"
        return "hungry" if state.round >= guest.hungry_from else "not hungry yet"

    def _fork_words(self, table: Table, number: int) -> list[str]:
        """What a philosopher sees of its left and its right fork."""
        holders = [table.holders[fork] for fork in forks_of(number, len(self.members))]
        return ["free" if h is None else "held" if h == number else "taken" for h in holders]


raw_env = Philosophers
env, parallel_env = make_env_fns(Philosophers)
