"""Tokens: which servers need one, and the file in which clients of the same user find it.

A server without a configured token generates one, which keeps other users of the machine out, and
stores it in a file that is named after its address. Clients on this machine read that file, so they need
no setting.
"""

from __future__ import annotations

import ipaddress
import os
import secrets

from llmzoo.endpoints import TOKEN_ENV, read_token, token_file
from llmzoo.errors import ConfigError

MIN_TOKEN_LENGTH = 16  # characters; 16 random hexadecimal digits are 64 bits


def write_token(host: str, port: int) -> str:
    """Generate a token for the server at a local address, and store it for its clients."""
    token = secrets.token_hex(16)
    file = token_file(host, port)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)  # left by a server that was killed
    # from the start, only this user may read it
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as written:
        written.write(token)
    return token


def remove_token(host: str, port: int, token: str) -> None:
    """Remove the token of a server that has ended, unless another server has taken its address."""
    if read_token(host, port) == token:
        token_file(host, port).unlink(missing_ok=True)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens at ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_token(token: str) -> None:
    """Raise :class:`ConfigError` for a token that is too short or does not fit a header."""
    if len(token) < MIN_TOKEN_LENGTH or not (token.isascii() and token.isprintable()):
        raise ConfigError(
            f"a token is at least {MIN_TOKEN_LENGTH} printable ASCII characters, such as the output "
            "of: openssl rand -hex 16"
        )


def check_access(host: str, token: str | None) -> None:
    """Raise :class:`ConfigError` for a bad token, or for none where other machines reach ``host``."""
    if token is not None:
        check_token(token)
    elif not is_loopback(host):
        raise ConfigError(
            f"a server at {host} can be reached from other machines and needs a token: put "
            f"a secret into {TOKEN_ENV}, such as the output of: openssl rand -hex 16"
        )
