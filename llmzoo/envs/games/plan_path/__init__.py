from llmzoo.envs.games.plan_path.env import PlanPath, env, parallel_env, raw_env

__all__ = ["PlanPath", "env", "parallel_env", "raw_env"]
