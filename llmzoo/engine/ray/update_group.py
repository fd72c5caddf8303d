"""An update worker as the run sees it: its ranks, what it has learned, and how it is replaced."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ray

from llmzoo.engine.ray.calls import MOST_DEATHS, Calls, Lost, answer
from llmzoo.engine.ray.parcels import Bytes
from llmzoo.engine.ray.reports import Report, fault, opened
from llmzoo.errors import WorkerError

_GRACE = 10.0  # seconds in which a rank's failure may turn out to be another's death

Array = tuple[Any, Bytes]  # what came back: its reference in the object store, and a view of it
# done with what all ranks gave: their reports, and every array of every rank
Then = Callable[[list[Report], list[list[Array]]], None]


@dataclass(slots=True, kw_only=True)
class _Work:
    """A call of all ranks. ``arrays``: how many come back beside the report."""

    called: str
    method: str
    args: tuple[Any, ...] = ()
    arrays: int
    then: Then


class UpdateGroup:
    """The ranks that learn together, and what their successors would need.

    ``state``: what every rank saved last; it is kept on this machine, and so are the updates since,
    as they were asked for. If a rank dies all of them are replaced: the new ones take up the state,
    make these updates again, from the same bytes to the same weights, and go on with what is asked.
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
        self._again: deque[_Work] = deque()  # what new ranks do before they go on
        self._asked: deque[_Work] = deque()  # what has been asked for and is not done, in order
        self._deaths = 0  # since the last of these was done
        self._references: list[list[Any]] = []  # of the call that is under way, by rank
        self._reports: dict[int, Report] = {}
        self._begin()

    @property
    def idle(self) -> bool:
        return bool(self.pids) and not self._again and not self._asked

    @property
    def saved(self) -> bool:
        """Whether ``state`` is that of now; before the first update there may be none."""
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
        """Ask for the state of now."""
        self._ask(_Work(called="saving its state", method="state", arrays=1, then=self._keep))

    def load(self, state: Sequence[Bytes]) -> None:
        """Ask that a state be taken up; what was learned or asked for before is forgotten."""
        self.state, self._journal = state, []
        self._drop()
        self._asked.clear()
        self._again.clear()

        def loaded(reports: list[Report], arrays: list[list[Array]]) -> None:
            self.learner_state, self.weights = reports[0]["learner"], arrays[0][0]

        self._ask(self._loading(loaded))

    def _keep(self, reports: list[Report], arrays: list[list[Array]]) -> None:
        self.state, self._journal = [rank[0][1] for rank in arrays], []

    def _loading(self, then: Then) -> _Work:
        parcels = tuple(ray.put(parcel) for parcel in self.state)
        return _Work(called="taking up a state", method="load", args=parcels, arrays=1, then=then)

    def _ask(self, work: _Work) -> None:
        free = self.idle
        self._asked.append(work)
        if free:
            self._go_on()

    def _begin(self) -> None:
        """New ranks: they start, take up the state, and make the updates since then again."""
        self._handles = [self._make(rank) for rank in range(self._ranks)]
        self.pids = []
        self._again = deque([self._loading(_nothing)] if self.state else [])
        self._again.extend(self._journal)
        if self._ranks == 1:
            self._start([{}])
        else:
            first = self._handles[0].meeting_place.remote()
            self._follow("its start", [[first]], self._met)

    def _met(self, reports: list[Report], arrays: list[list[Array]]) -> None:
        """Rank 0 has said where all of them can meet."""
        # the GPUs that a rank is given are its own, and it counts them from 0
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
        """Begin what is next, if anything is."""
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

    def _follow(self, called: str, references: list[list[Any]], then: Then) -> None:
        """Have ``then`` done once all ranks have answered; or replace them if one of them dies."""
        self._references, self._reports = references, {}
        starting = not self.pids
        for rank, own in enumerate(references):
            self._calls.add(
                own[0],
                partial(self._answered, called, rank, then),
                seconds=self._seconds if starting else None,
                late=self._too_late if starting else None,
            )

    def _answered(self, called: str, rank: int, then: Then) -> None:
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
        """What a rank says; raises its error, or :class:`Lost` where another's death is behind it."""
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
        """Have new ranks in the place of all, of which one has died."""
        self.close()
        self._deaths += 1
        if self._deaths >= MOST_DEATHS:
            raise WorkerError(
                f"the {self.name} has died {MOST_DEATHS} times without getting on, the last time at "
                f"{called}: {lost}"
            ) from lost
        self._begin()

    def close(self) -> None:
        """End the ranks."""
        self._drop()
        for handle in self._handles:
            ray.kill(handle)

    def _drop(self) -> None:
        """Nobody waits any more for the call that is under way."""
        for own in self._references:
            self._calls.forget(own[0])

    def _called(self, rank: int) -> str:
        pid = f" (process {self.pids[rank]})" if self.pids else ""
        return f"{self.name}, rank {rank}{pid}" if self._ranks > 1 else f"{self.name}{pid}"

    def _too_late(self) -> None:
        raise WorkerError(
            f"the {self.name} was not ready after {self._seconds:.0f} s: raise start_seconds if it "
            "loads large models; if it took the place of one that died, the cluster may have no "
            "room left"
        )


def _nothing(reports: list[Report], arrays: list[list[Array]]) -> None:
    """Of what is done again, what was done with it before is enough."""
