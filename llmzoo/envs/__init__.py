"""The suite. Importing this package registers every environment; none is loaded until it is made."""

from llmzoo.envs import building as building
from llmzoo.envs import coding as coding
from llmzoo.envs import crowd as crowd
from llmzoo.envs import debate as debate
from llmzoo.envs import duels as duels
from llmzoo.envs import games as games
from llmzoo.envs import math as math
from llmzoo.envs import planning as planning
from llmzoo.envs import proposing as proposing
from llmzoo.envs import signals as signals
from llmzoo.envs import tools as tools
from llmzoo.envs import writing as writing
