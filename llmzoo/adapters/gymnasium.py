"""Our environments in Gymnasium's registry.

Importing this module registers every environment as ``llmzoo/NAME-vN``. Gymnasium imports it for
names with its path: ``gymnasium.make("llmzoo.adapters.gymnasium:llmzoo/sudoku-v0",
agent="planner_1", others="expert")``. (Gymnasium has had no entry point for packages since 1.0.)
"""

from __future__ import annotations

import gymnasium

from llmzoo.adapters.single_agent import SingleAgentEnv, single_agent
from llmzoo.adapters.vector import SingleAgentVectorEnv, vector
from llmzoo.registry import list_envs

__all__ = ["SingleAgentEnv", "SingleAgentVectorEnv", "register", "single_agent", "vector"]


def register() -> None:
    """Register every environment of llmzoo that Gymnasium does not know yet."""
    for id in list_envs():
        name, _, version = id.rpartition("_v")
        gymnasium_id = f"llmzoo/{name}-v{version}"
        if gymnasium_id not in gymnasium.registry:
            gymnasium.register(
                gymnasium_id,
                entry_point="llmzoo.adapters.single_agent:single_agent",
                vector_entry_point="llmzoo.adapters.vector:vector",
                kwargs={"env": id},
            )


register()
