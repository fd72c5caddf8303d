"""How a command is started in the sandbox: what it sees, and how its end is told."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from llmzoo.envs.programs.errors import ProgramError
from llmzoo.errors import ConfigError
from llmzoo.sandbox import visible
from llmzoo.sandbox.commands import ConfinedCommand, probe_confinement
from llmzoo.sandbox.limits import CommandLimits

_NO_PROC = (
    "confined commands have no /proc here, since this machine hides parts of its own; so memory and "
    "processor time are limited for each of their processes, not for all together"
)
_READ_BY_ALL = 0o644
_WRITTEN_BY_ALL = 0o666


class Confined:
    """A command that :func:`~llmzoo.envs.programs.command.from_command` starts with ``sandbox=True``.

    Raises :class:`ConfigError` for paths that it could not read, or should not, and
    :class:`~llmzoo.errors.SandboxError` if this machine cannot confine commands.
    """

    def __init__(
        self,
        command: tuple[str, ...],
        folder: str | Path | None,
        readable: Sequence[str | Path],
        limits: CommandLimits | None,
    ):
        if isinstance(readable, str | Path):
            raise ConfigError(f"readable is a list of paths, such as [{str(readable)!r}]")
        if "proc_missing" in probe_confinement():
            warnings.warn(_NO_PROC, stacklevel=3)
        self._folder = None if folder is None else visible.readable_folder(folder)
        if self._folder is not None and not os.path.isdir(self._folder):
            raise ConfigError(f"folder is no folder: {folder}")
        program = visible.find_program(command[0], self._folder)
        self._visible = [visible.readable_folder(path) for path in readable]
        self._visible += [self._folder] if self._folder else []
        for path in self._visible:
            visible.check_rights(path)
        visible.check_arguments(command[1:], self._folder, self._visible)
        self._visible += visible.installation_paths(program)
        self._command = (program, *command[1:])
        self._limits = limits or CommandLimits()

    def start(self, given: Mapping[str, str], out: BinaryIO, err: BinaryIO) -> ConfinedProcess:
        """Start it with these variables, and ``PATH``, ``LANG`` and ``HOME``."""
        port = urlsplit(given["OPENAI_BASE_URL"]).port
        assert port is not None
        task = given["LLMZOO_TASK_FILE"]
        # the folder around them is this user's own; in the sandbox root becomes another user
        os.chmod(task, _READ_BY_ALL)
        for stream in (out, err):
            os.chmod(stream.fileno(), _WRITTEN_BY_ALL)
        usual = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "HOME": "/tmp",
        }
        command = ConfinedCommand(
            self._command,
            visible=[*self._visible, task],
            folder=self._folder,
            environment={**usual, **given},
            port=port,
            stdout=out,
            stderr=err,
            limits=self._limits,
        )
        return ConfinedProcess(command, self._limits)


class ConfinedProcess:
    """A confined command that runs."""

    def __init__(self, command: ConfinedCommand, limits: CommandLimits):
        self._command = command
        self._limits = limits

    def poll(self) -> int | None:
        """Its exit status; None while it runs. Raises :class:`ProgramError` if it exceeded a limit."""
        ended = self._command.poll()
        if ended is None:
            return None
        if ended.limit:
            most = getattr(self._limits, ended.limit)
            raise ProgramError(
                f"the command used more than its limits allow: {ended.limit}={most}. Raise it with "
                f"limits=CommandLimits({ended.limit}=...)"
            )
        return -9 if ended.status is None else ended.status

    def close(self) -> None:
        """End it with all that it has started."""
        self._command.close()
