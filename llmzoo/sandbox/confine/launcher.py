"""Starts a command in its own namespaces, and ends it with everything that it started.

Two processes stand between the host and the command. The outer one enters the namespaces, waits until the
host ends, and then kills the inner one. The inner one is the first process of the pid namespace: it builds the
root, starts the command, adds up the resources that all processes use, and reports how the command ended.
When it ends, the kernel kills every process of the namespace, whatever its session. Each of the two ends when
the other does, and both end with the host, even if the host is killed.

The inner process listens on a port of the new loopback interface and gives the listening socket to the
host, which answers there. There is no other way out of the namespace.
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

_CHECK_EVERY_S = 0.05  # how often the memory and CPU time in use are added up
_WAITING_CONNECTIONS = 128
_OPEN_FILES = 1024
_EXEC_FAILED = 127
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# of a line of /proc/PID/stat, counted from its third field on; see proc(5)
_TIMES, _THREADS, _RESIDENT = slice(11, 15), 17, 21


def main(control: int, settings_fd: int) -> None:
    """Start a command. ``control``: the socket to the host. ``settings_fd``: a file with the settings in JSON."""
    with os.fdopen(settings_fd) as file:
        settings = json.load(file)
    host = socket.socket(fileno=control)
    host.set_inheritable(False)
    try:
        first, end_reader = _start(host, settings)
    except BaseException as error:
        _report_failure(host, error)
    poll = select.poll()
    poll.register(host, 0)  # 0: only its end is reported
    poll.register(end_reader, 0)
    poll.poll()
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)  # the kernel ends the whole namespace before this returns
    os._exit(0)


def _report_failure(host: socket.socket, error: BaseException) -> None:
    """Tell the host why the command did not start, and exit."""
    host.send(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
    os._exit(_EXEC_FAILED)


def _start(host: socket.socket, settings: dict[str, Any]) -> tuple[int, int]:
    """Enter the namespaces and fork their first process.

    Returns its process id, and the reading end of a pipe that closes when the process ends.
    """
    os.umask(0o022)
    kernel.prefer_oom_kill()
    user = None
    if os.geteuid() == 0:
        user = users.FIRST_PRIVATE_USER + settings["private_user"]
    kernel.enter_new_namespaces()
    if not users.maps_other_users():
        user = None  # root of a new user namespace cannot become other users
    kernel.die_with_parent()
    if os.getppid() != settings["parent"]:
        os._exit(_EXEC_FAILED)  # the host ended before the line above
    end_reader, end_writer = os.pipe()
    first = os.fork()
    if first:
        os.close(end_writer)
        return first, end_reader
    try:
        os.close(end_reader)
        os.setsid()
        _run_first_process(host, settings, user)
    except BaseException as error:
        _report_failure(host, error)
    os._exit(0)


def _run_first_process(host: socket.socket, settings: dict[str, Any], user: int | None) -> None:
    """Make the root and the network, start the command, and report how it ended."""
    limits = settings["limits"]
    number = os.getuid() if user is None else user
    files = {
        "/etc/passwd": f"user:x:{number}:{number}::/tmp:/bin/sh\n",
        "/etc/group": f"user:x:{number}:\n",
        "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    proc_error = mounts.build_command_root(
        settings["root"], settings["visible"], files, limits["scratch_mb"]
    )
    kernel.bring_up_loopback()
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", settings["port"]))
    listening.listen(_WAITING_CONNECTIONS)
    kernel.drop_privileges(user)
    kernel.lock_down()
    notes = {} if proc_error is None else {"proc_missing": proc_error}
    socket.send_fds(host, [json.dumps({"ready": notes}).encode()], [listening.fileno()])
    listening.close()
    if not settings["command"]:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    command = _start_command(host, settings)
    status, limit = _wait_for_command(command, limits, host, measured=proc_error is None)
    code = None if status is None else os.waitstatus_to_exitcode(status)
    host.send(json.dumps({"ended": code, "limit": limit}).encode())


def _start_command(host: socket.socket, settings: dict[str, Any]) -> int:
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
        ):  # Python ignores them, and a child would inherit that
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
        _report_failure(host, error)
    os._exit(_EXEC_FAILED)


def _wait_for_command(
    command: int, limits: dict[str, int], host: socket.socket, *, measured: bool
) -> tuple[int | None, str]:
    """Wait for the command, and for orphaned processes, which the first process inherits.

    Returns the wait status of the command, or None if it was still running, and the limit that all processes
    together have exceeded, or "". ``measured``: whether /proc exists, which the checks of limits need.
    """
    host_poll = select.poll()
    host_poll.register(host, 0)
    next_check = time.monotonic()
    while True:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == command:
                over = _children_cpu_seconds() >= limits["cpu_s"]
                return ended[1], "cpu_s" if over else ""
        if host_poll.poll(0):
            return None, ""
        if measured and time.monotonic() >= next_check:
            resident, processor_s, threads = _measure_usage()
            if resident > limits["memory_mb"] << 20:
                return None, "memory_mb"
            if processor_s + _children_cpu_seconds() >= limits["cpu_s"]:
                return None, "cpu_s"
            # the kernel's own limit does not count processes of root
            if threads > limits["processes"]:
                return None, "processes"
            next_check = time.monotonic() + _CHECK_EVERY_S
        signal.sigtimedwait({signal.SIGCHLD}, _CHECK_EVERY_S)


def _children_cpu_seconds() -> float:
    """CPU seconds of the processes that have ended, including children that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _measure_usage() -> tuple[int, float, int]:
    """Bytes in memory, CPU seconds and threads of all processes except this one.

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
