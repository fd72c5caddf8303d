"""Which environments a server hosts, and which arguments a client may set.

A client must not make the server open a file, call an address or start a program that the client
chose. So it may set only values that cannot name such a thing: booleans, numbers, choices that the
environment lists as a ``Literal``, and the few texts listed below. Numbers have bounds, so that a
client cannot make the server work or wait endlessly. The operator sets everything else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from gymnasium.spaces import Text
from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.envs.tools.toolbox import BUILT_IN
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.names import NAME_RULE, is_name
from llmzoo.registry import EnvSpec

_OPTIONS = "options."

MAX_NUMBER = 1000  # the largest magnitude of a number that a client sets
MAX_AGENTS = 64
MAX_TASK = 100_000  # the largest task number; all tasks before it are generated first
_ID = re.compile(r"\w[\w./: -]{0,199}")  # of a task, such as "HumanEval/0"
_AGENT_COUNT_ARGUMENTS = frozenset(
    {"num_agents", "per_side", "reasoners", "tools"}
)  # arguments that count agents
_SECONDS_ARGUMENTS = frozenset({"time_limit"})  # arguments in seconds

_Rule = Callable[[Any], bool]


def _one_of(*allowed: object) -> _Rule:
    return lambda value: isinstance(value, str | None) and value in allowed


def _matching(pattern: str) -> _Rule:
    return lambda value: (
        value is None or (isinstance(value, str) and re.fullmatch(pattern, value) is not None)
    )


def _is_built_in_tools(value: Any) -> bool:
    if not isinstance(value, list) or len(value) > len(BUILT_IN):
        return False
    return all(isinstance(t, str) and t in BUILT_IN for t in value)


# which texts a client may give for an argument of this name, in any environment
_TEXT_RULES: Mapping[str, _Rule] = {
    "split": _one_of("train", "test", "all"),
    "source": _one_of("auto", "hub", "sample"),
    "render_mode": _one_of(None, "ansi"),
}
# the same for an argument of a single environment, which takes precedence
_TEXT_RULES_BY_ENV: Mapping[tuple[str, str], _Rule] = {
    ("airline_v0", "source"): _one_of("generator"),
    ("calendar_v0", "source"): _one_of("generator", "auto", "hub", "sample"),
    ("coop_functions_v0", "source"): _one_of("generator", "generator_easy", "sample"),
    ("math_v0", "family"): _matching(r"\w{1,40}"),
    ("telecom_v0", "source"): _one_of("generator"),
    ("tool_use_v0", "family"): _matching(r"\w{1,40}"),
    ("tool_use_v0", "tools"): _is_built_in_tools,
    ("travel_v0", "source"): _one_of("generator", "auto", "hub", "sample"),
    ("livecodebench_v0", "since"): _matching(r"[0-9-]{1,20}"),
    ("livecodebench_v0", "until"): _matching(r"[0-9-]{1,20}"),
}


class Catalogue:
    """The hosted environments: ``ids``, or all registered ones.

    ``fixed``: arguments that the operator sets, for every environment that has them; clients may
    not set them. ``allowed``: names of arguments that clients may set to any value, whatever the
    server does with it; ``options.NAME`` for an option of ``reset``. ``max_seconds``: the
    largest value of an argument in seconds.

    Raises :class:`UnknownNameError` for an unknown id, and :class:`ConfigError` for arguments that
    no environment has.
    """

    def __init__(
        self,
        ids: Sequence[str] | None = None,
        *,
        fixed: Mapping[str, Any] | None = None,
        allowed: Collection[str] = (),
        max_seconds: float = MAX_NUMBER,
    ):
        named = list(registry.list_envs()) if ids is None else list(dict.fromkeys(ids))
        for id in named:
            if registry.is_remote(id):
                raise ConfigError(f"{id} is hosted already, by another server")
        self.specs: dict[str, EnvSpec] = {id: registry.spec(id) for id in named}
        self._fixed = dict(fixed or {})
        self._allowed = frozenset(allowed)
        self._max_by_argument = {
            **dict.fromkeys(_AGENT_COUNT_ARGUMENTS, MAX_AGENTS),
            **dict.fromkeys(_SECONDS_ARGUMENTS, max_seconds),
        }
        self._hints: dict[str, dict[str, Any] | None] = {}
        if self._fixed or self._allowed:
            self._check_names()

    def make(self, id: str, arguments: Mapping[str, Any]) -> AECEnv:
        """Make the environment that a client asks for.

        Raises :class:`ConfigError` for an environment or an argument that is not allowed, and what
        making the environment raises.
        """
        if id not in self.specs:
            raise UnknownNameError("environment on this server", id, self.specs)
        hints = self._argument_hints(id)
        for name, value in arguments.items():
            self._check(id, name, value, hints)
        fixed = {n: v for n, v in self._fixed.items() if hints is None or n in hints}
        try:
            env = registry.make(id, **{**arguments, **fixed})
        except TypeError as error:
            raise ConfigError(f"{id}: {error}") from error
        for agent in env.possible_agents:
            if not is_name(agent):
                raise ConfigError(
                    f"{id} has an agent {agent!r:.80}, which is sent to clients, and {NAME_RULE}"
                )
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
        """Raise :class:`ConfigError` for options of a reset that clients may not set."""
        if not isinstance(options, dict | None):
            raise ConfigError(f"options must be a mapping, got {options!r:.60}")
        for name, value in (options or {}).items():
            if f"{_OPTIONS}{name}" not in self._allowed and not _is_option(name, value):
                raise ConfigError(
                    f"option {name!r:.60} cannot be {_describe_value(value)} for a client, who may set booleans, "
                    f"numbers of at most {MAX_TASK}, and a task's id; whoever starts the server can "
                    f"allow it (--allow {_OPTIONS}{name:.60})"
                )

    def _check(self, id: str, name: str, value: Any, hints: Mapping[str, Any] | None) -> None:
        if hints is not None and name not in hints:
            raise UnknownNameError(f"argument of {id}", str(name), hints)
        if name in self._fixed:
            raise ConfigError(f"the server has set {name} of {id} itself")
        if name in self._allowed:
            return
        rule = _TEXT_RULES_BY_ENV.get((id, name)) or _TEXT_RULES.get(name)
        hint = Any if hints is None else hints[name]
        most = self._max_by_argument.get(name, MAX_NUMBER)
        if not (_is_harmless(value, hint, most) if rule is None else rule(value)):
            raise ConfigError(
                f"argument {name!r} of {id} cannot be {_describe_value(value)} for a client, who may set booleans, "
                f"listed choices and numbers, of which this is at most {most:g}; whoever starts the "
                f"server can set it, or allow it (--allow {name})"
            )

    def _check_names(self) -> None:
        known: set[str] = set()
        for id in self.specs:
            hints = self._argument_hints(id)
            if hints is None:
                return
            known |= set(hints)
        for name in {*self._fixed, *self._allowed}:
            if name not in known and not name.startswith(_OPTIONS):
                raise UnknownNameError("argument of the hosted environments", name, known)

    def _argument_hints(self, id: str) -> dict[str, Any] | None:
        if id not in self._hints:
            self._hints[id] = registry.argument_types(self.specs[id])
        return self._hints[id]


def _is_option(name: str, value: Any) -> bool:
    if name == "task" and isinstance(value, str):  # only looked up among known ids
        return _ID.fullmatch(value) is not None and ".." not in value
    return isinstance(value, bool | int | float | None) and _is_bounded(value, MAX_TASK)


def _is_bounded(value: float | None, most: float) -> bool:
    return value is None or (abs(value) <= most and math.isfinite(value))


def _describe_value(value: Any) -> str:
    """A value for a message; of a number with too many digits, only that it is one."""
    try:
        return f"{value!r:.60}"
    except ValueError:
        return "a number of thousands of digits"


def _is_harmless(value: Any, hint: Any, most: float) -> bool:
    """Whether a value fits a type hint that cannot name anything, and is bounded."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Literal:
        return any(type(value) is type(choice) and value == choice for choice in inner)
    if kind in (Union, UnionType):
        return any(_is_harmless(value, one, most) for one in inner)
    if kind is float:
        return type(value) in (int, float) and _is_bounded(value, most)
    if kind in (bool, int, NoneType):
        return type(value) is kind and _is_bounded(value, most)
    return False
