"""The few system calls of Linux that Python 3.10 does not wrap, through ctypes."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

NEWNS, NEWUTS, NEWIPC = 0x00020000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
NOSUID, NODEV, BIND, REC, PRIVATE = 2, 4, 4096, 16384, 1 << 18
_SET_PDEATHSIG, _CAPBSET_DROP = 1, 24
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    arguments = (source.encode(), target.encode(), kind.encode(), flags, data.encode())
    _check(_libc.mount(*arguments), f"mount {kind or 'bind'} at {target}")


def die_with_parent(signal_number: int = 9) -> None:
    _check(_libc.prctl(_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl")


def drop_capability(capability: int) -> None:
    """Take a capability away for good, from the next exec on."""
    _check(_libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0), "prctl")


def bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


def identity_maps() -> tuple[str, str]:
    """Maps for a new user namespace in which every id that exists here keeps its number."""

    def rows(path: str) -> str:
        inside = ((row.split()[0], row.split()[2]) for row in Path(path).read_text().splitlines())
        return "".join(f"{first} {first} {count}\n" for first, count in inside)

    return rows("/proc/self/uid_map"), rows("/proc/self/gid_map")


def unshare_user(uids: str, gids: str) -> None:
    """Move into a new user namespace with these maps: rows of first id inside, outside, count.

    A map of many ids may only be written from outside, so a helper that stayed behind does it.
    """
    target = Path(f"/proc/{os.getpid()}")
    ready, go = os.pipe()
    helper = os.fork()
    if helper == 0:
        code = 1
        try:
            os.close(go)
            os.read(ready, 1)
            if os.geteuid() != 0:  # the kernel's condition for a group map of one's own
                (target / "setgroups").write_text("deny")
            (target / "uid_map").write_text(uids)
            (target / "gid_map").write_text(gids)
            code = 0
        finally:
            os._exit(code)
    os.close(ready)
    try:
        unshare(NEWUSER)
    finally:
        os.close(go)
        _, status = os.waitpid(helper, 0)
    if status:
        raise OSError("the ids of the new user namespace could not be mapped")


def forbid_user_namespaces() -> None:
    """From here on nobody in this user namespace can make another."""
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
