from llmzoo.envs.building.bridge_build.env import BridgeBuild, env, parallel_env, raw_env

__all__ = ["BridgeBuild", "env", "parallel_env", "raw_env"]
