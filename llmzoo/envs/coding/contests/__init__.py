from llmzoo.envs.coding.contests.env import Contests, env, parallel_env, raw_env

__all__ = ["Contests", "env", "parallel_env", "raw_env"]
