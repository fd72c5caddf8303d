"""# House build

Two builders build a house from a plan of its layers, at the same time. Neither has enough blocks to build it alone.

| | |
|---|---|
| id | `house_build_v0` |
| agents | `builder_0` and `builder_1` together; with `num_agents=1`: `builder_0`, who has blocks enough |
| observation, action | text |
| rounds | `max_turns` (2): the blocks stay, so the second is for repairs |
| success | each cell has the plan's material, and those without one are empty |

**What is known.** Both builders read the whole plan and all that stands. They do not see each other's orders of the
same round, and they cannot speak. Of n blocks of a material each of them may place n/2, rounded up, and n/4,
rounded down, in the whole episode; so both must build, and little may be wasted.

**Actions.** Orders, one a line, at most 40 a round (80 for `num_agents=1`):

| order | what it does |
|---|---|
| `setblock x y z material` | places one block; `air` removes one, whoever placed it |
| `fill x1 y1 z1 x2 y2 z2 material` | the same for all cells from one corner to the other |
| `pass` | nothing |

x counts from the left, y from the ground and z from the front, from 0. The materials are wood, stone, brick, glass,
door and air. A cell that becomes a material takes one block, one that has it already takes none, and removed
blocks are lost. An order with a mistake in it, or for more blocks than are left, is refused as a whole; the others
are carried out: first all of `builder_0`, then all of `builder_1`. How lines are read stands under
[string build](str_build.md).

**Rewards.** The team's parts are what the house is worth; each round pays their change.

| part | who | worth over an episode |
|---|---|---|
| team: iou | both | 0.4 x intersection over union: the cells with the plan's material, among those with a block in the house or in the plan |
| team: walls | both | 0.15 x the share of the cells of the walls that are right |
| team: roof | both | 0.15 x the same for the roof |
| team: openings | both | 0.1 x the same for the door and the windows |
| team: whole | both | 0.2 for success |
| form | own answer | -0.1 x the share of refused orders, each round; -0.1 for a malformed answer |
| overlap | own answer | -0.1 x the share of its cells that the other writes in the same round |

The most is 1, and doing nothing earns 0.

**Arguments.** `level` ("easy", "normal" (default), "hard"), `num_agents` (2), `max_turns` (2), `prompt` ("full" or
"terse"), `team_weight`, `split` ("train", "test", "all"), `render_mode`.

| level | sides | height of the walls | windows | roof |
|---|---|---|---|---|
| easy | 3 to 5 | 2 | 1 or 2 | flat |
| normal | 4 to 6 | 2 or 3 | 2 or 3 | flat |
| hard | 5 to 8 | 3 or 4 | 3 to 5 | with a ridge |

**Tasks.** Drawn at random: the sizes, the materials of floor, walls and roof, the door and the windows. The split is
by content: houses that differ by a mirror image, by a turn, or by which of wood, stone and brick stands where,
stay together.

**The scripted expert** of each agent builds half of the cells of each material, in as few boxes as it finds.

**Pictures.** `render_mode="rgb_array"` draws the layers side by side, from the ground up
([rendering](../tasks.md#rendering)).

Source: HouseBuild of CoMLRL's [Minecraft tasks](https://github.com/OpenMLRL/LLM_Collab_Minecraft) (Liu et al., "LLM
Collaboration with Multi-Agent Reinforcement Learning", 2025, [arXiv 2508.04652](https://arxiv.org/abs/2508.04652),
is the paper of the library). Layers, `fill` and the limits of blocks are its own; there the reward is the share of all cells
that are right, air included, limits start again each round, and spiders attack builders who do not kill them. This
version needs no Minecraft, draws its houses, has prompts of its own, and keeps the blocks between rounds. Numbers
are not comparable.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.building import blocks, pictures, scoring
from llmzoo.envs.building.blocks import (
    BRICK,
    DOOR,
    GLASS,
    MATERIALS,
    STONE,
    SYMBOLS,
    WOOD,
    Box,
    Stock,
)
from llmzoo.envs.building.house_build import players, tasks
from llmzoo.envs.building.house_build.tasks import HouseTask
from llmzoo.envs.building.orders import Orders, Reader
from llmzoo.envs.building.site import BuildingSite, OrdersResult, SiteState, site_agents
from llmzoo.envs.drawing import Board
from llmzoo.envs.tasks import generate_tasks

MOST = 40  # orders of an agent in a round
PLACED = (WOOD, STONE, BRICK, GLASS, DOOR)
IOU, WALLS, ROOF, OPENINGS, WHOLE = 0.4, 0.15, 0.15, 0.1, 0.2


@dataclass(frozen=True, slots=True)
class HouseState:
    """``stocks``: the blocks that each agent may still place."""

    grid: bytes
    stocks: Mapping[str, Stock]


class HouseBuild(BuildingSite[HouseTask, HouseState]):
    """A house built by two agents with too few blocks each, or by one with enough."""

    metadata: dict[str, Any] = {
        **BuildingSite.metadata,
        "name": "house_build_v0",
        "team_components": ["iou", "walls", "roof", "openings", "whole"],
    }

    def __init__(
        self,
        *,
        level: Literal["easy", "normal", "hard"] = "normal",
        num_agents: int = 2,
        max_turns: int = 2,
        split: str = "train",
        **options: Any,
    ):
        chosen = generate_tasks(
            tasks.sample_task,
            tasks.canonical,
            split=split,
            name=f"house_build, {level}",
            **tasks.LEVELS[level]._asdict(),
        )
        super().__init__(
            chosen,
            site_agents(num_agents, ("builder_0", "builder_1"), "builder_0"),
            max_turns=max_turns,
            most=MOST * 2 // num_agents,
            message_chars=0,
            **options,
        )

    def initial_world(self, task: HouseTask) -> HouseState:
        stock = task.stock(len(self.possible_agents))
        return HouseState(bytes(task.box.volume), dict.fromkeys(self.possible_agents, stock))

    def order_readers(self, task: HouseTask, agent: str) -> Mapping[str, Reader]:
        return blocks.command_readers(task.box, PLACED)

    def execute(
        self, task: HouseTask, world: HouseState, given: Mapping[str, Orders]
    ) -> OrdersResult[HouseState]:
        built = blocks.apply_orders(task.box, world.grid, given, stocks=world.stocks)
        house = HouseState(built.grid, built.stocks)
        return OrdersResult(house, blocks.overlaps(built.written), built.refused)

    def progress(self, task: HouseTask, world: HouseState) -> Mapping[str, float]:
        return {
            "iou": IOU * scoring.iou(world.grid, task.target),
            "walls": WALLS * scoring.matching_share(world.grid, task.target, task.walls),
            "roof": ROOF * scoring.matching_share(world.grid, task.target, task.roof),
            "openings": OPENINGS * scoring.matching_share(world.grid, task.target, task.openings),
            "whole": WHOLE * (world.grid == task.target),
        }

    def rules(self, task: HouseTask, agent: str) -> str:
        partner = next((builder for builder in self.possible_agents if builder != agent), None)
        team = (
            f"You are {agent}. You and {partner} build one house at the same time, without speaking. Each of you may "
            "place a little more than half of the blocks of each material."
            if partner
            else f"You are {agent}. You build a house."
        )
        width, height, depth = task.box
        return (
            f"{team}\n"
            "The house must be as planned in every cell: the same material, and nothing where the plan has a dot.\n"
            f"x counts from the left, 0 to {width - 1}; y from the ground up, 0 to {height - 1}; z from the front, "
            f"0 to {depth - 1}. The materials: {', '.join(_material_signs())}.\n"
            f"Write orders, one a line, at most {self.most}:\n"
            "setblock x y z material: place one block, such as: setblock 0 1 0 wood\n"
            "fill x1 y1 z1 x2 y2 z2 material: place blocks in all cells from one corner to the other\n"
            "pass: do nothing\n"
            "The material air removes a block, which is lost. The blocks stay until the next round."
        )

    def describe_world(self, state: SiteState[HouseTask, HouseState], agent: str) -> str:
        lines = ["The plan, layer by layer; each line is a z, from 0, and x runs along it:"]
        lines += _layers(state.task.box, state.task.target)
        if any(state.world.grid):
            lines += ["What stands:", *_layers(state.task.box, state.world.grid)]
        else:
            lines += ["Nothing stands yet."]
        stock = state.world.stocks[agent]
        left = [f"{count} {MATERIALS[m]}" for m, count in stock.items() if state.task.counts[m]]
        return "\n".join([*lines, f"You may still place: {', '.join(left)}."])

    def terse(self, state: SiteState[HouseTask, HouseState], agent: str) -> str:
        box, grid, stock = state.task.box, state.world.grid, state.world.stocks[agent]
        left = " ".join(f"{MATERIALS[m]} {n}" for m, n in stock.items() if state.task.counts[m])
        standing = ["stands", *_brief(box, grid)] if any(grid) else []
        return "\n".join([left, "plan", *_brief(box, state.task.target), *standing])

    def board(self) -> str:
        return "\n".join(_layers(self.episode.task.box, self.episode.world.grid))

    def picture(self) -> Board:
        return self._picture(self.episode.world.grid)

    def fingerprint(self, task: HouseTask) -> str:
        return f"{tuple(task.box)} {task.target.hex()}"

    def expert(self, agent: str) -> str:
        state = self.episode
        return players.expert(state.task, state.world.grid, self.halves(agent))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        state = self.episode
        return players.noisy_expert(state.task, state.world.grid, self.halves(agent), rng)

    def _picture(self, grid: bytes) -> Board:
        task = self.episode.task
        return pictures.layer_views(task.box, grid, task.target)


def _layers(box: Box, grid: bytes) -> list[str]:
    return [line for y in range(box.height) for line in (f"y={y}", *box.rows(grid, y))]


def _brief(box: Box, grid: bytes) -> list[str]:
    return [f"{y} {' '.join(box.rows(grid, y))}" for y in range(box.height)]


def _material_signs() -> list[str]:
    return [f"{MATERIALS[material]} ({SYMBOLS[material]})" for material in PLACED]


raw_env = HouseBuild
env, parallel_env = make_env_fns(HouseBuild)
