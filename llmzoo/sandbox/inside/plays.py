"""What a forked child does, by the kind of its job.

Its descriptors: 0 to 2 the standard ones, then what the host wrote for it, then its channels.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

# all of it is imported before the zygote is confined, also what is needed late
from . import candidate, program, shared, tester, unittests  # noqa: F401
from .channel import Channel

PROGRAM_FD = 3


def _source() -> dict[str, Any]:
    """What the host wrote for this child: a JSON object in the first descriptor after the standard ones."""
    parts = []
    offset = 0
    while part := os.pread(PROGRAM_FD, 1 << 20, offset):
        parts.append(part)
        offset += len(part)
    os.close(PROGRAM_FD)
    return json.loads(b"".join(parts))


def _channel(fd: int) -> Channel:
    return Channel(socket.socket(fileno=fd))


def _play_run(job: dict[str, Any]) -> None:
    ending = program.run(_source()["source"])
    os._exit(ending)


def _play_serve(job: dict[str, Any]) -> None:
    given = _source()
    candidate.serve(_channel(4), given["source"], prelude=given["prelude"])


def _play_test(job: dict[str, Any]) -> None:
    given = _source()
    tester.judge(
        _channel(4),
        _channel(5),
        given["tests"],
        entry_point=given["entry_point"],
        prelude=given["prelude"],
    )


def _play_shared(job: dict[str, Any]) -> None:
    given = _source()
    # the tests come over the channel, once the program has loaded
    shared.judge_shared(_channel(4), given["source"], None, given["entry_point"], given["prelude"])


def _play_session(job: dict[str, Any]) -> None:
    program.serve_session(_channel(4))


PLAYS = {
    "run": _play_run,
    "data": _play_serve,
    "serve": _play_serve,
    "test": _play_test,
    "shared": _play_shared,
    "session": _play_session,
}
