"""Our environments in TRL's ``GRPOTrainer``: one learner agent, or several agents of one model.

``environment_factory`` puts one agent into the trainer's own conversation loop; policies play the
others. ``rollout_func`` plays all agents with the model and groups their decisions. ``dataset`` makes
the rows for both: a prompt, and the seed that fixes the task of a group.
"""

from __future__ import annotations

from llmzoo.adapters.trl.agent_env import (
    TrlAgentEnv,
    agent_return,
    environment_factory,
    with_plain_chat,
)
from llmzoo.adapters.trl.rollouts import DecisionRollouts, decision_return, rollout_func
from llmzoo.adapters.trl.table import dataset

__all__ = [
    "DecisionRollouts",
    "TrlAgentEnv",
    "agent_return",
    "dataset",
    "decision_return",
    "environment_factory",
    "rollout_func",
    "with_plain_chat",
]
