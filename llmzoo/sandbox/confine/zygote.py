"""The fork server: it is confined once, and forks a confined child for each run.

It talks to the host over a SEQPACKET socket, with one message for each job. Programs and tests come
as file descriptors, which it passes on without reading them, because every later child starts with
a copy of its memory.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import math
import os
import random
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import kernel, machine, mounts, streams, tree_memory, users
from .program import ENDED, RAISED
from .seccomp import Filter

Roles = Mapping[str, Callable[[], None]]

_SCRATCH_MB = 16
_SCRATCH_FILES = 1024  # at level 2, where they are counted
_OPEN_FILES = 256
_THREADS = 64
_OTHER_THREADS = 512
_MEASURE_EVERY_S = 0.01  # how often the scratch folder is measured at level 2
_POLL_EVERY_S = 0.005  # how often a child is polled if no descriptor reports its end


def main(control: int, roles: Roles) -> None:
    """Serve the host at the other end of the descriptor ``control`` until it closes.

    ``roles``: the function of a forked child, by the kind of its job.
    """
    host = socket.socket(fileno=control)
    settings = json.loads(host.recv(65536))
    try:
        server = _Zygote(host, settings, roles)
    except BaseException as error:
        host.send(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
        os._exit(1)
    server.serve()
    os._exit(0)


class _Zygote:
    def __init__(self, host: socket.socket, settings: dict[str, Any], roles: Roles):
        self.host = host
        self.roles = roles
        self.level: int = settings["level"]
        self.processes: bool = settings["processes"]
        self.scratch: str | None = None
        kernel.prefer_oom_kill()
        streams.install()
        notes = machine.preload(settings["preload"])
        if self.level:
            notes |= self._confine(settings)
        sys.path_importer_cache.clear()
        gc.collect()
        gc.freeze()  # the collector of a child must not write to pages that it shares with the zygote
        gc.disable()
        host.send(json.dumps({"ready": notes}).encode())

    def _confine(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Confine this process and its future children. Steps that need privileges come first."""
        notes: dict[str, Any] = {}
        self.filter = Filter(self.level, processes=self.processes)
        # a thread of a session could go on after its piece of code, and answer in place of the next one
        self.session_filter = Filter(self.level, threads=False)
        packages = machine.package_folders(settings["preload"])
        readable = [*machine.shared_libraries(), *packages]
        finder = machine.IndexedFinder(packages) if self.level == 2 else None
        user: int | None = None
        if os.geteuid() == 0 and settings["private_user"] is not None:
            user = users.FIRST_PRIVATE_USER + settings["private_user"]
        if self.level >= 3:
            user = self._enter_namespaces(settings["folder"], readable, packages, user)
        elif self.level == 2:
            user = self._enter_folder(settings["folder"], user)
        threads = _THREADS
        if user is None and self.level < 3:  # then all threads of this user count
            threads = machine.threads_of_user() + _OTHER_THREADS
        kernel.drop_privileges(user)
        kernel.lock_down()
        if self.level >= 2:
            # a new root already hides the third-party packages
            own = machine.stdlib_folders() if self.level >= 3 else machine.stdlib_entries()
            try:
                kernel.restrict_paths([*own, *readable], self.scratch, run_files=self.processes)
            except OSError as error:
                if self.level < 3:
                    raise
                notes["landlock_missing"] = str(error)
        if finder is not None:
            sys.meta_path[:] = [*sys.meta_path[:2], finder]
        sys.path[:] = [p for p in sys.path if "-packages" not in p]
        for which, value in (
            (resource.RLIMIT_NOFILE, _OPEN_FILES),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_MEMLOCK, 0),
            (resource.RLIMIT_MSGQUEUE, 0),
            (resource.RLIMIT_NPROC, threads),
            (resource.RLIMIT_STACK, 8 << 20),
        ):
            kernel.set_rlimit(which, value)
        notes["private_user"] = user is not None
        return notes

    def _enter_namespaces(
        self, folder: str, readable: list[str], packages: list[str], user: int | None
    ) -> int | None:
        """Enter new namespaces and a new root. Returns ``user``, or None if this process cannot become it."""
        # the outer process watches the programs through the /proc of the machine
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY) if self.processes else None
        kernel.enter_new_namespaces()
        if not users.maps_other_users():
            user = None  # root of a new user namespace cannot become other users
        self.scratch = mounts.build_root(
            folder,
            machine.remove_nested([*machine.stdlib_folders(), *readable]),
            machine.third_party_folders(),
            packages,
            _SCRATCH_MB,
            run_files=self.processes,
        )
        self._become_first_process(proc)
        return user

    def _enter_folder(self, folder: str, user: int | None) -> int | None:
        """Make ``folder`` the scratch folder of ``user``. Returns None if the user cannot reach it."""
        self.scratch = folder
        if user is not None and not machine.can_reach(folder, user):
            user = None
        if user is not None:
            os.chown(folder, user, user)
        os.chdir(folder)
        return user

    def _become_first_process(self, proc: int | None) -> None:
        """Fork into the pid namespace as its first process. When it ends, all processes in it end.

        The outer process waits. With ``proc``, a descriptor of /proc, it also limits the total memory of all
        processes. Each of the two ends when the other does.
        """
        limit_reader, self.limit_reader = os.pipe()
        child = os.fork()
        if child:
            self.host.close()
            os.close(self.limit_reader)
            if proc is not None:
                tree_memory.watch(child, limit_reader, proc)
            else:
                os.waitpid(child, 0)
            os._exit(0)
        os.close(limit_reader)
        if proc is not None:
            os.close(proc)
        os.setsid()

    def serve(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            try:
                message, ancillary, _, _ = self.host.recvmsg(65536, socket.CMSG_SPACE(32 * 4))
            except InterruptedError:
                continue
            if not message:
                return
            if message == b"stop":
                continue  # the job has ended by itself meanwhile
            fds = array.array("i")
            for level, kind, data in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
            job = json.loads(message)
            report = self._run(job, list(fds))
            try:
                self.host.send(json.dumps(report).encode())
            except OSError:
                return

    def _run(self, job: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Run one job: fork its children, and wait for the end of the last one (the tester, if there
        are two), the deadline, or a message of the host."""
        started = time.monotonic()
        if self.processes:
            tree_memory.set_limit(self.limit_reader, job["memory_mb"] << 20)
        children: list[int] = []
        if job["kind"] == "separate":
            # standard streams, the candidate's program, the tests, the channel from host to tester
            std, (source, tests, channel) = fds[:3], fds[3:]
            near, far = socket.socketpair()
            children.append(self._fork(job, "serve", [*std, source, near.fileno()]))
            children.append(self._fork(job, "test", [*std, tests, channel, far.fileno()]))
            near.close()
            far.close()
        else:
            children.append(self._fork(job, job["kind"], fds))
        for fd in fds:
            os.close(fd)
        ending = self._wait(children[-1], started + job["wall_s"])
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        ends = [os.wait4(child, 0) for child in children]
        if self.processes:
            self._kill_all()
            tree_memory.set_limit(self.limit_reader, 0)
        return {
            "ending": ending,
            "status": ends[-1][1],
            "seconds": time.monotonic() - started,
            "cpu_s": sum(used.ru_utime + used.ru_stime for _, _, used in ends),
            "peak_kb": max(used.ru_maxrss for _, _, used in ends),
            "clean": self._clear_scratch(),
        }

    def _wait(self, child: int, deadline: float) -> str:
        """How the run ended: "ended", "timeout", "stopped" (by the host) or "disk"."""
        end_fd = _process_descriptor(child)
        poll = select.poll()
        poll.register(self.host, select.POLLIN)
        tick = _MEASURE_EVERY_S if self.level == 2 else math.inf
        if end_fd is None:
            tick = _POLL_EVERY_S
        else:
            poll.register(end_fd, select.POLLIN)
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return "timeout"
                events = dict(poll.poll(min(left, tick) * 1000 + 1))
                if end_fd in events or (end_fd is None and _has_ended(child)):
                    return "ended"
                if events:
                    self.host.recv(16)  # "stop", or nothing if the host is gone
                    return "stopped"
                if self.level == 2 and self._is_scratch_full():
                    return "disk"
        finally:
            if end_fd is not None:
                os.close(end_fd)

    def _is_scratch_full(self) -> bool:
        """Whether the scratch folder of level 2 is too large. It contains no folders."""
        size = 0
        for files, entry in enumerate(os.scandir(self.scratch), start=1):
            with contextlib.suppress(OSError):
                size += entry.stat(follow_symlinks=False).st_blocks * 512
            if files > _SCRATCH_FILES or size > _SCRATCH_MB << 20:
                return True
        return False

    def _kill_all(self) -> None:
        """Kill every process that the run left in the namespace."""
        while True:
            try:
                os.kill(-1, signal.SIGKILL)
                os.waitpid(-1, 0)
            except (ProcessLookupError, ChildProcessError):
                return

    def _clear_scratch(self) -> bool:
        """Empty the scratch folder. If that fails, this zygote takes no more jobs."""
        if self.scratch is None:
            return True
        try:
            if not os.listdir(self.scratch):
                return True
            return machine.clear_folder(self.scratch)
        except (OSError, RecursionError):
            return False  # the folder goes with the namespaces or with the host's worker

    def _fork(self, job: dict[str, Any], kind: str, fds: list[int]) -> int:
        child = os.fork()
        if child:
            return child
        try:
            random.seed(0)  # the same in every run; the fork has drawn a new seed
            gc.enable()
            self._set_up_child(job, fds)
            self.roles[kind]()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace"))
            os._exit(RAISED)
        os._exit(ENDED)

    def _set_up_child(self, job: dict[str, Any], fds: list[int]) -> None:
        """Set up a child: its descriptors in order from 0, its limits, and last the filter, which
        forbids most of the calls before it."""
        # first move the descriptors away from their final numbers
        high = [os.dup2(fd, 200 + i) for i, fd in enumerate(fds)]
        for i, fd in enumerate(high):
            os.dup2(fd, i)
        os.closerange(len(fds), _OPEN_FILES)
        if not self.level:
            return
        kernel.die_with_parent()
        cpu = max(1, int(job["cpu_s"] + 0.999))
        memory = job["memory_mb"] << 20
        for which, value in (
            (resource.RLIMIT_AS, memory),
            (resource.RLIMIT_DATA, memory),
            (resource.RLIMIT_FSIZE, job["file_kb"] << 10),
            (resource.RLIMIT_CPU, cpu),
        ):
            kernel.set_rlimit(which, value)
        seccomp_filter = self.session_filter if job["kind"] == "session" else self.filter
        kernel.install_filter(seccomp_filter.for_process(os.getpid()))


def _process_descriptor(child: int) -> int | None:
    """A descriptor that becomes readable when a child ends; None if not supported (gVisor)."""
    try:
        return os.pidfd_open(child)
    except OSError:
        return None


def _has_ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
