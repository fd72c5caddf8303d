"""What belongs to the whole world rather than to one process: clock, host name, IPC, DNS, terminal."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import pty
import socket
import struct
import termios
import threading
from pathlib import Path

_REALTIME, _NONBLOCK = 0, 0o4000
_ABSOLUTE, _CANCEL_ON_SET = 1, 2
SYSCTL = "/proc/sys/net/ipv4/ip_default_ttl"


class ClockMonitor:
    """A timer that the kernel cancels when somebody sets the clock, by however little."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._timer = libc.timerfd_create(_REALTIME, _NONBLOCK)
        in_the_year_2100 = struct.pack("4q", 0, 0, 4_102_444_800, 0)
        libc.timerfd_settime(self._timer, _ABSOLUTE | _CANCEL_ON_SET, in_the_year_2100, None)

    def was_set(self) -> bool:
        try:
            os.read(self._timer, 8)
        except OSError as error:
            return error.errno == errno.ECANCELED
        return False

    def close(self) -> None:
        os.close(self._timer)


def read_machine_state() -> dict[str, str]:
    return {"host name": socket.gethostname(), "sysctl": Path(SYSCTL).read_text()}


def find_ipc_objects(key: int) -> str:
    """System V objects with this key."""
    for kind in ("shm", "sem", "msg"):
        rows = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
        if any(int(row.split()[0]) == key for row in rows):
            return f"left a System V object: {kind}"
    return ""


class Resolver(threading.Thread):
    """Takes what is asked of the name server of this world, and answers nothing."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 53))
        self._asked: list[bytes] = []

    def run(self) -> None:
        while True:
            self._asked.append(self._socket.recv(4096))

    def was_queried(self, mark: str) -> bool:
        return any(mark.encode() in question for question in self._asked)


class Terminal:
    """A terminal that a trainer is at; ``name`` is for the trainer, the rest is for the watcher."""

    def __init__(self, uid: int) -> None:
        self._master, slave = pty.openpty()
        self.name = os.ttyname(slave)
        self._slave = slave
        os.fchown(slave, uid, -1)
        fcntl.fcntl(self._master, fcntl.F_SETFL, os.O_NONBLOCK)
        settings = termios.tcgetattr(slave)
        settings[3] |= termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, settings)

    def read_output(self) -> str:
        """What was printed there or pushed into its input, which it echoes."""
        try:
            return os.read(self._master, 2**16).decode(errors="replace")
        except OSError:
            return ""

    def close(self) -> None:
        os.close(self._master)
        os.close(self._slave)
