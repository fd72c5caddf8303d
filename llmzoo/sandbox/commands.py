"""Commands in any language, confined: a process of one's own program, with what it may see and use.

:class:`ConfinedCommand` starts one. ``confine/launcher.py`` is what runs beside it, inside.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, BinaryIO

from llmzoo.errors import SandboxError
from llmzoo.sandbox.confine import boot
from llmzoo.sandbox.confine.folders import Folder
from llmzoo.sandbox.confine.job import memory_file
from llmzoo.sandbox.confine.worker import new_private_user
from llmzoo.sandbox.forwarding import PortForwarder
from llmzoo.sandbox.limits import CommandLimits
from llmzoo.sandbox.visible import system_paths

_START_S = 30.0  # the first start may read the library from a cold disk
_END_S = 10.0  # for the kernel to end all processes
_ANY_PORT = 1024  # of the probe, which nobody calls
_live: weakref.WeakSet[ConfinedCommand] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class CommandExit:
    """How a command ended. ``status``: as ``subprocess`` has it, negative for a signal; None if it was
    stopped. ``limit``: the name of the limit that it has exceeded, or ""."""

    status: int | None
    limit: str = ""


class ConfinedCommand:
    """A running command in namespaces of its own. The thread that starts it must outlive it.

    Parameters
    ----------
    command: the path of a program, and its arguments.
    visible: absolute paths that it may read, besides those of the system.
    folder: the one of them that it starts in; ``/tmp`` by default.
    environment: all variables that it finds.
    port: the port of this machine's loopback interface that it may reach, under the same number. Any
        other address is out of reach.
    stdout, stderr: open files that it writes to.

    It finds a read-only root, an empty ``/tmp``, no other process and no network. When it ends, is
    closed, or this process dies, every process that it has started is dead. Raises
    :class:`~llmzoo.errors.SandboxError` if the machine cannot confine it; nothing has run then.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        visible: Sequence[str],
        folder: str | None,
        environment: Mapping[str, str],
        port: int,
        stdout: BinaryIO | int,
        stderr: BinaryIO | int,
        limits: CommandLimits,
    ):
        self._pid = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._forwarding: PortForwarder | None = None
        self._root = Folder()
        self._control, child_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = {
            "command": list(command),
            "visible": system_paths(visible),
            "folder": folder or "/tmp",
            "port": port,
            "limits": asdict(limits),
            "root": str(self._root.path),
            "private_user": new_private_user(),
            "parent": os.getpid(),
        }
        settings_fd = memory_file(json.dumps(settings))
        try:
            with child_socket:
                self._process = boot.start(
                    "confine.launcher",
                    [child_socket.fileno(), settings_fd],
                    ["-I", "-S"],
                    environment,
                    stdout=stdout,
                    stderr=stderr,
                )
            _live.add(self)
            notes, listening = self._wait_until_ready()
            self.notes = notes
            self._forwarding = PortForwarder(listening, port)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(settings_fd)

    def poll(self) -> CommandExit | None:
        """How the command has ended; None while it runs. Raises :class:`~llmzoo.errors.SandboxError` if
        it could not be started."""
        assert self._process is not None
        if self._process.poll() is None:
            return None
        ended = CommandExit(-9)  # the machine has killed the launcher
        while (message := self._receive(0.0)) is not None:
            ended = CommandExit(message["ended"], message["limit"])
        return ended

    def close(self) -> None:
        """End the command with all its processes. In a forked process, only let go of it."""
        if self._pid != os.getpid():
            self._control.close()
            self._root.close(remove=False)
            return
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)  # copies of a fork do not keep it open
        self._control.close()
        if self._process is not None:
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()  # and with it, by PR_SET_PDEATHSIG, all others
                self._process.wait()
        if self._forwarding is not None:
            self._forwarding.close()
        self._root.close(remove=True)
        _live.discard(self)

    def _wait_until_ready(self) -> tuple[dict[str, Any], socket.socket]:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        if not poll.poll(_START_S * 1000):
            raise _confinement_error(f"the launcher does not answer within {_START_S:g} seconds")
        data, fds, _, _ = socket.recv_fds(self._control, 65536, 1)
        listening = [socket.socket(fileno=fd) for fd in fds]
        message: dict[str, Any] = (
            json.loads(data) if data else {"failed": "the launcher ended without a word"}
        )
        if "ready" not in message or not listening:
            raise _confinement_error(message["failed"])
        return message["ready"], listening[0]

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        """The next message of the launcher, if one comes in time."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return None
        data = self._control.recv(65536)
        if not data:
            return None
        message: dict[str, Any] = json.loads(data)
        if "failed" in message:
            raise SandboxError(f"the command could not be started: {message['failed']}")
        return message


def _confinement_error(why: str) -> SandboxError:
    return SandboxError(
        f"a command cannot be confined here ({why}). It needs Linux on x86-64 or aarch64, as root or with "
        "user namespaces for ordinary users; see 'Commands' in docs/sandbox.md. Nothing was run"
    )


@cache
def probe_confinement() -> tuple[str, ...]:
    """Try once in this process whether commands can be confined here.

    Returns what is missing without being necessary. Raises :class:`~llmzoo.errors.SandboxError`.
    """
    try:
        probe = ConfinedCommand(
            (),
            visible=(),
            folder=None,
            environment={},
            port=_ANY_PORT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            limits=CommandLimits(),
        )
    except (OSError, ImportError, AttributeError) as error:  # not Linux
        raise _confinement_error(f"{type(error).__name__}: {error}") from error
    probe.close()
    return tuple(probe.notes)


@atexit.register
def _close_all() -> None:
    for command in list(_live):
        command.close()
