from llmzoo.envs.tools.tool_use.env import ToolUse, env, parallel_env, raw_env

__all__ = ["ToolUse", "env", "parallel_env", "raw_env"]
