"""Building with blocks: a text, a house, a bridge, and gathering what a building needs."""

from __future__ import annotations

from llmzoo.registry import register

for _id, (_agents, _summary) in {
    "str_build_v0": (
        ("builder_0", "builder_1"),
        "Build a text of blocks: each agent has one material, and no two alike may touch.",
    ),
    "house_build_v0": (
        ("builder_0", "builder_1"),
        "Build a house from a plan of its layers: no agent has blocks enough to do it alone.",
    ),
    "bridge_build_v0": (
        ("west_0", "east_1"),
        "Build a bridge between two banks: each agent sees its own side, and they write messages.",
    ),
    "resource_gathering_v0": (
        ("forester_0", "miner_1"),
        "Gather wood, stone and iron: what each agent takes lies where the other sees it.",
    ),
}.items():
    register(
        _id,
        f"llmzoo.envs.building.{_id.removesuffix('_v0')}:env",
        family="building",
        agents=_agents,
        summary=_summary,
        terse={"prompt": "terse"},
    )
