"""Which environments a server hosts, and which of their arguments a client may set.

A client must not make the server open a file, call an address or start a program of the client's
choosing. So it may set what cannot name such a thing: truths, numbers, choices that the environment
lists as a ``Literal``, and the few texts below, by their values. The rest is the operator's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from gymnasium.spaces import Text
from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.envs.tools.toolbox import BUILT_IN
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.registry import EnvSpec

_OPTIONS = "options."

_Rule = Callable[[Any], bool]


def _one_of(*allowed: object) -> _Rule:
    return lambda value: isinstance(value, str | None) and value in allowed


def _like(pattern: str) -> _Rule:
    return lambda value: (
        value is None or (isinstance(value, str) and re.fullmatch(pattern, value) is not None)
    )


def _built_in_tools(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(t, str) and t in BUILT_IN for t in value)


# texts by the name of their argument, whatever the environment
_TEXTS: Mapping[str, _Rule] = {
    "split": _one_of("train", "test", "all"),
    "source": _one_of("auto", "hub", "sample"),
    "render_mode": _one_of(None, "ansi"),
}
# those of this suite's environments
_OURS: Mapping[tuple[str, str], _Rule] = {
    ("math_v0", "family"): _like(r"\w{1,40}"),
    ("tool_use_v0", "family"): _like(r"\w{1,40}"),
    ("tool_use_v0", "tools"): _built_in_tools,
    ("livecodebench_v0", "since"): _like(r"[0-9-]{1,20}"),
    ("livecodebench_v0", "until"): _like(r"[0-9-]{1,20}"),
}


class Catalogue:
    """What is hosted: ``ids``, or all that is registered.

    ``fixed``: arguments that the operator sets; each goes to every environment that has it, and no
    client may set it. ``allowed``: names of arguments that clients may set to any value, whatever
    it makes the server do; ``options.NAME`` for an option of ``reset``.

    Raises :class:`UnknownNameError` for an id that is not known, and :class:`ConfigError` for
    arguments that no environment has.
    """

    def __init__(
        self,
        ids: Sequence[str] | None = None,
        *,
        fixed: Mapping[str, Any] | None = None,
        allowed: Collection[str] = (),
    ):
        named = list(registry.list_envs()) if ids is None else list(dict.fromkeys(ids))
        for id in named:
            if registry.is_remote(id):
                raise ConfigError(f"{id} is hosted already, by another server")
        self.specs: dict[str, EnvSpec] = {id: registry.spec(id) for id in named}
        self._fixed = dict(fixed or {})
        self._allowed = frozenset(allowed)
        self._hints: dict[str, dict[str, Any] | None] = {}
        if self._fixed or self._allowed:
            self._check_names()

    def make(self, id: str, arguments: Mapping[str, Any]) -> AECEnv:
        """The environment as a client asks for it.

        Raises :class:`ConfigError` for what the server does not host or let its clients set, and
        what making it raises.
        """
        if id not in self.specs:
            raise UnknownNameError("environment on this server", id, self.specs)
        hints = self._hints_of(id)
        for name, value in arguments.items():
            self._check(id, name, value, hints)
        fixed = {n: v for n, v in self._fixed.items() if hints is None or n in hints}
        try:
            env = registry.make(id, **{**arguments, **fixed})
        except TypeError as error:
            raise ConfigError(f"{id}: {error}") from error
        spaces = [env.observation_space(a) for a in env.possible_agents]
        spaces += [env.action_space(a) for a in env.possible_agents]
        for space in spaces:
            if not isinstance(space, Text):
                raise ConfigError(
                    f"{id} has a space {space}, and only text is hosted: name a function of yours "
                    "that returns llmzoo.adapters.discrete_to_text(...) of it"
                )
        return env

    def check_options(self, options: Any) -> None:
        """Raise :class:`ConfigError` for options of a reset that clients may not give."""
        if not isinstance(options, dict | None):
            raise ConfigError(f"options are a mapping, got {options!r:.60} from afar")
        for name, value in (options or {}).items():
            allowed = f"{_OPTIONS}{name}" in self._allowed
            if not allowed and not isinstance(value, bool | int | float | None):
                raise ConfigError(
                    f"option {name!r} cannot be {value!r:.60} from afar: a client gives truths and "
                    "numbers; whoever starts the server can allow it (--allow "
                    f"{_OPTIONS}{name})"
                )

    def _check(self, id: str, name: str, value: Any, hints: Mapping[str, Any] | None) -> None:
        if hints is not None and name not in hints:
            raise UnknownNameError(f"argument of {id}", name, hints)
        if name in self._fixed:
            raise ConfigError(f"the server has set {name} of {id} itself")
        if name in self._allowed:
            return
        rule = _OURS.get((id, name)) or _TEXTS.get(name)
        hint = Any if hints is None else hints[name]
        if not (_is_harmless(value, hint) if rule is None else rule(value)):
            raise ConfigError(
                f"argument {name!r} of {id} cannot be {value!r:.60} from afar: a client sets truths, "
                "numbers and listed choices; whoever starts the server can set it, or allow it"
                f" (--allow {name})"
            )

    def _check_names(self) -> None:
        known: set[str] = set()
        for id in self.specs:
            hints = self._hints_of(id)
            if hints is None:
                return
            known |= set(hints)
        for name in {*self._fixed, *self._allowed}:
            if name not in known and not name.startswith(_OPTIONS):
                raise UnknownNameError("argument of the hosted environments", name, known)

    def _hints_of(self, id: str) -> dict[str, Any] | None:
        if id not in self._hints:
            self._hints[id] = registry.arguments_of(self.specs[id])
        return self._hints[id]


def _is_harmless(value: Any, hint: Any) -> bool:
    """Whether a value is of a type hint that leaves no room for a name of anything."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Literal:
        return any(type(value) is type(choice) and value == choice for choice in inner)
    if kind in (Union, UnionType):
        return any(_is_harmless(value, one) for one in inner)
    if kind is float:
        return type(value) in (int, float)
    if kind in (bool, int, NoneType):
        return type(value) is kind
    return False
