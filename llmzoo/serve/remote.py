"""An environment that a server plays, in PettingZoo's form."""

from __future__ import annotations

import math
import random
import secrets
import threading
import warnings
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any

from pettingzoo import AECEnv

from llmzoo.envs.base import InOrder, TextEnv
from llmzoo.errors import ConfigError, FallbackWarning, LlmzooError, UnknownNameError
from llmzoo.registry import EnvSpec
from llmzoo.rollout.stepping import RemotelyHosted, paid_now
from llmzoo.serve import complaints, trust, values, views
from llmzoo.serve.channel import Address, parse
from llmzoo.serve.connection import Connection, connection_to
from llmzoo.serve.descriptions import Description, Spaces
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.noted import Noted
from llmzoo.serve.sessions import ID_BYTES
from llmzoo.serve.sights import ONE_BY_ONE, Key, Onlooker, look_at, seen_in
from llmzoo.serve.trust import RemoteError

Company = list["weakref.ref[RemoteEnv]"]  # environments that took part in the same call


def spec(address: str) -> EnvSpec:
    """The environment at ``grpc://host:port/id``, as the registry describes one.

    Raises :class:`ConfigError` for what is no address, :class:`UnknownNameError` for an id that is
    not hosted there, and :class:`llmzoo.serve.channel.RemoteError` where no server answers.
    """
    where = parse(address)
    connection = connection_to(where)
    hosted = connection.hosted(where.name)
    if hosted is None:
        raise UnknownNameError(f"environment at {where.server}", where.name, connection.ids())
    with trust.understood("arguments"):
        terse = values.read_entries(hosted.terse.entries)
        offline = values.read_entries(hosted.offline.entries)
    return EnvSpec(
        id=address,
        entry_point=partial(make, address),
        family=trust.line(hosted.family, 80),
        agents=tuple(trust.agents(hosted.agents)),
        summary=trust.line(hosted.summary),
        terse=terse,
        offline=offline,
    )


def make(address: str, **kwargs: Any) -> AECEnv:
    """The AEC environment at ``grpc://host:port/id``. The server is asked once for each ``kwargs``.

    Raises :class:`ConfigError` for arguments that the server refuses, and
    :class:`llmzoo.serve.channel.RemoteError` where no server answers.
    """
    where = parse(address)
    connection = connection_to(where)
    try:
        asked = pb.Spec(env=where.name, arguments=values.as_map(kwargs))
    except values.UntypedError as error:
        raise ConfigError(f"{address}: an argument cannot be sent: {error}") from error
    description = connection.described(asked)
    if description.fallback:
        warnings.warn(
            f"{address}: its public set is out of the server's reach, and its place is taken by a "
            "small sample of other problems; numbers from it do not compare with anybody's. Say "
            "source='sample' if that is meant",
            FallbackWarning,
            stacklevel=2,
        )
    return InOrder(RemoteEnv(where, connection, asked, description))


class RemoteEnv(TextEnv, RemotelyHosted):
    """An environment that a server plays.

    ``reset``, ``step`` and :meth:`fork` are noted, and sent with those of all other environments of
    the server when what came of them is read. So an error of a step is raised by the next read.

    Where the server has lost the episode, reads raise
    :class:`llmzoo.serve.complaints.SessionLostError`; ``reset`` begins a new one.
    """

    def __init__(
        self, address: Address, connection: Connection, asked: pb.Spec, description: Description
    ):
        self._session: bytes | None = None  # none is open
        self._connection = connection
        # nothing of TextEnv's own bookkeeping is kept here: the server's environment does that
        self.metadata = description.metadata
        self.render_mode = description.render_mode
        self.possible_agents = list(description.agents)
        self.fallback = description.fallback
        self.address = address
        self._spaces = Spaces(description)
        self._places = {name: place for place, name in enumerate(self.possible_agents)}
        self._asked = asked
        self._now: views.Seen | None = None  # the present state, where it is known
        self._seen: views.Seen | None = None  # the last one that was
        self._sights: dict[Key, Any] = {}  # what else is known of the present state
        self._waiting: Noted | None = None  # the call that will tell what the present state is
        self._latest: threading.Event | None = (
            None  # set when the last call for this session is over
        )
        self._error: Exception | None = None  # for the next who reads; stays where all is lost
        self._company: Company = []  # of the last call

    # What is noted

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Note the start of an episode; see :meth:`llmzoo.envs.base.TextEnv.reset`."""
        reset = pb.Reset()
        # with a seed all is said, and the server may open another session where this one is lost
        if self._session is None or seed is not None:
            reset.spec.CopyFrom(self._asked)
        if seed is not None:
            values.write(seed, reset.seed)
        if options is not None:
            values.write(options, reset.options)
        if self._session is None:
            self._session = secrets.token_bytes(ID_BYTES)
            self._connection.opened(self._session)
        self._error = None
        self._note(pb.Item(reset=reset))

    def step(self, action: str | None) -> None:
        """Note a step. Raises ``TypeError`` for what is no text, and what an earlier step raised."""
        if not isinstance(action, str | None):
            name = type(action).__name__
            raise TypeError(f"an action is a str, got {name} for {self.agent_selection!r}")
        self._note(pb.Item(step=_steps([action], pb.Step.ONE)))

    def note_act(self, texts: Sequence[str], way: pb.Step.Way) -> tuple[Noted, int]:
        """Note the steps of an act in one item."""
        return self._note(pb.Item(step=_steps(texts, way)))

    def paid(self, outcome: pb.Outcome, way: pb.Step.Way) -> Any:
        """What an act paid that :meth:`note_act` noted, as ``step_each`` or ``advance`` returns it.

        Raises what its steps raised.
        """
        self._raise()
        names = self.possible_agents
        with trust.understood("a payment"):
            if not all(math.isfinite(amount) for paid in outcome.paid for amount in paid.amounts):
                raise ValueError("amounts that are not finite")
            found = [
                dict(zip([names[a] for a in paid.agents] or names, paid.amounts, strict=True))
                for paid in outcome.paid
            ]
            return [*found, paid_now(self)] if way == pb.Step.EACH else found[0]

    def fork(self) -> RemoteEnv:
        """A session of its own from where this one stands; see :meth:`llmzoo.envs.base.TextEnv.fork`."""
        session = self._opened()
        twin: RemoteEnv = object.__new__(RemoteEnv)
        twin.__dict__.update(self.__dict__)
        twin._session = secrets.token_bytes(ID_BYTES)
        self._connection.opened(twin._session)
        item = pb.Item(session=session, fork=pb.Fork(child=twin._session))
        noted, _ = self._connection.note(twin, item, after=self._latest, keep=self)
        self._latest = twin._latest = noted.done
        twin._waiting = None  # what this one waits for will not tell of the twin
        twin._sights = dict(self._sights)
        return twin

    # What is read

    @property
    def host(self) -> Connection:
        return self._connection

    def observation_space(self, agent: str) -> Any:
        return self._spaces.observation[agent]

    def action_space(self, agent: str) -> Any:
        return self._spaces.action[agent]

    @property
    def agents(self) -> list[str]:  # type: ignore[override]
        return self._known().agents

    @property
    def agent_selection(self) -> str:  # type: ignore[override]
        return self._known().selection

    @property
    def rewards(self) -> dict[str, float]:  # type: ignore[override]
        return self._known().rewards

    @property
    def _cumulative_rewards(self) -> dict[str, float]:  # type: ignore[override]
        return self._known().cumulative_rewards

    @property
    def terminations(self) -> dict[str, bool]:  # type: ignore[override]
        return self._known().terminations

    @property
    def truncations(self) -> dict[str, bool]:  # type: ignore[override]
        return self._known().truncations

    @property
    def infos(self) -> dict[str, dict[str, Any]]:  # type: ignore[override]
        return self._known().infos

    def observe(self, agent: str) -> Any:
        observations = self._known().observations
        if agent in observations:
            return observations[agent]
        return self._looked(("observe", agent))

    def state(self) -> Any:
        return self._looked(("state", ""))

    def board(self) -> str:
        return str(self._looked(("board", "")))

    def render(self) -> str | None:
        if self.render_mode is None:
            return None
        found: str | None = self._looked(("render", ""))
        return found

    def expert(self, agent: str) -> str:
        return str(self._looked(("expert", agent)))

    def amateur(self, agent: str, rng: random.Random) -> str:
        """The answer of a sloppy player; ``rng`` goes there and comes back as it is left."""
        self._known()
        look = pb.Look(amateur=self._places[agent])
        values.write_chance(rng, look.chance)
        sight = self._look(look)
        with trust.understood("an answer"):
            rng.setstate(values.read_chance(sight.chance).getstate())
            return str(values.read(sight.amateur))

    def close(self) -> None:
        """Have the session closed, with the next call."""
        if self._session is not None:
            self._connection.drop(self._session)
            self._session = None

    def __del__(self) -> None:
        self.close()

    def __str__(self) -> str:
        return trust.line(str(self.metadata.get("name", self.address)))

    # What calls bring

    def take(self, noted: Noted, number: int, outcome: pb.Outcome) -> bool:
        """See :class:`llmzoo.serve.connection.Owner`."""
        if self._waiting is noted:
            self._waiting = None
        if outcome.HasField("status"):
            self._fail(complaints.of(outcome.status, self.address), lost=outcome.status.lost)
        elif outcome.HasField("view"):
            try:
                with trust.understood("a view"):
                    seen = views.read(outcome.view, self._seen, self.possible_agents)
            except RemoteError as error:
                self._fail(error, lost=True)
            else:
                self._now = self._seen = seen
                self._company = noted.company
        elif outcome.view_left_out:
            return True
        elif not noted.message.items[number].HasField("fork"):
            self._now = self._seen  # nothing has changed
        return False

    def lose(self, noted: Noted, error: LlmzooError, *, refused: bool) -> None:
        """See :class:`llmzoo.serve.connection.Owner`."""
        if self._waiting is noted:
            self._waiting = None
        self._fail(error, lost=not refused)

    def ask_again(self) -> Noted:
        """See :class:`llmzoo.serve.connection.Owner`."""
        return self._note(pb.Item(look=pb.Look()), changes=False)[0]

    def _opened(self) -> bytes:
        """The session that is open; raises what is to be told first."""
        self._raise()
        if self._session is None:
            raise AttributeError(f"{self.address} has no episode yet: reset it")
        return self._session

    def _note(self, item: pb.Item, *, changes: bool = True) -> tuple[Noted, int]:
        """Put an item for this session into the next call."""
        item.session = self._opened()
        item.seen = 0 if self._seen is None else self._seen.number
        if changes:
            self._now = None
            self._sights = {}
        noted, number = self._connection.note(self, item, after=self._latest)
        noted.company.append(weakref.ref(self))
        self._waiting = noted
        self._latest = noted.done
        return noted, number

    def _known(self) -> views.Seen:
        """The present state; asks for it where it is not known."""
        if self._now is not None:
            return self._now
        if self._waiting is not None:
            self._connection.send(self._waiting)
        self._raise()
        if self._now is None:
            self._connection.send(self.ask_again())
            self._raise()
        assert self._now is not None
        return self._now

    def _looked(self, key: Key) -> Any:
        """What is not part of a view. The environments of the last call are likely to be asked for
        the same next, so they are looked at in the same call."""
        self._known()
        if key not in self._sights:
            for env in {found for found in (ref() for ref in self._company) if found is not None}:
                if env is not self:
                    env._look_ahead(key)
            sight = self._look(look_at(key, self._places))
            with trust.understood("a sight"):
                self._sights[key] = seen_in(sight, key)
        return self._sights[key]

    def _look(self, look: pb.Look) -> pb.Sight:
        for _ in range(3):
            noted, number = self._note(pb.Item(look=look), changes=False)
            self._connection.send(noted)
            self._raise()
            if not noted.outcomes[number].view_left_out:
                return noted.outcomes[number].sight
        raise trust.odd("finds no room for what it was asked for alone")

    def _look_ahead(self, key: Key) -> None:
        """Note a look whose outcome may be of use. Another thread may be using this environment."""
        seen, session, sights = self._now, self._session, self._sights
        if seen is None or session is None or key in sights:
            return
        what, agent = key
        if what in ONE_BY_ONE or (what == "expert" and not self._chooses(agent, seen)):
            return
        item = pb.Item(session=session, seen=seen.number, look=look_at(key, self._places))
        self._connection.note(Onlooker(sights, key), item, after=None)  # it can do no harm

    def _chooses(self, agent: str, seen: views.Seen) -> bool:
        """Whether an agent may be asked for an answer at this state."""
        if seen.terminations.get(agent, True) or seen.truncations.get(agent, True):
            return False
        return agent == seen.selection or bool(self.metadata.get("is_parallelizable", False))

    def _fail(self, error: Exception, *, lost: bool) -> None:
        self._now = None
        if self._error is None:
            self._error = error
        if lost and self._session is not None:
            self._error = error
            self._connection.drop(self._session)  # it may be there, if an answer did not get here
            self._session = None

    def _raise(self) -> None:
        """Tell what went wrong; once, or as long as the episode is lost."""
        error = self._error
        if error is not None:
            if self._session is not None:
                self._error = None
            raise error.with_traceback(None)


def _steps(actions: Sequence[str | None], way: pb.Step.Way) -> pb.Step:
    try:
        return pb.Step(texts=actions, way=way)  # type: ignore[arg-type]
    except (TypeError, UnicodeEncodeError):  # None, or a lone surrogate
        step = pb.Step(way=way)
        for action in actions:
            values.write(action, step.actions.add())
        return step
