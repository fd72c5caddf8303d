"""The judge's inputs beside a program, and the records of its results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Isolation = Literal["data", "separate", "shared"]


@dataclass(frozen=True, slots=True)
class Checker:
    """A trusted program that judges outputs. It defines ``check(input, expected, output)``, which
    returns whether the output is right. It runs confined too."""

    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A program that was run. ``status`` is "passed" if it ended without an exception.

    This proves nothing about what the program computed; see :class:`Verdict`.
    """

    status: str
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    peak_mb: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One test of a verdict.

    ``got``: the value (its repr) or the output, cut to a few hundred characters. ``error``: why the
    test did not pass; "not reached" if it never ran.
    """

    passed: bool
    got: str = ""
    error: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of judging a program by its tests.

    ``status``: "passed" (every test ran and passed), "failed" (some tests did not pass), "error" (the
    program did not load, or no test could be run), "timeout", "memory" or "output" (a limit was
    exceeded), "blocked" (the program did something that the sandbox forbids), or "sandbox_error" (no
    verdict: the sandbox failed twice, or the tests need a shared interpreter, which is not allowed).
    ``error``: the reason, if there is one to give.
    """

    status: str
    passed: int
    total: int
    cases: tuple[CaseResult, ...] = ()
    isolation: Isolation = "data"
    level: int = 0
    seconds: float = 0.0
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a sandbox confines programs: ``level`` 3, 2, 1 or 0 (not at all), the active layers, and
    what is missing, with the reasons."""

    level: int
    layers: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
