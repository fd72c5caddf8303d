"""# Resource gathering

Two workers gather wood, stone and iron in a field that they see only around them. What each must take lies where the
other begins, so they write messages.

| | |
|---|---|
| id | `resource_gathering_v0` |
| agents | `forester_0`, who takes wood, and `miner_1`, who takes stone and iron, together; with `num_agents=1`: `gatherer_0`, who moves both workers and sees what they see |
| observation, action | text |
| rounds | `max_turns` (4) |
| success | the stock has just the blocks that are needed |

**What is known.** An agent reads what is needed and what the stock has, where its own worker is, and the cells that this
worker has seen: those at most 2 away to each side, along its whole way. It does not see where the other is. A
message is read in the next round. At the start a worker sees nothing that it can take, and all that the other
takes lies around it.

**Actions.** Orders, one a line, at most 24 a round (48 for `num_agents=1`), carried out in their order:

| order | what it does |
|---|---|
| `go x z` | walks there, along x and then along z; all walks of a round have at most the level's steps |
| `take x z` | takes one block from a stack at most 2 steps away (along x plus along z), into the stock |
| `say TEXT` | a message of at most `message_chars` (200) characters, one a round |
| `pass` | nothing |

x counts from the west and z from the north, from 0. With `num_agents=1` an order begins with its worker: `forester
go 3 4`. An order that is too far, or for a stack that is not there or that the worker does not take, is refused. How
lines are read stands under [string build](str_build.md).

**Rewards.** The team's parts are what the stock is worth; each round pays their change.

| part | who | worth over an episode |
|---|---|---|
| team: iou | both | 0.8 x intersection over union of the blocks in the stock and the blocks that are needed, by kind; what is taken beyond the need counts in the union |
| team: whole | both | 0.2 for success |
| form | own answer | -0.1 x the share of refused orders, each round; -0.1 for a malformed answer |

The most is 1, and doing nothing earns 0.

**Arguments.** `level` ("easy", "normal" (default), "hard"), `num_agents` (2), `max_turns` (4, at least 3),
`message_chars` (200; 0: no messages, a control), `prompt` ("full" or "terse"), `team_weight`, `split` ("train", "test",
"all"), `render_mode`.

| level | cells of a side | wood, stone, iron | steps of a round |
|---|---|---|---|
| easy | 7 | 2, 2, 0 | 5 |
| normal | 9 | 3, 3, 1 | 6 |
| hard | 11 | 4, 4, 2 | 8 |

**Tasks.** Drawn at random, with up to two blocks of a kind more than are needed, until a scripted pair gathers
everything in `max_turns` rounds. The split is by content: mirror images and turns of a field stay together.

**The scripted expert** says what it sees of the other's kinds, and then goes to the nearest stack of its own that it has
seen or heard of. It knows nothing else, unless there are no messages: then it is told.

**Pictures.** `render_mode="rgb_array"` draws the field from above ([rendering](../tasks.md#rendering)).

Source: ResourceGathering of CoMLRL's [Minecraft tasks](https://github.com/OpenMLRL/LLM_Collab_Minecraft) (Liu et al.,
"LLM Collaboration with Multi-Agent Reinforcement Learning", 2025, [arXiv
2508.04652](https://arxiv.org/abs/2508.04652), is the paper of the library). The two workers, what they take, the view, the
reach, the four rounds and the need of 3 wood, 3 stone and 1 iron are its own. There a cell may hold several kinds, actions
are JSON, and the reward adds bonuses for messages and zones. This version needs no Minecraft, draws its fields and has
prompts of its own. Numbers are not comparable.

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.building import pictures
from llmzoo.envs.building.orders import OrderRefused, Orders, Reader
from llmzoo.envs.building.resource_gathering import field as fields
from llmzoo.envs.building.resource_gathering import players, tasks
from llmzoo.envs.building.resource_gathering.field import FieldState
from llmzoo.envs.building.resource_gathering.tasks import (
    KINDS,
    REACH,
    TAKES,
    VIEW,
    WORKERS,
    FieldTask,
    Stack,
)
from llmzoo.envs.building.site import BuildingSite, OrdersResult, SiteState, site_agents
from llmzoo.envs.drawing import Board, BoardCell
from llmzoo.envs.tasks import generate_tasks
from llmzoo.errors import ConfigError

MOST = 24  # orders of an agent in a round
IOU, WHOLE = 0.8, 0.2
SIGNS = {"wood": "W", "stone": "S", "iron": "I"}


GatheringState = SiteState[FieldTask, FieldState]


class ResourceGathering(BuildingSite[FieldTask, FieldState]):
    """A field with two workers, moved by an agent each or both by one."""

    metadata: dict[str, Any] = {
        **BuildingSite.metadata,
        "name": "resource_gathering_v0",
        "team_components": ["iou", "whole"],
    }

    def __init__(
        self,
        *,
        level: Literal["easy", "normal", "hard"] = "normal",
        num_agents: int = 2,
        max_turns: int = 4,
        message_chars: int = 200,
        split: str = "train",
        **options: Any,
    ):
        if max_turns < 3:
            raise ConfigError(f"max_turns must be at least 3 here, got {max_turns}")
        super().__init__(
            generate_tasks(
                players.sample_task,
                tasks.canonical,
                split=split,
                name=f"resource_gathering, {level}, {max_turns} rounds",
                rounds=max_turns,
                **tasks.LEVELS[level]._asdict(),
            ),
            site_agents(num_agents, ("forester_0", "miner_1"), "gatherer_0"),
            max_turns=max_turns,
            most=MOST * 2 // num_agents,
            message_chars=message_chars if num_agents == 2 else 0,
            **options,
        )

    def initial_world(self, task: FieldTask) -> FieldState:
        return fields.initial_field(task, WORKERS)

    def order_readers(self, task: FieldTask, agent: str) -> Mapping[str, Reader]:
        workers = self._workers_of(agent)
        if len(workers) == 1:
            return fields.worker_readers(task.size, workers[0])
        return {
            worker: partial(_read_worker_order, fields.worker_readers(task.size, worker))
            for worker in workers
        }

    def execute(
        self, task: FieldTask, world: FieldState, given: Mapping[str, Orders]
    ) -> OrdersResult[FieldState]:
        field, refused = fields.execute_orders(task, world, given)
        return OrdersResult(field, refused=refused)

    def progress(self, task: FieldTask, world: FieldState) -> Mapping[str, float]:
        share = fields.gathered_iou(task, world.stock)
        return {"iou": IOU * share, "whole": WHOLE * (share == 1.0)}

    def rules(self, task: FieldTask, agent: str) -> str:
        workers = self._workers_of(agent)
        if len(workers) == 1:
            worker, partner = workers[0], "miner_1" if workers[0] == "forester" else "forester_0"
            kinds = {name: " and ".join(TAKES[name]) for name in WORKERS}
            theirs = kinds[partner.partition("_")[0]]
            team = f"You are {agent}. You take {kinds[worker]}, {partner} takes {theirs}; you work at the same time."
            form, before = "", ""
        else:
            team = f"You are {agent}. You move two workers: the forester takes wood, the miner stone and iron."
            form, before = " Begin each order with its worker, such as: forester go 3 4", "WORKER "
        needs = ", ".join(f"{n} {kind}" for kind, n in zip(KINDS, task.needs, strict=True) if n)
        return (
            f"{team}\n"
            f"Gather {needs}, and no more. A worker sees the cells at most {VIEW} away to each side, and takes blocks "
            f"at most {REACH} steps away. x counts from the west, z from the north, 0 to {task.size - 1}.\n"
            f"Write orders, one a line, at most {self.most}; they are executed in this order.{form}\n"
            f"{before}go x z: walk there, at most {task.steps} steps a round in all\n"
            f"{before}take x z: take one block from the stack in this cell\n"
            f"pass: do nothing{self.message_rule()}"
        )

    def describe_world(self, state: GatheringState, agent: str) -> str:
        stock = ", ".join(f"{state.world.stock[k]} {k}" for k in KINDS)
        lines = [f"The stock: {stock}."]
        for worker in self._workers_of(agent):
            x, z = state.world.places[worker]
            whose = "You are" if len(self.possible_agents) == 2 else f"The {worker} is"
            lines += [f"{whose} at x={x}, z={z}."]
        known = [
            f"{s.kind} {s.blocks} at {s.cell[0]} {s.cell[1]}"
            for s in self._known_stacks(state.world, agent)
        ]
        lines += [f"Stacks that you have seen and that are left: {'; '.join(known) or 'none'}."]
        signs = "W wood, S stone, I iron, @ worker, ? not seen"
        return "\n".join(
            [*lines, f"What you have seen ({signs}), from z=0:", *self._rows(state, agent)]
        )

    def terse(self, state: GatheringState, agent: str) -> str:
        needs = zip(KINDS, state.task.needs, strict=True)
        lines = ["stock " + " ".join(f"{kind} {state.world.stock[kind]}/{n}" for kind, n in needs)]
        for worker in self._workers_of(agent):
            x, z = state.world.places[worker]
            lines += [f"{worker} {x} {z} steps {state.task.steps}"]
        known = [
            f"{s.kind} {s.blocks} at {s.cell[0]} {s.cell[1]}"
            for s in self._known_stacks(state.world, agent)
        ]
        return "\n".join([*lines, *known, *self._rows(state, agent)])

    def board(self) -> str:
        return self.picture().text()

    def picture(self) -> Board:
        return self._picture(self.episode.world)

    def expert(self, agent: str) -> str:
        state = self.episode
        workers = self._workers_of(agent)
        if len(workers) == 1 and self.message_chars and not state.messages:
            return players.format_report(state.task, state.world, workers[0], self.message_chars)
        lines = []
        for worker in workers:
            reported = self._reported_stacks(agent, worker)
            orders = players.plan_round(state.task, state.world, worker, reported)
            lines += [self._order_line(str(order), worker) for order in orders]
        return "\n".join(lines) or "pass"

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        state = self.episode
        workers = self._workers_of(agent)
        first = len(workers) == 1 and self.message_chars and not state.messages
        if first and rng.random() < 0.8:
            return players.format_report(state.task, state.world, workers[0], self.message_chars)
        lines = []
        for worker in workers:
            reported = self._reported_stacks(agent, worker)
            orders = players.noisy_expert(state.task, state.world, worker, reported, rng)
            lines += [self._order_line(order, worker) for order in orders]
        return "\n".join(lines) or "pass"

    def _reported_stacks(self, agent: str, worker: str) -> list[Stack]:
        """The stacks that a worker knows of by word of mouth."""
        state = self.episode
        if not self.message_chars:
            return [stack for stack in state.world.stacks if stack.kind in TAKES[worker]]
        messages = [text for words in state.messages for s, text in words.items() if s != agent]
        return players.parse_reports(messages, state.task.size)

    def _workers_of(self, agent: str) -> tuple[str, ...]:
        """The workers that an agent moves."""
        if len(self.possible_agents) == 1:
            return WORKERS
        return (agent.partition("_")[0],)

    def _order_line(self, order: str, worker: str) -> str:
        return order if len(self.possible_agents) == 2 else f"{worker} {order}"

    def _known_stacks(self, field: FieldState, agent: str) -> list[Stack]:
        return sorted({s for worker in self._workers_of(agent) for s in field.known_stacks(worker)})

    def _rows(self, state: GatheringState, agent: str) -> list[str]:
        """The field as an agent has seen it."""
        field, size = state.world, state.task.size
        workers = self._workers_of(agent)
        seen = frozenset[tuple[int, int]]().union(*(field.seen_cells[worker] for worker in workers))
        signs = {stack.cell: SIGNS[stack.kind] for stack in field.stacks}
        signs |= {field.places[worker]: "@" for worker in workers}
        return [
            "".join(signs.get((x, z), ".") if (x, z) in seen else "?" for x in range(size))
            for z in range(size)
        ]

    def _picture(self, field: FieldState) -> Board:
        size = self.episode.task.size
        cells = {s.cell: BoardCell(SIGNS[s.kind], _KINDS[s.kind]) for s in field.stacks}
        cells |= {cell: BoardCell("@", "player") for cell in field.places.values()}
        return Board(
            tuple(
                tuple(cells.get((x, z), pictures.FLOOR) for x in range(size)) for z in range(size)
            )
        )


_KINDS: Mapping[str, Literal["wood", "stone", "iron"]] = {
    "wood": "wood",
    "stone": "stone",
    "iron": "iron",
}


def _read_worker_order(readers: Mapping[str, Reader], rest: str) -> Any:
    """The order of a worker that is named before it."""
    verb, _, words = rest.partition(" ")
    if verb.lower() not in readers:
        raise OrderRefused(f"after the worker comes {' or '.join(readers)}")
    return readers[verb.lower()](words)


raw_env = ResourceGathering
env, parallel_env = make_env_fns(ResourceGathering)
