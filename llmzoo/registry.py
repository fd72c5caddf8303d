"""Lists and makes environments.

An environment has an id (``sudoku_v0``) and is imported from a ``"module:attribute"`` string when
it is made. Other packages add theirs through the entry-point group ``llmzoo.envs``
(``my_env_v0 = my_package.my_env:env``), or at run time with :func:`register`. Every function that
takes an id also takes such a string, ``my_package.my_env:env``, for an environment that is not
registered, the address of one that another process hosts, ``grpc://host:port/sudoku_v0``, and a task of
another collection, ``reasoning_gym:chain_sum`` (:mod:`llmzoo.adapters.external`).

The suite's own environments are registered by the package of each family, such as
``llmzoo/envs/games/__init__.py``, when :mod:`llmzoo.envs` is imported.
"""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

import pettingzoo
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.conversions import parallel_to_aec

from llmzoo.errors import ConfigError, MissingExtraError, UnknownNameError, require_extra
from llmzoo.parallel_forms import to_parallel

_GROUP = "llmzoo.envs"
# other collections, and the modules that hold them: see llmzoo.adapters.external
EXTERNAL_COLLECTIONS = {
    "reasoning_gym": "llmzoo.adapters.external.reasoning_gym",
    "textarena": "llmzoo.adapters.external.textarena",
    "openspiel": "llmzoo.adapters.external.openspiel",
    "gem": "llmzoo.adapters.external.gem",
    "verifiers": "llmzoo.adapters.external.verifiers",
}
_ID = re.compile(r"(?P<name>[\w.-]+)_v(?P<version>[0-9]+)")  # what PettingZoo's registry takes too


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvSpec:
    """One registered environment.

    ``entry_point`` is ``"module:attribute"`` or a callable that takes keyword arguments and returns
    an AEC environment. ``parallel_entry_point`` is the same for the parallel form; without it the
    AEC form is converted. ``extra`` is the extra that the module needs.
    """

    id: str
    entry_point: str | Callable[..., AECEnv]
    parallel_entry_point: str | Callable[..., ParallelEnv] | None = None
    family: str = "other"
    agents: tuple[str, ...] = ()
    summary: str = ""
    extra: str | None = None
    kwargs: dict[str, Any] = field(default_factory=dict)
    terse: dict[str, Any] = field(default_factory=dict)  # arguments for very small models
    offline: dict[str, Any] = field(default_factory=dict)  # arguments that need no network


_specs: dict[str, EnvSpec] = {}


def register(
    id: str,
    entry_point: str | Callable[..., AECEnv],
    *,
    parallel_entry_point: str | Callable[..., ParallelEnv] | None = None,
    family: str = "other",
    agents: tuple[str, ...] = (),
    summary: str = "",
    extra: str | None = None,
    kwargs: dict[str, Any] | None = None,
    terse: dict[str, Any] | None = None,
    offline: dict[str, Any] | None = None,
) -> EnvSpec:
    """Register an environment with llmzoo and, as ``llmzoo/name-vN``, with PettingZoo.

    ``entry_point`` must take the keyword ``split`` (``"train"``, ``"test"`` or ``"all"``), which
    training and evaluation pass. ``terse``: arguments for models that read terse prompts.
    ``offline``: arguments with which tasks need no network.

    Raises ``ValueError`` for an id that does not end in ``_v`` and a number, or that is already
    registered.
    """
    parts = _ID.fullmatch(id)
    if parts is None:
        raise ValueError(
            "an environment id ends in _vN, such as 'my_task_v0', after letters, digits, "
            f"'_', '.' or '-'; got {id!r}"
        )
    if id in _specs:
        raise ValueError(f"environment id {id!r} is already registered: {_specs[id].entry_point}")
    new = EnvSpec(
        id=id,
        entry_point=entry_point,
        parallel_entry_point=parallel_entry_point,
        family=family,
        agents=tuple(agents),
        summary=summary,
        extra=extra,
        kwargs=dict(kwargs or {}),
        terse=dict(terse or {}),
        offline=dict(offline or {}),
    )
    _specs[id] = new
    pettingzoo_id = f"llmzoo/{parts['name']}-v{parts['version']}"
    pettingzoo.register("aec", pettingzoo_id, _PettingZooEntryPoint(id, make))
    pettingzoo.register("parallel", pettingzoo_id, _PettingZooEntryPoint(id, parallel))
    return new


@dataclass(frozen=True)
class _PettingZooEntryPoint:
    """The entry point in PettingZoo's registry: ``make`` or ``parallel`` of one id."""

    id: str
    build: Callable[..., Any]

    def __call__(self, **kwargs: Any) -> Any:
        return self.build(self.id, **kwargs)


def spec(id: str) -> EnvSpec:
    """The :class:`EnvSpec` of an id, a ``"module:attribute"``, an address or ``"collection:task"``.

    The attribute must be a callable that takes the keyword ``split``. For an address,
    ``"grpc://host:port/id"``, the server is asked. Raises ``UnknownNameError`` with the nearest id.
    """
    if is_remote(id):
        return _remote_spec(id)
    if is_external(id):
        external_spec: Callable[[str], EnvSpec] = load_object("llmzoo.adapters.external:spec")
        return external_spec(id)
    if is_import_path(id):
        return EnvSpec(id=id, entry_point=_load_env_factory(id), family="third-party")
    if id not in _specs:
        _load_entry_points()
    if id not in _specs:
        raise UnknownNameError("environment", id, _specs)
    return _specs[id]


def list_envs(family: str | None = None) -> dict[str, str]:
    """Ids and their one-line summaries, in alphabetical order."""
    _load_entry_points()
    return {
        id: s.summary for id, s in sorted(_specs.items()) if family is None or s.family == family
    }


def make(id: str, **kwargs: Any) -> AECEnv:
    """The environment ``id`` in its AEC form.

    ``kwargs`` are the environment's own arguments (see its page in the documentation). Raises
    ``UnknownNameError`` for an unknown id and ``MissingExtraError`` if packages are missing.
    """
    env_spec = spec(id)
    env = _resolve_entry_point(env_spec, env_spec.entry_point)(**{**env_spec.kwargs, **kwargs})
    if is_import_path(id) and isinstance(env, ParallelEnv):
        return parallel_to_aec(env)
    if is_import_path(id) and not isinstance(env, AECEnv):
        raise ConfigError(f"{id} gave {type(env).__name__}, not an environment of PettingZoo")
    return env


def parallel(id: str, **kwargs: Any) -> ParallelEnv:
    """The environment ``id`` in its parallel form.

    If agents act in turns (``metadata["is_parallelizable"]`` is false), a step uses the action of
    ``infos[agent]["active_agent"]`` and ignores the others. A step that lacks an action raises
    ``ValueError`` and changes nothing.
    """
    env_spec = spec(id)
    if env_spec.parallel_entry_point is not None:
        return _resolve_entry_point(env_spec, env_spec.parallel_entry_point)(
            **{**env_spec.kwargs, **kwargs}
        )
    return to_parallel(make(id, **kwargs))


def load_object(path: str) -> Any:
    """Import ``"module:attribute"``."""
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def is_import_path(name: str) -> bool:
    """Whether a name is a ``"module:attribute"``: it has a colon, unlike llmzoo's ids, and is neither an
    address nor a task of another collection."""
    return ":" in name and not is_remote(name) and not is_external(name)


def imports_code(name: str) -> bool:
    """Whether making the environment, or learner, of this name imports a module that the name chooses."""
    return is_import_path(name) or name.startswith("verifiers:")


def is_external(name: str) -> bool:
    """Whether a name is ``"collection:task"``, of one of ``EXTERNAL_COLLECTIONS``."""
    return name.partition(":")[0] in EXTERNAL_COLLECTIONS and ":" in name


def is_remote(name: str) -> bool:
    """Whether a name is an address of a server (``llmzoo.serve``)."""
    return name.startswith(("grpc://", "grpcs://"))


def argument_types(env_spec: EnvSpec) -> dict[str, Any] | None:
    """Names and type hints of an environment's arguments; None if it takes any, or is remote.

    A hint that cannot be read is ``Any``.
    """
    if is_remote(env_spec.id):
        return None
    entry_point = env_spec.entry_point
    factory = load_object(entry_point) if isinstance(entry_point, str) else entry_point
    for candidate in (factory, type(make(env_spec.id, **env_spec.offline).unwrapped)):
        try:
            parameters = inspect.signature(candidate, eval_str=True).parameters.values()
        except NameError:  # a third party's hints may name what it imports for type checking only
            parameters = inspect.signature(candidate).parameters.values()
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            return {p.name: _type_hint(p.annotation) for p in parameters}
    return None


def _type_hint(annotation: Any) -> Any:
    unknown = annotation is inspect.Parameter.empty or isinstance(annotation, str)
    return Any if unknown else annotation


def _remote_spec(address: str) -> EnvSpec:
    with require_extra(f"an environment at {address}", "serve"):
        spec_at: Callable[[str], EnvSpec] = load_object("llmzoo.serve.remote:spec")
    return spec_at(address)


def load_user_object(path: str, what: str) -> Any:
    """Import a ``"module:attribute"`` that a user gave for a ``what``.

    Raises :class:`ConfigError` or :class:`UnknownNameError` if it does not exist.
    """
    module, _, attribute = path.partition(":")
    file = re.fullmatch(r"(?:.*[/\\])?(\w+)\.py", module)
    if file or not all(part.isidentifier() for part in (*module.split("."), attribute)):
        example = f"{file[1]}:{attribute}" if file else "package.module:name"
        raise ConfigError(f"{what} {path!r}: write it as for an import, such as {example}")
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"{what} {path!r}: no module named {error.name!r}, neither installed nor in the "
                "folder in which Python was started"
            ) from None
        raise ConfigError(
            f"{what} {path!r}: {module} imports {error.name!r}, which is not installed"
        ) from error
    try:
        return getattr(imported, attribute)
    except AttributeError:
        public = [name for name in vars(imported) if not name.startswith("_")]
        raise UnknownNameError(f"name in {imported.__file__},", attribute, public) from None


def _load_env_factory(path: str) -> Callable[..., AECEnv]:
    """The callable at ``path``, which must take the keyword ``split``."""
    factory = load_user_object(path, "environment")
    if not callable(factory):
        raise ConfigError(
            f"{path} makes no environment: it is {factory!r:.60}, not a function or class"
        )
    signature = inspect.signature(factory)
    try:
        signature.bind()
        signature.bind(split="train")
    except TypeError as error:
        raise ConfigError(
            f"{path} makes no environment ({error}): every argument must have a default, and one of "
            "them is split ('train', 'test' or 'all'), so that a run is not measured on the "
            "episodes that it learned from"
        ) from None
    return factory


def _resolve_entry_point(
    env_spec: EnvSpec, entry_point: str | Callable[..., Any]
) -> Callable[..., Any]:
    if not isinstance(entry_point, str):
        return entry_point
    try:
        return load_object(entry_point)
    except ModuleNotFoundError as error:
        if env_spec.extra is None:
            raise
        raise MissingExtraError(
            f"environment {env_spec.id!r}", env_spec.extra, error.name
        ) from error


_entry_points_loaded = False


def _load_entry_points() -> None:
    global _entry_points_loaded
    if _entry_points_loaded:
        return
    _entry_points_loaded = True
    for point in entry_points(group=_GROUP):
        if point.name in _specs:
            continue
        package = point.dist.name if point.dist else point.module
        try:
            register(point.name, point.value, family="third-party", summary=f"from {package}")
        except ValueError as error:  # a bad entry point must not break the others
            warnings.warn(f"entry point {point.name!r} of {package}: {error}", stacklevel=2)
