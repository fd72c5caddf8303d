"""Play that runs ahead: one step off-policy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import torch
from pettingzoo import AECEnv

from llmzoo.engine.iteration import Draws, Iteration
from llmzoo.engine.local import LocalEngine
from llmzoo.engine.twins import Twins
from llmzoo.errors import ConfigError
from llmzoo.learners.base import Learner
from llmzoo.learners.updates.surrogate import SurrogateConfig
from llmzoo.parallel import ranks
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.clock import Clock


@dataclass(frozen=True, slots=True)
class _Played:
    batch: Batch
    clock: Clock
    tokens: int
    seconds: float


def check_clipped(learner: Learner) -> None:
    """Refuse a learner that cannot learn from answers of other weights than its own."""
    config = learner.config
    if not isinstance(config, SurrogateConfig) or config.clip is None:
        raise ConfigError(
            "max_off_policy_steps above 0 trains on answers of older weights, which needs the clipped "
            "ratio: choose a learner by policy gradient and set its clip, such as 0.2"
        )


class AheadEngine(LocalEngine):
    """Plays each batch while the one before it is learned from, with a copy of the weights.

    With weights W_t after t updates, batch t + 1 is played with W_t, beside the update from W_t to
    W_{t+1}, and moves W_{t+1}: it is one update old, and never more. Batch 0 is played with W_0.
    The surrogate's ratio is to the log-probabilities as sampled, so the clipped ratio corrects for
    the update between; without it a learner is refused.

    The batch in flight is not saved, but the weights that play it are: a resumed run plays it
    again. Nothing depends on which of the two is done first.
    """

    def __init__(
        self,
        learner: Learner,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        **options: Any,
    ):
        if ranks.world() > 1:
            raise ConfigError(
                "max_off_policy_steps=1 plays in the process that updates, and needs a "
                "single rank; engine='ray' has no such limit"
            )
        check_clipped(learner)
        super().__init__(learner, policies, seats, **options)
        if dict(self.updater.players()) != self.seats:
            raise ConfigError(
                "max_off_policy_steps must be 0: this learner does not play with the policies it trains"
            )
        self.twins = Twins(self.policies, self.seats)
        self._next: _Played | None = None

    def iterate(
        self, env_fn: Callable[[], AECEnv], draw: Callable[[int], Draws], step: int, *, last: bool
    ) -> Iteration:
        """Learn from batch ``step`` and, unless it is the ``last``, play the next one meanwhile."""
        played = self._next or self._play_ahead(env_fn, draw(step))
        self._next = None
        self.twins.take_up()
        torch.manual_seed(draw(step).update)
        stop = Event()
        with ThreadPoolExecutor(1, thread_name_prefix="llmzoo-ahead") as pool:
            try:
                following = (
                    None if last else pool.submit(self._play_ahead, env_fn, draw(step + 1), stop)
                )
                started = time.monotonic()
                learned = self.update(played.batch, seed=step)
                seconds = time.monotonic() - started
                if following is not None:
                    self._next = following.result()
            except BaseException:
                stop.set()  # the thread ends before its next call of a policy
                raise
        self.clock = played.clock
        return Iteration(
            batch=played.batch,
            clock=played.clock,
            tokens=played.tokens,
            rollout_seconds=played.seconds,
            learned=learned,
            credits=self.updater.credits(played.batch),
            update_seconds=seconds,
        )

    def save(self, folder: Path) -> None:
        super().save(folder)
        self.twins.save(folder)

    def load(self, folder: Path) -> None:
        super().load(folder)
        self.twins.load(folder)
        self._next = None

    def _play_ahead(
        self, env_fn: Callable[[], AECEnv], draw: Draws, stop: Event | None = None
    ) -> _Played:
        self.reseed(self.twins.players, draw.noise)
        clock, started, before = Clock(), time.monotonic(), self.twins.tokens_sampled()
        batch = self.play(env_fn, draw.seeds, self.twins.players, clock, stop)
        tokens = self.twins.tokens_sampled() - before
        return _Played(batch, clock, tokens, time.monotonic() - started)
