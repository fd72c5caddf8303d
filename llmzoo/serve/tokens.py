"""Tokens that servers on this machine leave for clients of the same user, a file for each port.

A server without a token of its own choosing makes one up, so that other users of the machine are
kept out; a client of the same user finds it here and needs no setting.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def leave(port: int) -> str:
    """Make up a token for the server at a port of this machine, and leave it for its clients."""
    token = secrets.token_hex(16)
    file = _file(port)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)  # of a server that was killed
    # only this user may read it, from its first moment on
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as written:
        written.write(token)
    return token


def left_by(port: int) -> str | None:
    """The token of the server at a port of this machine, where it left one."""
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
