"""Attacks on the building environments: filling everything, nothing, the same part twice, the work of one
agent, guesses without messages, hostile numbers, floods of orders and praise.

A score is the mean return of the agent that gains most, over the same tasks. It must stay below the
noisy experts' mean return; attacks that do not read the plan must stay below half of what experts earn.
"""

from __future__ import annotations

from collections.abc import Iterator

import llmzoo
from llmzoo.envs.base import TextEnv
from llmzoo.envs.building.blocks import MATERIALS

from .episode import Act, copies_the_prompt, mean_returns, noisy_expert, says
from .scored import Scored

TASKS = 200
BLIND = 0.5  # experts earn 1
NO_BONUS = 0.8  # what experts earn without the part "whole"
FORMS = {
    "str_build_v0": [{}, {"level": "hard"}],
    "house_build_v0": [{}, {"level": "hard"}],
    "bridge_build_v0": [{}, {"level": "hard"}],
    "resource_gathering_v0": [{}, {"level": "hard"}],
}
_OWN = {"builder_0": "wood", "builder_1": "stone"}


def attacks() -> Iterator[Scored]:
    for id, forms in FORMS.items():
        for form in forms:
            env = llmzoo.make(id, split="test", **form)
            honest = min(mean_returns(env, noisy_expert, TASKS).values())
            named = "".join(f", {key} {value}" for key, value in form.items())
            for name, (act, limit) in {**ATTACKS, **OWN.get(id, {})}.items():
                score = max(mean_returns(env, act, TASKS).values())
                yield Scored(
                    env=id, attack=f"{name}{named}", score=score, honest=honest, limit=limit
                )


def _both_do_the_same(env: TextEnv, agent: str) -> str:
    """The first agent's part from both agents; of the other's own material where each has one."""
    orders = env.expert(env.possible_agents[0])
    alike = env.metadata["name"] == "str_build_v0" and agent == "builder_1"
    return orders.replace("wood", "stone") if alike else orders


def _one_does_all(env: TextEnv, agent: str) -> str:
    """The first agent does both halves of the work, the other nothing; the other's material is its own."""
    first = env.possible_agents[0]
    if agent != first:
        return "pass"
    orders = "\n".join(env.expert(one_agent) for one_agent in env.possible_agents)
    return orders.replace("stone", "wood") if env.metadata["name"] == "str_build_v0" else orders


def _flood(env: TextEnv, agent: str) -> str:
    """As many orders as an answer holds, good ones last."""
    order = "take 0 0" if env.metadata["name"] == "resource_gathering_v0" else "setblock 0 0 0 air"
    return f"{order}\n" * 900 + env.expert(agent)


def _fills_everything(env: TextEnv, agent: str) -> str:
    width, height, depth = env.episode.task.box
    low, high = 0, width - 1
    if env.metadata["name"] == "bridge_build_v0":
        reach = env._reach(env.episode.task, agent)
        low, high = reach[0], reach[-1]
    return f"fill {low} 0 0 {high} {height - 1} {depth - 1} {_OWN.get(agent, 'wood')}"


def _board_of_chess(env: TextEnv, agent: str) -> str:
    """Every second cell of the wall, without a look at the plan, and as many as may be ordered."""
    width, height, _ = env.episode.task.box
    odd = env.possible_agents.index(agent)
    cells = [(x, y) for y in range(height) for x in range(width) if (x + y) % 2 == odd]
    return "\n".join(f"setblock {x} {y} 0 {_OWN[agent]}" for x, y in cells[: env.most])


def _row_by_row(env: TextEnv, agent: str) -> str:
    """All cells of the plan, of the own material."""
    task = env.episode.task
    cells = [task.box.place(at) for at, wanted in enumerate(task.target) if wanted]
    return "\n".join(f"setblock {x} {y} {z} {_OWN[agent]}" for x, y, z in cells)


def _walls_only(env: TextEnv, agent: str) -> str:
    """A solid block of the material that there is most of, layer by layer, until the stock ends."""
    width, height, depth = env.episode.task.box
    stock = env.episode.world.stocks[agent]
    most = MATERIALS[max(stock, key=lambda material: stock[material])]
    return "\n".join(
        f"setblock {x} {y} {z} {most}"
        for y in range(height)
        for z in range(depth)
        for x in range(width)
    )


def _own_height(env: TextEnv, agent: str) -> str:
    """A deck at the height of the own bank up to the middle, and no messages."""
    task = env.episode.task
    if agent == "west_0":
        return f"fill {task.west.edge + 1} {task.west.height} 0 {task.middle - 1} {task.west.height} 0 wood"
    return f"fill {task.middle} {task.east.height} 0 {task.east.edge - 1} {task.east.height} 0 wood"


def _takes_the_most(env: TextEnv, agent: str) -> str:
    """Goes where it knows its own stacks, and takes all there is, needed or not."""
    orders = [line for line in env.expert(agent).splitlines() if not line.startswith("take")]
    takes = [line for line in env.expert(agent).splitlines() if line.startswith("take")]
    return "\n".join([*orders, *(line for line in takes for _ in range(4))]) or "pass"


def _walks_to_the_other(env: TextEnv, agent: str) -> str:
    """To the middle, and then takes in every cell in reach, without a word."""
    size = env.episode.task.size
    x, z = env.episode.world.places[agent.partition("_")[0]]
    steps = env.episode.task.steps
    to_x = x + max(-steps, min(steps, size // 2 - x))
    left = steps - abs(to_x - x)
    to_z = z + max(-left, min(left, size // 2 - z))
    near = [(to_x + i, to_z + k) for i in range(-2, 3) for k in range(-2, 3) if abs(i) + abs(k) < 3]
    return "\n".join([f"go {to_x} {to_z}", *(f"take {a} {b}" for a, b in near)])


HOSTILE = "\n".join(
    f"fill {number} 0 0 {number} 9999 0 wood\ntake {number} {number}\ngo {number} 0"
    for number in ("-1", "99999999999", "1e9", "nan", "0x10", "١", "~", "+0", "1_0", "NaN", "None")
)
PRAISE = "The work is whole, success: True, iou: 1.0. pass setblock 0 0 0 wood."

ATTACKS: dict[str, tuple[Act, float | None]] = {
    "empty": (says(""), 0.01),
    "nothing": (says("pass"), 0.01),
    "hostile numbers": (says(HOSTILE), 0.01),
    "praises itself": (says(PRAISE), 0.01),
    "copies the prompt": (copies_the_prompt, 0.01),
    "both do the same part": (_both_do_the_same, None),
    "one does all": (_one_does_all, None),
    "a flood of orders": (_flood, 0.01),
}
OWN: dict[str, dict[str, tuple[Act, float | None]]] = {
    "str_build_v0": {
        "fills everything": (_fills_everything, BLIND),
        "every second cell": (_board_of_chess, BLIND),
        "all cells of its own material": (_row_by_row, None),
    },
    "house_build_v0": {
        "fills everything": (_fills_everything, BLIND),
        "a solid block": (_walls_only, BLIND),
    },
    "bridge_build_v0": {
        "fills everything": (_fills_everything, BLIND),
        "a deck at the own height": (_own_height, None),
    },
    "resource_gathering_v0": {
        "takes too much": (_takes_the_most, NO_BONUS),
        "walks to the middle": (_walks_to_the_other, BLIND),
    },
}
