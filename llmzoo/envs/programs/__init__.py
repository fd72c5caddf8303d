"""Programs that call language models, as environments."""

from llmzoo.envs.programs.command import from_command
from llmzoo.envs.programs.env import ProgramEnv, from_program
from llmzoo.envs.programs.errors import ProgramClosed, ProgramError

__all__ = ["ProgramClosed", "ProgramEnv", "ProgramError", "from_command", "from_program"]
