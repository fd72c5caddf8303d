"""# String build

Two builders write a text of blocks on a wall, at the same time. Each has one material, and no two blocks
that touch may be of the same material.

| | |
|---|---|
| id | `str_build_v0` |
| agents | `builder_0` (wood) and `builder_1` (stone) together; with `num_agents=1`: `builder_0`, who has both |
| observation, action | text |
| rounds | `max_turns` (2): the blocks stay, so the second is for repairs |
| success | a block in each cell of the text and in no other, and no two of one material that touch |

**What is known.** Both builders read the whole plan and all that stands. They do not see each other's orders
of the same round, and they cannot speak: they need a rule for who builds what. A builder alone can build at most
every second cell.

**Actions.** Orders, one a line, at most 64 a round (128 for `num_agents=1`):

| order | what it does |
|---|---|
| `setblock x y z material` | places one block; `air` removes one, whoever placed it |
| `fill x1 y1 z1 x2 y2 z2 material` | the same for all cells from one corner to the other |
| `pass` | nothing |

x counts from the left and y from the ground, from 0; z is 0. An order begins a line, after a "-", "3." or "/" if
need be; other lines are ignored. An order with a mistake in it (a material of the other builder, a cell outside the
wall, a number that is none, a word too many) is refused, and the others are carried out: first all of `builder_0`,
then all of `builder_1`, who so replaces what both build. An answer without an order, or of more than 20,000
characters, is malformed.

**Rewards.** The team's parts are what the wall is worth; each round pays their change.

| part | who | worth over an episode |
|---|---|---|
| team: iou | both | 0.4 x intersection over union of the cells with a block and those of the text |
| team: pairs | both | 0.4 x the same for pairs of touching cells: those in the text with two different materials, among those with a block or a cell of the text in both |
| team: whole | both | 0.2 for success |
| form | own answer | -0.1 x the share of refused orders, each round; -0.1 for a malformed answer |
| overlap | own answer | -0.1 x the share of its cells that the other writes in the same round |

The most is 1, and doing nothing earns 0.

**Arguments.** `level` ("easy": 2 letters, "normal": 3, "hard": 5), `letters` (1 to 5, instead of a level),
`num_agents` (2), `max_turns` (2), `prompt` ("full" or "terse"), `team_weight`, `split` ("train", "test",
"all"), `render_mode`.

**Tasks.** Random capital letters in a font of 5x7 cells. The split is by content: walls that are mirror images of
each other stay together.

**The scripted expert** of each agent builds the cells whose x + y is even (`builder_0`) or odd (`builder_1`).

**Pictures.** `render_mode="rgb_array"` draws the wall and the plan ([rendering](../tasks.md#rendering)).

Source: StrBuild of CoMLRL's [Minecraft tasks](https://github.com/OpenMLRL/LLM_Collab_Minecraft) (Liu et al., "LLM
Collaboration with Multi-Agent Reinforcement Learning", 2025, [arXiv 2508.04652](https://arxiv.org/abs/2508.04652),
is the paper of the library). There the reward is 2 x coverage, less penalties for blocks outside the text, for
touching blocks of one kind and for unused materials; each builder has two materials, and only `setblock`. This
version needs no Minecraft, has a font and prompts of its own, and keeps the blocks between rounds. Numbers are not
comparable.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.building import blocks, pictures, scoring
from llmzoo.envs.building.blocks import MATERIALS, STONE, SYMBOLS, WOOD
from llmzoo.envs.building.orders import Orders, Reader
from llmzoo.envs.building.site import BuildingSite, OrdersResult, SiteState, site_agents
from llmzoo.envs.building.str_build import players, tasks
from llmzoo.envs.building.str_build.tasks import WordTask
from llmzoo.envs.drawing import Board
from llmzoo.envs.tasks import generate_tasks

MOST = 64  # orders of an agent in a round
OWN = (WOOD, STONE)  # the material of each agent
IOU, PAIRS, WHOLE = 0.4, 0.4, 0.2


class StrBuild(BuildingSite[WordTask, bytes]):
    """A text on a wall, built by two agents with one material each, or by one with both."""

    metadata: dict[str, Any] = {
        **BuildingSite.metadata,
        "name": "str_build_v0",
        "team_components": ["iou", "pairs", "whole"],
    }

    def __init__(
        self,
        *,
        level: Literal["easy", "normal", "hard"] = "normal",
        letters: int | None = None,
        num_agents: int = 2,
        max_turns: int = 2,
        split: str = "train",
        **options: Any,
    ):
        count = tasks.check_letters(tasks.LEVELS[level] if letters is None else letters)
        chosen = generate_tasks(
            tasks.sample_task,
            tasks.canonical,
            split=split,
            name=f"str_build, {count} letters",
            letters=count,
        )
        agents = site_agents(num_agents, ("builder_0", "builder_1"), "builder_0")
        super().__init__(
            chosen,
            agents,
            max_turns=max_turns,
            most=MOST * 2 // num_agents,
            message_chars=0,
            **options,
        )

    def initial_world(self, task: WordTask) -> bytes:
        return bytes(task.box.volume)

    def order_readers(self, task: WordTask, agent: str) -> Mapping[str, Reader]:
        return blocks.command_readers(task.box, self._materials(agent))

    def execute(
        self, task: WordTask, world: bytes, given: Mapping[str, Orders]
    ) -> OrdersResult[bytes]:
        built = blocks.apply_orders(task.box, world, given)
        return OrdersResult(built.grid, blocks.overlaps(built.written))

    def progress(self, task: WordTask, world: bytes) -> Mapping[str, float]:
        cells = scoring.shape_iou(world, task.target)
        pairs = scoring.pairs_iou(world, task.target, task.box)
        return {
            "iou": IOU * cells,
            "pairs": PAIRS * pairs,
            "whole": WHOLE * (cells == pairs == 1.0),
        }

    def rules(self, task: WordTask, agent: str) -> str:
        own_materials = " and ".join(MATERIALS[material] for material in self._materials(agent))
        partner = next((builder for builder in self.possible_agents if builder != agent), None)
        material = MATERIALS[OWN[0] if agent == "builder_1" else OWN[1]]
        team = (
            f"You are {agent}. You and {partner} build on one wall at the same time, without speaking. You place "
            f"{own_materials}, {partner} places {material}."
            if partner
            else f"You are {agent}. You build on a wall. You place {own_materials}."
        )
        width, height, _ = task.box
        return (
            f"{team}\n"
            "The plan: a block in each cell that is # and in no other. Two blocks that touch side by side or one "
            "above the other must be of different materials.\n"
            f"x counts from the left, 0 to {width - 1}; y from the ground up, 0 to {height - 1}; z is 0.\n"
            f"Write orders, one a line, at most {self.most}:\n"
            f"setblock x y z material: place one block, such as: setblock 0 0 0 {own_materials.partition(' ')[0]}\n"
            "fill x1 y1 z1 x2 y2 z2 material: place blocks in all cells from one corner to the other\n"
            "pass: do nothing\n"
            "The material air removes a block. The blocks stay until the next round."
        )

    def describe_world(self, state: SiteState[WordTask, bytes], agent: str) -> str:
        lines = ["The plan:", *_number_rows(state.task.rows)]
        if any(state.world):
            signs = ", ".join(f"{SYMBOLS[material]} {MATERIALS[material]}" for material in OWN)
            lines += [f"What stands ({signs}):", *_number_rows(_standing_rows(state))]
        else:
            lines += ["Nothing stands yet."]
        return "\n".join(lines)

    def terse(self, state: SiteState[WordTask, bytes], agent: str) -> str:
        own_materials = " ".join(MATERIALS[material] for material in self._materials(agent))
        standing = ["stands", *_standing_rows(state)] if any(state.world) else []
        return "\n".join([own_materials, "plan", *state.task.rows, *standing])

    def board(self) -> str:
        """What stands; a # where a block is missing."""
        rows = zip(_standing_rows(self.episode), self.episode.task.rows, strict=True)
        return "\n".join(
            "".join(plan if block == "." else block for block, plan in zip(*row, strict=True))
            for row in rows
        )

    def picture(self) -> Board:
        return self._picture(self.episode.world)

    def fingerprint(self, task: WordTask) -> str:
        return task.text

    def expert(self, agent: str) -> str:
        state = self.episode
        return players.expert(state.task, state.world, self.halves(agent), OWN)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        state = self.episode
        return players.noisy_expert(state.task, state.world, self.halves(agent), OWN, rng)

    def _materials(self, agent: str) -> list[int]:
        return [OWN[half] for half in self.halves(agent)]

    def _picture(self, grid: bytes) -> Board:
        task = self.episode.task
        return pictures.front_view(task.box, grid, task.target, any_material=True)


def _standing_rows(state: SiteState[WordTask, bytes]) -> list[str]:
    box = state.task.box
    return [box.rows(state.world, y)[0] for y in reversed(range(box.height))]


def _number_rows(rows: list[str] | tuple[str, ...]) -> list[str]:
    """The rows of a wall from the top, with their y."""
    return [f"y={len(rows) - 1 - number} {row}" for number, row in enumerate(rows)]


raw_env = StrBuild
env, parallel_env = make_env_fns(StrBuild)
