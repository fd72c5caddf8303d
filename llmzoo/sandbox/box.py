"""The sandbox that users see: a few workers, and the ways to run and to judge a program."""

from __future__ import annotations

import os
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, TypeVar

from llmzoo.errors import SandboxError
from llmzoo.sandbox.confine.job import run_program
from llmzoo.sandbox.confine.preload import COMMON, LIGHT, imports_only
from llmzoo.sandbox.confine.worker import CannotConfine, Worker, WorkerBroken
from llmzoo.sandbox.judge.asserts import Asserts, shared_judging_reason
from llmzoo.sandbox.judge.verdicts import judge_calls, judge_stdio
from llmzoo.sandbox.limits import DEFAULT_LIMITS, Limits
from llmzoo.sandbox.results import Checker, Report, Run, Verdict
from llmzoo.sandbox.session import Session

T = TypeVar("T")

LEVELS = (3, 2, 1)
_SPARE = 8  # idle workers that ended sessions leave behind; starting one takes a third of a second
LAYERS = {
    3: ("namespaces", "own root", "landlock", "seccomp", "limits"),
    2: ("landlock", "seccomp", "limits"),
    1: ("seccomp", "limits"),
    0: (),
}


class Sandbox:
    """Runs untrusted Python programs and judges them by what it observes itself. Thread-safe.

    Parameters
    ----------
    workers: number of programs that run at once; by default one per processor.
    level: 3, 2 or 1, or ``"auto"`` for the strongest that the machine offers (see ``report``).
    min_level: raise :class:`~llmzoo.errors.SandboxError` if only a lower level is available.
    preload: modules to import before any program. Modules that are not installed are left out.
    processes: let programs start processes; needs level 3.
    allow_unconfined: run programs without confinement if no level is available, with a warning for
        each program.
    allow_shared: judge tests that need the program in their own interpreter, where it can forge a
        pass (``isolation="shared"``). Otherwise such tests get the status "sandbox_error".

    Workers start when they are first needed. A sandbox that is used after a fork starts its own.
    """

    def __init__(
        self,
        workers: int | None = None,
        level: int | str = "auto",
        min_level: int = 2,
        preload: Sequence[str] = COMMON,
        processes: bool = False,
        *,
        allow_unconfined: bool = False,
        allow_shared: bool = False,
    ):
        if level not in ("auto", *LEVELS):
            raise ValueError(f"level must be 'auto', 3, 2 or 1, got {level!r}")
        fixed = level if isinstance(level, int) else None
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        if processes and fixed not in (None, 3):
            raise ValueError(
                "processes=True needs level 3: only a pid namespace holds them together"
            )
        self.workers = workers or _cpu_count()
        self.min_level = 3 if processes else fixed or min_level
        self._wanted = LEVELS if fixed is None else (fixed,)
        self._preload = tuple(preload)
        self._light = tuple(name for name in LIGHT if name in self._preload)
        self._processes = processes
        self._allow_unconfined = allow_unconfined
        self._allow_shared = allow_shared
        self._report: Report | None = None
        self._levels: tuple[int, ...] = ()
        self._idle = _empty_pool()
        self._begin()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers. The next use starts new ones."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            idle, self._idle = self._idle, _empty_pool()
        for worker in chain(*idle.values()):
            worker.close()

    @property
    def report(self) -> Report:
        """How programs are confined here. Starts a worker if none has started yet."""
        self._reset_after_fork()
        if self._report is None:
            with self._worker(self._light):
                pass
        assert self._report is not None
        return self._report

    def run(self, code: str, stdin: str = "", limits: Limits = DEFAULT_LIMITS) -> Run:
        """Run a program. Its output proves nothing about it; see the ``check`` methods."""
        try:
            return self._with_worker(lambda worker: run_program(worker, code, stdin, limits), code)
        except WorkerBroken as error:
            return Run(status="sandbox_error", stderr=str(error))

    def check(
        self,
        code: str,
        tests: str,
        entry_point: str | None = None,
        prelude: str = "",
        limits: Limits = DEFAULT_LIMITS,
    ) -> Verdict:
        """Judge a program by assert-based tests: ``check(candidate)`` (called with the function
        ``entry_point``), bare asserts, or ``unittest`` classes.

        Calls with literal arguments are made in the program's process and their values compared
        outside. Other tests run in an interpreter of their own, with proxies for the program's
        objects. Tests that patch or await the program need its own interpreter, see
        ``allow_shared``. ``prelude``: trusted code that both sides may use.
        """
        asserts = Asserts(code, tests, entry_point, prelude, limits, self._allow_shared)
        return self._judge(asserts.judge, code, tests, prelude)

    def unsupported_reason(self, tests: str, entry_point: str | None = None) -> str:
        """Why :meth:`check` gives no verdict for ``tests``, whatever the program, or ""."""
        return "" if self._allow_shared else shared_judging_reason(tests, entry_point)

    def check_calls(
        self,
        code: str,
        cases: Iterable[tuple[str, Sequence[Any], Any]],
        limits: Limits = DEFAULT_LIMITS,
    ) -> Verdict:
        """Judge a program by calls: (function, arguments, expected value), floats within 1e-6."""
        calls = tuple(cases)
        return self._judge(lambda worker: judge_calls(worker, code, calls, limits), code)

    def check_stdio(
        self,
        code: str,
        cases: Iterable[tuple[str, str]],
        limits: Limits = DEFAULT_LIMITS,
        compare: str | Checker = "tokens",
    ) -> Verdict:
        """Judge a program by what it prints: (standard input, expected output), one run for each.

        ``compare``: "tokens" (numbers with a point within 1e-6, ``20.0`` as ``20``), "lines", "exact", or a
        :class:`~llmzoo.sandbox.results.Checker`, a trusted program that decides.
        """
        pairs = tuple(cases)
        return self._judge(lambda worker: judge_stdio(worker, code, pairs, compare, limits), code)

    def session(self, limits: Limits = DEFAULT_LIMITS) -> Session:
        """An interpreter that keeps its names between pieces of code, until it is closed."""
        self._reset_after_fork()
        idle = self._idle
        worker = self._take(self._preload) or self._start(self._preload)

        def release() -> None:
            """Keep the worker for the next session, unless enough are idle or the sandbox closed."""
            with self._lock:
                kept = self._idle is idle and len(idle[self._preload]) < max(self.workers, _SPARE)
                if kept:
                    idle[self._preload].append(worker)
            if not kept:
                worker.close()

        return Session(worker, limits, release)

    def _judge(self, judge: Callable[[Worker], Verdict], *sources: str) -> Verdict:
        try:
            return self._with_worker(judge, *sources)
        except WorkerBroken as error:
            return Verdict(status="sandbox_error", passed=0, total=0, error=str(error))

    def _with_worker(self, act: Callable[[Worker], T], *sources: str) -> T:
        """Call ``act`` with a worker, and again with a new one if the first breaks.

        ``sources``: the code that will run; it decides how much the worker should have imported.
        """
        self._reset_after_fork()
        # below level 3 some modules cannot be imported later, or none
        light = self.report.level > 2 and imports_only(self._light, *sources)
        preload = self._light if light else self._preload
        if self._allow_unconfined and self.report.level == 0:
            warnings.warn("running untrusted code without any confinement", stacklevel=4)
        try:
            with self._worker(preload) as worker:
                return act(worker)
        except WorkerBroken:
            with self._worker(preload) as worker:
                return act(worker)

    @contextmanager
    def _worker(self, preload: tuple[str, ...]) -> Iterator[Worker]:
        """An idle worker or a new one. It becomes idle again unless it broke."""
        with self._slots:
            worker = self._take(preload) or self._start(preload)
            healthy = False
            try:
                yield worker
                healthy = worker.healthy
            finally:
                if healthy:
                    with self._lock:
                        self._idle[preload].append(worker)
                else:
                    worker.close()

    def _take(self, preload: tuple[str, ...]) -> Worker | None:
        """An idle worker whose zygote is still alive."""
        while True:
            with self._lock:
                idle = self._idle[preload]
                worker = idle.pop() if idle else None
            if worker is None or worker.is_ready():
                return worker
            worker.close()

    def _start(self, preload: tuple[str, ...]) -> Worker:
        """A worker at the strongest level that works. The first call finds that level."""
        missing: dict[str, str] = {}
        with self._starting:
            for level in self._levels:
                try:
                    worker = Worker(level, preload, processes=self._processes)
                except CannotConfine as error:
                    if self._report is not None:
                        raise WorkerBroken(str(error)) from error
                    missing[f"level {level}"] = str(error)
                    continue
                self._levels = (level,)
                if self._report is None:
                    self._report = _make_report(level, worker.notes, missing)
                return worker
        reasons = "; ".join(f"{level}: {why}" for level, why in missing.items())
        raise SandboxError(
            f"untrusted code cannot be confined here at level {self.min_level} or above ({reasons}). "
            "See docs/sandbox.md for what each level needs"
        )

    def _reset_after_fork(self) -> None:
        """After a fork, let go of the parent process's workers."""
        if os.getpid() != self._pid:
            for worker in chain(*self._idle.values()):
                worker.close()
            self._begin()

    def _begin(self) -> None:
        """State that belongs to one process."""
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._slots = threading.BoundedSemaphore(self.workers)
        self._idle = _empty_pool()
        self._levels = tuple(n for n in self._wanted if n >= self.min_level)
        self._levels += (0,) * self._allow_unconfined
        self._report = None


def _empty_pool() -> dict[tuple[str, ...], list[Worker]]:
    """Idle workers by the modules that they have imported."""
    return defaultdict(list)


def _make_report(level: int, notes: Mapping[str, Any], missing: dict[str, str]) -> Report:
    layers = list(LAYERS[level])
    if "landlock_missing" in notes:
        layers.remove("landlock")
        missing = {**missing, "landlock": notes["landlock_missing"]}
    if "not_installed" in notes:
        missing = {**missing, **dict.fromkeys(notes["not_installed"], "not installed")}
    if level in (1, 2) and not notes["private_user"]:
        missing = {**missing, "private user": "programs run as the user who started the sandbox"}
    return Report(level=level, layers=tuple(layers), missing=missing)


def _cpu_count() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_shared: Sandbox | None = None
_sharing = threading.Lock()


def default_sandbox() -> Sandbox:
    """The sandbox that all environments of this process use.

    It has the strongest level available. The lowest level that it accepts is 2, or the environment
    variable ``LLMZOO_SANDBOX_MIN_LEVEL``. ``LLMZOO_SANDBOX_ALLOW_SHARED=1`` sets ``allow_shared``.
    :func:`configure` replaces the sandbox.
    """
    global _shared
    with _sharing:
        if _shared is None:
            _shared = Sandbox(
                min_level=int(os.environ.get("LLMZOO_SANDBOX_MIN_LEVEL", "2")),
                allow_shared=os.environ.get("LLMZOO_SANDBOX_ALLOW_SHARED") == "1",
            )
        return _shared


def configure(**options: Any) -> Sandbox:
    """Give all environments of this process a sandbox with these options of :class:`Sandbox`."""
    global _shared
    sandbox = Sandbox(**options)
    with _sharing:
        previous, _shared = _shared, sandbox
    if previous is not None:
        previous.close()
    return sandbox
