"""Takes privileges away from a process: namespaces, Landlock, limits, seccomp. See mounts.py for the root.

These are thin wrappers around Linux system calls. Each raises ``OSError`` if the machine does not
support the call. See namespaces(7), landlock(7), capabilities(7).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import resource
import socket
import struct
from collections.abc import Iterable

from .syscalls import NUMBERS

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 1, 4, 24
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
_SIGKILL = 9

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_HOST_NAME = b"sandbox"
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
DEVICES = ("null", "zero", "full", "random", "urandom")

# bits of Landlock's rights, and the rights that each version of its interface knows
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_ONLY_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
# in the scratch folder: everything but running programs, devices, sockets, pipes and links
_SCRATCH_RIGHTS = _WRITE_FILE | _READ_FILE | _READ_DIR | _TRUNCATE | 0b1_1011_0000


def raise_on_error(result: int, what: str) -> int:
    """The result of a C function. Raises ``OSError`` if it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def system_call(name: str, *args: object) -> int:
    """Make a system call for which the C library may have no wrapper."""
    numbers = NUMBERS.get(platform.machine())
    if numbers is None:
        raise OSError(f"no system-call table for {platform.machine()}")
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    return raise_on_error(libc.syscall(ctypes.c_long(numbers[name]), *wide), name)


def _prctl(option: int, *args: int) -> None:
    padded = [*args, 0, 0, 0, 0][:4]
    raise_on_error(libc.prctl(option, *map(ctypes.c_ulong, padded)), f"prctl {option}")


def enter_new_namespaces() -> None:
    """Enter new user (unless root needs none), mount, pid, network, ipc and uts namespaces.

    The process must have one thread. Its next child is the first process of the pid namespace. The
    host name is hidden too.
    """
    others = _NEWNS | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS
    if not (os.geteuid() == 0 and libc.unshare(others) == 0):
        _enter_user_namespace(others)
    raise_on_error(libc.sethostname(_HOST_NAME, len(_HOST_NAME)), "sethostname")


def _enter_user_namespace(others: int) -> None:
    """A user namespace that maps this user to itself, and has the right to enter ``others``."""
    user, group = os.geteuid(), os.getegid()
    raise_on_error(libc.unshare(_NEWUSER | others), "unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def bring_up_loopback() -> None:
    """Switch on the loopback interface of a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


def prefer_oom_kill() -> None:
    """If the machine runs out of memory, let the kernel kill this process and its children before the training."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass  # a machine without /proc


def drop_privileges(user: int | None) -> None:
    """Become ``user``, if given, without groups, and drop every capability."""
    if user is not None:
        os.setgroups([])
    last = 0
    while last < 64 and libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(last), 0, 0, 0) == 0:
        last += 1
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    if user is not None:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header = struct.pack("Ii", 0x20080522, 0)  # version 3, this process
    raise_on_error(libc.capset(header, bytes(24)), "capset")


def lock_down() -> None:
    """Forbid new privileges and core dumps, and end with the parent. A later change of user would undo this."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_DUMPABLE, 0)


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def landlock_version() -> int:
    """The version of Landlock's interface (its ABI)."""
    return system_call("landlock_create_ruleset", None, 0, 1)


def restrict_paths(readable: Iterable[str], scratch: str | None, *, run_files: bool) -> None:
    """With Landlock, allow only reading of ``readable`` paths and changes in ``scratch``.

    Also forbid TCP, and signals and abstract sockets to processes outside. ``run_files``: also allow running
    these files.
    """
    version = landlock_version()
    handled = next(
        rights for v, rights in sorted(_FILE_RIGHTS.items(), reverse=True) if v <= version
    )
    attributes = struct.pack(
        "QQQ", handled, 3 if version >= 4 else 0, 3 if version >= 6 else 0
    )[: 24 if version >= 6 else 16 if version >= 4 else 8]  # fmt: skip
    ruleset = system_call("landlock_create_ruleset", attributes, len(attributes), 0)
    reading = _READ_FILE | _READ_DIR | (_EXECUTE if run_files else 0)
    rules = [(path, reading) for path in readable]
    rules += [(f"/dev/{name}", _READ_FILE | _WRITE_FILE) for name in DEVICES]
    if scratch is not None:
        rules.append((scratch, _SCRATCH_RIGHTS | (_EXECUTE if run_files else 0)))
    for path, rights in rules:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # a path that cannot be opened cannot be allowed
        allowed = rights & handled
        if not os.path.isdir(path):
            allowed &= _ONLY_FILES
        system_call("landlock_add_rule", ruleset, 1, struct.pack("=Qi", allowed, fd), 0)
        os.close(fd)
    system_call("landlock_restrict_self", ruleset, 0)
    os.close(ruleset)


def set_rlimit(which: int, value: int) -> None:
    """Set a resource limit, soft and hard, but not above the present hard limit."""
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


def install_filter(program: bytes) -> None:
    """Install a seccomp filter (an array of ``struct sock_filter``) in this process."""
    code = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    system_call("seccomp", 1, 0, fprog)
