"""What a program or a command may use.

For a program, :mod:`llmzoo.sandbox.confine.zygote` enforces :class:`Limits` (the elapsed time in ``_run``, the
rest in ``_set_up_child``) and the fixed limits
(``_confine``): 64 processes and threads, 256 open files, 16 MB of scratch space. The host bounds its output
(:mod:`llmzoo.sandbox.confine.job`). For a command, :mod:`llmzoo.sandbox.confine.launcher` sets
:class:`CommandLimits` and a limit of 1024 open files (``_start_command``). Both run without the rest of llmzoo, so they
cannot import this module.
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
