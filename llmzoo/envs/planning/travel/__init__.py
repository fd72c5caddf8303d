from llmzoo.envs.planning.travel.env import Travel, env, parallel_env, raw_env

__all__ = ["Travel", "env", "parallel_env", "raw_env"]
