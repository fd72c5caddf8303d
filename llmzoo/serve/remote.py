"""An environment that a server plays, in PettingZoo's form."""

from __future__ import annotations

import contextlib
import math
import random
import secrets
import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pettingzoo import AECEnv

from llmzoo.envs.base import FastOrderEnforcingWrapper, TextEnv
from llmzoo.errors import (
    SAMPLE_RULE,
    ConfigError,
    FallbackWarning,
    LlmzooError,
    UnknownNameError,
)
from llmzoo.registry import EnvSpec
from llmzoo.rollout.stepping import RemotelyHosted, declared_agents_to_act, step_rewards
from llmzoo.serve import protobuf_values, remote_errors, validation, views
from llmzoo.serve.channel import Address, parse_address
from llmzoo.serve.connection import Connection, PendingBatch, Result, connection_to
from llmzoo.serve.descriptions import Description, Spaces
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.sessions import ID_BYTES
from llmzoo.serve.validation import RemoteError

Key = tuple[str, str]  # what is read beyond a view, and for which agent ("" for none)

_HUMAN_VIEWS = frozenset({"render", "board"})  # for a person, so never prefetched
_ATTEMPTS = 3  # to get an answer that fits into the reply


def spec(address: str) -> EnvSpec:
    """The registry's description of the environment at ``grpc://host:port/id``.

    Raises :class:`ConfigError` for a malformed address, :class:`UnknownNameError` for an id that
    the server does not host, and :class:`llmzoo.serve.channel.RemoteError` if no server answers.
    """
    parsed = parse_address(address)
    connection = connection_to(parsed)
    hosted = connection.find_environment(parsed.name)
    if hosted is None:
        raise UnknownNameError(f"environment at {parsed.server}", parsed.name, connection.ids())
    with validation.translate_parse_errors("arguments"):
        terse = protobuf_values.read_entries(hosted.terse.entries)
        offline = protobuf_values.read_entries(hosted.offline.entries)
    return EnvSpec(
        id=address,
        entry_point=partial(make, address),
        family=validation.to_single_line(hosted.family, 80),
        agents=tuple(validation.check_agents(hosted.agents)),
        summary=validation.to_single_line(hosted.summary),
        terse=terse,
        offline=offline,
    )


def make(address: str, **kwargs: Any) -> AECEnv:
    """The AEC environment at ``grpc://host:port/id``. The server is asked once for each ``kwargs``.

    Raises :class:`ConfigError` for arguments that the server refuses, and
    :class:`llmzoo.serve.channel.RemoteError` if no server answers.
    """
    parsed = parse_address(address)
    connection = connection_to(parsed)
    try:
        spec_message = pb.Spec(env=parsed.name, arguments=protobuf_values.to_map(kwargs))
    except protobuf_values.UntypedError as error:
        raise ConfigError(f"{address}: an argument cannot be sent: {error}") from error
    description = connection.describe(spec_message)
    if description.fallback:
        warnings.warn(
            f"{address}: the server cannot reach its public set: {SAMPLE_RULE}",
            FallbackWarning,
            stacklevel=2,
        )
    return FastOrderEnforcingWrapper(RemoteEnv(parsed, connection, spec_message, description))


def _state_property(field: str) -> Any:
    """A property that reads a field of the present state."""
    return property(lambda env: getattr(env._current_state(), field))


class RemoteEnv(TextEnv, RemotelyHosted):
    """An environment that a server plays.

    ``reset``, ``step`` and :meth:`fork` only join the connection's pending batch. The batch is sent
    when a result is read, so the error of a step is raised by the next read.

    If the server has lost the episode, reads raise
    :class:`llmzoo.serve.remote_errors.SessionLostError` until ``reset`` begins a new one.
    """

    def __init__(
        self,
        address: Address,
        connection: Connection,
        spec_message: pb.Spec,
        description: Description,
    ):
        self._session: bytes | None = None  # None: no session is open
        self._connection = connection
        # TextEnv's bookkeeping is not kept here; the server's environment does it
        self.metadata = description.metadata
        self.render_mode = description.render_mode
        self.possible_agents = list(description.agents)
        self.fallback = description.fallback
        self.last_infos = {}  # views do not have those of agents that have left
        self.address = address
        self._spaces = Spaces(description)
        self._numbers = {name: number for number, name in enumerate(self.possible_agents)}
        self._spec_message = spec_message
        self._view: views.EnvView | None = None  # the present state, if known
        self._sight_cache: dict[Key, Any] = {}  # what else is known of the present state
        self._batch: PendingBatch | None = None  # of the session's last item
        self._batch_has_view = False  # whether the reply to that batch has the present state
        self._outcome = pb.Outcome()  # of the last item
        self._error: Exception | None = None  # for the next read; stays if the episode is lost
        self._companions: list[
            weakref.ref[RemoteEnv]
        ] = []  # the environments whose states came with the same reply

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode with the next call; see :meth:`llmzoo.envs.base.TextEnv.reset`."""
        reset = pb.Reset()
        # with a seed the server can open another session if this one is lost
        if self._session is None or seed is not None:
            reset.spec.CopyFrom(self._spec_message)
        if seed is not None:
            protobuf_values.write(seed, reset.seed)
        if options is not None:
            protobuf_values.write(options, reset.options)
        if self._session is None:
            self._session = self._new_session()
        self._error = None
        self._add(pb.Item(reset=reset))

    def step(self, action: str | None) -> None:
        """Step with the next call. Raises ``TypeError`` for an action that is not text, and the
        error of an earlier step."""
        if not isinstance(action, str | None):
            name = type(action).__name__
            raise TypeError(f"an action is a str, got {name} for {self.agent_selection!r}")
        self._add(pb.Item(step=_steps([action], pb.Step.ONE)))

    def add_steps(self, texts: Sequence[str], way: pb.Step.Way) -> PendingBatch:
        """Add the steps of an act to the pending batch, in one item."""
        return self._add(pb.Item(step=_steps(texts, way)))

    def read_step_rewards(self, way: pb.Step.Way) -> Any:
        """The rewards of the steps of :meth:`add_steps`, as ``step_each`` or ``advance`` returns them.

        Raises what its steps raised.
        """
        self._raise_pending()
        names, messages = self.possible_agents, self._outcome.paid
        with validation.translate_parse_errors("a payment"):
            if not all(math.isfinite(amount) for paid in messages for amount in paid.amounts):
                raise ValueError("amounts that are not finite")
            payments = [
                dict(zip([names[a] for a in paid.agents] or names, paid.amounts, strict=True))
                for paid in messages
            ]
            return [*payments, step_rewards(self)] if way == pb.Step.EACH else payments[0]

    def fork(self) -> RemoteEnv:
        """A session of its own from here on; see :meth:`llmzoo.envs.base.TextEnv.fork`."""
        session = self._require_session()
        copied: RemoteEnv = object.__new__(RemoteEnv)
        copied.__dict__.update(self.__dict__)
        copied._session = self._new_session()
        item = pb.Item(session=session, fork=pb.Fork(child=copied._session))
        # the callback holds this environment, whose session must last until the call
        callback = partial(copied._on_fork_result, self)
        self._batch = copied._batch = self._connection.add(item, callback, after=self._batch)
        copied._batch_has_view = False
        copied._sight_cache = dict(self._sight_cache)
        return copied

    @property
    def host(self) -> Connection:
        return self._connection

    def observation_space(self, agent: str) -> Any:
        return self._spaces.observation[agent]

    def action_space(self, agent: str) -> Any:
        return self._spaces.action[agent]

    agents = _state_property("agents")
    agent_selection = _state_property("selection")
    rewards = _state_property("rewards")
    _cumulative_rewards = _state_property("cumulative_rewards")
    terminations = _state_property("terminations")
    truncations = _state_property("truncations")
    infos = _state_property("infos")

    def agents_to_act(self) -> list[str]:
        return declared_agents_to_act(self)

    def observe(self, agent: str) -> Any:
        observations = self._current_state().observations
        if agent in observations:
            return observations[agent]
        return self._read_remote("observe", agent)

    def state(self) -> Any:
        return self._read_remote("state")

    def board(self) -> str:
        return str(self._read_remote("board"))

    def render(self) -> str | None:
        picture: str | None = None if self.render_mode is None else self._read_remote("render")
        return picture

    def expert(self, agent: str) -> str:
        return str(self._read_remote("expert", agent))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """The answer of a sloppy player. The server uses ``rng`` and returns its new state."""
        self._current_state()
        look = pb.Look(noisy_expert=self._numbers[agent])
        protobuf_values.write_rng_state(rng, look.chance)
        sight = self._look(look, lambda env: None)
        with validation.translate_parse_errors("an answer"):
            rng.setstate(protobuf_values.read_rng_state(sight.chance).getstate())
            return str(protobuf_values.read(sight.noisy_expert))

    def close(self) -> None:
        """Close the session with the next call."""
        if self._session is not None:
            self._connection.drop(self._session)
            self._session = None

    def __del__(self) -> None:
        self.close()

    def __str__(self) -> str:
        return validation.to_single_line(str(self.metadata.get("name", self.address)))

    def _new_session(self) -> bytes:
        session = secrets.token_bytes(ID_BYTES)
        self._connection.add_session(session)
        return session

    def _require_session(self) -> bytes:
        """The open session. Raises a pending error first."""
        self._raise_pending()
        if self._session is None:
            raise AttributeError(f"{self.address} has no episode yet: reset it")
        return self._session

    def _add(self, item: pb.Item) -> PendingBatch:
        """Add an item for this session to the pending batch."""
        item.session = self._require_session()
        if not item.HasField("look"):
            self._view = None
            self._sight_cache = {}
        batch = self._connection.add(item, self._on_result, after=self._batch)
        batch.envs.append(weakref.ref(self))
        self._batch, self._batch_has_view = batch, True
        return batch

    def _on_result(self, result: Result) -> None:
        """Take the result of an item of :meth:`_add`."""
        assert self._batch is not None
        if isinstance(result, LlmzooError):
            refused = isinstance(result, RemoteError) and result.code in remote_errors.NOT_BEGUN
            self._record_error(result, lost=not refused)
            return
        self._outcome = result
        if result.HasField("status"):
            self._record_error(
                remote_errors.error_from_status(result.status, self.address),
                lost=result.status.lost,
            )
        elif result.HasField("view"):
            try:
                with validation.translate_parse_errors("a view"):
                    self._view = views.read_view(result.view, self.possible_agents)
            except RemoteError as error:
                self._record_error(error, lost=True)
            else:
                self._companions = self._batch.envs
        elif result.view_left_out:
            self._companions = self._batch.envs

    def _on_fork_result(self, parent: RemoteEnv, result: Result) -> None:
        """Take the result of the item that forked this environment from ``parent``."""
        if isinstance(result, LlmzooError) or result.HasField("status"):
            self._on_result(result)

    def _current_state(self) -> views.EnvView:
        """The present state. Asks for it if it is not known."""
        if self._view is None and self._batch_has_view:
            assert self._batch is not None
            self._connection.send(self._batch)
        self._raise_pending()
        if self._view is None:
            self._look(pb.Look(view=True), RemoteEnv._request_omitted_view)
        if self._view is None:
            raise validation.invalid_reply_error("sent no view")
        return self._view

    def _read_remote(self, what: str, agent: str = "") -> Any:
        """Read what is not part of a view. The other environments of the last call are likely to be
        asked the same next, so the same call reads it from them too."""
        key = (what, agent)
        self._current_state()
        if key not in self._sight_cache:
            prefetch = partial(RemoteEnv._prefetch, key=key)
            sight = self._look(_make_look(key, self._numbers), prefetch)
            with validation.translate_parse_errors("a sight"):
                self._sight_cache[key] = _read_sight(sight, key)
        return self._sight_cache[key]

    def _look(self, look: pb.Look, prefetch: Callable[[RemoteEnv], None]) -> pb.Sight:
        """Make a call with this look, and with those that ``prefetch`` adds for each companion."""
        for _ in range(_ATTEMPTS):
            batch = self._add(pb.Item(look=look))
            for env in {env for env in (ref() for ref in self._companions) if env is not None}:
                if env is not self:
                    prefetch(env)
            self._connection.send(batch)
            self._raise_pending()
            if not self._outcome.view_left_out:
                return self._outcome.sight
        raise validation.invalid_reply_error("found no room for the answer to a single request")

    def _request_omitted_view(self) -> None:
        """Ask for the state if the last answer had no room for it."""
        is_pending = self._batch is not None and not self._batch.done.is_set()
        if (
            self._outcome.view_left_out
            and self._view is None
            and self._error is None
            and not is_pending
        ):
            self._add(pb.Item(look=pb.Look(view=True)))

    def _prefetch(self, key: Key) -> None:
        """Add a look whose result may be needed next. Another thread may be using this environment."""
        seen, session, sights = self._view, self._session, self._sight_cache
        what, agent = key
        if seen is None or session is None or key in sights or what in _HUMAN_VIEWS:
            return
        if what == "expert" and not self._is_to_act(agent, seen):
            return
        item = pb.Item(session=session, look=_make_look(key, self._numbers))
        self._connection.add(item, partial(_store_sight, sights, key), after=None)

    def _is_to_act(self, agent: str, seen: views.EnvView) -> bool:
        """Whether it is the agent's turn in this state."""
        if seen.terminations.get(agent, True) or seen.truncations.get(agent, True):
            return False
        return agent == seen.selection or bool(self.metadata.get("is_parallelizable", False))

    def _record_error(self, error: Exception, *, lost: bool) -> None:
        self._view = None
        if self._error is None:
            self._error = error
        if lost and self._session is not None:
            self._error = error
            self._connection.drop(self._session)  # it may exist, if only the answer was lost
            self._session = None

    def _raise_pending(self) -> None:
        """Raise a pending error: once, or every time if the episode is lost."""
        error = self._error
        if error is not None:
            if self._session is not None:
                self._error = None
            raise error.with_traceback(None)


def _store_sight(sights: dict[Key, Any], key: Key, result: Result) -> None:
    """Store the result of a prefetched look. If it failed, whoever needs it asks again.

    ``sights``: the cache of the state that was looked at. An environment that has been stepped since has
    a new cache.
    """
    if isinstance(result, pb.Outcome) and result.HasField("sight"):
        with contextlib.suppress(LookupError, ValueError):
            sights[key] = _read_sight(result.sight, key)


def _make_look(key: Key, numbers: dict[str, int]) -> pb.Look:
    what, agent = key
    if what == "observe":
        return pb.Look(observe=[numbers[agent]])
    if what == "expert":
        return pb.Look(expert=[numbers[agent]])
    return pb.Look(state=what == "state", board=what == "board", render=what == "render")


def _read_sight(sight: pb.Sight, key: Key) -> Any:
    what, _ = key
    if what == "observe":
        return views.read_observation(sight.observations[0])
    if what == "expert":
        return protobuf_values.read(sight.experts[0])
    return protobuf_values.read(
        {"state": sight.state, "board": sight.board, "render": sight.render}[what]
    )


def _steps(actions: Sequence[str | None], way: pb.Step.Way) -> pb.Step:
    try:
        return pb.Step(texts=actions, way=way)  # type: ignore[arg-type]
    except (TypeError, UnicodeEncodeError):  # None, or a lone surrogate
        step = pb.Step(way=way)
        for action in actions:
            protobuf_values.write(action, step.actions.add())
        return step
