from llmzoo.envs.tools.airline.env import Airline, env, parallel_env, raw_env

__all__ = ["Airline", "env", "parallel_env", "raw_env"]
