"""What the training loop asks of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from pettingzoo import AECEnv

from llmzoo.engine.iteration import Draws, Iteration
from llmzoo.policies.base import Policy
from llmzoo.policies.sampler import Sampler
from llmzoo.policies.transformers import TransformersPolicy


class Engine(Protocol):
    """Plays and learns, wherever that is done.

    ``policies``: those that learn, by name. ``seats``: the policy of every seat. ``trained``: the
    seats that learn. ``samplers``: of policies that do not sample themselves.
    """

    policies: dict[str, TransformersPolicy]
    seats: dict[str, Policy]
    trained: list[str]
    samplers: list[Sampler]

    def iterate(
        self, env_fn: Callable[[], AECEnv], draw: Callable[[int], Draws], step: int, *, last: bool
    ) -> Iteration:
        """Play a batch and learn from it. ``draw`` gives the chance of each iteration by its number.

        ``last``: no iteration follows.
        """
        ...

    def models(self, seats: Mapping[str, Policy]) -> list[TransformersPolicy]:
        """All that sample among some seats, those that do not learn too, in the order of seats."""
        ...

    def settle(self) -> None:
        """Have the newest weights in ``policies``, for whoever looks at them or plays with them."""
        ...

    def save(self, folder: Path) -> None:
        """Write all that a run's next iteration depends on into an existing folder."""
        ...

    def load(self, folder: Path) -> None:
        """Take up what :meth:`save` wrote, or that of another engine."""
        ...
