from llmzoo.envs.tools.bfcl.env import BFCL, env, parallel_env, raw_env

__all__ = ["BFCL", "env", "parallel_env", "raw_env"]
