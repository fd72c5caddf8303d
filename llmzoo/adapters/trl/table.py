"""Which environment is played, and by whom beside the model that TRL trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.adapters.others import Others, seat_others
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.training.collecting import refuse_fallback, style_args


class Table:
    """An environment with the seats that learn, and policies in all others.

    env: an id, or a function without arguments that makes an AEC text environment; ``env_args`` are
        the arguments for an id. Where another player was made for terse prompts the environment
        gives them, unless ``env_args`` say otherwise.
    seats: those that learn; None is all of them.
    others: who plays the remaining seats: a name as in ``llmzoo eval`` (scripted, a model, a run
        folder, an endpoint, a policy server), a policy, or a mapping from seats to either. Nothing
        is loaded for seats that learn.

    Raises :class:`UnknownNameError` for a seat that does not exist, and :class:`ConfigError` for a
    seat that nobody plays, and for a shipped sample in place of a public set.
    """

    def __init__(
        self,
        env: str | Callable[[], AECEnv],
        *,
        seats: Sequence[str] | None,
        others: Others,
        env_args: Mapping[str, Any] | None,
    ):
        given = dict(env_args or {})
        if given and not isinstance(env, str):
            raise ConfigError("env_args are for an id: give them to the function that makes env")
        first = registry.make(env, **given) if isinstance(env, str) else env()
        agents = list(first.possible_agents)
        self.seats = tuple(agents if seats is None else seats)
        for seat in self.seats:
            if seat not in agents:
                raise UnknownNameError("seat", seat, agents)
        if not self.seats:
            raise ConfigError(f"name at least one seat that learns, of {', '.join(agents)}")
        if isinstance(others, Mapping):
            others = {agent: other for agent, other in others.items() if agent not in self.seats}
        self.others = seat_others(others, [agent for agent in agents if agent not in self.seats])
        self.make: Callable[[], AECEnv]
        if isinstance(env, str):
            self.make = partial(
                registry.make, env, **{**style_args(env, self.others.values()), **given}
            )
        else:
            self.make = env
        refuse_fallback(first, str(first))
