from llmzoo.envs.planning.calendar.env import Calendar, env, parallel_env, raw_env

__all__ = ["Calendar", "env", "parallel_env", "raw_env"]
