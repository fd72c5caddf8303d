"""Learners, looked up by name: one file per rule of credit, and actor_critic.py for those with a critic.

A learner of another package can be registered in the entry-point group ``llmzoo.learners``
(``my_learner = my_package.my_learner:MyLearner``), named by its path (``my_module:MyLearner``), or
passed to ``fit`` as an object.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from llmzoo.errors import ConfigError, UnknownNameError, require_extra
from llmzoo.registry import is_import_path, load_object, load_user_object

LEARNERS = {
    "at_grpo": "llmzoo.learners.at_grpo:ATGRPO",
    "ccpo": "llmzoo.learners.ccpo:CCPO",
    "dpo": "llmzoo.learners.dpo:DPO",
    "grpo": "llmzoo.learners.grpo:GRPO",
    "iac": "llmzoo.learners.actor_critic:IAC",
    "ippo": "llmzoo.learners.actor_critic:IPPO",
    "maac": "llmzoo.learners.actor_critic:MAAC",
    "madpo": "llmzoo.learners.dpo:MADPO",
    "magrpo": "llmzoo.learners.magrpo:MAGRPO",
    "mappo": "llmzoo.learners.actor_critic:MAPPO",
    "mareinforce": "llmzoo.learners.mareinforce:MAREINFORCE",
    "maremax": "llmzoo.learners.maremax:MAREMAX",
    "marloo": "llmzoo.learners.marloo:MARLOO",
    "maxrl": "llmzoo.learners.maxrl:MaxRL",
    "opd": "llmzoo.learners.opd:OPD",
    "ppo": "llmzoo.learners.actor_critic:PPO",
    "sft": "llmzoo.learners.sft:SFT",
}
# configuration classes, which can be imported without torch
CONFIGS = {
    "at_grpo": "groups:ATGRPOConfig",
    "ccpo": "groups:CCPOConfig",
    "dpo": "preferences:DPOConfig",
    "grpo": "groups:GRPOConfig",
    "iac": "critics:IACConfig",
    "ippo": "critics:IPPOConfig",
    "maac": "critics:MAACConfig",
    "madpo": "preferences:MADPOConfig",
    "magrpo": "groups:JointConfig",
    "mappo": "critics:MAPPOConfig",
    "mareinforce": "groups:JointConfig",
    "maremax": "groups:MAREMAXConfig",
    "marloo": "groups:JointConfig",
    "maxrl": "groups:MaxRLConfig",
    "opd": "groups:OPDConfig",
    "ppo": "critics:IPPOConfig",
    "sft": "rows:SFTConfig",
}
# environment arguments that learners require
ENV_DEFAULTS = {"grpo": {"num_agents": 1}, "ppo": {"num_agents": 1}}


def _known_learners() -> dict[str, str]:
    return {p.name: p.value for p in entry_points(group="llmzoo.learners")} | LEARNERS


def list_learners() -> list[str]:
    """The names of all learners, in alphabetical order."""
    return sorted(_known_learners())


def learner_class(name: str) -> Any:
    """The learner class with this name, or at the path ``"module:Class"``.

    Its attribute ``Config`` is its configuration dataclass. Raises :class:`UnknownNameError`, or
    :class:`ConfigError` if the path does not lead to a learner.
    """
    if is_import_path(name):
        return _check_learner(load_user_object(name, "learner"), name)
    known = _known_learners()
    if name not in known:
        raise UnknownNameError("learner", name, known)
    with require_extra(f"learner {name!r}", "train"):
        return load_object(known[name])


def env_defaults(name: str) -> Mapping[str, Any]:
    """Environment arguments that a learner requires. Reading those of a built-in learner does not import torch.

    Raises as :func:`learner_class` does.
    """
    found: Mapping[str, Any] = (
        ENV_DEFAULTS.get(name, {}) if name in LEARNERS else learner_class(name).env_defaults
    )
    return found


def learner_config(name: str) -> Any:
    """The configuration dataclass of a learner. Reading that of a built-in learner does not import torch.

    Raises as :func:`learner_class` does.
    """
    if name in CONFIGS:
        return load_object(f"llmzoo.learners.configs.{CONFIGS[name]}")
    return learner_class(name).Config


def learner_summary(name: str) -> str:
    """The first line of a learner's docstring, read without importing the learner."""
    module, _, cls = _known_learners()[name].partition(":")
    found = find_spec(module)
    if found is None or found.origin is None:
        return ""
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls]
    docstring = ast.get_docstring(classes[0]) if classes else None
    return (docstring or "").strip().partition("\n")[0]


def _check_learner(loaded: Any, path: str) -> Any:
    """``loaded``; raises :class:`ConfigError` unless it is a learner class."""
    missing = [name for name in ("Config", "plan") if not hasattr(loaded, name)]
    if missing or not isinstance(loaded, type):
        lack = f"it does not define {' and '.join(missing)}" if missing else "it is not a class"
        raise ConfigError(
            f"{path} is not a learner: {lack}. Extend llmzoo.learners.groups.GroupLearner, or an existing "
            "learner"
        )
    return loaded
