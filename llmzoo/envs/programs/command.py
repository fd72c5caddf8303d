"""A command as a program: it runs in a process of its own, and its calls come through the gateway."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from pettingzoo import AECEnv

from llmzoo.envs.programs.client import CallHandler, Client
from llmzoo.envs.programs.confined import Confined
from llmzoo.envs.programs.env import from_program
from llmzoo.envs.programs.errors import ProgramClosed, ProgramError
from llmzoo.envs.user_tasks import TaskSource
from llmzoo.errors import ConfigError
from llmzoo.sandbox.limits import CommandLimits

if TYPE_CHECKING:
    from llmzoo.envs.programs.local_gateway import OpenEpisode

_SHOWN = 400  # characters of what a command wrote, in errors
_LONGEST_OUTPUT = 1 << 16  # bytes at the end of its output that are read
_LONGEST_VARIABLE = 100_000  # characters; Linux refuses longer ones
_LIVE: set[_Unconfined] = set()
_POLL_SECONDS = 0.02


def from_command(
    command: Sequence[str],
    *,
    agents: Sequence[str],
    tasks: TaskSource,
    folder: str | Path | None = None,
    together: float = 0.0,
    sandbox: bool = False,
    readable: Sequence[str | Path] = (),
    limits: CommandLimits | None = None,
    **options: Any,
) -> AECEnv:
    """An environment whose agents answer the calls of a command, in whatever language it is written.

    The command is started for every episode, in ``folder``. It finds in its environment:

    * ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``: where it calls its agents, by their names as models;
    * ``LLMZOO_TASK``: the task, a JSON object of at most 100,000 characters; ``LLMZOO_TASK_FILE``: a file
      with it, whatever its length; ``LLMZOO_SEED``: a number, the same in every copy.

    Its result is a number, or ``{"reward": ..., "success": ...}``, which it prints as its last line or
    posts to ``LLMZOO_REWARD_URL``. A result that is not there, or an exit status other than 0, is an
    error of the program.

    ``together``: calls within this many seconds of each other are answered together; by default each is
    answered as it comes. ``options``: those of :func:`from_program`. Needs the extra ``gateway``.

    ``sandbox``: run the command in namespaces of its own, where it can read the system, the
    installation that it is part of, ``folder`` and the paths in ``readable``; write to ``/tmp``; and
    reach the episode's endpoint alone. ``limits``: what all its processes may use, by default
    :class:`~llmzoo.sandbox.limits.CommandLimits`. Raises :class:`~llmzoo.errors.SandboxError` on a
    machine that cannot confine it.
    """
    if isinstance(command, str):
        raise ConfigError(f"command is a list of words, such as {command.split()}, got {command!r}")
    words = tuple(command)
    if not sandbox and (readable or limits):
        raise ConfigError("readable and limits are settings of sandbox=True")
    confined = Confined(words, folder, readable, limits) if sandbox else None
    return from_program(
        Command(words, Path(folder) if folder else None, confined),
        agents=agents,
        tasks=tasks,
        together=together,
        **options,
    )


class Command:
    """The program that starts a command and waits for it. ``confined``: how, if in the sandbox."""

    def __init__(self, command: tuple[str, ...], folder: Path | None, confined: Confined | None):
        self.command = command
        self.folder = folder
        self.confined = confined
        self.__name__ = Path(command[-1]).stem

    def __call__(self, task: Mapping[str, Any], client: Client) -> Any:
        from llmzoo.envs.programs.local_gateway import gateway, parse_result

        handler: CallHandler = client.handler
        episode = gateway().open(handler)
        try:
            with TemporaryDirectory() as place:
                stdout_tail, stderr_tail, status = self._run(task, handler, episode, Path(place))
        finally:
            gateway().close(episode)
        if status:
            raise ProgramError(
                f"{self.command[0]} ended with status {status}: {stderr_tail[-_SHOWN:].strip()}"
            )
        return parse_result(stdout_tail, episode.posted_result)

    def _run(
        self, task: Mapping[str, Any], handler: CallHandler, episode: OpenEpisode, place: Path
    ) -> tuple[str, str, int]:
        """Run the command; the end of what it wrote to its two streams, and its exit status."""
        variables = _make_variables(task, handler, episode, place)
        with (place / "out").open("w+b") as out, (place / "err").open("w+b") as err:
            if self.confined is None:
                process: _Process = _Unconfined(self.command, self.folder, variables, out, err)
            else:
                process = self.confined.start(variables, out, err)
            try:
                while (status := process.poll()) is None:
                    if handler.wait_closed(_POLL_SECONDS):
                        raise ProgramClosed("the episode of this command is over")
            finally:
                process.close()
            return _read_tail(out), _read_tail(err), status


def _make_variables(
    task: Mapping[str, Any], handler: CallHandler, episode: OpenEpisode, place: Path
) -> dict[str, str]:
    """The variables that a command is given, and the file of its task."""
    text = json.dumps(dict(task))
    file = place / "task.json"
    file.write_text(text)
    variables = {
        "OPENAI_BASE_URL": episode.url,
        "OPENAI_API_KEY": episode.token,
        "LLMZOO_REWARD_URL": episode.url.removesuffix("v1") + "reward",
        "LLMZOO_TASK_FILE": str(file),
        "LLMZOO_SEED": str(handler.seed),
    }
    if len(text) <= _LONGEST_VARIABLE:
        variables["LLMZOO_TASK"] = text
    return variables


class _Process(Protocol):
    """A command that runs."""

    def poll(self) -> int | None:
        """Its exit status; None while it runs."""

    def close(self) -> None:
        """End it."""


class _Unconfined:
    """A command with the rights of this process, in a process group of its own."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path | None,
        given: Mapping[str, str],
        out: BinaryIO,
        err: BinaryIO,
    ):
        direct = {
            name: ",".join(filter(None, (os.environ.get(name), "127.0.0.1")))
            for name in ("no_proxy", "NO_PROXY")
        }
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **given, **direct},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        _LIVE.add(self)

    def poll(self) -> int | None:
        return self._process.poll()

    def close(self) -> None:
        """End the command and its process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        _LIVE.discard(self)


@atexit.register
def _kill_what_is_left() -> None:
    for process in list(_LIVE):
        process.close()


def _read_tail(stream: Any) -> str:
    """The last part of what a command wrote."""
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - _LONGEST_OUTPUT))
    return str(stream.read().decode("utf-8", "replace"))
