from llmzoo.envs.tools.telecom.env import Telecom, env, parallel_env, raw_env

__all__ = ["Telecom", "env", "parallel_env", "raw_env"]
