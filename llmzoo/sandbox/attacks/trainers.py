"""Starts a trainer process and talks to it: the attack runner's side of `trainer.py`."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from typing import Any

from llmzoo.sandbox.attacks import machine, world
from llmzoo.sandbox.attacks.bait import new_secret
from llmzoo.sandbox.attacks.columns import is_rival
from llmzoo.sandbox.attacks.watch import Process, descendants

_OPEN_TIMEOUT_S = 60.0


class TrainerLost(Exception):
    """The trainer is dead or hangs."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the trainer is, and whether the machine gives it user namespaces.

    ``rootless``: the tests were not started by root, so 0 is their own user's number in the world.
    """

    uid: int
    gid: int
    user_namespaces: bool = True
    rootless: bool = False


class Trainer:
    """A trainer with its column opened. ``controls``: what the judge gets wrong is in ``wrong``;
    ``unavailable`` says why there is no such column here."""

    def __init__(self, identity: Identity, column: str, controls: bool) -> None:
        self.terminal = machine.Terminal(identity.uid)
        self.secrets = {name: new_secret() for name in ("environment", "memory", "descriptor")}
        with tempfile.NamedTemporaryFile("w", delete=False) as file:
            file.write(self.secrets["descriptor"])
        os.chown(file.name, identity.uid, identity.gid)
        order = {**asdict(identity), "terminal": self.terminal.name}
        self._launcher = subprocess.Popen(
            [sys.executable, "-m", "llmzoo.sandbox.attacks.launch", json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # what a rival's judge writes there is of no use, and some attacks make it write a lot
            stderr=subprocess.DEVNULL if is_rival(column) else None,
            cwd=world.PACKAGES,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": world.HOME,
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
                "API_KEY": self.secrets["environment"],
                "ATTACK_MEMORY": self.secrets["memory"].removeprefix("secret-"),
                "ATTACK_FILE": file.name,
            },
        )
        assert self._launcher.stdin
        assert self._launcher.stdout
        self._orders, self._replies = self._launcher.stdin, self._launcher.stdout
        self.root = self._launcher.pid
        opened = self.ask(_OPEN_TIMEOUT_S, do="open", column=column, controls=controls)
        if "broken" in opened:
            raise TrainerLost(opened["broken"])
        self.unavailable: str = opened.get("unavailable", "")
        self.wrong: list[str] = opened.get("wrong", [])
        self.isolations: dict[str, str] = opened.get("isolations", {})
        self.pid_inside: int = opened.get("pid", 0)
        family = descendants(self.root)
        (self._init,) = (one for one in family if one.parent == self.root)
        (self.process,) = (one for one in family if one.parent == self._init.pid)
        self.vital = [self._init, self.process, *(one for one in family if one.name == "sleep")]

    def ask(self, within_s: float, **order: Any) -> dict[str, Any]:
        """The trainer's reply; raises :class:`TrainerLost`."""
        try:
            self._orders.write(json.dumps(order).encode() + b"\n")
            self._orders.flush()
        except BrokenPipeError as error:
            raise TrainerLost("killed the caller") from error
        if not select.select([self._replies], [], [], within_s)[0]:
            raise TrainerLost("the caller hangs")
        line = self._replies.readline()
        if not line:
            raise TrainerLost("killed the caller")
        return json.loads(line)

    def processes(self) -> list[Process]:
        return descendants(self.root)

    def end(self) -> None:
        """Killing pid 1 of its namespace takes everything in there along."""
        for process in [one for one in descendants(self.root) if one.parent == self.root]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, 9)
        self._launcher.kill()
        self._launcher.wait()
        self._orders.close()
        self._replies.close()
        self.terminal.close()
