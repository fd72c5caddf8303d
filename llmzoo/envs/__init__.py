"""The suite. Importing this package registers every environment; none is loaded until it is made."""

from llmzoo.envs import coding as coding
from llmzoo.envs import debate as debate
from llmzoo.envs import games as games
from llmzoo.envs import math as math
from llmzoo.envs import tools as tools
from llmzoo.envs import writing as writing
