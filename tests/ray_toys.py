"""Environments and learners for processes that a test kills, or makes fail, from outside.

A test writes a file into a folder; the next process that reaches the stage removes it, and does
what the file says, once. So a process dies in the middle of what it does, and its successor does
not.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toy_envs import Parities

from llmzoo.errors import DivergedError
from llmzoo.learners.at_grpo import ATGRPO
from llmzoo.learners.configs.groups import ATGRPOConfig


def visit(folder: str, stage: str) -> None:
    """Do what the file ``stage`` in ``folder`` says, if there is one."""
    file = Path(folder) / stage
    try:
        order = file.read_text()
        if order != "die always":
            file.unlink()
    except FileNotFoundError:
        return
    if order.startswith("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if order == "diverge":
        raise DivergedError("the loss of 'policy' is nan: lower learning_rate")
    raise ZeroDivisionError(order)


class Visited(Parities):
    """:class:`Parities`; each second step visits ``rollout``, so that a share has begun by then."""

    metadata = {**Parities.metadata, "name": "visited_v0"}
    steps = 0

    def __init__(self, folder: str = "", **kwargs: Any):
        super().__init__(**kwargs)
        self.folder = folder

    def apply(self, state, actions):
        type(self).steps += 1
        if self.steps % 2 == 0:
            visit(self.folder, "rollout")
        return super().apply(state, actions)


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitedConfig(ATGRPOConfig):
    """Options of VisitedATGRPO."""

    folder: str = ""


class VisitedATGRPO(ATGRPO):
    """AT-GRPO; an update visits ``update`` once it has credited half of its groups."""

    Config = VisitedConfig
    credited_groups = 0

    def credit(self, group):
        type(self).credited_groups += 1
        if self.credited_groups % 3 == 0:
            visit(self.config.folder, "update")
        return super().credit(group)


class Looking:
    """A worker that says what it sees."""

    def gpus(self):
        return os.environ.get("CUDA_VISIBLE_DEVICES")
