"""Rollouts: play environments with policies, and record the results."""

from llmzoo.envs.forking import fork
from llmzoo.rollout.episodes import play_episodes
from llmzoo.rollout.scheduler import run_rollouts
from llmzoo.rollout.trees import joint_tree
from llmzoo.rollout.turn_trees import agent_turn_tree

__all__ = ["agent_turn_tree", "fork", "joint_tree", "play_episodes", "run_rollouts"]
