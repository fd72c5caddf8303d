"""The Python tool: an interpreter in the sandbox that keeps its names through an episode.

The state is the tuple of the cells that ran so far. Live interpreters are kept for a few of the latest
states. After a fork, or if an interpreter was closed to make room, a new one runs the earlier cells
again; ``random`` and ``numpy.random`` are seeded, so that it gets the same results.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import OrderedDict

from llmzoo.envs.text import truncate
from llmzoo.envs.tools.toolbox import Tool, ToolError, ToolReply, stateful
from llmzoo.sandbox import Limits, Run, Session, default_sandbox

Cells = tuple[str, ...]

LIMITS = Limits(time_limit=5.0, memory_mb=1024, output_kb=64)
MAX_LIVE = 8  # interpreters at once; each is a process of some 50 MB
MAX_CELLS = 64  # of an episode
MAX_CODE_CHARS = 20_000
MAX_OUTPUT_CHARS = 2_000
MAX_TRACEBACK_LINES = 6

_SEEDS = """
import random
random.seed(0)
try:
    import numpy
    numpy.random.seed(0)
    del numpy
except ImportError:
    pass
del random
"""


@stateful(group="python", initial=())
def python(state: Cells, code: str) -> ToolReply:
    """Run Python code and read what it prints, and the value of its last line. Names are kept from
    one call to the next; there is no network and no input.

    Args:
        code: the program, such as "values = [3, 4]\\nsum(values)"
    """
    if len(code) > MAX_CODE_CHARS:
        raise ToolError(f"the code is longer than {MAX_CODE_CHARS} characters")
    if len(state) == MAX_CELLS:
        raise ToolError(f"an episode runs at most {MAX_CELLS} pieces of code")
    session = _sessions.take(state)
    run = session.run(code)
    if not session.alive:
        why = f"no result after {LIMITS.time_limit:g} s" if run.status == "timeout" else "it ended"
        return _error_reply(f"the interpreter was stopped ({why}); all names are lost", "", ())
    cells = (*state, code)
    _sessions.keep(cells, session)
    output = truncate(run.stdout, MAX_OUTPUT_CHARS)
    if run.status in ("passed", "output"):
        return ToolReply(output.rstrip() or "(no output)", state=cells)
    return _error_reply(_reason(run), output + _traceback(run), cells)


def python_tools() -> tuple[Tool, ...]:
    return (python,)


def close_sessions() -> None:
    """End the live interpreters. Episodes that continue start new ones."""
    _sessions.close()


def _error_reply(reason: str, shown: str, cells: Cells) -> ToolReply:
    return ToolReply(shown.rstrip() or f"Error: {reason}", reason, cells)


def _reason(run: Run) -> str:
    lines = run.stderr.strip().splitlines()
    return lines[-1] if lines else run.status


def _traceback(run: Run) -> str:
    lines = run.stderr.strip().splitlines()[-MAX_TRACEBACK_LINES:]
    return truncate("\n".join(truncate(line, 300) for line in lines), MAX_OUTPUT_CHARS)


class _Interpreters:
    """Live interpreters by the cells that they have run. Each is continued only once."""

    _live: OrderedDict[Cells, Session]

    def __init__(self) -> None:
        self._begin()

    def take(self, cells: Cells) -> Session:
        """The interpreter that has run ``cells``. The caller owns it from now on."""
        if self._pid != os.getpid():  # the parent's interpreters are not this process's
            self._begin()
        with self._lock:
            session = self._live.pop(cells, None)
        return session or _replay_cells(cells)

    def keep(self, cells: Cells, session: Session) -> None:
        with self._lock:
            spare = [self._live.pop(cells)] if cells in self._live else []
            self._live[cells] = session
            while len(self._live) > MAX_LIVE:
                spare.append(self._live.popitem(last=False)[1])
        for other in spare:
            other.close()

    def close(self) -> None:
        with self._lock:
            live, self._live = self._live, OrderedDict()
        if self._pid == os.getpid():
            for session in live.values():
                session.close()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._live = OrderedDict()


def _replay_cells(cells: Cells) -> Session:
    """A new interpreter that has run ``cells``.

    Each cell ran to its end before, so one is stopped only if the machine is much slower now. Then its
    names are missing, and later code fails.
    """
    session = default_sandbox().session(LIMITS)
    for cell in (_SEEDS, *cells):
        session.run(cell)
    return session


_sessions = _Interpreters()
atexit.register(close_sessions)
