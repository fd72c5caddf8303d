from llmzoo.envs.crowd.commons.env import Commons, env, parallel_env, raw_env

__all__ = ["Commons", "env", "parallel_env", "raw_env"]
