from llmzoo.envs.tools.bfcl_multi_turn.env import BFCLMultiTurn, env, parallel_env, raw_env

__all__ = ["BFCLMultiTurn", "env", "parallel_env", "raw_env"]
