"""Checks that the user allows the code and the keys that a run folder names.

The folder may come from somebody else. Its environment, learner and tools can be paths
``module:name``, and its endpoints can name any environment variable.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from llmzoo.cli.options import in_words, typed
from llmzoo.endpoints import AUTO, HOSTS_ENV, OPENAI_URL, Endpoint
from llmzoo.errors import ConfigError
from llmzoo.registry import is_path
from llmzoo.training import run_folder


def saved_settings(run: Path, hints: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in ``config.json``, checked against their types.

    Mappings are taken as they are: the parser would import a ``class_path`` in them.
    """
    what = f"setting in {run / 'config.json'}"
    saved = run_folder.settings(run)
    mapping = in_words(Mapping)
    mappings = {}
    for name, value in saved.items():
        wanted = in_words(hints[name]) if name in hints else ""
        if isinstance(value, Mapping) and mapping in wanted:
            mappings[name] = dict(value)
        elif wanted and (isinstance(value, Mapping) or (wanted == mapping and value is not None)):
            raise ConfigError(f"{what} {name!r} must be {wanted}, got {value!r}")
    rest = {name: value for name, value in saved.items() if name not in mappings}
    return {**typed(hints, rest, what), **mappings}


def check_trusted(run: object, saved: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise :class:`ConfigError` for code, a cluster or a key that ``given`` does not name too.

    ``saved``: the settings of the folder ``run``. ``given``: those of the command line.
    """
    for name in ("env", "learner"):
        if name not in given and is_path(saved.get(name, "")):
            _refuse_code(run, f"--{name}", saved[name], saved[name])
    for option in ("env", "learner"):
        named = given.get(f"{option}_args", {})
        for name, value in saved.get(f"{option}_args", {}).items():
            code = next((text for text in _walk(value) if _may_be_code(text)), None)
            if code is not None and name not in named:
                text = value if isinstance(value, str) else json.dumps(value)
                _refuse_code(run, f"--{option}.{name}", code, text)
    address = saved.get("engine_args", {}).get("address")
    if address is not None and not {"engine", "engine_args"} & set(given):
        raise ConfigError(
            f"{run} names a Ray cluster, whose processes run code: {address}. "
            f"Say {shlex.join(['--engine.address', str(address)])} to use it."
        )
    for value in _walk(saved.get("env_args", {})):
        if isinstance(value, Mapping) and value.get("api_key_env") not in (None, AUTO):
            _check_key(run, value)


def code_options(env: str, learner: str) -> list[str]:
    """The options that name a run's own environment and learner, where they are paths."""
    named = (("--env", env), ("--learner", learner))
    return [word for option, name in named if is_path(name) for word in (option, name)]


def _refuse_code(run: object, option: str, code: str, text: str) -> None:
    raise ConfigError(
        f"{run} names code to import: {code}. Say {shlex.join([option, text])} to run it."
    )


def _may_be_code(value: Any) -> bool:
    addresses = ("http://", "https://", "grpc://", "grpcs://")
    return isinstance(value, str) and ":" in value and not value.startswith(addresses)


def _walk(value: Any) -> Iterator[Any]:
    """``value`` and everything inside its mappings and lists."""
    yield value
    inner = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, Mapping | list | tuple):
        for one in inner:
            yield from _walk(one)


def _check_key(run: object, endpoint: Mapping[str, Any]) -> None:
    """Refuse a variable other than the one that the user has for the endpoint's host."""
    variable = str(endpoint["api_key_env"])
    address = Endpoint(model="any", base_url=str(endpoint.get("base_url", OPENAI_URL)))
    if address.key_env != variable:
        raise ConfigError(
            f"{run} names the variable {variable} as the key for {address.host}, and a run folder "
            f"cannot choose what is sent. Set {HOSTS_ENV}={address.host}={variable} to send it."
        )
