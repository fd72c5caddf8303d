"""Runs untrusted Python programs and judges them by what it observes itself. See docs/sandbox.md.

``confine`` holds a program; ``judge`` asks it and decides about its answers. :mod:`.roles` and all
that it imports run in the sandbox's own processes, under the package name ``sandbox``.
"""

from llmzoo.errors import SandboxError
from llmzoo.sandbox.box import Sandbox, configure, default_sandbox
from llmzoo.sandbox.limits import CommandLimits, Limits
from llmzoo.sandbox.results import CaseResult, Checker, Report, Run, Verdict
from llmzoo.sandbox.session import Session

__all__ = [
    "CaseResult",
    "Checker",
    "CommandLimits",
    "Limits",
    "Report",
    "Run",
    "Sandbox",
    "SandboxError",
    "Session",
    "Verdict",
    "configure",
    "default_sandbox",
]
