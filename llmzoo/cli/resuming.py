"""What a run folder names and only the user may allow: code to import, and keys to send.

The folder may be somebody else's. Its environment, its learner and its tools can be paths
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
    mappings = {}
    for name, value in saved.items():
        wanted = in_words(hints[name]) if name in hints else ""
        if isinstance(value, Mapping) and "mapping" in wanted:
            mappings[name] = dict(value)
        elif wanted and (isinstance(value, Mapping) or ("mapping" in wanted and value is not None)):
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
            code = next((text for text in _texts(value) if _may_be_code(text)), None)
            if code is not None and name not in named:
                text = value if isinstance(value, str) else json.dumps(value)
                _refuse_code(run, f"--{option}.{name}", code, text)
    address = saved.get("engine_args", {}).get("address")
    if address is not None and not {"engine", "engine_args"} & set(given):
        raise ConfigError(
            f"{run} names a Ray cluster, whose processes run code: {address}. "
            f"Say {shlex.join(['--engine.address', str(address)])} to use it."
        )
    for endpoint in _endpoints(saved.get("env_args", {})):
        _check_key(run, endpoint)


def code_options(env: str, learner: str) -> list[str]:
    """The options that name a run's own environment and learner, where they are paths."""
    named = (("--env", env), ("--learner", learner))
    return [word for option, name in named if is_path(name) for word in (option, name)]


def _refuse_code(run: object, option: str, code: str, text: str) -> None:
    raise ConfigError(
        f"{run} names code to import: {code}. Say {shlex.join([option, text])} to run it."
    )


def _may_be_code(text: str) -> bool:
    return ":" in text and not text.startswith(("http://", "https://", "grpc://", "grpcs://"))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _endpoints(value: Any) -> Iterator[Mapping[str, Any]]:
    """The mappings, at any depth, that name the variable with a key."""
    if isinstance(value, Mapping):
        if value.get("api_key_env") not in (None, AUTO):
            yield value
        for inner in value.values():
            yield from _endpoints(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _endpoints(inner)


def _check_key(run: object, endpoint: Mapping[str, Any]) -> None:
    """Refuse a variable other than the one that the user has for the endpoint's host."""
    variable = str(endpoint["api_key_env"])
    address = Endpoint(model="any", base_url=str(endpoint.get("base_url", OPENAI_URL)))
    if address.key_env != variable:
        raise ConfigError(
            f"{run} names the variable {variable} as the key for {address.host}, and a run folder "
            f"cannot choose what is sent. Set {HOSTS_ENV}={address.host}={variable} to send it."
        )
