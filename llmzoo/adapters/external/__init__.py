"""Tasks of other collections as environments here: ``llmzoo.make("reasoning_gym:chain_sum")``.

An id is the name of a collection, a colon, and the collection's own name of the task. One module holds
each collection; it is imported when an id of it is used. Nothing of theirs is copied: the packages are
extras, and what an agent reads and is paid is what the collection shows and pays.

=================  ===============================  ================
collection         tasks                            extra
=================  ===============================  ================
``reasoning_gym``  questions with a scorer          reasoning_gym
``textarena``      games in words, 1 to 15 players  textarena
``openspiel``      board and card games             openspiel
``gem``            games and puzzles of one agent    gem
``verifiers``      tasksets that are installed      verifiers
=================  ===============================  ================
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

from pettingzoo import AECEnv

from llmzoo.envs.base import FastOrderEnforcingWrapper, TextEnv
from llmzoo.errors import ConfigError, UnknownNameError, require_extra
from llmzoo.registry import EXTERNAL_COLLECTIONS, EnvSpec


class ExternalTaskInfo(NamedTuple):
    """What is known of a task: its agents, a line about it, and why it is refused ("" if it is not)."""

    agents: tuple[str, ...]
    summary: str
    refused: str = ""


class Collection(Protocol):
    """What the module of a collection offers."""

    PACKAGE: str  # the module to import
    EXTRA: str
    Task: Callable[..., TextEnv]  # (name, *, split, render_mode, ...) makes a task

    def tasks(self) -> Mapping[str, ExternalTaskInfo]:
        """All tasks of the installed package, refused ones too."""

    def look_up(self, name: str) -> ExternalTaskInfo:
        """A task by its name; raises :class:`UnknownNameError`."""


def load_collection(name: str) -> Collection:
    """The module of a collection. Raises :class:`llmzoo.errors.MissingExtraError` if its package is absent."""
    module: Any = import_module(EXTERNAL_COLLECTIONS[name])
    with require_extra(f"the collection {name!r}", module.EXTRA):
        import_module(module.PACKAGE)
    return module


def is_installed(name: str) -> bool:
    """Whether the package of a collection is there; it is not imported."""
    module: Any = import_module(EXTERNAL_COLLECTIONS[name])
    return find_spec(module.PACKAGE) is not None


def spec(id: str) -> EnvSpec:
    """The :class:`EnvSpec` of ``"collection:task"``.

    Raises :class:`UnknownNameError` with the nearest name, :class:`ConfigError` for a task that is
    refused, with the reason, and :class:`llmzoo.errors.MissingExtraError` if the package is absent.
    """
    collection_name, _, name = id.partition(":")
    module = load_collection(collection_name)
    info = module.look_up(name)
    if info.refused:
        raise ConfigError(f"{id} is refused: {info.refused}")
    return EnvSpec(
        id=id,
        entry_point=_EnvFactory(module.Task, name, id),
        family=collection_name,
        agents=info.agents,
        summary=info.summary,
        terse={"prompt": "terse"},
    )


class _EnvFactory:
    """The entry point of a task; its signature is that of the environment's class without the name."""

    def __init__(self, make: Callable[..., TextEnv], name: str, id: str):
        self._make, self._name, self._id = make, name, id
        whole = inspect.signature(make, eval_str=True)
        named = [p for p in whole.parameters.values() if p.kind is p.KEYWORD_ONLY]
        self.__signature__ = whole.replace(parameters=named)

    def __call__(self, **options: Any) -> AECEnv:
        known = self.__signature__.parameters
        for option in options:
            if option not in known:
                raise UnknownNameError(f"argument of {self._id}", option, known)
        return FastOrderEnforcingWrapper(self._make(self._name, **options))
