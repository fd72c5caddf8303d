"""Asks math-verify, in a confined process that is started at the first question and kept.

What a question may cost is limited there. Questions come from any thread, one at a time; a fork of
this process starts a process of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import llmzoo.sandbox
from llmzoo.errors import MissingExtraError

START_S = 60.0  # a first start may read the library from a cold disk
WALL_S = 10.0  # for a question; the process itself ends one much earlier
LONGEST = 300  # characters of a question's side

_PACKAGES = ("math_verify", "latex2sympy2_extended", "sympy", "antlr4")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
COMMANDS = frozenset(
    """frac sqrt sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp det gcd
    lcm max min alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa
    lambda mu nu xi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi
    Sigma Phi Psi Omega ell binom dbinom sum prod int iint lim to infty pi pm cdot times leq
    geq lt gt ne neq in cup cap setminus emptyset begin end pmatrix bmatrix vmatrix matrix
    circ bar overline vec hat angle triangle lfloor rfloor lceil rceil mathbb text bmod pmod
    equiv mod Re Im imath cases dx prime subset subseteq forall exists mid notin hbar partial
    nabla land lor quad ldots""".split()  # noqa: SIM905
)
# what an answer may hold that the right one does not: no operator that leaves the work to do
_SPELLING = COMMANDS - frozenset(
    """sum prod int iint lim max min gcd lcm det bar overline vec hat lfloor rfloor lceil rceil bmod
    pmod equiv mod Re Im prime subset subseteq forall exists mid notin partial nabla land lor quad
    ldots angle triangle text hbar to dx imath""".split()  # noqa: SIM905
)
_FORBIDDEN = re.compile(
    r"__|[^\x20-\x7e]|\d{31}|\d{5}\s*!|[!'\"]{4}|\^[^a-z]{0,4}\d{5}|\) ?\^ ?\{?[2-9]\d"
)
_DEGREES = re.compile(r"(\d{1,10}(?:\.\d{1,10})?) ?°")
_LATEX = {
    "⏎": r"\\ ",
    "≤": r" \leq ", "≥": r" \geq ", "π": r"\pi ", "∞": r"\infty ", "∪": r" \cup ", "±": r"\pm ",
    "≠": r" \neq ",
    "∈": r" \in ", "°": r"^\circ ", "≈": r" \approx ", "*": r" \cdot ", "«": r"\text{", "»": "}",
    "…": r"\ldots ",
}  # fmt: skip
_LATEX_TABLE = str.maketrans(_LATEX)


def require(what: str) -> None:
    """Raise ``MissingExtraError`` where ``what`` needs packages that are not installed."""
    for name in _PACKAGES:
        if importlib.util.find_spec(name) is None:
            raise MissingExtraError(what, "math", name)


def ask(gold: str, given: str) -> bool:
    """Whether math-verify finds two clean texts the same; False for what it must not be asked."""
    ours, theirs = _as_latex(gold), _as_latex(given)
    if not _is_fit(ours) or not _is_fit(theirs) or ("«" in given and "«" not in gold):
        return False
    if _named(theirs) - _named(ours) - _SPELLING:
        return False  # the work is left to whoever checks
    return _process.ask(ours, theirs)


def close() -> None:
    """End the process, if there is one; the next question starts another."""
    _process.close()


def _as_latex(text: str) -> str:
    if r"\sin" in text or r"\cos" in text or r"\tan" in text:
        text = _DEGREES.sub(r"(\1 * \\frac{π}{180})", text)
    return text.translate(_LATEX_TABLE)


def _named(text: str) -> frozenset[str]:
    return frozenset(_COMMAND.findall(text))


def _is_fit(text: str) -> bool:
    """Short, of known commands, not deeply nested, without huge numbers."""
    if len(text) > LONGEST or _FORBIDDEN.search(text) or text.count("^") > 12:
        return False
    depth = deepest = 0
    for sign in text:
        depth += (sign in "({[") - (sign in ")}]")
        deepest = max(deepest, depth)
    if deepest > 8:
        return False
    return all(name in COMMANDS or len(name) == 1 for name in _named(text))


class _Process:
    """The confined process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._unread = b""

    def ask(self, gold: str, given: str) -> bool:
        question = json.dumps({"gold": gold, "given": given}).encode() + b"\n"
        with self._lock:
            try:
                if self._running is None or self._running.poll() is not None:
                    self._start()
                self._write(question)
                return self._line(WALL_S).get("same") is True
            except (OSError, EOFError, ValueError):
                self._end()  # gone or stuck: not the same as far as anyone can tell
                return False

    def close(self) -> None:
        with self._lock:
            self._end()

    def _start(self) -> None:
        self._end()
        sandbox = str(Path(llmzoo.sandbox.__file__).parent)
        self._running = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"},
            cwd="/",
            start_new_session=True,
        )
        settings = {"sandbox": sandbox, "path": [p for p in sys.path if p]}
        self._write(json.dumps(settings).encode() + b"\n")
        self._line(START_S)

    def _write(self, line: bytes) -> None:
        assert self._running is not None
        assert self._running.stdin is not None
        if self._running.stdin.write(line) != len(line):
            raise EOFError

    def _line(self, seconds: float) -> dict[str, object]:
        """The next answer. Raises ``TimeoutError``, and ``EOFError`` where the process has ended."""
        assert self._running is not None
        assert self._running.stdout is not None
        deadline = time.monotonic() + seconds
        fd = self._running.stdout.fileno()
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        while b"\n" not in self._unread:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError
            received = os.read(fd, 4096)
            if not received:
                raise EOFError
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        found = json.loads(line)
        if not isinstance(found, dict):
            raise ValueError(line)
        return found

    def _end(self) -> None:
        process, self._running = self._running, None
        self._unread = b""
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with its child
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        process.wait()


_process = _Process()


def _forget() -> None:
    """In the child of a fork: the process belongs to the parent, and the lock may be held."""
    global _process
    running = _process._running
    if running is not None:
        running.returncode = 0  # not ours to wait for
        for pipe in (running.stdin, running.stdout):
            assert pipe is not None
            pipe.close()
    _process = _Process()


atexit.register(close)
os.register_at_fork(after_in_child=_forget)
