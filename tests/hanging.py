"""Environments that do not come back, for servers in processes of their own."""

from __future__ import annotations

import time

from toy_envs import Adder


class Sleeping(Adder):
    """A step sleeps for an hour."""

    def play(self, agent, text):
        time.sleep(3600)


class Computing(Adder):
    """A step computes for an hour."""

    def play(self, agent, text):
        end = time.monotonic() + 3600
        while time.monotonic() < end:
            pass


def sleeps(**kwargs):
    return Sleeping(**kwargs)


def computes(**kwargs):
    return Computing(**kwargs)


def made_slowly(**kwargs):
    time.sleep(3600)
    return Sleeping(**kwargs)
