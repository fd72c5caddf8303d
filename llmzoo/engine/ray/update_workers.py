"""Update workers: the process that trains, and the group of ranks that train together."""

from __future__ import annotations

import json
import os
import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ray
import torch

from llmzoo.distributed import ranks
from llmzoo.engine.ray import weights
from llmzoo.engine.ray.calls import (
    MAX_DEATHS,
    PendingCalls,
    Report,
    WorkerLostError,
    error_from_report,
    get_results,
    read_report,
    returns_report,
)
from llmzoo.engine.ray.run_spec import RunSpec, set_up_worker
from llmzoo.engine.ray.weights import (
    Bytes,
    empty_array,
    pack_files,
    read_folder,
    unpack_files,
    write_folder,
)
from llmzoo.engine.setup import distribute
from llmzoo.engine.snapshot import load_tensors, trainable_weights
from llmzoo.errors import ConfigError, WorkerError
from llmzoo.learners.base import Learner, RunPolicies, Updater
from llmzoo.models import tensor_io
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import wire


class UpdateWorker:
    """The process that trains one policy, or all of them if they cannot be trained apart.

    With several ranks, each rank is such a process. All get the same calls at the same time, and
    the result of rank 0 is used.
    """

    learner: Learner
    agent_policies: Mapping[str, Policy]
    learning: Mapping[str, TransformersPolicy]
    updater: Updater

    @returns_report(arrays=0)
    def rendezvous(self) -> Report:
        """The address for the ranks' process group: this machine, and a free port on it."""
        with socket.socket() as bound:
            bound.bind(("", 0))
            port = bound.getsockname()[1]
        return {"MASTER_ADDR": ray.util.get_node_ip_address(), "MASTER_PORT": str(port)}

    @returns_report(arrays=1)
    def start(self, config_json: str, *adapters: Bytes) -> tuple[Report, Bytes]:
        """Load what this worker trains; returns the id of this process and the weights for rollouts.

        ``config_json``: JSON of the ``plan``, the name of the ``only`` policy to train (null: all),
        ``gpus``, ``threads``, and ``environment`` variables. ``adapters``: initial weights of the
        policies that are adapters, which the driver initialized at random.
        """
        config: dict[str, Any] = json.loads(config_json)
        run_spec = RunSpec.from_json(json.dumps(config["plan"]))
        set_up_worker(run_spec, gpus=config["gpus"], threads=config["threads"])
        os.environ.update(config["environment"])
        self._contexts = ExitStack()
        self._contexts.enter_context(ranks.process_group())
        self.learner = run_spec.make_learner()
        self.agent_policies, self.learning = run_spec.load_policies(only=config["only"])
        for array in adapters:
            weights.load_rollout_weights(self.learning, array)
        distribute(self.learning.values(), run_spec.parallel, cpu_offload=run_spec.cpu_offload)
        self.updater = self.learner.updater(
            RunPolicies(
                policies=self.learning,
                agent_policies=self.agent_policies,
                total_steps=run_spec.total_steps,
            )
        )
        self._check_rollout_policies()
        return {"pid": os.getpid()}, self._pack_rollout_weights()

    @returns_report(arrays=1)
    def load(self, *states: Bytes) -> tuple[Report, Bytes]:
        """Load what :meth:`state` gave; returns the learner's state and the weights for rollouts."""
        with TemporaryDirectory(prefix="llmzoo-") as name:
            folder = Path(name)
            for state in states:
                write_folder(unpack_files(state), folder)
            for policy_name, policy in self.learning.items():
                load_tensors(policy, tensor_io.load(folder, weights.weights_file_name(policy_name)))
            self.updater.load(folder)
        return {"learner": self.learner.plan.state_dict()}, self._pack_rollout_weights()

    @returns_report(arrays=2)
    def update(self, request_json: str, batch: bytes) -> tuple[Report, Bytes, Bytes]:
        """Train on a batch; returns metrics and credits, the new weights for rollouts, and the state.

        ``request_json``: JSON of the ``step``, which seeds the update, the ``seed`` of torch, the seeds that
        were ``played`` for the batch, and ``keep``: whether to return the state, which is empty otherwise.
        """
        request: dict[str, Any] = json.loads(request_json)
        self.learner.plan.skip(request["played"])
        torch.manual_seed(request["seed"])
        rollouts = wire.load(batch)
        metrics = self.updater.update(rollouts, seed=request["step"])
        report = {"learned": metrics, "credits": self.updater.credits(rollouts)}
        return (
            report,
            self._pack_rollout_weights(),
            self._state() if request["keep"] else empty_array(),
        )

    @returns_report(arrays=1)
    def state(self) -> tuple[Report, Bytes]:
        """This rank's part of the state: its policies' weights and the updater's files."""
        return {}, self._state()

    def _state(self) -> Bytes:
        with TemporaryDirectory(prefix="llmzoo-") as name:
            folder = Path(name)
            for policy_name, policy in self.learning.items():
                tensors = {n: w.detach() for n, w in trainable_weights(policy).items()}
                tensor_io.save(tensors, folder, weights.weights_file_name(policy_name))
            self.updater.save(folder)
            return pack_files(read_folder(folder))

    def _pack_rollout_weights(self) -> Bytes:
        """The weights for rollouts; empty on ranks other than 0."""
        rollout_policies = self.updater.rollout_policies()
        by_name = {
            name: rollout_policies[self._agents_for(p)[0]] for name, p in self.learning.items()
        }
        playing = weights.pack_rollout_weights(self.learning, by_name)
        return playing if ranks.rank() == 0 else empty_array()

    def _agents_for(self, policy: TransformersPolicy) -> Sequence[str]:
        return [
            agent
            for agent, policy_of_agent in self.agent_policies.items()
            if policy_of_agent is policy
        ]

    def _check_rollout_policies(self) -> None:
        """Reject an updater that plays with other policies than the rollout workers."""
        worker_policies = self.learner.plan.rollout_policies(self.agent_policies)
        for policy in self.learning.values():
            for agent in self._agents_for(policy):
                updater_policy = self.updater.rollout_policies()[agent]
                models = [
                    isinstance(p, TransformersPolicy)
                    for p in (updater_policy, worker_policies[agent])
                ]
                if models[0] != models[1]:
                    raise ConfigError(
                        f"the updater of {type(self.learner).__name__} has {updater_policy.name!r} play "
                        f"{agent}, but rollout workers would use {worker_policies[agent].name!r}: "
                        "override rollout_policies of the learner's plan too"
                    )


_GRACE_S = 10.0  # seconds to find out whether a rank failed because another rank died

Array = tuple[Any, Bytes]  # a result: its reference in the object store, and a view of it
# called with the results of all ranks: their reports, and every array of every rank
ResultsCallback = Callable[[list[Report], list[list[Array]]], None]


@dataclass(slots=True, kw_only=True)
class _Work:
    """A call of all ranks. ``arrays``: the number of arrays that it returns besides the report."""

    description: str
    method: str
    args: tuple[Any, ...] = ()
    arrays: int
    on_end: ResultsCallback


class UpdateGroup:
    """The ranks that train together, and what is needed to replace them.

    ``state``: the last state that every rank saved. This machine keeps it and the requests of all later
    updates. If a rank dies, all ranks are replaced. The new ranks load the state, repeat these updates with
    the same data and the same result, and continue.
    """

    def __init__(
        self,
        calls: PendingCalls,
        start_process: Callable[[int], Any],
        start_args: Callable[[dict[str, str]], tuple[Any, ...]],
        *,
        name: str,
        ranks: int,
        seconds: float,
    ):
        self.name = name
        self.state: Sequence[Bytes] = ()
        self.weights: Array | None = None  # for rollouts
        self.learner_state: dict[
            str, Any
        ] = {}  # the learner's state_dict, set when a state is loaded
        self.pids: list[int] = []  # of the ranks, once they have started
        self._calls, self._start_process, self._start_args = calls, start_process, start_args
        self._ranks, self._seconds = ranks, seconds
        self._journal: list[_Work] = []  # the updates since the state
        self._replays: deque[_Work] = deque()  # what new ranks must repeat before they continue
        self._queue: deque[_Work] = deque()  # requested and not completed, in order
        self._deaths = 0  # since work was last completed
        self._references: list[list[Any]] = []  # results of the current call, by rank
        self._reports: dict[int, Report] = {}
        self._start_ranks()

    @property
    def is_idle(self) -> bool:
        return bool(self.pids) and not self._replays and not self._queue

    @property
    def is_state_current(self) -> bool:
        """Whether ``state`` is up to date; before the first update there may be none."""
        return not self._journal and not self._queue

    def update(self, request: dict[str, Any], batch: Any, on_end: Callable[[Report], None]) -> None:
        """Request an update. ``batch``: a reference to its bytes. ``request``: see ``UpdateWorker.update``."""
        args = (json.dumps(request), batch)

        def on_updated(reports: list[Report], arrays: list[list[Array]]) -> None:
            self._journal.append(
                _Work(
                    description="an update",
                    method="update",
                    args=args,
                    arrays=2,
                    on_end=_ignore_results,
                )
            )
            self.weights = arrays[0][0]
            if request["keep"]:
                self._store_state(reports, [[rank[1]] for rank in arrays])
            on_end(reports[0])

        self._enqueue(
            _Work(description="an update", method="update", args=args, arrays=2, on_end=on_updated)
        )

    def save(self) -> None:
        """Request the current state."""
        self._enqueue(
            _Work(
                description="saving its state", method="state", arrays=1, on_end=self._store_state
            )
        )

    def load(self, state: Sequence[Bytes]) -> None:
        """Let the ranks load a state. Earlier updates and requests are dropped."""
        self.state, self._journal = state, []
        self._discard_calls()
        self._queue.clear()
        self._replays.clear()

        def on_loaded(reports: list[Report], arrays: list[list[Array]]) -> None:
            self.learner_state, self.weights = reports[0]["learner"], arrays[0][0]

        self._enqueue(self._load_work(on_loaded))

    def _store_state(self, reports: list[Report], arrays: list[list[Array]]) -> None:
        self.state, self._journal = [rank[0][1] for rank in arrays], []

    def _load_work(self, on_end: ResultsCallback) -> _Work:
        arrays = tuple(ray.put(array) for array in self.state)
        return _Work(
            description="loading a state", method="load", args=arrays, arrays=1, on_end=on_end
        )

    def _enqueue(self, work: _Work) -> None:
        was_idle = self.is_idle
        self._queue.append(work)
        if was_idle:
            self._start_next()

    def _start_ranks(self) -> None:
        """Start new ranks, which load the state and repeat the updates since then."""
        self._handles = [self._start_process(rank) for rank in range(self._ranks)]
        self.pids = []
        self._replays = deque([self._load_work(_ignore_results)] if self.state else [])
        self._replays.extend(self._journal)
        if self._ranks == 1:
            self._start([{}])
        else:
            first = self._handles[0].rendezvous.remote()
            self._await_ranks("its start", [[first]], self._on_rendezvous)

    def _on_rendezvous(self, reports: list[Report], arrays: list[list[Array]]) -> None:
        """Start all ranks with the address of rank 0."""
        # a rank sees only its own GPUs, numbered from 0
        shared = {**reports[0], "WORLD_SIZE": str(self._ranks), "LOCAL_RANK": "0"}
        self._start([{**shared, "RANK": str(rank)} for rank in range(self._ranks)])

    def _start(self, environments: Sequence[dict[str, str]]) -> None:
        references = [
            handle.start.options(num_returns=2).remote(*self._start_args(environment))
            for handle, environment in zip(self._handles, environments, strict=True)
        ]
        self._await_ranks("its start", references, self._on_start)

    def _on_start(self, reports: list[Report], arrays: list[list[Array]]) -> None:
        self.pids = [report["pid"] for report in reports]
        if self.weights is None:
            self.weights = arrays[0][0]
        self._start_next()

    def _start_next(self) -> None:
        """Start the next work, if any."""
        queue = self._replays or self._queue
        if not queue:
            return
        work = queue[0]
        references = [
            getattr(handle, work.method).options(num_returns=1 + work.arrays).remote(*work.args)
            for handle in self._handles
        ]
        self._await_ranks(work.description, references, partial(self._on_work_done, work))

    def _on_work_done(self, work: _Work, reports: list[Report], arrays: list[list[Array]]) -> None:
        if self._replays:
            self._replays.popleft()
        else:
            self._queue.popleft()
            self._deaths = 0
        work.on_end(reports, arrays)
        self._start_next()

    def _await_ranks(
        self, description: str, references: list[list[Any]], on_end: ResultsCallback
    ) -> None:
        """Call ``on_end`` when all ranks have returned; replace the ranks if one dies."""
        self._references, self._reports = references, {}
        starting = not self.pids
        for rank, rank_references in enumerate(references):
            self._calls.add(
                rank_references[0],
                partial(self._on_report, description, rank, on_end),
                seconds=self._seconds if starting else None,
                on_timeout=self._raise_start_timeout if starting else None,
            )

    def _on_report(self, description: str, rank: int, on_end: ResultsCallback) -> None:
        try:
            self._reports[rank] = self._report(rank)
            if len(self._reports) < len(self._references):
                return
            arrays = [
                list(zip(rank_references[1:], get_results(rank_references[1:]), strict=True))
                for rank_references in self._references
            ]
        except WorkerLostError as lost:
            self._replace(description, lost)
            return
        on_end([self._reports[number] for number in range(len(self._references))], arrays)

    def _report(self, rank: int) -> Report:
        """A rank's report; raises its error, or :class:`WorkerLostError` if another rank's death caused it."""
        (text,) = get_results(self._references[rank][:1])
        error = error_from_report(text, self._rank_name(rank))
        if isinstance(error, WorkerError) and len(self._references) > 1:
            others = [
                references[:1]
                for references in self._references
                if references is not self._references[rank]
            ]
            ray.wait(
                [references[0] for references in others],
                num_returns=len(others),
                timeout=_GRACE_S,
            )
            for references in others:
                if ray.wait(references, timeout=0)[0]:
                    get_results(references)
        return read_report(text, self._rank_name(rank))

    def _replace(self, description: str, lost: WorkerLostError) -> None:
        """Replace all ranks after one has died."""
        self.close()
        self._deaths += 1
        if self._deaths >= MAX_DEATHS:
            raise WorkerError(
                f"the {self.name} has died {MAX_DEATHS} times without progress, the last time during "
                f"{description}: {lost}"
            ) from lost
        self._start_ranks()

    def close(self) -> None:
        """End the ranks."""
        self._discard_calls()
        for handle in self._handles:
            ray.kill(handle)

    def _discard_calls(self) -> None:
        """Run no callbacks for the current call."""
        for rank_references in self._references:
            self._calls.ignore(rank_references[0])

    def _rank_name(self, rank: int) -> str:
        pid = f" (process {self.pids[rank]})" if self.pids else ""
        return f"{self.name}, rank {rank}{pid}" if self._ranks > 1 else f"{self.name}{pid}"

    def _raise_start_timeout(self) -> None:
        raise WorkerError(
            f"the {self.name} was not ready after {self._seconds:.0f} s: raise start_seconds if it "
            "loads large models; if it replaces one that died, the cluster may have no room left"
        )


def _ignore_results(reports: list[Report], arrays: list[list[Array]]) -> None:
    """For repeated work, whose result was used the first time."""
