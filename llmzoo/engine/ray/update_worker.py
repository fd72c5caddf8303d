"""The process that learns: one policy, or all where they cannot be learned apart; or a rank of it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ray
import torch

from llmzoo.engine import wire
from llmzoo.engine.placing import place
from llmzoo.engine.ray import weights
from llmzoo.engine.ray.parcels import (
    Bytes,
    nothing,
    packed,
    read_folder,
    unpacked,
    write_folder,
)
from llmzoo.engine.ray.plan import Plan, settle_in
from llmzoo.engine.ray.reports import Report, reporting
from llmzoo.errors import ConfigError
from llmzoo.learners.base import Learner
from llmzoo.learners.updates.base import Updater
from llmzoo.parallel import ranks
from llmzoo.policies import stored
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy


class UpdateWorker:
    """Holds the policies that it trains and their updater.

    Where an update worker has several ranks each of them is such a process, and all are called
    alike, at the same time; what rank 0 answers counts.
    """

    learner: Learner
    seats: Mapping[str, Policy]
    learning: Mapping[str, TransformersPolicy]
    updater: Updater

    @reporting(arrays=0)
    def meeting_place(self) -> Report:
        """Where the ranks can find one another: this machine, and a port that is free on it."""
        with socket.socket() as found:
            found.bind(("", 0))
            port = found.getsockname()[1]
        return {"MASTER_ADDR": ray.util.get_node_ip_address(), "MASTER_PORT": str(port)}

    @reporting(arrays=1)
    def start(self, told: str, *adapters: Bytes) -> tuple[Report, Bytes]:
        """Load what this worker trains; returns which process this is, and the weights that play.

        ``told``: JSON of the ``plan``, ``only`` the policy of this name or null, ``gpus``,
        ``threads``, and what the ranks are told through the ``environment``. ``adapters``: the
        weights at the start of those policies that are adapters, drawn at random elsewhere.
        """
        given: dict[str, Any] = json.loads(told)
        plan = Plan.from_json(json.dumps(given["plan"]))
        settle_in(plan, gpus=given["gpus"], threads=given["threads"])
        os.environ.update(given["environment"])
        self._stay = ExitStack()
        self._stay.enter_context(ranks.joined())
        self.learner = plan.make_learner()
        self.seats, self.learning = plan.take_seats(only=given["only"])
        for parcel in adapters:
            weights.take_up(self.learning, parcel)
        place(self.learning.values(), plan.parallel, cpu_offload=plan.cpu_offload)
        self.updater = self.learner.updater(self.learning, self.seats, total_steps=plan.total_steps)
        self._check_players()
        return {"pid": os.getpid()}, self._playing()

    @reporting(arrays=1)
    def load(self, *parcels: Bytes) -> tuple[Report, Bytes]:
        """Take up files that :meth:`state` gave; returns its :meth:`Learner.state_dict`, and weights."""
        with TemporaryDirectory(prefix="llmzoo-") as name:
            folder = Path(name)
            for parcel in parcels:
                write_folder(unpacked(parcel), folder)
            for policy_name, policy in self.learning.items():
                weights.put(policy, stored.load(folder, weights.file_of(policy_name)))
            self.updater.load(folder)
        return {"learner": self.learner.state_dict()}, self._playing()

    @reporting(arrays=2)
    def update(self, told: str, batch: bytes) -> tuple[Report, Bytes, Bytes]:
        """Learn from a batch; returns metrics and credits, the weights that play then, the state.

        ``told``: JSON of the ``step``, which seeds the update, torch's own ``seed``, the seeds of
        the lines that were ``played`` for the batch, and whether to ``keep`` the state; without
        that it is empty.
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
        """All that this rank adds to the state: its policies' weights, and the updater's files."""
        return {}, self._state()

    def _state(self) -> Bytes:
        with TemporaryDirectory(prefix="llmzoo-") as name:
            folder = Path(name)
            for policy_name, policy in self.learning.items():
                own = {n: w.detach() for n, w in weights.changing(policy).items()}
                stored.save(own, folder, weights.file_of(policy_name))
            self.updater.save(folder)
            return packed(read_folder(folder))

    def _playing(self) -> Bytes:
        """The weights that play; rank 0's count."""
        players = self.updater.players()
        by_name = {name: players[self._seats_of(p)[0]] for name, p in self.learning.items()}
        found = weights.playing(self.learning, by_name)
        return found if ranks.rank() == 0 else nothing()

    def _seats_of(self, policy: TransformersPolicy) -> Sequence[str]:
        return [agent for agent, player in self.seats.items() if player is policy]

    def _check_players(self) -> None:
        """Refuse an updater that seats somebody whom other processes would not."""
        elsewhere = self.learner.players(self.seats)
        for policy in self.learning.values():
            for agent in self._seats_of(policy):
                here = self.updater.players()[agent]
                models = [isinstance(p, TransformersPolicy) for p in (here, elsewhere[agent])]
                if models[0] != models[1]:
                    raise ConfigError(
                        f"the updater of {type(self.learner).__name__} seats {here.name!r} as "
                        f"{agent}, and other processes would seat {elsewhere[agent].name!r}: "
                        "override the learner's method players too"
                    )
