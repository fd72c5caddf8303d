from llmzoo.envs.games.sokoban.env import Sokoban, env, parallel_env, raw_env

__all__ = ["Sokoban", "env", "parallel_env", "raw_env"]
