from llmzoo.envs.building.house_build.env import HouseBuild, env, parallel_env, raw_env

__all__ = ["HouseBuild", "env", "parallel_env", "raw_env"]
