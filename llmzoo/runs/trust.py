"""Checks that a run folder does not decide which code is imported, or where keys and tokens are sent.

The folder may come from someone else. Its environment, learners and tools can be paths ``module:name``. Its
endpoints can name any environment variable, and its servers can have any address.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from llmzoo.endpoints import AUTO, HOST_KEYS_ENV, OPENAI_URL, TOKEN_ENV, Endpoint, key_env_for_host
from llmzoo.errors import ConfigError
from llmzoo.registry import imports_code, is_remote


def check_trusted(run: object, saved: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise :class:`ConfigError` if a run folder names code, a cluster, a key or a token, unless the user also does.

    ``saved``: those settings of the folder ``run`` that are about to be used. ``given``: the user's own.
    """
    for name in ("env", "learner"):
        _check_code(run, name, saved, given)
        _check_arguments(run, name, saved, given)
    for agent, settings in saved.get("agent_args", {}).items():
        given_for_agent = given.get("agent_args", {}).get(agent, {})
        _check_code(run, "learner", settings, given_for_agent, prefix=f"agent.{agent}.")
        _check_arguments(run, "learner", settings, given_for_agent, prefix=f"agent.{agent}.")
    # vLLM's engine_args may name classes, and folder is where weights are written
    for name in ("engine_args", "folder"):
        value = saved.get("sampler_args", {}).get(name)
        if value and name not in given.get("sampler_args", {}):
            text = value if isinstance(value, str) else json.dumps(value)
            _refuse_code(run, f"--sampler.{name}", text, text)
    address = saved.get("engine_args", {}).get("address")
    changes_engine = given.get("engine", saved.get("engine")) != saved.get("engine")
    if address is not None and "engine_args" not in given and not changes_engine:
        raise ConfigError(
            f"{run} names a Ray cluster, whose processes run code: {address}. "
            f"Pass {shlex.join(['--engine.address', str(address)])} to use it."
        )
    for value in _walk(saved):
        if isinstance(value, Mapping) and value.get("api_key_env") not in (None, AUTO):
            _check_key(run, value)
    for name in ("env", "env_args"):
        own = [*_walk(given.get(name))]
        for value in _walk(saved.get(name)):
            if isinstance(value, str) and is_remote(value) and value not in own:
                _check_token(run, value)


def check_environment(
    run: object,
    saved: Mapping[str, Any],
    env: str | None,
    env_args: Mapping[str, Any] | None,
) -> None:
    """:func:`check_trusted` for the environment in ``saved``; ``env`` and ``env_args``: the user's own."""
    given = {"env_args": env_args or {}, **({} if env is None else {"env": env})}
    check_trusted(run, {name: saved[name] for name in ("env", "env_args") if name in saved}, given)


def _check_code(
    run: object, name: str, saved: Mapping[str, Any], given: Mapping[str, Any], *, prefix: str = ""
) -> None:
    """Reject code such as ``module:name`` in ``saved[name]``, unless ``given`` has the same setting."""
    code = saved.get(name)
    if isinstance(code, str) and imports_code(code) and name not in given:
        _refuse_code(run, f"--{prefix}{name}", code, code)


def _check_arguments(
    run: object, name: str, saved: Mapping[str, Any], given: Mapping[str, Any], *, prefix: str = ""
) -> None:
    """Reject arguments of an environment or a learner that may be code, unless the user gives them too."""
    named = given.get(f"{name}_args", {})
    for argument, value in (saved.get(f"{name}_args") or {}).items():
        code = next((text for text in _walk(value) if _may_be_code(text)), None)
        if code is not None and argument not in named:
            text = value if isinstance(value, str) else json.dumps(value)
            option = f"{prefix}{name}_args" if prefix else name
            _refuse_code(run, f"--{option}.{argument}", code, text)


def _refuse_code(run: object, option: str, code: str, text: str) -> None:
    raise ConfigError(
        f"{run} names code to import: {code}. Pass {shlex.join([option, text])} to run it."
    )


def _may_be_code(value: Any) -> bool:
    addresses = ("http://", "https://", "grpc://", "grpcs://")
    return isinstance(value, str) and ":" in value and not value.startswith(addresses)


def _walk(value: Any) -> Iterator[Any]:
    """``value`` and everything inside its mappings, their keys included, and lists."""
    yield value
    if isinstance(value, Mapping):
        yield from value.keys()  # an environment that expects a list reads the keys
        value = [*value.values()]
    if isinstance(value, list | tuple):
        for one in value:
            yield from _walk(one)


def _check_key(run: object, endpoint: Mapping[str, Any]) -> None:
    """Reject a variable other than the one that the user has set for the endpoint's host."""
    variable = str(endpoint["api_key_env"])
    address = Endpoint(model="any", base_url=str(endpoint.get("base_url", OPENAI_URL)))
    if address.key_env != variable:
        _refuse_to_send(run, f"the variable {variable} as the key", address.host, variable)


def _check_token(run: object, address: str) -> None:
    """Reject a server that would receive the user's token, unless the user has set the token for its host."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:  # an invalid address, such as half a bracket: nothing will be sent
        return
    if os.environ.get(TOKEN_ENV) and key_env_for_host(host) != TOKEN_ENV:
        _refuse_to_send(run, f"the server {address}, which is sent {TOKEN_ENV},", host, TOKEN_ENV)


def _refuse_to_send(run: object, what: str, host: str, variable: str) -> None:
    raise ConfigError(
        f"{run} names {what} for {host}, and a run folder cannot choose what is sent. "
        f"Set {HOST_KEYS_ENV}={host}={variable} to send it."
    )
