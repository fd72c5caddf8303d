"""The peers that ours is measured against: a virtual environment each, and a process to talk to.

Each peer is installed with exact pins at first use, so that nothing of it touches the environment
of llmzoo, into ``.bench/`` at the root of the repository (``make clean`` removes it). What its pins
leave open, ``constraints.txt`` fixes, so that both sides run the same torch, numpy and so on. pip's
own settings hold: where the package index has no CPU build of torch, for example,
``PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workers.serving import ANSWER

if TYPE_CHECKING:
    from typing_extensions import Self

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
CACHE = ROOT / ".bench"
INSTALL_SECONDS = 900
CLOSE_SECONDS = 10
ERROR_CHARS = 2_000  # how much of what a peer or pip complained about stands in an error

REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "gem": ("gem-llm==0.1.0",),
    "textarena": ("textarena==0.7.4", "numpy"),  # its sokoban needs numpy and does not say so
    "reasoning_gym": ("reasoning-gym==0.1.25",),
    "openspiel": ("open-spiel==2.0.2", "numpy"),
    # its own pins are for the models that it asks; the checker needs none of them
    "bfcl": ("--no-deps", "bfcl-eval==2026.3.23", "mpmath"),
    # it asks for any transformers; this is the one that ours runs with too
    "comlrl": ("comlrl==1.4.3", "torch==2.13.0", "transformers", "peft"),
}


class PeerAbsent(Exception):
    """A peer cannot be installed here; the message says why."""


class PeerDied(Exception):
    """A peer's process has ended; the message holds what it complained of."""


def interpreter(name: str) -> Path:
    """The Python that has the peer ``name``; its environment is made at first use.

    Raises :class:`PeerAbsent` where it cannot be made, for lack of a network for example. A folder
    is renamed to its final name once whole, so that what an interrupted run leaves is never used.
    """
    wanted = REQUIREMENTS[name]
    pins = "\n".join([*wanted, CONSTRAINTS.read_text(), sys.version])
    home = CACHE / f"{name}-{hashlib.sha256(pins.encode()).hexdigest()[:12]}"
    python = home / "bin" / "python"
    if home.exists():
        return python
    CACHE.mkdir(exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=f"{name}-making-", dir=CACHE))
    try:
        _run([sys.executable, "-m", "venv", str(making)], name)
        pip = [str(making / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        pip += ["--disable-pip-version-check", "--no-input", "-c", str(CONSTRAINTS)]
        _run([*pip, *wanted], name)
        # only the interpreter is called by its path, and it finds its own folder by where it lies
        making.rename(home)
    except OSError:
        if not home.exists():  # otherwise another run was here first, and made the same
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return python


def _run(command: list[str], name: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise PeerAbsent(f"{name}: not installed in {INSTALL_SECONDS} s") from None
    if done.returncode:
        raise PeerAbsent(f"{name} cannot be installed: {done.stderr.strip()[-ERROR_CHARS:]}")


class Worker:
    """A process that runs ``command`` with exactly ``env`` and answers requests.

    One request is one line of JSON, and so is its answer (``workers/serving.py`` is the other end).
    What it prints does not matter; its standard error stands in the error if it dies.
    """

    def __init__(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.name = name
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            env=env,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout

    def ask(self, **message: Any) -> dict[str, Any]:
        """The answer to one request. Raises :class:`PeerDied`."""
        if self._to.closed:
            raise PeerDied(f"{self.name} was closed, or has ended before")
        try:
            self._to.write(json.dumps(message) + "\n")
            self._to.flush()
            line = self._from.readline()
            while line and not line.startswith(ANSWER):
                line = self._from.readline()
            return json.loads(line.removeprefix(ANSWER))
        except (BrokenPipeError, json.JSONDecodeError) as error:
            self.close()
            raise PeerDied(
                f"{self.name} ended with exit status {self._process.returncode}:\n"
                f"{self._complained()}"
            ) from error

    def close(self) -> None:
        """End the process: it stops at the end of its input, or is killed."""
        for pipe in (self._to, self._from):
            with suppress(BrokenPipeError):  # of a request that a dead process never read
                pipe.close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _complained(self) -> str:
        self._complaints.seek(0)
        return self._complaints.read().decode(errors="replace").strip()[-ERROR_CHARS:]


class Peer(Worker):
    """A worker that runs ``script`` in the environment of the peer ``name``; ``env`` is added."""

    def __init__(
        self, name: str, script: Path, *args: str, env: Mapping[str, str] | None = None
    ) -> None:
        command = [str(interpreter(name)), str(script), *args]
        super().__init__(name, command, {**os.environ, **(env or {})})
