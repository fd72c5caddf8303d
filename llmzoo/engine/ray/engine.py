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
from llmzoo.engine.ray.rollout_workers import (
    BatchRollout,
    RolloutPool,
    RolloutWorker,
    WeightsVersion,
)
from llmzoo.engine.ray.run_spec import RunSpec, worker_threads
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
    run_spec: RunSpec,
    args: RayArgs,
    learner: Learner,
    policies: Mapping[str, TransformersPolicy],
    agent_policies: Mapping[str, Policy],
    *,
    max_off_policy_steps: int = 0,
) -> Iterator[RayEngine]:
    """An engine whose workers have loaded their models. The workers end with the context.

    Raises the errors of workers, :class:`llmzoo.errors.ConfigError` for conflicting settings and
    for a cluster that lacks resources, and :class:`llmzoo.errors.WorkerError` if workers die while they start.
    """
    if max_off_policy_steps:
        check_importance_ratio(learner)
    groups = list(policies) if learner.separable or len(policies) == 1 else [_ALL_POLICIES]
    with reserve_resources(args.bundles(len(groups)), args) as resources:
        engine = RayEngine(
            run_spec,
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
    """Drives rollout workers and update workers. Its own policies are for evaluation and checkpoints.

    W_t are the weights after t updates, and ``lag`` is max_off_policy_steps. Batch t is played with
    W_{t - lag}, or with W_0 if t < lag. Batches are played in order. Each is split into shares that depend
    only on its seeds. Each update worker gets the groups of its policy's agents.

    If a worker dies, its work is repeated. The keys of rollouts reproduce a share of a batch, and updates are
    repeated from the last saved state (see :class:`UpdateGroup`).
    """

    def __init__(
        self,
        run_spec: RunSpec,
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
        self._run_spec, self._args, self._lag = run_spec, args, lag
        self._calls = PendingCalls()
        self._batches: dict[int, BatchRollout] = {}  # by the number of their iteration
        self._versions: deque[WeightsVersion] = deque(
            maxlen=lag + 1
        )  # of the weights, the newest last
        self._version_count = 0  # number of weight versions so far
        self._has_newest_weights = True  # whether ``policies`` have the newest weights
        starters = [
            resources.make_starter(UpdateWorker, n * args.update_ranks) for n in range(len(groups))
        ]
        self.updates = {
            name: UpdateGroup(
                self._calls,
                start_worker,
                partial(self._update_worker_args, name, self._adapters(name)),
                name=f"update worker of {name!r}" if name else "update worker",
                ranks=args.update_ranks,
                seconds=args.start_seconds,
            )
            for name, start_worker in zip(groups, starters, strict=True)
        }
        self.rollouts = RolloutPool(
            self._calls,
            resources.make_starter(RolloutWorker, len(groups) * args.update_ranks),
            (run_spec.to_json(), args.rollout_gpus, worker_threads(args.rollout_cpus)),
            count=args.rollout_workers,
            seconds=args.start_seconds,
        )

    def start(self) -> None:
        """Wait until every worker is ready."""
        self._calls.wait_until(lambda: self._is_idle() and self.rollouts.is_ready)
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
        """Play a batch and learn from it, as ``LocalEngine.iterate`` does; the workers make the environments.

        Unless this is the ``last`` iteration, up to ``lag`` further batches are played meanwhile.
        """
        torch.manual_seed(seeds_for(step).update)
        self._submit_batches(seeds_for, step, step if last else step + self._lag)
        rollout = self._batches[step]
        self._calls.wait_until(lambda: rollout.has_ended)
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
        if not self._has_newest_weights:
            self._save_states()
            weights.load_state_weights(self._states(), self.policies)
            self._has_newest_weights = True

    def save(self, folder: Path) -> None:
        """Write the same files as ``LocalEngine.save``. Either engine can load them."""
        self.sync_policies()
        self._save_states()
        for name, policy in self.policies.items():
            policy.save(folder / name)
        write_folder(weights.collect_updater_files(self._states(), self.policies), folder)
        for age, version in enumerate(list(self._versions)[-2::-1], start=1):
            snapshot = weights.unpack_snapshot(version.local_views)
            snapshot.save(folder, self.policies, age=age)

    def load(self, folder: Path) -> None:
        """Load what :meth:`save` or ``LocalEngine.save`` wrote."""
        for name, policy in self.policies.items():
            policy.load_weights(folder / name)
        states = weights.read_checkpoint_states(folder, self.policies, self.updates)
        for name, group in self.updates.items():
            group.load([pack_files(states[name])])
        self.rollouts.drop_all()
        self._batches.clear()
        self._calls.wait_until(self._is_idle)
        self.learner.plan.load_state_dict(next(iter(self.updates.values())).learner_state)
        self._has_newest_weights = True
        self._versions.clear()
        for age in range(self._lag, 0, -1):
            if (folder / snapshot_file_name(age)).exists():
                snapshot = Snapshot.load(folder, self.policies, age=age)
                array = weights.pack_snapshot(snapshot)
                self._add_version((ray.put(array),), (array,))
        if self._lag and not self._versions:
            raise CheckpointError(
                f"{folder} lacks {snapshot_file_name(1)}: it comes from a run with max_off_policy_steps=0"
            )
        self._publish_weights()

    def _policy_name(self, agent: str) -> str | None:
        """The name of the agent's learning policy; None if the agent does not learn."""
        agent_policy = self.agent_policies[agent]
        return next(
            (name for name, policy in self.policies.items() if policy is agent_policy), None
        )

    def _agents_for(self, group: str) -> list[str]:
        return [
            agent for agent in self.trained_agents if not group or self._policy_name(agent) == group
        ]

    def _update_worker_args(
        self, group: str, adapters: list[Any], environment: dict[str, str]
    ) -> tuple[Any, ...]:
        config = {
            "plan": json.loads(self._run_spec.to_json()),
            "only": group or None,
            "gpus": self._args.update_gpus,
            "threads": worker_threads(self._args.update_cpus),
            "environment": environment,
        }
        return (json.dumps(config), *adapters)

    def _adapters(self, group: str) -> list[Any]:
        """References to the initial adapters of a group, which this process initialized at random."""
        adapter_policies = {
            n: p for n, p in self.policies.items() if p.adapter is not None and group in ("", n)
        }
        return (
            [ray.put(weights.pack_rollout_weights(adapter_policies, adapter_policies))]
            if adapter_policies
            else []
        )

    def _submit_batches(
        self, seeds_for: Callable[[int], IterationSeeds], step: int, last: int
    ) -> None:
        """Submit the batches of iterations ``step`` to ``last`` that the run has and that are not submitted."""
        for number in range(step, min(last, self._run_spec.total_steps - 1) + 1):
            if number in self._batches:
                continue
            age = step - (number - self._lag)  # of the weights that play the batch, in updates
            seeds = seeds_for(number)
            self._batches[number] = BatchRollout(
                self.rollouts,
                self.learner,
                self._args,
                seeds=seeds.seeds,
                version=self._versions[max(0, len(self._versions) - 1 - age)],
                request={"noise": seeds.noise, "seed": seeds.update, "boards": seeds.boards},
            )

    def _update(
        self, rollout: BatchRollout, step: int, seed: int
    ) -> tuple[dict[str, Any], list[float | None]]:
        """Update all policies. Returns metrics, and the advantage of each completion."""
        reports: dict[str, Report] = {}
        batches = {
            name: batch_for_agents(rollout.batch, self._agents_for(name)) for name in self.updates
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
        self._calls.wait_until(self._is_idle)
        self._has_newest_weights = False
        self._publish_weights()
        metrics_by_group = {name: report["learned"] for name, report in reports.items()}
        metrics = (
            dict(metrics_by_group[_ALL_POLICIES])
            if _ALL_POLICIES in metrics_by_group
            else merge_metrics(metrics_by_group)
        )
        credits = [(batches[name], report["credits"]) for name, report in reports.items()]
        return metrics, merge_credits(rollout.batch, credits)

    def _is_idle(self) -> bool:
        return all(group.is_idle for group in self.updates.values())

    def _publish_weights(self) -> None:
        """Use the current weights of the update workers for the next batches."""
        arrays = [group.weights for group in self.updates.values() if group.weights is not None]
        references, local_views = zip(*arrays, strict=True)
        self._add_version(references, local_views)

    def _add_version(self, references: tuple[Any, ...], local_views: tuple[Bytes, ...]) -> None:
        self._versions.append(
            WeightsVersion(
                number=self._version_count, references=references, local_views=local_views
            )
        )
        self._version_count += 1

    def _save_states(self) -> None:
        for group in self.updates.values():
            if not group.is_state_current:
                group.save()
        self._calls.wait_until(self._is_idle)

    def _states(self) -> list[dict[str, Bytes]]:
        """The files of each update worker's state, of all its ranks together."""
        return [
            weights.merge_files([unpack_files(array) for array in group.state])
            for group in self.updates.values()
        ]


def batch_for_agents(batch: Batch, agents: Collection[str]) -> Batch:
    """The part of a batch for the update worker of these agents: their groups, and all episodes.

    Episodes are not split, because rewards and outcomes belong to all agents.
    """
    return replace(batch, groups=tuple(g for g in batch.groups if g.agent in agents))


def merge_metrics(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The metrics of separately trained policies, with the names that one updater for all would use."""
    merged: dict[str, Any] = {}
    for name, policy_metrics in metrics.items():
        merged |= prefix_metrics(
            name, {k: v for k, v in policy_metrics.items() if k != _SUMMED_METRIC}, metrics
        )
        if _SUMMED_METRIC in policy_metrics:
            merged[_SUMMED_METRIC] = merged.get(_SUMMED_METRIC, 0) + policy_metrics[_SUMMED_METRIC]
    return merged
