"""Policies: text in, text out.

``load(name)`` gives a policy by name: a scripted one (``oracle``, ``amateur``, ``random``,
``human``), the embedded model (``tiny``), or any causal language model that transformers loads
from a local folder or a hub id.
"""

from __future__ import annotations

from typing import Any

from llmzoo.errors import MissingExtraError
from llmzoo.policies.base import Player, Policy, Request, ScriptedPolicy, seat_policies
from llmzoo.policies.scripted import amateur, expert, human, mixed, oracle, random_text

SCRIPTED = {"oracle": expert, "amateur": amateur, "random": random_text, "human": human}


def load(name: str, **options: Any) -> Policy:
    """The policy called ``name``; ``options`` go to :class:`TransformersPolicy` (models only)."""
    if name in SCRIPTED:
        return SCRIPTED[name]()
    return load_model(name, **options)


def load_model(name: str, **options: Any) -> Any:
    """A :class:`llmzoo.policies.transformers.TransformersPolicy`; needs the extra ``train``."""
    try:
        from llmzoo.policies.transformers import TransformersPolicy
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the model {name!r}", "train", error.name) from error
    return TransformersPolicy.load(name, **options)


__all__ = [
    "SCRIPTED",
    "Player",
    "Policy",
    "Request",
    "ScriptedPolicy",
    "amateur",
    "expert",
    "human",
    "load",
    "load_model",
    "mixed",
    "oracle",
    "random_text",
    "seat_policies",
]
