from llmzoo.envs.building.str_build.env import StrBuild, env, parallel_env, raw_env

__all__ = ["StrBuild", "env", "parallel_env", "raw_env"]
