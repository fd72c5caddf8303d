"""An AEC text environment as a ``gymnasium.Env``: one seat acts, policies play the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.adapters.others import Others, seat_others
from llmzoo.adapters.seat import Arrival, Seat
from llmzoo.errors import ConfigError
from llmzoo.policies.base import Policy
from llmzoo.rollout.scheduler import Rollout, run, slow_steps


def single_seat(
    env: str | AECEnv | Callable[..., AECEnv],
    *,
    seat: str | None = None,
    others: Others = None,
    seed: int | None = None,
    **env_args: Any,
) -> SingleSeat:
    """The seat ``seat`` of an AEC text environment as a ``gymnasium.Env``.

    ``env``: an id, an environment, or a function that makes one; an id and a function are given
    ``env_args``. ``others``: who plays the other seats, see
    :func:`llmzoo.adapters.others.seat_others`. ``seed``: that of the first episode where
    ``reset`` is given none.

    Raises :class:`ConfigError` where a seat has no player.
    """
    made = Seat(aec_form(env, **env_args), seat)
    return SingleSeat(made, seat_others(others, made.others), seed=seed)


def aec_form(env: str | AECEnv | Callable[..., AECEnv], **env_args: Any) -> AECEnv:
    """The AEC environment that an id, a function or an environment stands for."""
    if isinstance(env, str):
        return registry.make(env, **env_args)
    if not isinstance(env, AECEnv):
        return env(**env_args)
    if env_args:
        raise ConfigError(f"{env} is made already: {', '.join(env_args)} came too late")
    return env


class SingleSeat(gymnasium.Env[str, str]):
    """One seat of an AEC environment; ``policies`` play the others.

    ``reset`` returns what the seat reads at its first turn. ``step`` returns everything that it is
    paid up to its next turn, or to its end; the first one also what it was paid before its first
    answer. So the rewards of an episode sum to what the AEC environment pays the seat. ``info``
    is the seat's own: ``reward_parts`` that sum to the reward, ``error`` for what was wrong with
    the answer, and ``success`` at the end.

    A seed fixes the episode, the other seats' chance included, and those that follow without one.
    Where the others end an episode before the seat's first turn, ``reset`` returns its end with
    ``info["over"]`` and the next ``step`` pays what is due, whatever it is given.
    """

    def __init__(self, seat: Seat, policies: Mapping[str, Policy], *, seed: int | None = None):
        env = seat.env
        self.seat = seat
        self.policies = policies
        # Gymnasium asks for frames a second where anything is drawn; a board changes once a turn
        self.metadata = {"render_modes": [], "render_fps": 1, **env.metadata}
        try:
            self.render_mode = env.unwrapped.render_mode
        except AttributeError:  # PettingZoo does not ask it of an environment
            self.render_mode = None
        self.observation_space = env.observation_space(seat.agent)
        self.action_space = env.action_space(seat.agent)
        self._first_seed = seed
        self._playing = False

    # arguments may be given by position too, as GEM's wrappers do
    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode; ``options`` go to the environment (``{"task": i}`` plays task i)."""
        arrival = self._run(self.beginning(seed, options))
        return arrival.observation, arrival.info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answer; raises ``gymnasium.error.ResetNeeded`` where no episode is going on."""
        return tuple(self._run(self.acting(action)))  # type: ignore[return-value]

    def beginning(self, seed: int | None, options: dict[str, Any] | None) -> Rollout:
        """:meth:`reset` as a line of play, which returns an :class:`Arrival`."""
        if seed is None:
            seed, self._first_seed = self._first_seed, None
        super().reset(seed=seed)
        chance = int(self.np_random.integers(2**31)) if seed is None else int(seed)
        self._playing = False
        arrival: Arrival = yield from self.seat.begin(seed, options, chance)
        self._playing = True
        if arrival.over:
            return arrival._replace(info={**arrival.info, "over": True})
        return arrival

    def acting(self, action: str) -> Rollout:
        """:meth:`step` as a line of play, which returns an :class:`Arrival`."""
        if not self._playing:
            raise ResetNeeded("no episode is going on: call reset() before step()")
        arrival: Arrival = yield from self.seat.act(action)
        self._playing = not arrival.over
        return arrival

    def _run(self, line: Rollout) -> Arrival:
        arrival: Arrival = run_lines([line], [self])[0]
        return arrival

    def render(self) -> Any:
        """What the environment draws."""
        return self.seat.env.render()

    def close(self) -> None:
        self.seat.env.close()

    def sample_random_action(self) -> str:
        """A short random text; GEM's environments have this method beside Gymnasium's."""
        return self.action_space.sample()


def run_lines(lines: list[Rollout], envs: list[SingleSeat]) -> list[Arrival]:
    """Play these lines of ``envs``, whose policies are the same, in calls for all who wait."""
    early = slow_steps(env.seat.env for env in envs)
    found: list[Arrival] = run(lines, envs[0].policies, early=early)
    return found
