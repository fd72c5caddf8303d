"""The fork server: confined once, it forks a confined child for each run and sees it off.

It talks to the host over a SEQPACKET socket, one message a job. Programs and tests come as file
descriptors that it hands on unread: its memory is what every later child starts from. The order of
the steps matters; each function says why.
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

from . import kernel, machine, streams
from .program import ENDED, RAISED
from .seccomp import Filter

Roles = Mapping[str, Callable[[], None]]

_SCRATCH_MB = 16
_SCRATCH_FILES = 1024  # where they are counted
_OPEN_FILES = 256
_THREADS = 64
_OTHER_THREADS = 512
_FIRST_PRIVATE_USER = 1_879_048_192  # far above what machines hand out
_LOOK_EVERY_S = 0.01  # how often a scratch folder without a size of its own is measured
_ASK_EVERY_S = 0.005  # how often a child is asked after, where no descriptor tells of its end


def main(control: int, roles: Roles) -> None:
    """Serve the host at the other end of the descriptor ``control`` until it closes.

    ``roles``: what a forked child does, by the kind of its job.
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
        streams.install()
        notes = machine.preload(settings["preload"])
        if self.level:
            notes |= self._confine(settings)
        sys.path_importer_cache.clear()
        gc.collect()
        gc.freeze()  # children do not touch what they share with the zygote to count its references
        gc.disable()
        host.send(json.dumps({"ready": notes}).encode())

    def _confine(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Everything that lasts for all runs, outside in; what needs powers before they are dropped."""
        notes: dict[str, Any] = {}
        folder: str = settings["folder"]
        self.filter = Filter(self.level, processes=self.processes)
        # what a session starts would go on between two pieces of code, and answer for the next
        self.session_filter = Filter(self.level, threads=False)
        packages = machine.packages(settings["preload"])
        readable = [*machine.shared_libraries(), *packages]
        finder = machine.IndexedFinder(packages) if self.level == 2 else None
        user: int | None = None
        if os.geteuid() == 0 and settings["private_user"] is not None:
            user = _FIRST_PRIVATE_USER + settings["private_user"]
        if self.level >= 3:
            kernel.new_namespaces()
            if not machine.maps_other_users():
                user = None  # in a user namespace of its own, root is nobody outside it
            visible = [*machine.folders(), *readable]
            self.scratch = kernel.new_root(
                folder,
                machine.outermost(visible),
                machine.hidden(),
                packages,
                _SCRATCH_MB,
                run_files=self.processes,
            )
            self._become_first_process()
        elif self.level == 2:
            self.scratch = folder
            if user is not None and not machine.reachable(folder, user):
                user = None
            if user is not None:
                os.chown(folder, user, user)
            os.chdir(folder)
        threads = _THREADS
        if user is None and self.level < 3:  # then the user's own threads count too, old and new
            threads = machine.threads_of_user() + _OTHER_THREADS
        kernel.drop_privileges(user)
        kernel.lock_down()
        if self.level >= 2:
            # with a root of one's own what third parties have beside the library is hidden already
            own = machine.folders() if self.level >= 3 else machine.entries()
            allowed = [*own, *readable]
            try:
                kernel.landlock(allowed, self.scratch, run_files=self.processes)
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
            kernel.limit(which, value)
        notes["private_user"] = user is not None
        return notes

    def _become_first_process(self) -> None:
        """Fork into the pid namespace as its first process, whose end is the end of all in it.

        The outer process waits; it dies with the inner one, and the inner one with it.
        """
        child = os.fork()
        if child:
            self.host.close()
            os.waitpid(child, 0)
            os._exit(0)
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
                continue  # of a job that has ended by itself meanwhile
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
        """One job: fork its child or children; wait for the last of them (the tester, where there are
        two), whose end is reported, for the deadline or for the host."""
        started = time.monotonic()
        children: list[int] = []
        if job["kind"] == "separate":
            # stdin out err | candidate's program | tester's tests | host's channel to the tester
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
        return {
            "ending": ending,
            "status": ends[-1][1],
            "seconds": time.monotonic() - started,
            "cpu_s": sum(used.ru_utime + used.ru_stime for _, _, used in ends),
            "peak_kb": max(used.ru_maxrss for _, _, used in ends),
            "clean": self._clean(),
        }

    def _wait(self, child: int, deadline: float) -> str:
        """How the run ended: "ended", "timeout", "stopped" (by the host) or "disk"."""
        ended = _process_descriptor(child)
        poll = select.poll()
        poll.register(self.host, select.POLLIN)
        tick = _LOOK_EVERY_S if self.level == 2 else math.inf
        if ended is None:
            tick = _ASK_EVERY_S
        else:
            poll.register(ended, select.POLLIN)
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return "timeout"
                events = dict(poll.poll(min(left, tick) * 1000 + 1))
                if ended in events or (ended is None and _has_ended(child)):
                    return "ended"
                if events:
                    self.host.recv(16)  # "stop", or nothing: the host is gone
                    return "stopped"
                if self.level == 2 and self._too_much():
                    return "disk"
        finally:
            if ended is not None:
                os.close(ended)

    def _too_much(self) -> bool:
        """Whether the scratch folder, where it has no size of its own, has grown beyond its share.

        There are no folders in it: level 2 makes none.
        """
        size = 0
        for files, entry in enumerate(os.scandir(self.scratch), start=1):
            with contextlib.suppress(OSError):
                size += entry.stat(follow_symlinks=False).st_blocks * 512
            if files > _SCRATCH_FILES or size > _SCRATCH_MB << 20:
                return True
        return False

    def _kill_all(self) -> None:
        """Every process that the run has left in the namespace."""
        while True:
            try:
                os.kill(-1, signal.SIGKILL)
                os.waitpid(-1, 0)
            except (ProcessLookupError, ChildProcessError):
                return

    def _clean(self) -> bool:
        """Empty the scratch folder for the next run; False where that fails, and this zygote is spent."""
        if self.scratch is None:
            return True
        try:
            if not os.listdir(self.scratch):
                return True
            return machine.empty(self.scratch)
        except (OSError, RecursionError):
            return False  # the end of the namespaces, or of the host's worker, removes it

    def _fork(self, job: dict[str, Any], kind: str, fds: list[int]) -> int:
        child = os.fork()
        if child:
            return child
        try:
            random.seed(0)  # chance falls alike in every run; a fork has drawn a new seed
            gc.enable()
            self._enter(job, fds)
            self.roles[kind]()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace"))
            os._exit(RAISED)
        os._exit(ENDED)

    def _enter(self, job: dict[str, Any], fds: list[int]) -> None:
        """Become a child's surroundings: its descriptors in order from 0 and no others, its limits,
        and last the filter, which forbids most of what came before it."""
        # first out of the way of the numbers wanted
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
            kernel.limit(which, value)
        chosen = self.session_filter if job["kind"] == "session" else self.filter
        kernel.install(chosen.for_process(os.getpid()))


def _process_descriptor(child: int) -> int | None:
    """What becomes readable when a child ends; None where the machine has no such thing (gVisor)."""
    try:
        return os.pidfd_open(child)
    except OSError:
        return None


def _has_ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
