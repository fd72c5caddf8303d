"""Environments that do not come back, for servers in processes of their own.

Each adds a byte to the file that the environment variable ``HANGING`` names when it begins to hang.
"""

from __future__ import annotations

import os
import time

from toy_envs import Adder


def _note_beginning() -> None:
    with open(os.environ["HANGING"], "ab") as file:
        file.write(b".")


class Sleeping(Adder):
    """A step sleeps for an hour."""

    def apply(self, state, actions):
        _note_beginning()
        time.sleep(3600)


class Computing(Adder):
    """A step computes for an hour."""

    def apply(self, state, actions):
        _note_beginning()
        end = time.monotonic() + 3600
        while time.monotonic() < end:
            pass


def sleeps(**kwargs):
    return Sleeping(**kwargs)


def computes(**kwargs):
    return Computing(**kwargs)


def made_slowly(**kwargs):
    _note_beginning()
    time.sleep(3600)
    return Sleeping(**kwargs)
