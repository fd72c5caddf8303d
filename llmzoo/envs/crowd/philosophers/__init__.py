from llmzoo.envs.crowd.philosophers.env import Philosophers, env, parallel_env, raw_env

__all__ = ["Philosophers", "env", "parallel_env", "raw_env"]
