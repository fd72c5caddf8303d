"""Endpoints with OpenAI's chat completions API: address, key and client.

A key is sent only where the user allows it. ``OPENAI_API_KEY`` and OpenAI's other environment
variables are used for OpenAI's own address only. For any other address the user names the variable
with the key: as ``api_key_env`` of the endpoint, or in an entry ``HOST=VARIABLE`` of
``LLMZOO_ENDPOINT_KEYS``. ``llmzoo serve`` writes a token to a file of its user, and requests to that
server on this machine carry the token.
"""

from __future__ import annotations

import ipaddress
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llmzoo.errors import ConfigError, UnknownNameError, require_extra
from llmzoo.files import user_cache

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI, OpenAI

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_HOST = "api.openai.com"
KEY_ENV = "OPENAI_API_KEY"
HOST_KEYS_ENV = "LLMZOO_ENDPOINT_KEYS"
TOKEN_ENV = "LLMZOO_TOKEN"  # what servers of environments and policies (llmzoo.serve) ask for
AUTO = "auto"
ENDPOINT_PREFIX = "openai:"  # begins the names of models behind endpoints
MAX_REPLY_BYTES = 16 * 2**20  # of a reply's body
_HEADERS_ENV = "OPENAI_CUSTOM_HEADERS"  # lines NAME: VALUE, which the client adds to requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model behind an endpoint.

    ``base_url``: such as ``"http://localhost:8000/v1"``. ``api_key_env``: the environment variable
    with the key; None sends no key; ``"auto"`` is the variable that ``LLMZOO_ENDPOINT_KEYS`` names
    for the host, otherwise ``OPENAI_API_KEY`` for api.openai.com and no key for other hosts.
    ``timeout_s``: seconds to wait for the answer or its next part.
    """

    model: str
    base_url: str = OPENAI_URL
    api_key_env: str | None = AUTO
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        if not self.model:
            raise ConfigError("the endpoint's model must be named")
        if not self.timeout_s > 0:
            raise ConfigError(f"the endpoint's timeout_s must be positive, got {self.timeout_s}")
        name = self.api_key_env
        if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ConfigError(
                "the endpoint's api_key_env is the name of an environment variable, not the key"
            )
        try:
            url = urlsplit(self.base_url)
            valid = url.scheme in ("http", "https") and url.hostname and url.port != 0
        except ValueError:  # brackets without an address of IPv6, a port that is no number
            valid = False
        if not valid:
            raise ConfigError(
                f"the endpoint's base_url is an address such as http://localhost:8000/v1, "
                f"got {self.base_url!r}"
            )
        if url.username is not None or url.query or url.fragment:
            raise ConfigError(
                f"the endpoint's base_url at {url.hostname} must have no user, query or fragment, because it "
                "is written into results: name the variable with the key as api_key_env"
            )

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def key_env(self) -> str | None:
        """The environment variable with the key; None if no key is sent."""
        if self.api_key_env != AUTO:
            return self.api_key_env
        return key_env_for_host(self.host) or (KEY_ENV if self.is_openai else None)

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI's own API, over TLS."""
        return self.host == OPENAI_HOST and self.base_url.startswith("https:")

    @property
    def key(self) -> str | None:
        """The key that is sent; None for none, and "" if the variable with the key is empty."""
        if self.key_env is not None:
            return os.environ.get(self.key_env, "")
        url = urlsplit(self.base_url)
        if self.api_key_env == AUTO and url.port is not None and is_local(self.host):
            return read_token(self.host, url.port)
        return None

    def redact_key(self, text: str) -> str:
        """``text`` without the key, which some endpoints repeat in their errors."""
        key = self.key
        return text.replace(key, "(key)") if key else text

    def refusal(self, error: APIStatusError) -> str:
        """The message of an error reply, without the key."""
        message = error.message
        if location := error.response.headers.get("location"):
            message = (
                f"it leads to {location}, which is not followed: name that address if you trust it"
            )
        return " ".join(self.redact_key(message).split())[:300]


def endpoint_from_settings(settings: Mapping[str, Any]) -> Endpoint:
    """The endpoint with these fields; an error for an unknown field names the nearest."""
    number = (int, float)
    known: dict[str, Any] = {
        "model": str,
        "base_url": str,
        "api_key_env": (str, type(None)),
        "timeout_s": number,
    }
    for name, value in settings.items():
        if name not in known:
            raise UnknownNameError("key of endpoint", name, known)
        if not isinstance(value, known[name]):
            wanted = "a number" if name == "timeout_s" else "a text"
            raise ConfigError(f"{name} of endpoint must be {wanted}, got {type(value).__name__}")
    if "model" not in settings:
        raise ConfigError("the endpoint's model must be named")
    return Endpoint(**settings)


def parse_endpoint(
    name: str, *, timeout_s: float = 60.0, api_key_env: str | None = AUTO
) -> Endpoint:
    """The endpoint that ``openai:MODEL`` or ``openai:MODEL@BASE_URL`` names."""
    parts = re.fullmatch(rf"{ENDPOINT_PREFIX}(?P<model>.+?)(?:@(?P<url>https?://.+))?", name)
    if parts is None or (parts["url"] is None and "@" in parts["model"]):
        raise ConfigError(
            f"{name!r} names no endpoint: write openai:MODEL, or openai:MODEL@BASE_URL with an "
            "address such as http://localhost:8000/v1"
        )
    return Endpoint(
        model=parts["model"],
        base_url=parts["url"] or OPENAI_URL,
        api_key_env=api_key_env,
        timeout_s=timeout_s,
    )


def make_client(endpoint: Endpoint) -> OpenAI:
    """A client; raises ``MissingExtraError`` without the package, ``ConfigError`` without the key.

    It follows no redirects. A reply that is compressed or longer than ``MAX_REPLY_BYTES`` raises
    ``ValueError``. Warns if the key would be sent over a network unencrypted.
    """
    with require_extra("a model behind an endpoint", "openai"):
        from openai import DefaultHttpxClient, OpenAI
    if endpoint.key_env and endpoint.base_url.startswith("http:") and not is_local(endpoint.host):
        warnings.warn(
            f"the key in {endpoint.key_env} goes to {endpoint.host} over plain http, where others "
            "can read it: use an address with https",
            stacklevel=2,
        )

    class BoundedClient(DefaultHttpxClient):
        def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            reply = _BoundedReply(super().send(request, stream=True, **options))
            try:
                reply.check()
                for part in reply.response.iter_raw():
                    reply.add(part)
            finally:
                reply.response.close()
            return reply.read()

    settings = _client_settings(endpoint)
    return OpenAI(**settings, http_client=BoundedClient(follow_redirects=False))


def make_async_client(endpoint: Endpoint) -> AsyncOpenAI:
    """The same client for coroutines, without the warning."""
    with require_extra("a model behind an endpoint", "openai"):
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    class BoundedAsyncClient(DefaultAsyncHttpxClient):
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            reply = _BoundedReply(await super().send(request, stream=True, **options))
            try:
                reply.check()
                async for part in reply.response.aiter_raw():
                    reply.add(part)
            finally:
                await reply.response.aclose()
            return reply.read()

    settings = _client_settings(endpoint)
    return AsyncOpenAI(**settings, http_client=BoundedAsyncClient(follow_redirects=False))


class _BoundedReply:
    """What has arrived of a response whose body is not read yet."""

    def __init__(self, response: Any):
        self.response = response
        self._body = bytearray()

    def check(self) -> None:
        """Raise ``ValueError`` if it is compressed: a few bytes can expand to gigabytes."""
        if self.response.headers.get("content-encoding", "identity") != "identity":
            raise ValueError("a compressed reply, which was not asked for")

    def add(self, part: bytes) -> None:
        self._body += part
        if len(self._body) > MAX_REPLY_BYTES:
            raise ValueError(f"a reply longer than {MAX_REPLY_BYTES} bytes")

    def read(self) -> Any:
        """The response with its whole body."""
        return type(self.response)(
            self.response.status_code,
            headers=self.response.headers,
            content=bytes(self._body),
            request=self.response.request,
            extensions=self.response.extensions,
        )


def _client_settings(endpoint: Endpoint) -> dict[str, Any]:
    from openai import Omit

    key = "none" if endpoint.key is None else endpoint.key
    if not key:
        raise ConfigError(
            f"the environment variable {endpoint.key_env} holds no key; set it, or give api_key_env=None if the "
            "endpoint needs none"
        )
    settings: dict[str, Any] = {
        "base_url": endpoint.base_url,
        "api_key": key,
        "timeout": endpoint.timeout_s,
        "max_retries": 0,  # the caller counts attempts
        "default_headers": {"Accept-Encoding": "identity"},
    }
    if not endpoint.is_openai:  # the client would send the settings for OpenAI there
        custom_headers = [
            line.partition(":")[0].strip()
            for line in _header_lines(os.environ.get(_HEADERS_ENV, ""))
        ]
        # where a custom header is called Authorization, the key's header stays
        kept = [header for header in custom_headers if header.lower() != "authorization"]
        omitted = ["OpenAI-Organization", "OpenAI-Project", *kept]
        settings["default_headers"] |= dict.fromkeys(omitted, Omit())
        settings["default_headers"]["Authorization"] = f"Bearer {key}"
    return settings


def _header_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if ":" in line]


def read_token(host: str, port: int) -> str | None:
    """The token that the server at a local address has left for its user, if it has.

    The address is compared as it is written: another user may listen at the same port of ``::1``, to which
    ``localhost`` may lead.
    """
    try:
        return token_file(host, port).read_text()
    except OSError:
        return None


def token_file(host: str, port: int) -> Path:
    """Where the token of the server at a local address lies."""
    return user_cache() / "tokens" / f"{host.replace(':', '.')}-{port}"


def key_env_for_host(host: str) -> str | None:
    """The environment variable whose key ``LLMZOO_ENDPOINT_KEYS`` sends to ``host``."""
    return _key_envs_by_host().get(host)


def _key_envs_by_host() -> dict[str, str]:
    """The variable of each host in ``LLMZOO_ENDPOINT_KEYS``."""
    variables = {}
    for entry in filter(None, os.environ.get(HOST_KEYS_ENV, "").split(",")):
        host, equals, name = (part.strip() for part in entry.partition("="))
        if not host or not equals or not name:
            raise ConfigError(
                f"{HOST_KEYS_ENV} is a list of HOST=VARIABLE with commas between, such as "
                "openrouter.ai=OPENROUTER_API_KEY"
            )
        variables[host.lower()] = name
    return variables


def is_local(host: str) -> bool:
    """Whether a host in an address is this machine, whatever a name server says."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
