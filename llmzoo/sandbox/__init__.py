"""Runs untrusted Python programs and judges them by what it saw itself. See docs/sandbox.md."""

from llmzoo.errors import SandboxError
from llmzoo.sandbox.box import Sandbox, configure, shared
from llmzoo.sandbox.judge.verdicts import Checker
from llmzoo.sandbox.results import CaseResult, Limits, Report, Run, Verdict
from llmzoo.sandbox.session import Session

__all__ = [
    "CaseResult",
    "Checker",
    "Limits",
    "Report",
    "Run",
    "Sandbox",
    "SandboxError",
    "Session",
    "Verdict",
    "configure",
    "shared",
]
