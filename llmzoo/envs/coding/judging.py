"""Judging programs in the sandbox of this process, each distinct job once.

The functions take and return what the sandbox does. Many of the K samples of one prompt are
identical, so verdicts are remembered, except timeouts, which a busy machine can cause. A fault of the
sandbox itself is neither a pass nor a failure and must not become a reward: it raises
:class:`SandboxError`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from llmzoo.errors import SandboxError
from llmzoo.sandbox import default_sandbox
from llmzoo.sandbox.limits import DEFAULT_LIMITS, Limits
from llmzoo.sandbox.results import Run, Verdict

MAX_REMEMBERED = 4096

_remembered: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


def check(
    code: str,
    tests: str,
    entry_point: str | None = None,
    prelude: str = "",
    limits: Limits = DEFAULT_LIMITS,
) -> Verdict:
    """The verdict of assert-based ``tests``: ``check(candidate)``, bare asserts, unittest classes."""
    return _run_cached("check", code, tests, entry_point, prelude, limits=limits)


def check_calls(
    code: str, cases: Sequence[tuple[str, tuple[Any, ...], Any]], limits: Limits = DEFAULT_LIMITS
) -> Verdict:
    """The verdict of calls ``(function, arguments, expected value)``, compared outside the program."""
    return _run_cached("check_calls", code, cases, limits=limits)


def check_stdio(
    code: str, cases: Sequence[tuple[str, str]], limits: Limits = DEFAULT_LIMITS
) -> Verdict:
    """The verdict of ``(standard input, expected output)`` pairs, compared word by word."""
    return _run_cached("check_stdio", code, cases, limits=limits, compare="tokens")


def run_program(code: str, stdin: str = "", limits: Limits = DEFAULT_LIMITS) -> Run:
    """What a program prints."""
    return _run_cached("run", code, stdin, limits=limits)


def has_verdict(tests: str, entry_point: str | None = None) -> bool:
    """Whether the sandbox can judge ``tests``. It refuses tests that must run in the program's own
    interpreter, unless it allows that (``allow_shared``)."""
    return not default_sandbox().unsupported_reason(tests, entry_point)


def failure_reason(verdict: Verdict) -> str:
    """Why a program did not answer its tests: it did not load, or reached a limit; else ""."""
    if verdict.status in ("passed", "failed"):
        return ""
    return f"{verdict.status}: {verdict.error}" if verdict.error else verdict.status


def _run_cached(method: str, *args: Any, **options: Any) -> Any:
    """The answer of a method of the sandbox, remembered."""
    job = repr((method, args, options))
    with _lock:
        if job in _remembered:
            _remembered.move_to_end(job)
            return _remembered[job]
    answer: Run | Verdict = getattr(default_sandbox(), method)(*args, **options)
    if answer.status == "sandbox_error":
        reason = answer.error if isinstance(answer, Verdict) else answer.stderr
        raise SandboxError(f"the sandbox gave no verdict: {reason}")
    if answer.status != "timeout":
        with _lock:
            _remembered[job] = answer
            while len(_remembered) > MAX_REMEMBERED:
                _remembered.popitem(last=False)
    return answer
