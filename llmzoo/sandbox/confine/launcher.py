"""Starts a command in namespaces of its own, and ends it with everything that it started.

Two processes stand between the host and the command. The outer one enters the namespaces, waits for the
host to go away, and kills the inner one. The inner one is the first process of the pid namespace: it makes
the root, starts the command, adds up what all processes use, and says how the command ended. When it ends,
the kernel kills every process of the namespace, whatever its session. Each of the two ends with the other,
and both end with the host, also if that is killed.

The inner process listens on a port of the new loopback interface and gives the listening socket to the
host, which answers there. No other way leads out of the namespace.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import time
from typing import Any

from . import kernel, mounts, users
from .command_filter import CommandFilter

_LOOK_EVERY_S = 0.05  # how often the use of memory and processor is added up
_WAITING_CONNECTIONS = 128
_OPEN_FILES = 1024
_EXEC_FAILED = 127
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# of a line of /proc/PID/stat, counted from its third field on; see proc(5)
_TIMES, _THREADS, _RESIDENT = slice(11, 15), 17, 21


def main(control: int, settings_fd: int) -> None:
    """Start the command that the JSON object in the file ``settings_fd`` describes; ``control`` is the host."""
    with os.fdopen(settings_fd) as file:
        settings = json.load(file)
    host = socket.socket(fileno=control)
    host.set_inheritable(False)
    try:
        first, alive = _start(host, settings)
    except BaseException as error:
        _fail(host, error)
    poll = select.poll()
    poll.register(host, 0)  # only its end
    poll.register(alive, 0)
    poll.poll()
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)  # the kernel ends the whole namespace before this returns
    os._exit(0)


def _fail(host: socket.socket, error: BaseException) -> None:
    """Tell the host why nothing runs, and end."""
    host.send(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
    os._exit(_EXEC_FAILED)


def _start(host: socket.socket, settings: dict[str, Any]) -> tuple[int, int]:
    """Enter the namespaces and fork their first process. Returns it, and a pipe that ends with it."""
    os.umask(0o022)
    kernel.prefer_oom_kill()
    user = None
    if os.geteuid() == 0:
        user = users.FIRST_PRIVATE_USER + settings["private_user"]
    kernel.new_namespaces()
    if not users.maps_other_users():
        user = None  # in a user namespace of its own, root is nobody outside it
    kernel.die_with_parent()
    if os.getppid() != settings["parent"]:
        os._exit(_EXEC_FAILED)  # the host was gone before the line above
    alive, held = os.pipe()
    first = os.fork()
    if first:
        os.close(held)
        return first, alive
    try:
        os.close(alive)
        os.setsid()
        _first_process(host, settings, user)
    except BaseException as error:
        _fail(host, error)
    os._exit(0)


def _first_process(host: socket.socket, settings: dict[str, Any], user: int | None) -> None:
    """Make the root and the network, start the command, and report how it ended."""
    limits = settings["limits"]
    number = os.getuid() if user is None else user
    files = {
        "/etc/passwd": f"user:x:{number}:{number}::/tmp:/bin/sh\n",
        "/etc/group": f"user:x:{number}:\n",
        "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    no_proc = mounts.build_command_root(
        settings["root"], settings["visible"], files, limits["scratch_mb"]
    )
    kernel.bring_up_loopback()
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", settings["port"]))
    listening.listen(_WAITING_CONNECTIONS)
    kernel.drop_privileges(user)
    kernel.lock_down()
    notes = {} if no_proc is None else {"proc_missing": no_proc}
    socket.send_fds(host, [json.dumps({"ready": notes}).encode()], [listening.fileno()])
    listening.close()
    if not settings["command"]:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    command = _fork(host, settings)
    status, limit = _wait(command, limits, host, measured=no_proc is None)
    code = None if status is None else os.waitstatus_to_exitcode(status)
    host.send(json.dumps({"ended": code, "limit": limit}).encode())


def _fork(host: socket.socket, settings: dict[str, Any]) -> int:
    """Start the command, with its limits and the filter."""
    program = CommandFilter().program()
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        for number in (
            signal.SIGPIPE,
            signal.SIGXFSZ,
        ):  # Python ignores them, and a command would too
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.chdir(settings["folder"])
        limits = settings["limits"]
        for which, value in (
            (resource.RLIMIT_DATA, limits["memory_mb"] << 20),
            (resource.RLIMIT_FSIZE, limits["file_mb"] << 20),
            (resource.RLIMIT_CPU, limits["cpu_s"]),
            (resource.RLIMIT_NPROC, limits["processes"] + 1),  # and the first process
            (resource.RLIMIT_NOFILE, _OPEN_FILES),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_MEMLOCK, 0),
            (resource.RLIMIT_MSGQUEUE, 0),
            (resource.RLIMIT_STACK, 8 << 20),
        ):
            kernel.set_rlimit(which, value)
        kernel.install_filter(program)
        os.execv(settings["command"][0], settings["command"])
    except BaseException as error:
        _fail(host, error)
    os._exit(_EXEC_FAILED)


def _wait(
    command: int, limits: dict[str, int], host: socket.socket, *, measured: bool
) -> tuple[int | None, str]:
    """Wait for the command, and for all others that the kernel hands to the first process.

    Returns the wait status of the command, or None, and the limit that all processes together have
    exceeded, or "".
    """
    gone = select.poll()
    gone.register(host, 0)
    next_check = time.monotonic()
    while True:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == command:
                over = _children_cpu_seconds() >= limits["cpu_s"]
                return ended[1], "cpu_s" if over else ""
        if gone.poll(0):
            return None, ""
        if measured and time.monotonic() >= next_check:
            resident, processor_s, threads = _measure_usage()
            if resident > limits["memory_mb"] << 20:
                return None, "memory_mb"
            if processor_s + _children_cpu_seconds() >= limits["cpu_s"]:
                return None, "cpu_s"
            if (
                threads > limits["processes"]
            ):  # the kernel's limit counts no process of the machine's root
                return None, "processes"
            next_check = time.monotonic() + _LOOK_EVERY_S
        signal.sigtimedwait({signal.SIGCHLD}, _LOOK_EVERY_S)


def _children_cpu_seconds() -> float:
    """Seconds of processor time of the processes that have ended, with those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _measure_usage() -> tuple[int, float, int]:
    """Bytes in memory, seconds of processor time, and threads, of all processes but this one.

    Pages that processes share count for each of them.
    """
    pages = ticks = threads = 0
    for name in os.listdir("/proc"):
        if not name.isdigit() or name == "1":
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it has just ended
        pages += int(fields[_RESIDENT])
        ticks += sum(map(int, fields[_TIMES]))
        threads += int(fields[_THREADS])
    return pages * _PAGE, ticks / _TICKS, threads
