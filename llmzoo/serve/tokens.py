"""Tokens that servers on this machine leave for clients of the same user, one file per port.

A server without a configured token generates one, which keeps other users of the machine out.
Clients of the same user find it here and need no setting.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def leave(port: int) -> str:
    """Generate a token for the server at a local port, and store it for its clients."""
    token = secrets.token_hex(16)
    file = _file(port)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)  # left by a server that was killed
    # from the start, only this user may read it
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as written:
        written.write(token)
    return token


def left_by(port: int) -> str | None:
    """The token of the server at a local port, if it left one."""
    try:
        return _file(port).read_text()
    except OSError:
        return None


def take_back(port: int) -> None:
    """Remove the token of a server that has ended."""
    _file(port).unlink(missing_ok=True)


def _file(port: int) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "llmzoo" / "tokens" / str(port)
