from llmzoo.envs.building.resource_gathering.env import (
    ResourceGathering,
    env,
    parallel_env,
    raw_env,
)

__all__ = ["ResourceGathering", "env", "parallel_env", "raw_env"]
