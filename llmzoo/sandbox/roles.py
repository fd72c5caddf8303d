"""What a forked child does, by the kind of its job.

Its descriptors are the standard streams, then a file that the host wrote for it, then its channels.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

# everything is imported before the zygote is confined
from .confine import program, zygote
from .confine.channel import Channel
from .judge import candidate, shared, tester

_INPUT_FD = 3


def main(control: int) -> None:
    """Become a zygote that the host controls over this descriptor."""
    roles = {
        "run": lambda: os._exit(program.run(**_read_input())),
        "session": lambda: program.serve_session(_channel(4)),
        "data": _serve,
        "serve": _serve,
        "test": lambda: tester.judge(_channel(4), _channel(5), **_read_input()),
        "shared": lambda: shared.judge_shared(_channel(4), **_read_input()),
    }
    zygote.main(control, roles)


def _serve() -> None:
    candidate.serve(_channel(4), **_read_input())


def _read_input() -> dict[str, Any]:
    """The JSON object that the host wrote for this child."""
    parts = []
    offset = 0
    while part := os.pread(_INPUT_FD, 1 << 20, offset):
        parts.append(part)
        offset += len(part)
    os.close(_INPUT_FD)
    return json.loads(b"".join(parts))


def _channel(fd: int) -> Channel:
    return Channel(socket.socket(fileno=fd))
