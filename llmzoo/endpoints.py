"""Endpoints that speak OpenAI's chat completions: where one is, and a client for it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmzoo.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

OPENAI_URL = "https://api.openai.com/v1"
KEY_ENV = "OPENAI_API_KEY"
PREFIX = "openai:"  # of the names of models behind endpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the model is. ``base_url``: such as ``"http://localhost:8000/v1"``. ``api_key_env``: the
    environment variable that holds the key, None where the endpoint wants none. ``timeout_s``:
    seconds to wait for an answer, or for more of one that has begun."""

    model: str
    base_url: str = OPENAI_URL
    api_key_env: str | None = KEY_ENV
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        if not self.model:
            raise ConfigError("the endpoint's model must be named")
        if not self.timeout_s > 0:
            raise ConfigError(f"the endpoint's timeout_s must be positive, got {self.timeout_s}")


def parse(name: str, *, timeout_s: float = 60.0) -> Endpoint:
    """The endpoint that ``openai:MODEL`` or ``openai:MODEL@BASE_URL`` names.

    The key is that in ``OPENAI_API_KEY``, and goes to the address that is named; where the
    variable is not set, an address of one's own is asked without a key.
    """
    parts = re.fullmatch(rf"{PREFIX}(?P<model>.+?)(?:@(?P<url>https?://.+))?", name)
    if parts is None or (parts["url"] is None and "@" in parts["model"]):
        raise ConfigError(
            f"{name!r} names no endpoint: write openai:MODEL, or openai:MODEL@BASE_URL with an "
            "address such as http://localhost:8000/v1"
        )
    if parts["url"] is None:
        return Endpoint(model=parts["model"], timeout_s=timeout_s)
    key = KEY_ENV if os.environ.get(KEY_ENV) else None
    return Endpoint(
        model=parts["model"], base_url=parts["url"], api_key_env=key, timeout_s=timeout_s
    )


def connect(endpoint: Endpoint) -> OpenAI:
    """A client; raises ``MissingExtraError`` without the package, ``ConfigError`` without the key."""
    try:
        from openai import OpenAI
    except ModuleNotFoundError as error:
        raise MissingExtraError("a model behind an endpoint", "openai", error.name) from error
    return OpenAI(**_settings(endpoint))


def connect_async(endpoint: Endpoint) -> AsyncOpenAI:
    """The same for coroutines."""
    try:
        from openai import AsyncOpenAI
    except ModuleNotFoundError as error:
        raise MissingExtraError("a model behind an endpoint", "openai", error.name) from error
    return AsyncOpenAI(**_settings(endpoint))


def _settings(endpoint: Endpoint) -> dict[str, Any]:
    name = endpoint.api_key_env
    key = "none" if name is None else os.environ.get(name)
    if not key:
        raise ConfigError(
            f"the environment variable {name} holds no key; set it, or give api_key_env=None where "
            "the endpoint wants none"
        )
    # attempts are counted by the caller, not by the client
    return {
        "base_url": endpoint.base_url,
        "api_key": key,
        "timeout": endpoint.timeout_s,
        "max_retries": 0,
    }
