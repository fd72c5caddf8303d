"""A tournament of policies: every pair plays the same deals in both orders, and all are rated.

    config.json                  the settings of the games
    games/FIRST/SECOND/          the games in which FIRST plays the first agent: a folder of episodes
    league.json                  ratings, results of the pairs, notes; once all have played

The games of a pair depend on the two players and the seeds only. They are kept as they end, in a folder like that of an
evaluation (:mod:`llmzoo.evaluation.episode_folder`), and a league that was killed goes on from them to the same
files. Players who are added later play only games that are not there yet.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pettingzoo import AECEnv

from llmzoo import files
from llmzoo.distributed import ranks
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.evaluation.collect import AT_ONCE, Playable, in_parts, made_env, named_player
from llmzoo.evaluation.entrants import AT_MOST, Entrant, entrants, expanded
from llmzoo.evaluation.episode_folder import RESULT, opened
from llmzoo.evaluation.evaluate import is_billed
from llmzoo.evaluation.league_games import Games
from llmzoo.evaluation.league_summary import summed_up
from llmzoo.evaluation.standings import League
from llmzoo.policies import run_models
from llmzoo.policies.base import Policy, policies_by_agent
from llmzoo.records import Episode
from llmzoo.runs import run_folder

LEAGUE = "league.json"


def league(
    env: str | Callable[[], AECEnv],
    players: Sequence[str] | Mapping[str, Playable],
    *,
    out: str | Path,
    deals: int = 100,
    split: str = "test",
    seed: int = 0,
    greedy: bool = False,
    env_args: Mapping[str, Any] | None = None,
    snapshots: int = AT_MOST,
    concurrency: int = AT_ONCE,
    ended: Callable[[], object] = lambda: None,
    **settings: Any,
) -> League:
    """Let all pairs of players play ``deals`` deals in both orders, and rate the players.

    ``env``: an id, or a function that makes an AEC environment; it has two agents. ``players``: names, as
    :func:`llmzoo.evaluation.entrants.expanded` reads them, or a mapping from names to players as those of
    :func:`llmzoo.evaluate`. ``out``: the folder of the league; the same call again goes on there. Deal i
    is task i of the split, with seed ``seed + i``, so both orders and all pairs are dealt the same. ``snapshots``: the most
    checkpoints and copies of one run. ``settings``: sampling, chat, device and trust_remote_code of
    :func:`llmzoo.runs.players.players`. ``ended`` is called after each game.

    At most two players are in memory at a time. Raises :class:`ConfigError` for an environment that has not two
    agents and for players that cannot be had, and :class:`CheckpointError` for a folder with another league.
    """
    if ranks.launched() > 1:
        raise ConfigError("a league is played in one process")
    if deals < 2:
        raise ConfigError(f"deals must be at least 2, got {deals}")
    agents = two_agents(env, {**(env_args or {}), "split": split})
    if isinstance(players, Mapping):
        present = [_given(name, player, env, agents, seed) for name, player in players.items()]
        if len(present) < 2 or settings:
            wrong = f"{', '.join(settings)} are for names" if settings else f"got {len(present)}"
            raise ConfigError(f"players is a list of names or a mapping of at least two: {wrong}")
    else:
        present = entrants(expanded(players, snapshots), agents, seed=seed, **settings)
    out = Path(out)
    if run_models.is_run(out):
        raise ConfigError(f"{out} is the folder of a run: choose another one, such as {out}/league")
    played: dict[str, Any] = {"split": split, "seed": seed, "greedy": greedy}
    played |= {"env_args": dict(env_args or {}), "concurrency": concurrency}
    config = {"env": str(env), "deals": deals, **played, **settings}
    two = _AtMostTwo(agents)
    results: dict[tuple[int, int], Games] = {}
    with run_folder.locked(out, resume=False):
        if (out / "config.json").exists():
            _check(out, config, "choose another folder")
        else:
            run_folder.prepare(out, config, resume=False)
        for numbers in in_order(len(present)):
            for i, j in (numbers, numbers[::-1]):
                pair = (present[i], present[j])
                folder = out / "games" / _file_name(pair[0].name) / _file_name(pair[1].name)
                play = partial(in_parts, env, tasks=deals, **played)
                marked = {**config, "players": [entrant.mark for entrant in pair]}
                results[i, j] = _games(folder, marked, partial(two.policies_of, *pair), play, ended)
        result = summed_up(present, agents, results, env=str(env), seed=seed, split=split)
        files.write(out / LEAGUE, json.dumps(result.to_dict(), indent=2) + "\n")
    return result


def two_agents(env: str | Callable[[], AECEnv], args: Mapping[str, Any]) -> list[str]:
    """The agents of an environment; raises :class:`ConfigError` unless there are two."""
    made = made_env(env, args)
    agents = list(made.possible_agents)
    if len(agents) != 2:
        raise ConfigError(
            f"a league is for two agents, and {made} has {len(agents)} ({', '.join(agents)}): compare "
            "policies there with llmzoo eval and llmzoo compare"
        )
    return agents


def in_order(count: int) -> Iterator[tuple[int, int]]:
    """All pairs of ``count`` players. Each shares a player with the one before, so that one is loaded, not two."""
    for i in range(count - 1):
        others = range(i + 1, count)
        for j in others if i % 2 == 0 else reversed(others):
            yield i, j


class _AtMostTwo:
    """The policies of the two players of a pair; others are dropped."""

    def __init__(self, agents: Sequence[str]):
        self._agents = agents
        self._there: dict[str, Mapping[str, Policy]] = {}

    def policies_of(self, first: Entrant, second: Entrant) -> dict[str, Policy]:
        """The policy of each player, by agent."""
        pair = {first.name: first, second.name: second}
        if not pair.keys() >= self._there.keys():
            self._there = {name: self._there[name] for name in self._there if name in pair}
            gc.collect()  # a model may hold itself in a circle
        for name, entrant in pair.items():
            if name not in self._there:
                self._there[name] = entrant.load()
        return {a: self._there[n][a] for a, n in zip(self._agents, pair, strict=True)}


def _games(
    folder: Path,
    config: Mapping[str, Any],
    load: Callable[[], Mapping[str, Policy]],
    play: Callable[..., Iterator[list[Episode]]],
    ended: Callable[[], object],
) -> Games:
    """The games of two players in one order: those in the folder, or played now."""
    if (folder / "config.json").exists():
        _check(folder, config, "remove this folder to play its games again")
        kept = files.read_object(folder / RESULT)
        if kept is not None:
            games = Games.from_dict(kept)
            for _ in games.ids:
                ended()
            return games
    pair = load()
    here = (folder / "config.json").exists()
    with opened(folder, config, resume=here, replayed=not is_billed(pair)) as file:
        parts = play(pair, ended=lambda episode: ended(), kept=file)
        games = Games.of([episode for part in parts for episode in part])
        file.finish(games.to_dict())
        return games


def _check(folder: Path, config: Mapping[str, Any], remedy: str) -> None:
    """Raise :class:`CheckpointError` unless the folder has these settings."""
    try:
        run_folder.check_unchanged(folder, config)
    except CheckpointError as error:
        raise CheckpointError(f"{error}: {remedy}") from error


def _given(
    name: str, player: Playable, env: str | Callable[[], AECEnv], agents: Sequence[str], seed: int
) -> Entrant:
    """A player that Python code gives."""
    if isinstance(player, str | Path):
        (found,) = entrants([str(player)], agents, seed=seed)
        return replace(found, name=name)
    policy, called = named_player(player, env, seed=seed)
    return Entrant(name=name, load=partial(policies_by_agent, policy, agents), mark=called)


def _file_name(player: str) -> str:
    """A player's name as that of a folder, other for each name."""
    return re.sub(r"^\.", "%2E", quote(player, safe="@"))
