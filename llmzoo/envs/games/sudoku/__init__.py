from llmzoo.envs.games.sudoku.env import Sudoku, env, parallel_env, raw_env

__all__ = ["Sudoku", "env", "parallel_env", "raw_env"]
