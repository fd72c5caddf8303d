"""Episodes played up to a decision, and K branches from there on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pettingzoo import AECEnv

from llmzoo.adapters.trl.table import Table
from llmzoo.errors import ConfigError
from llmzoo.policies.base import Policy, Request
from llmzoo.records import Decision, Episode
from llmzoo.rollout.episodes import play_episode
from llmzoo.rollout.scheduler import Ask, Rollout, RolloutKey, run, slow_steps
from llmzoo.rollout.stepping import Act, deciders, fork, is_over, skip_dead, step_each


@dataclass(frozen=True, slots=True)
class Place:
    """A state of an episode, and a seat that decides there, for the ``turn``-th time, from 0."""

    env: AECEnv
    agent: str
    turn: int


@dataclass(frozen=True, slots=True)
class Row:
    """What a row of the dataset asks for."""

    seed: int
    decision: int


@dataclass(frozen=True, slots=True)
class Branch:
    """What was played from a place on; the decision there is its agent's first in ``episode``."""

    place: Place
    episode: Episode

    @property
    def decision(self) -> tuple[int, Decision]:
        """The decision, and its number in the episode."""
        decisions = enumerate(self.episode.decisions)
        return next((i, d) for i, d in decisions if d.agent == self.place.agent)


def branch(
    table: Table, policy: Policy, rows: Sequence[Row], k: int, call: tuple[int, ...] = ()
) -> list[Branch]:
    """K branches for each row, group after group; ``policy`` plays the seats that learn.

    ``call``: keys the chance of this call; the same rows and policy play alike under one name.
    Raises :class:`ConfigError` for an episode in which no seat that learns has a decision.
    """
    seats = {**dict.fromkeys(table.seats, policy), **table.others}
    places = _places(table, seats, rows, call)
    envs = [fork(place.env) for place in places for _ in range(k)]
    keys = [(*call, row.seed, n, i) for n, row in enumerate(rows) for i in range(k)]
    lines = [play_episode(env, row.seed) for env, row in zip(envs, _each(rows, k), strict=True)]
    played = run(lines, seats, keys=keys, early=slow_steps(envs))
    return [Branch(place, episode) for place, episode in zip(_each(places, k), played, strict=True)]


def _places(
    table: Table, seats: Mapping[str, Policy], rows: Sequence[Row], call: tuple[int, ...]
) -> list[Place]:
    """Where each group branches; groups of one seed branch off one line of play."""
    furthest: dict[int, int] = {}
    for row in rows:
        furthest[row.seed] = max(row.decision, furthest.get(row.seed, 0))
    envs = {seed: table.make() for seed in furthest}
    for seed, env in envs.items():
        env.reset(seed=seed)
    lines = [trunk(env, table.seats, seed, furthest[seed]) for seed, env in envs.items()]
    keys: list[RolloutKey] = [(*call, seed, "trunk") for seed in envs]
    found = run(lines, seats, keys=keys, early=slow_steps(envs.values()))
    along: dict[int, list[Place]] = dict(zip(envs, found, strict=True))
    for seed, places in along.items():
        if not places:
            who = ", ".join(table.seats)
            raise ConfigError(f"the episode of seed {seed} has no decision of {who}")
    return [along[row.seed][row.decision % len(along[row.seed])] for row in rows]


def _each(items: Sequence[Any], k: int) -> list[Any]:
    return [item for item in items for _ in range(k)]


def trunk(env: AECEnv, seats: Sequence[str], seed: int, last: int) -> Rollout:
    """A line of play up to decision ``last`` of ``seats``; returns the :class:`Place` of each."""
    places: list[Place] = []
    skip_dead(env)
    while not is_over(env):
        agents = deciders(env)
        state = fork(env)
        for agent in agents:
            if agent in seats:
                turn = sum(place.agent == agent for place in places)
                places.append(Place(state, agent, turn))
        if len(places) > last:
            break
        answers = yield [
            Ask(Request(agent=a, observation=env.observe(a) or "", env=env, seed=seed))
            for a in agents
        ]
        yield Act(env, tuple(completion.text for (completion,) in answers), step_each)
        skip_dead(env)
    return places
