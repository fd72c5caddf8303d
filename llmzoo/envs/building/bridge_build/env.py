"""# Bridge build

Two builders span a valley between banks of different height. Each sees its own side only, and they write messages.

| | |
|---|---|
| id | `bridge_build_v0` |
| agents | `west_0` and `east_1` together; with `num_agents=1`: `builder_0`, who sees and reaches everything |
| observation, action | text |
| rounds | `max_turns` (4): the blocks stay |
| success | the bridge stands as the rules say, and nothing else does |

**The bridge.** A wooden deck, one block in each column of the valley. It runs at the height of the lower bank, and
next to the higher bank it climbs by one block a column, so that one can walk from bank to bank. On each rock in
the valley stands a pier of stone, from the rock up to the deck.

**What is known.** An agent sees the earth and the blocks of its own half of the columns: its bank, the rocks there and what
stands there. It does not see the other half. How high the deck is and where it climbs depends on both
banks, so each must say where its own is. A message is read in the next round. An agent reaches its half and two
columns beyond.

**Actions.** Orders, one a line, at most 30 a round (60 for `num_agents=1`):

| order | what it does |
|---|---|
| `say TEXT` | a message of at most `message_chars` (200) characters, one a round |
| `setblock x y z material` | places one block; `air` removes one, whoever placed it |
| `fill x1 y1 z1 x2 y2 z2 material` | the same for all cells from one corner to the other |
| `pass` | nothing |

x counts from the west, y from the valley floor, from 0; z is 0. The materials are wood, stone and air. Earth
stays as it is: an order that names its cells changes only the others. An order with a mistake in it is refused as
a whole. How lines are read stands under [string build](str_build.md).

**Rewards.** The team's parts are what the bridge is worth; each round pays their change.

| part | who | worth over an episode |
|---|---|---|
| team: iou | both | 0.6 x intersection over union: the cells with the right material, among those with a block in the valley or in the right bridge |
| team: joined | both | 0.2 if one can walk from bank to bank: each column of the valley has a block of wood on top, at most one higher or lower than its neighbours |
| team: whole | both | 0.2 for success |
| form | own answer | -0.1 x the share of refused orders, each round; -0.1 for a malformed answer |
| overlap | own answer | -0.1 x the share of its cells that the other writes in the same round |

The most is 1, and doing nothing earns 0.

**Arguments.** `level` ("easy", "normal" (default), "hard"), `num_agents` (2), `max_turns` (4), `message_chars` (200; 0:
no messages, a control), `prompt` ("full" or "terse"), `team_weight`, `split` ("train", "test", "all"), `render_mode`.

| level | columns | height | columns of a bank | banks differ by | rocks |
|---|---|---|---|---|---|
| easy | 14 | 8 | 2 to 4 | 1 or 2 | 2 |
| normal | 16 | 9 | 2 to 5 | 1 to 4 | 2 |
| hard | 20 | 12 | 2 to 5 | 1 to 7 | 4 |

**Tasks.** Drawn at random. The split is by content: valleys that are mirror images of each other stay together.

**The scripted expert** says the edge and the height of its bank, and then builds its half of the bridge that follows
from its own bank and the other's message. It reads nothing else of the other half.

**Pictures.** `render_mode="rgb_array"` draws the valley from the side ([rendering](../tasks.md#rendering)).

Source: BridgeBuild of CoMLRL's [Minecraft tasks](https://github.com/OpenMLRL/LLM_Collab_Minecraft) (Liu et al., "LLM
Collaboration with Multi-Agent Reinforcement Learning", 2025, [arXiv 2508.04652](https://arxiv.org/abs/2508.04652),
is the paper of the library). The fog, the messages and the four rounds are its own. There the valley is seen from above, any
way that joins the banks is a success, builders walk, and they probe which pillars are sound. This version needs no
Minecraft, has one right bridge for each valley and prompts of its own, and its builders do not walk. Numbers are not
comparable.

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.building import blocks, pictures, scoring
from llmzoo.envs.building.blocks import STONE, SYMBOLS, WOOD
from llmzoo.envs.building.bridge_build import players, tasks
from llmzoo.envs.building.bridge_build.tasks import REACH, BridgeTask
from llmzoo.envs.building.orders import Orders, Reader
from llmzoo.envs.building.site import BuildingSite, OrdersResult, SiteState, site_agents
from llmzoo.envs.drawing import Board
from llmzoo.envs.messages import received_messages
from llmzoo.envs.tasks import generate_tasks

MOST = 30  # orders of an agent in a round
IOU, CONNECTED, WHOLE = 0.6, 0.2, 0.2
EARTH, UNSEEN = "#", "?"


class BridgeBuild(BuildingSite[BridgeTask, bytes]):
    """A bridge built from two banks, by two agents that see one side each or by one that sees all."""

    metadata: dict[str, Any] = {
        **BuildingSite.metadata,
        "name": "bridge_build_v0",
        "team_components": ["iou", "joined", "whole"],
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
        chosen = generate_tasks(
            tasks.sample_task,
            tasks.canonical,
            split=split,
            name=f"bridge_build, {level}",
            **tasks.LEVELS[level]._asdict(),
        )
        super().__init__(
            chosen,
            site_agents(num_agents, ("west_0", "east_1"), "builder_0"),
            max_turns=max_turns,
            most=MOST * 2 // num_agents,
            message_chars=message_chars if num_agents == 2 else 0,
            **options,
        )

    def initial_world(self, task: BridgeTask) -> bytes:
        return bytes(task.box.volume)

    def order_readers(self, task: BridgeTask, agent: str) -> Mapping[str, Reader]:
        return blocks.command_readers(task.box, (WOOD, STONE), self._reach(task, agent))

    def execute(
        self, task: BridgeTask, world: bytes, given: Mapping[str, Orders]
    ) -> OrdersResult[bytes]:
        built = blocks.apply_orders(task.box, world, given, solid=task.earth)
        return OrdersResult(built.grid, blocks.overlaps(built.written))

    def progress(self, task: BridgeTask, world: bytes) -> Mapping[str, float]:
        return {
            "iou": IOU * scoring.iou(world, task.target),
            "joined": CONNECTED * is_connected(task, world),
            "whole": WHOLE * (world == task.target),
        }

    def rules(self, task: BridgeTask, agent: str) -> str:
        width, height, _ = task.box
        reach = self._reach(task, agent)
        if len(self.possible_agents) == 1:
            team = "You are builder_0. You build a bridge over a valley."
        else:
            side, partner = ("west", "east_1") if agent == "west_0" else ("east", "west_0")
            team = (
                f"You are {agent}. You and {partner} build a bridge over a valley, at the same time. You see and "
                f"build the {side} side, {partner} the other one; you reach x from {reach[0]} to {reach[-1]}."
            )
        return (
            f"{team}\n"
            "The bridge: a deck of wood, one block in each column between the banks. It runs at the height of the "
            "lower bank's top block; next to the higher bank it climbs by one block a column, so that its last "
            "block is one lower than the bank. On each rock in the valley stands a pier of stone, from the rock up "
            "to the deck. Nothing else may stand in the valley.\n"
            f"x counts from the west, 0 to {width - 1}; y from the valley floor up, 0 to {height - 1}; z is 0. # is earth, "
            "W wood, S stone, ? unseen. The edge of a bank is its column next to the valley.\n"
            f"Write orders, one a line, at most {self.most}:\n"
            "setblock x y z material: place one block, such as: setblock 7 3 0 wood\n"
            "fill x1 y1 z1 x2 y2 z2 material: place blocks in all cells from one corner to the other\n"
            f"pass: do nothing{self.message_rule()}\n"
            "The material air removes a block. The blocks stay until the next round."
        )

    def describe_world(self, state: SiteState[BridgeTask, bytes], agent: str) -> str:
        width, height, _ = state.task.box
        rows = _rows(state, self._visible_columns(state.task, agent))
        lines = [f"y={height - 1 - number:<2} {row}" for number, row in enumerate(rows)]
        tens = "".join(str(x // 10) if x % 10 == 0 else " " for x in range(width))
        ones = "".join(str(x % 10) for x in range(width))
        return "\n".join(["What you see:", *lines, f"     {tens}", f"x=   {ones}"])

    def terse(self, state: SiteState[BridgeTask, bytes], agent: str) -> str:
        reach = self._reach(state.task, agent)
        rows = _rows(state, self._visible_columns(state.task, agent))
        return "\n".join([f"reach {reach[0]} {reach[-1]}", *rows])

    def board(self) -> str:
        return "\n".join(_rows(self.episode, range(self.episode.task.box.width)))

    def picture(self) -> Board:
        return self._picture(self.episode.world)

    def expert(self, agent: str) -> str:
        state = self.episode
        if not self.message_chars:
            columns = [
                x
                for builder in self.halves(agent)
                for x in players.half_columns(state.task, builder)
            ]
            banks = state.task.west, state.task.east
            return players.format_commands(
                players.remaining_commands(state.task, state.world, banks, columns)
            )
        builder = self.possible_agents.index(agent)
        return players.expert(
            state.task, state.world, builder, received_messages(state.messages, agent)
        )

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        state = self.episode
        if len(self.possible_agents) == 1:
            return players.noisy_expert_alone(state.task, state.world, rng)
        builder = self.possible_agents.index(agent)
        heard = received_messages(state.messages, agent) if self.message_chars else [""]
        return players.noisy_expert(state.task, state.world, builder, heard, rng)

    def _visible_columns(self, task: BridgeTask, agent: str) -> range:
        """The columns that an agent sees."""
        if len(self.possible_agents) == 1:
            return range(task.box.width)
        return players.half_columns(task, self.possible_agents.index(agent))

    def _reach(self, task: BridgeTask, agent: str) -> range:
        """The columns in which an agent builds."""
        seen = self._visible_columns(task, agent)
        return range(max(0, seen.start - REACH), min(task.box.width, seen.stop + REACH))

    def _picture(self, grid: bytes) -> Board:
        task = self.episode.task
        grid = bytes(0 if solid else cell for cell, solid in zip(grid, task.earth, strict=True))
        return pictures.front_view(task.box, grid, task.target, task.earth)


def _rows(state: SiteState[BridgeTask, bytes], columns: range) -> list[str]:
    """The rows from the top, with the cells of ``columns``."""
    task, grid = state.task, state.world
    rows = []
    for y in reversed(range(task.box.height)):
        at = y * task.box.width
        cells = [
            UNSEEN if x not in columns else EARTH if task.earth[at + x] else SYMBOLS[grid[at + x]]
            for x in range(task.box.width)
        ]
        rows.append("".join(cells))
    return rows


def is_connected(task: BridgeTask, grid: bytes) -> bool:
    """Whether one can walk from bank to bank."""
    before = task.west.height
    for x in range(task.west.edge + 1, task.east.edge):
        column = grid[x :: task.box.width]
        top = max((y for y, built in enumerate(column) if built), default=0)
        if column[top] != WOOD or abs(top - before) > 1:
            return False
        before = top
    return abs(task.east.height - before) <= 1


raw_env = BridgeBuild
env, parallel_env = make_env_fns(BridgeBuild)
