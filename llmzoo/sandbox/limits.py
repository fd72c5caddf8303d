"""What a program or a command may use.

:mod:`llmzoo.sandbox.confine.zygote` sets :class:`Limits` in the child that runs a program, whose output the
host bounds (:mod:`llmzoo.sandbox.confine.job`). :mod:`llmzoo.sandbox.confine.launcher` sets
:class:`CommandLimits` for a command. A program's limits on processes and threads, open files and scratch
space are constants of the zygote, and a command's on open files is one of the launcher: both run without
the rest of llmzoo, so they cannot import this module.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmzoo.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run of a program may use."""

    time_limit: float = 5.0  # seconds of wall-clock time, and of processor time
    memory_mb: int = 1024  # address space
    file_kb: int = 4096  # the largest file
    output_kb: int = 256  # standard output and standard error, each

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be positive, got {getattr(self, name)}")


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLimits:
    """What a command and all that it starts may use (:class:`llmzoo.sandbox.commands.ConfinedCommand`)."""

    memory_mb: int = 2048  # of all its processes together; also the writable memory of each
    processes: int = 256  # processes and threads at once
    file_mb: int = 64  # the largest file, and its standard output and standard error, each
    scratch_mb: int = 256  # /tmp, which is held in memory
    cpu_s: int = 600  # seconds of processor time of all its processes together

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if not isinstance(value, int) or value <= 0:
                raise ConfigError(f"{name} must be a positive whole number, got {value!r}")
