from llmzoo.envs.coding.bug_fix.env import BugFix, env, parallel_env, raw_env

__all__ = ["BugFix", "env", "parallel_env", "raw_env"]
