"""Environments that are played elsewhere, where one call makes the acts of many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pettingzoo import AECEnv

from llmzoo.envs.base import InOrder
from llmzoo.rollout.branching import advance, step_each

if TYPE_CHECKING:
    from llmzoo.rollout.lines import Act


class Place(ABC):
    """Where environments are played; a call there has a cost, whatever its acts."""

    @abstractmethod
    def act(self, acts: Sequence[Act]) -> list[Any]:
        """Make all acts, in one call as far as it can be; returns what each ``by`` would.

        Raises what the first of those that fail would; the others have been made.
        """


class Distant(ABC):
    """Mixed into an environment that is played at a ``place``."""

    @property
    @abstractmethod
    def place(self) -> Place: ...


def place_of(act: Act) -> Place | None:
    """Where an act can be made in one call with others; None: it is made here.

    A wrapper may change what a step does, so only an environment without one of its own is taken
    elsewhere, and only with the two ways of stepping that are known there.
    """
    env: AECEnv = act.env.env if type(act.env) is InOrder else act.env
    if isinstance(env, Distant) and act.by in (advance, step_each):
        return env.place
    return None
