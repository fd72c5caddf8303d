"""The two records that describe an attack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from llmzoo.sandbox.attacks.oracles import AttackScene

Oracle = Callable[[AttackScene], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """A program that tries to damage or to learn something.

    ``harm``: oracles to ask besides ``oracles.DEFAULT_ORACLES``. Each returns the harm it found, or "".
    ``after``: a second program, run after the first, that looks for what the first left behind.
    ``mode``: "run", or "calls" and "stdio" for what a program does to its judge.
    ``alone``: nothing else runs meanwhile. ``note``: why it succeeds against no rival.
    """

    name: str
    about: str
    program: str
    harm: tuple[Oracle, ...] = ()
    after: str = ""
    mode: Literal["run", "calls", "stdio"] = "run"
    time_limit: float = 3.0
    alone: bool = False
    rivals: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fake:
    """A program that solves nothing and tries to be judged as passing the named ``tasks``."""

    name: str
    about: str
    program: str
    tasks: tuple[str, ...] = ("literal", "computed", "unittest", "calls")
    time_limit: float = 3.0
    rivals: bool = True
    note: str = ""


Attack = Harm | Fake
