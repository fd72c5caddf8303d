"""The engine that drives rollout and update workers through Ray."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import ray
import torch
from pettingzoo import AECEnv

from llmzoo.engine.base import Iteration, IterationSeeds
from llmzoo.engine.off_policy import check_importance_ratio
from llmzoo.engine.ray import weights
from llmzoo.engine.ray.calls import PendingCalls, Report
from llmzoo.engine.ray.cluster import ReservedResources, reserve_resources
from llmzoo.engine.ray.config import RayArgs
from llmzoo.engine.ray.plan import Plan, worker_threads
from llmzoo.engine.ray.rollout_workers import (
    BatchRollout,
    RolloutPool,
    RolloutWorker,
    WeightsVersion,
)
from llmzoo.engine.ray.update_workers import UpdateGroup, UpdateWorker
from llmzoo.engine.ray.weights import Bytes, pack_files, unpack_files, write_folder
from llmzoo.engine.snapshot import Snapshot, snapshot_file_name
from llmzoo.errors import CheckpointError
from llmzoo.learners.base import Learner
from llmzoo.learners.updates.credits import merge_credits
from llmzoo.learners.updates.policy_gradient import prefix_metrics
from llmzoo.models.decode import Sampler
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, wire

_ALL_POLICIES = ""  # the name of the one group that learns all policies together
_SUMMED_METRIC = "demonstrated_tokens"  # a metric that the loop counts over all policies


@contextmanager
def ray_engine(
    plan: Plan,
    args: RayArgs,
    learner: Learner,
    policies: Mapping[str, TransformersPolicy],
    agent_policies: Mapping[str, Policy],
    *,
    max_off_policy_steps: int = 0,
) -> Iterator[RayEngine]:
    """An engine whose workers have loaded their models; they end with the context.

    Raises the errors of workers, :class:`llmzoo.errors.ConfigError` for settings that exclude each
    other or do not fit into the cluster, and :class:`llmzoo.errors.WorkerError` where workers die
    as they start.
    """
    if max_off_policy_steps:
        check_importance_ratio(learner)
    groups = list(policies) if learner.separable or len(policies) == 1 else [_ALL_POLICIES]
    with reserve_resources(args.bundles(len(groups)), args) as resources:
        engine = RayEngine(
            plan,
            args,
            learner,
            policies,
            agent_policies,
            groups,
            resources,
            lag=max_off_policy_steps,
        )
        try:
            engine.start()
            yield engine
        finally:
            engine.close()


class RayEngine:
    """Drives workers that play and workers that learn; its own policies evaluate and are saved.

    With weights W_t after t updates and ``lag`` = max_off_policy_steps, batch t is played with
    W_{t - lag}, or with W_0 where t < lag. Batches are played in order. Each is divided into shares
    that depend only on its seeds, and each update worker gets the groups of its policy's agents.

    The work of workers that die is repeated: shares of a batch by the keys of their rollouts, and
    updates from the last state that is kept here (see :class:`UpdateGroup`).
    """

    def __init__(
        self,
        plan: Plan,
        args: RayArgs,
        learner: Learner,
        policies: Mapping[str, TransformersPolicy],
        agent_policies: Mapping[str, Policy],
        groups: list[str],
        resources: ReservedResources,
        *,
        lag: int,
    ):
        self.learner = learner
        self.policies = dict(policies)
        self.agent_policies = dict(agent_policies)
        self.trained_agents = [
            agent for agent in agent_policies if self._policy_name(agent) is not None
        ]
        self.samplers: list[Sampler] = []  # rollout workers have their own
        self._plan, self._args, self._lag = plan, args, lag
        self._calls = PendingCalls()
        self._batches: dict[int, BatchRollout] = {}  # by the number of their iteration
        self._versions: deque[WeightsVersion] = deque(
            maxlen=lag + 1
        )  # of the weights, the newest last
        self._made = 0  # versions so far
        self._current = True  # whether ``policies`` have the newest weights
        makers = [resources.worker(UpdateWorker, n * args.update_ranks) for n in range(len(groups))]
        self.updates = {
            name: UpdateGroup(
                self._calls,
                make,
                partial(self._update_worker_args, name, self._adapters(name)),
                name=f"update worker of {name!r}" if name else "update worker",
                ranks=args.update_ranks,
                seconds=args.start_seconds,
            )
            for name, make in zip(groups, makers, strict=True)
        }
        self.rollouts = RolloutPool(
            self._calls,
            resources.worker(RolloutWorker, len(groups) * args.update_ranks),
            (plan.to_json(), args.rollout_gpus, worker_threads(args.rollout_cpus)),
            count=args.rollout_workers,
            seconds=args.start_seconds,
        )

    def start(self) -> None:
        """Wait until every worker is ready."""
        self._calls.until(lambda: self._idle() and self.rollouts.is_ready)
        self._publish_weights()

    def close(self) -> None:
        """End every worker."""
        for group in self.updates.values():
            group.close()
        self.rollouts.close()

    def iterate(
        self,
        env_fn: Callable[[], AECEnv],
        seeds_for: Callable[[int], IterationSeeds],
        step: int,
        *,
        last: bool,
    ) -> Iteration:
        """Play a batch and learn from it, as ``LocalEngine.iterate``; workers make environments.

        Unless this is the ``last``, up to ``lag`` further batches are played meanwhile.
        """
        torch.manual_seed(seeds_for(step).update)
        self._order(seeds_for, step, step if last else step + self._lag)
        rollout = self._batches[step]
        self._calls.until(lambda: rollout.has_ended)
        del self._batches[step]
        started = time.monotonic()
        metrics, credits = self._update(rollout, step, seeds_for(step).update)
        return Iteration(
            batch=rollout.batch,
            clock=rollout.clock,
            tokens=rollout.tokens,
            rollout_seconds=rollout.seconds,
            update_metrics=metrics,
            credits=credits,
            update_seconds=time.monotonic() - started,
        )

    def sync_policies(self) -> None:
        """Bring the newest weights of the workers into ``policies``."""
        if not self._current:
            self._save_states()
            weights.load_state_weights(self._states(), self.policies)
            self._current = True

    def save(self, folder: Path) -> None:
        """Write what ``LocalEngine.save`` writes; either engine can load it."""
        self.sync_policies()
        self._save_states()
        for name, policy in self.policies.items():
            policy.save(folder / name)
        write_folder(weights.collect_updater_files(self._states(), self.policies), folder)
        for age, version in enumerate(list(self._versions)[-2::-1], start=1):
            snapshot = weights.unpack_snapshot(version.kept)
            snapshot.save(folder, self.policies, age=age)

    def load(self, folder: Path) -> None:
        """Load what :meth:`save` or the local engine's wrote."""
        for name, policy in self.policies.items():
            policy.load_weights(folder / name)
        states = weights.read_checkpoint_states(folder, self.policies, self.updates)
        for name, group in self.updates.items():
            group.load([pack_files(states[name])])
        self.rollouts.forget()
        self._batches.clear()
        self._calls.until(self._idle)
        self.learner.plan.load_state_dict(next(iter(self.updates.values())).learner_state)
        self._current = True
        self._versions.clear()
        for age in range(self._lag, 0, -1):
            if (folder / snapshot_file_name(age)).exists():
                snapshot = Snapshot.load(folder, self.policies, age=age)
                array = weights.pack_snapshot(snapshot)
                self._add_version((ray.put(array),), (array,))
        if self._lag and not self._versions:
            raise CheckpointError(
                f"{folder} lacks {snapshot_file_name(1)}: it is of a run with max_off_policy_steps=0"
            )
        self._publish_weights()

    def _policy_name(self, agent: str) -> str | None:
        """The name of the policy that learns for an agent."""
        agent_policy = self.agent_policies[agent]
        return next(
            (name for name, policy in self.policies.items() if policy is agent_policy), None
        )

    def _agents_of(self, group: str) -> list[str]:
        return [
            agent for agent in self.trained_agents if not group or self._policy_name(agent) == group
        ]

    def _update_worker_args(
        self, group: str, adapters: list[Any], environment: dict[str, str]
    ) -> tuple[Any, ...]:
        config = {
            "plan": json.loads(self._plan.to_json()),
            "only": group or None,
            "gpus": self._args.update_gpus,
            "threads": worker_threads(self._args.update_cpus),
            "environment": environment,
        }
        return (json.dumps(config), *adapters)

    def _adapters(self, group: str) -> list[Any]:
        """References to the initial adapters of a group, which are drawn at random here."""
        adapter_policies = {
            n: p for n, p in self.policies.items() if p.adapter is not None and group in ("", n)
        }
        return (
            [ray.put(weights.pack_player_weights(adapter_policies, adapter_policies))]
            if adapter_policies
            else []
        )

    def _order(self, seeds_for: Callable[[int], IterationSeeds], step: int, until: int) -> None:
        """Order the batches up to that of iteration ``until``, as far as the run has them."""
        for number in range(step, min(until, self._plan.total_steps - 1) + 1):
            if number in self._batches:
                continue
            age = step - (number - self._lag)  # in updates, of the weights that play it
            seeds = seeds_for(number)
            self._batches[number] = BatchRollout(
                self.rollouts,
                self.learner,
                self._args,
                seeds=seeds.seeds,
                version=self._versions[max(0, len(self._versions) - 1 - age)],
                request={"noise": seeds.noise, "seed": seeds.update},
            )

    def _update(
        self, rollout: BatchRollout, step: int, seed: int
    ) -> tuple[dict[str, Any], list[float | None]]:
        """Returns metrics, and the advantage of each answer."""
        reports: dict[str, Report] = {}
        batches = {
            name: batch_for_agents(rollout.batch, self._agents_of(name)) for name in self.updates
        }
        for name, group in self.updates.items():
            data = wire.dump(batches[name])
            request = {
                "step": step,
                "seed": seed,
                "played": rollout.played_seeds,
                "keep": (step + 1) % self._args.state_every == 0,
            }
            group.update(request, ray.put(data), partial(reports.__setitem__, name))
        self._calls.until(self._idle)
        self._current = False
        self._publish_weights()
        metrics_by_group = {name: report["learned"] for name, report in reports.items()}
        metrics = (
            dict(metrics_by_group[_ALL_POLICIES])
            if _ALL_POLICIES in metrics_by_group
            else merge_metrics(metrics_by_group)
        )
        credits = [(batches[name], report["credits"]) for name, report in reports.items()]
        return metrics, merge_credits(rollout.batch, credits)

    def _idle(self) -> bool:
        return all(group.idle for group in self.updates.values())

    def _publish_weights(self) -> None:
        """Play the next batches with the weights that the update workers have now."""
        arrays = [group.weights for group in self.updates.values() if group.weights is not None]
        references, kept = zip(*arrays, strict=True)
        self._add_version(references, kept)

    def _add_version(self, references: tuple[Any, ...], kept: tuple[Bytes, ...]) -> None:
        self._versions.append(WeightsVersion(number=self._made, references=references, kept=kept))
        self._made += 1

    def _save_states(self) -> None:
        for group in self.updates.values():
            if not group.is_state_current:
                group.save()
        self._calls.until(self._idle)

    def _states(self) -> list[dict[str, Bytes]]:
        """The files of each update worker's state, of all its ranks together."""
        return [
            weights.merge_files([unpack_files(array) for array in group.state])
            for group in self.updates.values()
        ]


def batch_for_agents(batch: Batch, agents: Collection[str]) -> Batch:
    """The part of a batch for the update worker of these agents: their groups, and every episode.

    Episodes are not divided, because payments and endings belong to all agents.
    """
    return replace(batch, groups=tuple(g for g in batch.groups if g.agent in agents))


def merge_metrics(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The metrics of policies that learned apart, named as one updater for all names them."""
    merged: dict[str, Any] = {}
    for name, policy_metrics in metrics.items():
        merged |= prefix_metrics(
            name, {k: v for k, v in policy_metrics.items() if k != _SUMMED_METRIC}, metrics
        )
        if _SUMMED_METRIC in policy_metrics:
            merged[_SUMMED_METRIC] = merged.get(_SUMMED_METRIC, 0) + policy_metrics[_SUMMED_METRIC]
    return merged
