from llmzoo.envs.coding.functions.env import CoopFunctions, env, parallel_env, raw_env

__all__ = ["CoopFunctions", "env", "parallel_env", "raw_env"]
