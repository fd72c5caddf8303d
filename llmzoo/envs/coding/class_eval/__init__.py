from llmzoo.envs.coding.class_eval.env import ClassEval, env, parallel_env, raw_env

__all__ = ["ClassEval", "env", "parallel_env", "raw_env"]
