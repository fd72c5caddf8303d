"""Learners: one file per algorithm, found by name.

A third party's learner is named in the entry-point group ``llmzoo.learners``
(``my_learner = my_package.my_learner:MyLearner``) or handed to ``fit`` as an object.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from llmzoo.errors import MissingExtraError, UnknownNameError
from llmzoo.registry import load_object

LEARNERS = {
    "at_grpo": "llmzoo.learners.at_grpo:ATGRPO",
    "grpo": "llmzoo.learners.grpo:GRPO",
    "magrpo": "llmzoo.learners.magrpo:MAGRPO",
    "mareinforce": "llmzoo.learners.mareinforce:MAREINFORCE",
    "maremax": "llmzoo.learners.maremax:MAREMAX",
    "marloo": "llmzoo.learners.marloo:MARLOO",
}


def _known() -> dict[str, str]:
    return {p.name: p.value for p in entry_points(group="llmzoo.learners")} | LEARNERS


def list_learners() -> list[str]:
    """The names of all learners, in alphabetical order."""
    return sorted(_known())


def learner_class(name: str) -> Any:
    """The learner called ``name``; its attribute ``Config`` is its configuration dataclass."""
    known = _known()
    if name not in known:
        raise UnknownNameError("learner", name, known)
    try:
        return load_object(known[name])
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"learner {name!r}", "train", error.name) from error
