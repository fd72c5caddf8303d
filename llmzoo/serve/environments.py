"""The gRPC service of environments: runs the items of its calls in threads, within limits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc

from llmzoo.bounds import check_bounds
from llmzoo.errors import ConfigError
from llmzoo.serve import calls, protobuf_values
from llmzoo.serve.catalogue import Catalogue
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.hosting import MAX_MESSAGE_BYTES, TIME_LIMIT_BOUNDS_S
from llmzoo.serve.operations import Operations, failure_outcome, outcome_from_error
from llmzoo.serve.sessions import EnvSessions
from llmzoo.serve.timeout_pool import TimeoutPool, TooManyAbandonedError
from llmzoo.version import __version__

_CODES = {code.value[0]: code for code in grpc.StatusCode}


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentsConfig:
    """Which environments are hosted, and within which limits.

    ``envs``: ids; None hosts all registered ones. ``env_args``: arguments that the server sets.
    ``allow``: names of arguments that clients may set to any value. ``players``: whether scripted
    players answer clients. ``max_sessions``: environments open at the same time. ``idle_s``:
    seconds after which an unused one is closed. ``step_s`` and ``make_s``: seconds that a step and
    the making of an environment may take. ``workers``: slow steps of one call that run at the same
    time. ``batch_items``: items of a call. ``message_bytes``: the largest reply, as the hosting
    server allows.
    """

    envs: Sequence[str] | None = None
    env_args: Mapping[str, Any] = field(default_factory=dict)
    allow: Sequence[str] = ()
    players: bool = False
    max_sessions: int = 16_384
    idle_s: float = 3600.0
    step_s: float = 60.0
    make_s: float = 600.0
    workers: int = 8
    batch_items: int = 8192
    message_bytes: int = MAX_MESSAGE_BYTES

    def __post_init__(self) -> None:
        check_bounds(
            self, max_sessions="at least 1", workers="at least 1", batch_items="at least 1"
        )
        least, most = TIME_LIMIT_BOUNDS_S
        times = {"idle_s": self.idle_s, "step_s": self.step_s, "make_s": self.make_s}
        for name, seconds in times.items():
            if not least <= seconds <= most:
                raise ConfigError(f"{name} is {least:g} to {most:g} seconds, got {seconds}")


class EnvironmentsService:
    """The environments of a server; a :class:`llmzoo.serve.hosting.Service`."""

    name = "llmzoo.v1.Environments"

    def __init__(self, config: EnvironmentsConfig):
        self.config = config
        self.catalogue = Catalogue(
            config.envs, fixed=config.env_args, allowed=config.allow, max_seconds=config.step_s
        )
        self.sessions = EnvSessions(max_sessions=config.max_sessions, idle_s=config.idle_s)
        self._operations = Operations(self.catalogue, self.sessions, players=config.players)
        self._timeout_pool = TimeoutPool()
        self._room = int(0.95 * config.message_bytes)  # bytes of a reply; headers take some

    def register(self, server: grpc.aio.Server) -> None:
        calls.add_to_server(self, server)

    def close(self) -> None:
        self.sessions.close()

    def ListEnvironments(self, request: pb.ListRequest, context: Any) -> pb.ListReply:
        config = self.config
        reply = pb.ListReply(version=__version__)
        reply.limits.message_bytes = config.message_bytes
        reply.limits.batch_items = config.batch_items
        reply.limits.step_s = config.step_s
        reply.limits.make_s = config.make_s
        reply.limits.workers = config.workers
        reply.limits.idle_s = config.idle_s
        reply.limits.players = config.players
        for id, spec in self.catalogue.specs.items():
            reply.environments.add(
                id=id,
                family=spec.family,
                summary=spec.summary,
                agents=spec.agents,
                terse=protobuf_values.to_map(spec.terse),
                offline=protobuf_values.to_map(spec.offline),
            )
        return reply

    def Describe(self, request: pb.Spec, context: Any) -> pb.Description:
        def work(number: int) -> pb.Description | pb.Outcome:
            try:
                return self._operations.describe(request)
            except Exception as error:
                return outcome_from_error(error)

        def on_timeout(number: int) -> pb.Outcome:
            return failure_outcome(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                f"{request.env} was not made within {self.config.make_s:g} s",
            )

        (description,) = self._run_with_timeouts(
            [0], work, lambda _: self.config.make_s, on_timeout
        )
        if isinstance(description, pb.Outcome):
            _abort(context, description)
        return description

    def Reset(self, request: pb.Item, context: Any) -> pb.Outcome:
        return self._run_single("reset", request, context)

    def Step(self, request: pb.Item, context: Any) -> pb.Outcome:
        return self._run_single("step", request, context)

    def Fork(self, request: pb.Item, context: Any) -> pb.Outcome:
        return self._run_single("fork", request, context)

    def Observe(self, request: pb.Item, context: Any) -> pb.Outcome:
        return self._run_single("look", request, context)

    def Close(self, request: pb.Item, context: Any) -> pb.Outcome:
        return self._run_single("close", request, context)

    def StepBatch(self, request: pb.Batch, context: Any) -> pb.BatchReply:
        items = list(request.items)
        if len(items) > self.config.batch_items:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"a call has at most {self.config.batch_items} items, got {len(items)}",
            )
        for session in request.close:
            self.sessions.drop(session)
        reply = self._run(items, context)
        if reply.ByteSize() > self._room:
            reply = pb.BatchReply(outcomes=self._fit_outcomes(reply.outcomes))
        return reply

    def _run_single(self, what: str, item: pb.Item, context: Any) -> pb.Outcome:
        if item.WhichOneof("what") != what:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"this call takes an item with {what}")
        (outcome,) = self._fit_outcomes(self._run([item], context).outcomes)
        if outcome.HasField("status"):
            _abort(context, outcome)
        return outcome

    def _run(self, items: list[pb.Item], context: Any) -> pb.BatchReply:
        """Carry out all items. Quick ones run one after another; consecutive slow steps of
        different sessions run in parallel."""
        kinds = [(item.WhichOneof("what"), item.session) for item in items]
        # the last item of a session that may have changed it carries the view
        last_with_view = {
            id: number
            for number, (what, id) in enumerate(kinds)
            if what in ("reset", "step") or (what == "look" and items[number].look.view)
        }
        new = {
            n for n, (what, id) in enumerate(kinds) if what == "reset" and id not in self.sessions
        }
        step_s, make_s = self.config.step_s, self.config.make_s
        reply = pb.BatchReply()
        outcomes = [reply.outcomes.add() for _ in items]
        run_item = self._operations.run_item

        def run_one(number: int) -> pb.Outcome:
            what, id = kinds[number]
            outcome = outcomes[number]
            run_item(items[number], what, id, outcome, last_with_view.get(id) == number)
            return outcome

        def limit_s(number: int) -> float:
            return make_s if number in new else step_s

        def on_timeout(number: int) -> pb.Outcome:
            self.sessions.forget(kinds[number][1])
            message = f"this took more than {limit_s(number):g} s, and its session is closed"
            return failure_outcome(grpc.StatusCode.DEADLINE_EXCEEDED, message, lost=True)

        done: list[pb.Outcome] = []
        for in_parallel, numbers in self._group_items(items, kinds):
            if not context.is_active():  # the client is gone
                break
            threads = self.config.workers if in_parallel else 1
            done += self._run_with_timeouts(numbers, run_one, limit_s, on_timeout, threads)
        if all(map(operator.is_, done, outcomes)):
            return reply
        return pb.BatchReply(outcomes=done)  # abandoned steps may still write to the other reply

    def _group_items(
        self, items: Sequence[pb.Item], kinds: Sequence[tuple[str | None, bytes]]
    ) -> list[tuple[bool, Sequence[int]]]:
        """The numbers of the items in order, as groups: (whether they may run in parallel, numbers)."""
        slow = {id for _, id in kinds if self.sessions.is_slow(id)}
        if not slow:
            return [(False, range(len(items)))]
        parts: list[tuple[bool, list[int]]] = []
        stepped: set[bytes] = set()  # in the last part
        for number, (what, id) in enumerate(kinds):
            if what == "fork" and id in slow:
                slow.add(items[number].fork.child)
            parallel = what == "step" and id in slow
            if not parts or parts[-1][0] != parallel or (parallel and id in stepped):
                parts.append((parallel, []))
                stepped = set()
            parts[-1][1].append(number)
            stepped.add(id)
        return list(parts)

    def _fit_outcomes(self, outcomes: Iterable[pb.Outcome]) -> list[pb.Outcome]:
        """Outcomes that fit one message. For those that do not, only what cannot be
        requested again is kept."""
        room = self._room
        fitting = []
        for outcome in outcomes:
            size = outcome.ByteSize()
            if size > room:
                outcome = self._without_view(outcome, size)
                size = outcome.ByteSize()
            fitting.append(outcome)
            room -= size
        return fitting

    def _run_with_timeouts(
        self,
        numbers: Sequence[int],
        work: Callable[[int], Any],
        limit_s: Callable[[int], float],
        on_timeout: Callable[[int], Any],
        threads: int = 1,
    ) -> list[Any]:
        try:
            results = self._timeout_pool.run(
                numbers, work, limit_s=limit_s, on_timeout=on_timeout, threads=threads
            )
        except TooManyAbandonedError as error:
            return [
                failure_outcome(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error)) for _ in numbers
            ]
        return [results[number] for number in numbers]

    def _without_view(self, outcome: pb.Outcome, size: int) -> pb.Outcome:
        if size > self._room:
            return failure_outcome(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"the result of this takes {size:,} bytes, and a message has at most "
                f"{self.config.message_bytes:,}: start the server with a higher --max_message_bytes",
            )
        kept = pb.Outcome(view_left_out=True, paid=outcome.paid)
        if outcome.HasField("status"):
            kept.status.CopyFrom(outcome.status)
        return kept


def _abort(context: Any, outcome: pb.Outcome) -> None:
    """End a call with the status of an outcome."""
    context.abort(_CODES[outcome.status.code], outcome.status.message)
