"""llmzoo: multi-agent reinforcement learning for language models, on PettingZoo.

``make``, ``parallel``, ``list_envs`` give environments; ``evaluate`` and ``fit`` play and train.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import llmzoo.envs  # noqa: F401  # registers the suite
from llmzoo.registry import EnvSpec, list_envs, load_object, make, parallel, register, spec
from llmzoo.version import __version__

if TYPE_CHECKING:
    from llmzoo.adapters.reward_functions import from_reward_function
    from llmzoo.envs.programs import from_command, from_program
    from llmzoo.evaluation.collect import collect
    from llmzoo.evaluation.evaluate import evaluate
    from llmzoo.learners import list_learners
    from llmzoo.policies import scripted_expert
    from llmzoo.records.episode_rows import load_episodes
    from llmzoo.training import fit, fit_stages

# loaded at first use, so that `import llmzoo` stays light
_LAZY = {
    "collect": "llmzoo.evaluation.collect:collect",
    "evaluate": "llmzoo.evaluation.evaluate:evaluate",
    "fit": "llmzoo.training:fit",
    "fit_stages": "llmzoo.training:fit_stages",
    "from_command": "llmzoo.envs.programs:from_command",
    "from_program": "llmzoo.envs.programs:from_program",
    "from_reward_function": "llmzoo.adapters.reward_functions:from_reward_function",
    "list_learners": "llmzoo.learners:list_learners",
    "load_episodes": "llmzoo.records.episode_rows:load_episodes",
    "scripted_expert": "llmzoo.policies:scripted_expert",
    "rollout": "llmzoo.rollout",
    "policies": "llmzoo.policies",
    "learners": "llmzoo.learners",
    "testing": "llmzoo.testing",
}

__all__ = [
    "EnvSpec",
    "__version__",
    "collect",
    "evaluate",
    "fit",
    "fit_stages",
    "from_command",
    "from_program",
    "from_reward_function",
    "list_envs",
    "list_learners",
    "load_episodes",
    "make",
    "parallel",
    "register",
    "scripted_expert",
    "spec",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'llmzoo' has no attribute {name!r}")
    target = _LAZY[name]
    return load_object(target) if ":" in target else importlib.import_module(target)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
