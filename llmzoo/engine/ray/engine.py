"""Rollouts and updates in processes of their own, through Ray."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import ray
import torch
from pettingzoo import AECEnv

from llmzoo.engine import wire
from llmzoo.engine.ahead import check_clipped
from llmzoo.engine.iteration import Draws, Iteration
from llmzoo.engine.playing import models_among
from llmzoo.engine.ray import older, states, weights
from llmzoo.engine.ray.calls import Calls
from llmzoo.engine.ray.cluster import Room, room_for
from llmzoo.engine.ray.config import RayArgs
from llmzoo.engine.ray.parcels import Bytes, packed, unpacked, write_folder
from llmzoo.engine.ray.plan import Plan, threads_of
from llmzoo.engine.ray.playing import Playing
from llmzoo.engine.ray.reports import Report
from llmzoo.engine.ray.rollout_worker import RolloutWorker
from llmzoo.engine.ray.rollouts import Rollouts, Version
from llmzoo.engine.ray.routing import merged_files, merged_metrics, routed
from llmzoo.engine.ray.update_group import UpdateGroup
from llmzoo.engine.ray.update_worker import UpdateWorker
from llmzoo.learners.base import Learner
from llmzoo.learners.updates.credits import merged_credits
from llmzoo.policies.base import Policy
from llmzoo.policies.sampler import Sampler
from llmzoo.policies.transformers import TransformersPolicy

_ALL = ""  # the name of the one group that learns all policies together


@contextmanager
def ray_engine(
    plan: Plan,
    args: RayArgs,
    learner: Learner,
    policies: Mapping[str, TransformersPolicy],
    seats: Mapping[str, Policy],
    *,
    max_off_policy_steps: int = 0,
) -> Iterator[RayEngine]:
    """An engine whose workers are there and have loaded their models; they end with the context.

    Raises what a worker raised, :class:`llmzoo.errors.ConfigError` for what cannot be had together
    or has no room, and :class:`llmzoo.errors.WorkerError` where workers die as they start.
    """
    if max_off_policy_steps:
        check_clipped(learner)
    groups = list(policies) if learner.separable or len(policies) == 1 else [_ALL]
    with room_for(args.bundles(len(groups)), args) as room:
        engine = RayEngine(
            plan,
            args,
            learner,
            policies,
            seats,
            groups,
            room,
            max_off_policy_steps=max_off_policy_steps,
        )
        try:
            engine.start()
            yield engine
        finally:
            engine.close()


class RayEngine:
    """Drives workers that play and workers that learn; its own policies evaluate and are saved.

    With weights W_t after t updates, batch t is played with W_t, or with W_{t - max_off_policy_steps}: no more
    than ``max_off_policy_steps`` updates lie between the weights that play and those that learn (W_0 where there
    are none so early). Batches are played in their order, each divided into shares that depend on
    nothing but its seeds, and each update worker has the groups of its policy's seats.

    What workers had done when they died is done again: shares of a batch by their names, updates
    from the last state that is kept here (see :class:`UpdateGroup`).
    """

    def __init__(
        self,
        plan: Plan,
        args: RayArgs,
        learner: Learner,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        groups: list[str],
        room: Room,
        *,
        max_off_policy_steps: int,
    ):
        self.learner = learner
        self.policies = dict(policies)
        self.seats = dict(seats)
        self.trained = [agent for agent in seats if self._name_of(agent) is not None]
        self.samplers: list[Sampler] = []  # who samples does so in its own process
        self._plan, self._args, self._max_off_policy_steps = plan, args, max_off_policy_steps
        self._calls = Calls()
        self._in_play: dict[int, Playing] = {}  # batches by the number of their iteration
        self._versions: deque[Version] = deque(
            maxlen=max_off_policy_steps + 1
        )  # of the weights, the newest last
        self._made = 0  # versions so far
        self._here = True  # whether ``policies`` have the newest weights
        makers = [room.worker(UpdateWorker, n * args.update_ranks) for n in range(len(groups))]
        self.updates = {
            name: UpdateGroup(
                self._calls,
                make,
                partial(self._told_to_update, name, self._adapters(name)),
                name=f"update worker of {name!r}" if name else "update worker",
                ranks=args.update_ranks,
                seconds=args.start_seconds,
            )
            for name, make in zip(groups, makers, strict=True)
        }
        self.rollouts = Rollouts(
            self._calls,
            room.worker(RolloutWorker, len(groups) * args.update_ranks),
            (plan.to_json(), args.rollout_gpus, threads_of(args.rollout_cpus)),
            count=args.rollout_workers,
            seconds=args.start_seconds,
        )

    def start(self) -> None:
        """Wait until every worker is there."""
        self._calls.until(lambda: self._idle() and self.rollouts.started)
        self._publish()

    def close(self) -> None:
        """End every worker."""
        for group in self.updates.values():
            group.close()
        self.rollouts.close()

    def iterate(
        self, env_fn: Callable[[], AECEnv], draw: Callable[[int], Draws], step: int, *, last: bool
    ) -> Iteration:
        """Play a batch and learn from it, as ``LocalEngine.iterate``; workers make environments.

        Meanwhile up to ``max_off_policy_steps`` further batches are played, unless this is the ``last``.
        """
        torch.manual_seed(draw(step).update)
        self._order(draw, step, step if last else step + self._max_off_policy_steps)
        playing = self._in_play[step]
        self._calls.until(lambda: playing.ended)
        del self._in_play[step]
        started = time.monotonic()
        learned, credits = self._learn(playing, step, draw(step).update)
        return Iteration(
            batch=playing.batch,
            clock=playing.clock,
            tokens=playing.tokens,
            rollout_seconds=playing.seconds,
            learned=learned,
            credits=credits,
            update_seconds=time.monotonic() - started,
        )

    def models(self, seats: Mapping[str, Policy]) -> list[TransformersPolicy]:
        """All that sample among some seats, those that do not learn too, in the order of seats."""
        return models_among(seats)

    def settle(self) -> None:
        """Have the newest weights in ``policies``, as they are in the workers."""
        if self._here:
            return
        self._save_states()
        states.take_weights(self._states(), self.policies)
        self._here = True

    def save(self, folder: Path) -> None:
        """Write what ``LocalEngine.save`` writes: either engine goes on from it."""
        self.settle()
        self._save_states()
        for name, policy in self.policies.items():
            policy.save(folder / name)
        write_folder(states.to_checkpoint(self._states(), self.policies), folder)
        older.save(folder, self.policies, [version.kept for version in self._versions][:-1])

    def load(self, folder: Path) -> None:
        """Take up what :meth:`save` wrote, or that of the local engine."""
        for name, policy in self.policies.items():
            policy.load_weights(folder / name)
        found = states.of_checkpoint(folder, self.policies, self.updates)
        for name, group in self.updates.items():
            group.load([packed(found[name])])
        self.rollouts.forget()
        self._in_play.clear()
        self._calls.until(self._idle)
        self.learner.load_state_dict(next(iter(self.updates.values())).learner_state)
        self._here = True
        self._versions.clear()
        for parcel in older.load(folder, self.policies, self._max_off_policy_steps):
            self._add_version((ray.put(parcel),), (parcel,))
        self._publish()

    def _name_of(self, agent: str) -> str | None:
        """The policy that learns in a seat."""
        sits = self.seats[agent]
        return next((name for name, policy in self.policies.items() if policy is sits), None)

    def _agents_of(self, group: str) -> list[str]:
        return [agent for agent in self.trained if not group or self._name_of(agent) == group]

    def _told_to_update(
        self, group: str, adapters: list[Any], environment: dict[str, str]
    ) -> tuple[Any, ...]:
        told = {
            "plan": json.loads(self._plan.to_json()),
            "only": group or None,
            "gpus": self._args.update_gpus,
            "threads": threads_of(self._args.update_cpus),
            "environment": environment,
        }
        return (json.dumps(told), *adapters)

    def _adapters(self, group: str) -> list[Any]:
        """References to the adapters of a group as they start: they are drawn at random."""
        own = {n: p for n, p in self.policies.items() if p.adapter is not None and group in ("", n)}
        return [ray.put(weights.playing(own, own))] if own else []

    def _order(self, draw: Callable[[int], Draws], step: int, until: int) -> None:
        """Have all batches played up to that of iteration ``until``, of which there may be none."""
        for number in range(step, min(until, self._plan.total_steps - 1) + 1):
            if number in self._in_play:
                continue
            age = step - (
                number - self._max_off_policy_steps
            )  # in updates, of the weights that play it
            chance = draw(number)
            self._in_play[number] = Playing(
                self.rollouts,
                self.learner,
                self._args,
                seeds=chance.seeds,
                version=self._versions[max(0, len(self._versions) - 1 - age)],
                told={"noise": chance.noise, "seed": chance.update},
            )

    def _learn(
        self, playing: Playing, step: int, seed: int
    ) -> tuple[dict[str, Any], list[float | None]]:
        """Metrics, and the advantage of each answer."""
        reports: dict[str, Report] = {}
        parts = {name: routed(playing.batch, self._agents_of(name)) for name in self.updates}
        for name, group in self.updates.items():
            data = wire.dump(parts[name])
            told = {
                "step": step,
                "seed": seed,
                "played": playing.played,
                "keep": (step + 1) % self._args.state_every == 0,
            }
            group.update(told, ray.put(data), partial(reports.__setitem__, name))
        self._calls.until(self._idle)
        self._here = False
        self._publish()
        learned = {name: report["learned"] for name, report in reports.items()}
        metrics = dict(learned[_ALL]) if _ALL in learned else merged_metrics(learned)
        credits = [(parts[name], report["credits"]) for name, report in reports.items()]
        return metrics, merged_credits(playing.batch, credits)

    def _idle(self) -> bool:
        return all(group.idle for group in self.updates.values())

    def _publish(self) -> None:
        """Have what comes now played with the weights that the update workers have."""
        found = [group.weights for group in self.updates.values()]
        references, kept = zip(*(array for array in found if array is not None), strict=True)
        self._add_version(references, kept)

    def _add_version(self, references: tuple[Any, ...], kept: tuple[Bytes, ...]) -> None:
        self._versions.append(Version(number=self._made, references=references, kept=kept))
        self._made += 1

    def _save_states(self) -> None:
        for group in self.updates.values():
            if not group.saved:
                group.save()
        self._calls.until(self._idle)

    def _states(self) -> list[dict[str, Bytes]]:
        """Of each update worker the files of its state, those of all its ranks together."""
        return [
            merged_files([unpacked(parcel) for parcel in group.state])
            for group in self.updates.values()
        ]
