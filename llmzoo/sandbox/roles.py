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

PROGRAM_FD = 3


def _source() -> dict[str, Any]:
    """The JSON object that the host wrote for this child."""
    parts = []
    offset = 0
    while part := os.pread(PROGRAM_FD, 1 << 20, offset):
        parts.append(part)
        offset += len(part)
    os.close(PROGRAM_FD)
    return json.loads(b"".join(parts))


def _channel(fd: int) -> Channel:
    return Channel(socket.socket(fileno=fd))


def _run() -> None:
    ending = program.run(_source()["source"])
    os._exit(ending)


def _serve() -> None:
    given = _source()
    candidate.serve(_channel(4), given["source"], prelude=given["prelude"])


def _test() -> None:
    given = _source()
    tester.judge(
        _channel(4),
        _channel(5),
        given["tests"],
        entry_point=given["entry_point"],
        prelude=given["prelude"],
    )


def _shared() -> None:
    given = _source()
    shared.judge_shared(_channel(4), given["source"], given["entry_point"], given["prelude"])


def _session() -> None:
    program.serve_session(_channel(4))


_ROLES = {
    "run": _run,
    "data": _serve,
    "serve": _serve,
    "test": _test,
    "shared": _shared,
    "session": _session,
}


def main(control: int) -> None:
    """Become a zygote that the host controls over this descriptor."""
    zygote.main(control, _ROLES)
