from llmzoo.envs.duels.negotiation.env import Negotiation, env, parallel_env, raw_env

__all__ = ["Negotiation", "env", "parallel_env", "raw_env"]
