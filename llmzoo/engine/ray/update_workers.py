"""Update workers: the process that learns, and its ranks as the run sees them."""

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
from llmzoo.engine import wire
from llmzoo.engine.ray import weights
from llmzoo.engine.ray.calls import (
    MOST_DEATHS,
    Calls,
    Lost,
    Report,
    answer,
    fault,
    opened,
    reporting,
)
from llmzoo.engine.ray.plan import Plan, settle_in
from llmzoo.engine.ray.weights import Bytes, nothing, packed, read_folder, unpacked, write_folder
from llmzoo.engine.setup import distribute
from llmzoo.engine.snapshot import changing, put
from llmzoo.errors import ConfigError, WorkerError
from llmzoo.learners.base import Learner, Updater
from llmzoo.models import tensor_io
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy


class UpdateWorker:
    """The process that trains one policy, or all of them if they cannot be trained apart.

    With several ranks, each rank is such a process. All get the same calls at the same time, and
    the answer of rank 0 is used.
    """

    learner: Learner
    agent_policies: Mapping[str, Policy]
    learning: Mapping[str, TransformersPolicy]
    updater: Updater

    @reporting(arrays=0)
    def rendezvous(self) -> Report:
        """The address for the ranks' process group: this machine, and a free port on it."""
        with socket.socket() as bound:
            bound.bind(("", 0))
            port = bound.getsockname()[1]
        return {"MASTER_ADDR": ray.util.get_node_ip_address(), "MASTER_PORT": str(port)}

    @reporting(arrays=1)
    def start(self, told: str, *adapters: Bytes) -> tuple[Report, Bytes]:
        """Load what this worker trains; returns the id of this process and the weights that play.

        ``told``: JSON of the ``plan``, the name of the ``only`` policy to train (null: all),
        ``gpus``, ``threads``, and ``environment`` variables. ``adapters``: initial weights of the
        policies that are adapters, which the driver draws at random.
        """
        given: dict[str, Any] = json.loads(told)
        plan = Plan.from_json(json.dumps(given["plan"]))
        settle_in(plan, gpus=given["gpus"], threads=given["threads"])
        os.environ.update(given["environment"])
        self._stay = ExitStack()
        self._stay.enter_context(ranks.process_group())
        self.learner = plan.make_learner()
        self.agent_policies, self.learning = plan.load_policies(only=given["only"])
        for array in adapters:
            weights.take_up(self.learning, array)
        distribute(self.learning.values(), plan.parallel, cpu_offload=plan.cpu_offload)
        self.updater = self.learner.updater(
            self.learning, self.agent_policies, total_steps=plan.total_steps
        )
        self._check_players()
        return {"pid": os.getpid()}, self._playing()

    @reporting(arrays=1)
    def load(self, *states: Bytes) -> tuple[Report, Bytes]:
        """Load what :meth:`state` gave; returns the learner's state and the weights that play."""
        with TemporaryDirectory(prefix="llmzoo-") as name:
            folder = Path(name)
            for state in states:
                write_folder(unpacked(state), folder)
            for policy_name, policy in self.learning.items():
                put(policy, tensor_io.load(folder, weights.file_of(policy_name)))
            self.updater.load(folder)
        return {"learner": self.learner.state_dict()}, self._playing()

    @reporting(arrays=2)
    def update(self, told: str, batch: bytes) -> tuple[Report, Bytes, Bytes]:
        """Learn from a batch; returns metrics and credits, the new weights that play, and the state.

        ``told``: JSON of the ``step``, which seeds the update, torch's own ``seed``, the seeds that
        were ``played`` for the batch, and whether to ``keep`` the state, which is otherwise empty.
        """
        given: dict[str, Any] = json.loads(told)
        self.learner.skip(given["played"])
        torch.manual_seed(given["seed"])
        played = wire.load(batch)
        learned = self.updater.update(played, seed=given["step"])
        report = {"learned": learned, "credits": self.updater.credits(played)}
        return report, self._playing(), self._state() if given["keep"] else nothing()

    @reporting(arrays=1)
    def state(self) -> tuple[Report, Bytes]:
        """This rank's part of the state: its policies' weights and the updater's files."""
        return {}, self._state()

    def _state(self) -> Bytes:
        with TemporaryDirectory(prefix="llmzoo-") as name:
            folder = Path(name)
            for policy_name, policy in self.learning.items():
                own = {n: w.detach() for n, w in changing(policy).items()}
                tensor_io.save(own, folder, weights.file_of(policy_name))
            self.updater.save(folder)
            return packed(read_folder(folder))

    def _playing(self) -> Bytes:
        """The weights that play; empty on ranks other than 0."""
        players = self.updater.players()
        by_name = {name: players[self._agents_of(p)[0]] for name, p in self.learning.items()}
        playing = weights.playing(self.learning, by_name)
        return playing if ranks.rank() == 0 else nothing()

    def _agents_of(self, policy: TransformersPolicy) -> Sequence[str]:
        return [agent for agent, player in self.agent_policies.items() if player is policy]

    def _check_players(self) -> None:
        """Refuse an updater whose players differ from those in the rollout workers."""
        elsewhere = self.learner.players(self.agent_policies)
        for policy in self.learning.values():
            for agent in self._agents_of(policy):
                here = self.updater.players()[agent]
                models = [isinstance(p, TransformersPolicy) for p in (here, elsewhere[agent])]
                if models[0] != models[1]:
                    raise ConfigError(
                        f"the updater of {type(self.learner).__name__} has {here.name!r} play "
                        f"{agent}, but rollout workers would use {elsewhere[agent].name!r}: "
                        "override the learner's method players too"
                    )


_GRACE = 10.0  # seconds to find out whether a rank failed because another rank died

Array = tuple[Any, Bytes]  # a result: its reference in the object store, and a view of it
# called with the results of all ranks: their reports, and every array of every rank
ThenAll = Callable[[list[Report], list[list[Array]]], None]


@dataclass(slots=True, kw_only=True)
class _Work:
    """A call of all ranks; ``arrays``: how many it returns beside the report."""

    called: str
    method: str
    args: tuple[Any, ...] = ()
    arrays: int
    then: ThenAll


class UpdateGroup:
    """The ranks that learn together, and what is needed to replace them.

    ``state``: the last state that every rank saved. This machine keeps it, and the updates since
    then as they were asked for. If a rank dies, all ranks are replaced: the new ones load the state,
    repeat these updates, with the same bytes and the same result, and continue.
    """

    def __init__(
        self,
        calls: Calls,
        make: Callable[[int], Any],
        told: Callable[[dict[str, str]], tuple[Any, ...]],
        *,
        name: str,
        ranks: int,
        seconds: float,
    ):
        self.name = name
        self.state: Sequence[Bytes] = ()
        self.weights: Array | None = None  # those that play
        self.learner_state: dict[str, Any] = {}  # the learner's state_dict, once a state was loaded
        self.pids: list[int] = []  # of the ranks, once they have started
        self._calls, self._make, self._told = calls, make, told
        self._ranks, self._seconds = ranks, seconds
        self._journal: list[_Work] = []  # the updates since the state
        self._again: deque[_Work] = deque()  # what new ranks repeat before they continue
        self._asked: deque[_Work] = deque()  # what is asked for and not done, in order
        self._deaths = 0  # since the last of these was done
        self._references: list[list[Any]] = []  # of the present call, by rank
        self._reports: dict[int, Report] = {}
        self._begin()

    @property
    def idle(self) -> bool:
        return bool(self.pids) and not self._again and not self._asked

    @property
    def saved(self) -> bool:
        """Whether ``state`` is up to date; before the first update there may be none."""
        return not self._journal and not self._asked

    def update(self, told: dict[str, Any], batch: Any, then: Callable[[Report], None]) -> None:
        """Ask for an update; ``batch``: a reference to its bytes. ``told``: see ``UpdateWorker``."""
        args = (json.dumps(told), batch)

        def learned(reports: list[Report], arrays: list[list[Array]]) -> None:
            self._journal.append(
                _Work(called="an update", method="update", args=args, arrays=2, then=_nothing)
            )
            self.weights = arrays[0][0]
            if told["keep"]:
                self._keep(reports, [[rank[1]] for rank in arrays])
            then(reports[0])

        self._ask(_Work(called="an update", method="update", args=args, arrays=2, then=learned))

    def save(self) -> None:
        """Ask for the present state."""
        self._ask(_Work(called="saving its state", method="state", arrays=1, then=self._keep))

    def load(self, state: Sequence[Bytes]) -> None:
        """Ask the ranks to load a state. Earlier updates and requests are dropped."""
        self.state, self._journal = state, []
        self._drop()
        self._asked.clear()
        self._again.clear()

        def loaded(reports: list[Report], arrays: list[list[Array]]) -> None:
            self.learner_state, self.weights = reports[0]["learner"], arrays[0][0]

        self._ask(self._loading(loaded))

    def _keep(self, reports: list[Report], arrays: list[list[Array]]) -> None:
        self.state, self._journal = [rank[0][1] for rank in arrays], []

    def _loading(self, then: ThenAll) -> _Work:
        arrays = tuple(ray.put(array) for array in self.state)
        return _Work(called="loading a state", method="load", args=arrays, arrays=1, then=then)

    def _ask(self, work: _Work) -> None:
        free = self.idle
        self._asked.append(work)
        if free:
            self._go_on()

    def _begin(self) -> None:
        """Start new ranks, which load the state and repeat the updates since then."""
        self._handles = [self._make(rank) for rank in range(self._ranks)]
        self.pids = []
        self._again = deque([self._loading(_nothing)] if self.state else [])
        self._again.extend(self._journal)
        if self._ranks == 1:
            self._start([{}])
        else:
            first = self._handles[0].rendezvous.remote()
            self._follow("its start", [[first]], self._met)

    def _met(self, reports: list[Report], arrays: list[list[Array]]) -> None:
        """Start all ranks with the address that rank 0 gave."""
        # a rank sees only its own GPUs, numbered from 0
        alike = {**reports[0], "WORLD_SIZE": str(self._ranks), "LOCAL_RANK": "0"}
        self._start([{**alike, "RANK": str(rank)} for rank in range(self._ranks)])

    def _start(self, environments: Sequence[dict[str, str]]) -> None:
        references = [
            handle.start.options(num_returns=2).remote(*self._told(environment))
            for handle, environment in zip(self._handles, environments, strict=True)
        ]
        self._follow("its start", references, self._started)

    def _started(self, reports: list[Report], arrays: list[list[Array]]) -> None:
        self.pids = [report["pid"] for report in reports]
        if self.weights is None:
            self.weights = arrays[0][0]
        self._go_on()

    def _go_on(self) -> None:
        """Begin the next work, if any."""
        todo = self._again or self._asked
        if not todo:
            return
        work = todo[0]
        references = [
            getattr(handle, work.method).options(num_returns=1 + work.arrays).remote(*work.args)
            for handle in self._handles
        ]
        self._follow(work.called, references, partial(self._did, work))

    def _did(self, work: _Work, reports: list[Report], arrays: list[list[Array]]) -> None:
        if self._again:
            self._again.popleft()
        else:
            self._asked.popleft()
            self._deaths = 0
        work.then(reports, arrays)
        self._go_on()

    def _follow(self, called: str, references: list[list[Any]], then: ThenAll) -> None:
        """Call ``then`` once all ranks have answered; replace them if one dies."""
        self._references, self._reports = references, {}
        starting = not self.pids
        for rank, own in enumerate(references):
            self._calls.add(
                own[0],
                partial(self._answered, called, rank, then),
                seconds=self._seconds if starting else None,
                late=self._too_late if starting else None,
            )

    def _answered(self, called: str, rank: int, then: ThenAll) -> None:
        try:
            self._reports[rank] = self._report(rank)
            if len(self._reports) < len(self._references):
                return
            arrays = [list(zip(own[1:], answer(own[1:]), strict=True)) for own in self._references]
        except Lost as lost:
            self._replace(called, lost)
            return
        then([self._reports[number] for number in range(len(self._references))], arrays)

    def _report(self, rank: int) -> Report:
        """A rank's report; raises its error, or :class:`Lost` if another rank's death caused it."""
        (text,) = answer(self._references[rank][:1])
        error = fault(text, self._called(rank))
        if isinstance(error, WorkerError) and len(self._references) > 1:
            others = [own[:1] for own in self._references if own is not self._references[rank]]
            ray.wait([own[0] for own in others], num_returns=len(others), timeout=_GRACE)
            for own in others:
                if ray.wait(own, timeout=0)[0]:
                    answer(own)
        return opened(text, self._called(rank))

    def _replace(self, called: str, lost: Lost) -> None:
        """Replace all ranks after one has died."""
        self.close()
        self._deaths += 1
        if self._deaths >= MOST_DEATHS:
            raise WorkerError(
                f"the {self.name} has died {MOST_DEATHS} times without progress, the last time at "
                f"{called}: {lost}"
            ) from lost
        self._begin()

    def close(self) -> None:
        """End the ranks."""
        self._drop()
        for handle in self._handles:
            ray.kill(handle)

    def _drop(self) -> None:
        """Ignore the end of the present call."""
        for own in self._references:
            self._calls.forget(own[0])

    def _called(self, rank: int) -> str:
        pid = f" (process {self.pids[rank]})" if self.pids else ""
        return f"{self.name}, rank {rank}{pid}" if self._ranks > 1 else f"{self.name}{pid}"

    def _too_late(self) -> None:
        raise WorkerError(
            f"the {self.name} was not ready after {self._seconds:.0f} s: raise start_seconds if it "
            "loads large models; if it replaces one that died, the cluster may have no room left"
        )


def _nothing(reports: list[Report], arrays: list[list[Array]]) -> None:
    """The result of repeated work was used the first time."""
