"""A tournament of policies: every pair plays the same deals in both orders, and all are rated.

The environment has two sides, such as two agents or the mafia and the village. A player plays all agents of a side.

    config.json                  the settings of the games
    games/FIRST/SECOND/          the games in which FIRST plays the first side: a folder of episodes
    league.json                  ratings, results of the pairs, notes; written when all have played

The games of a pair depend only on the two players and the seeds. They are saved as they end, in a folder like
that of an evaluation (:mod:`llmzoo.evaluation.episode_folder`), and a league that was killed resumes from them
with the same final files. Players who are added later only play games that do not exist yet.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pettingzoo import AECEnv

from llmzoo import files
from llmzoo.distributed import ranks
from llmzoo.envs.sides import Side, list_sides
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.evaluation.collect import (
    DEFAULT_CONCURRENCY,
    PoliciesLike,
    collect_chunks,
    make_env,
    resolve_policy,
)
from llmzoo.evaluation.entrants import MAX_SNAPSHOTS, Entrant, expand_names, make_entrants
from llmzoo.evaluation.episode_folder import RESULT_FILE, open_episode_folder
from llmzoo.evaluation.evaluate import is_billed
from llmzoo.evaluation.league_games import Games
from llmzoo.evaluation.league_summary import summarize_league
from llmzoo.evaluation.ratings import require_openskill
from llmzoo.evaluation.standings import League
from llmzoo.policies import run_models
from llmzoo.policies.base import Policy, policies_by_agent
from llmzoo.policies.settings import LoadSettings
from llmzoo.records import Episode
from llmzoo.runs import run_folder

LEAGUE_FILE = "league.json"


def league(
    env: str | Callable[[], AECEnv],
    players: Sequence[str] | Mapping[str, PoliciesLike],
    *,
    out: str | Path,
    deals: int = 100,
    split: str = "test",
    seed: int = 0,
    greedy: bool = False,
    env_args: Mapping[str, Any] | None = None,
    snapshots: int = MAX_SNAPSHOTS,
    concurrency: int = DEFAULT_CONCURRENCY,
    on_game_end: Callable[[], object] = lambda: None,
    **settings: Any,
) -> League:
    """Play ``deals`` deals in both orders between all pairs of players, and rate the players.

    ``env``: an id, or a function that makes an AEC environment; it must have two sides (:func:`find_two_sides`).
    ``players``: names, as :func:`llmzoo.evaluation.entrants.expand_names` reads them, or a mapping from names to
    policies as in :func:`llmzoo.evaluate`. ``out``: the folder of the league; the same call resumes it. Deal i is task i of
    the split, with seed ``seed + i``, so both orders and all pairs get the same deals. ``snapshots``: the
    maximum number of checkpoints and copies of one run. ``settings``: the fields of
    :class:`llmzoo.policies.settings.LoadSettings`. ``on_game_end`` is called after
    each game.

    At most two players are in memory at a time. Raises :class:`ConfigError` for an environment without two
    sides and for players that cannot be loaded, :class:`CheckpointError` for a folder with another league,
    and :class:`llmzoo.errors.MissingExtraError` without openskill.
    """
    require_openskill()
    if ranks.launched_process_count() > 1:
        raise ConfigError(
            "a league needs a single process: start it without torchrun or accelerate launch"
        )
    if deals < 2:
        raise ConfigError(f"deals must be at least 2, got {deals}")
    sides = find_two_sides(env, {**(env_args or {}), "split": split})
    agents = list(chain(*sides))
    if isinstance(players, Mapping):
        entrants = [
            _as_entrant(name, player, env, agents, seed) for name, player in players.items()
        ]
        if len(entrants) < 2 or settings:
            wrong = f"{', '.join(settings)} are for names" if settings else f"got {len(entrants)}"
            raise ConfigError(
                f"players must be a list of names or a mapping of at least two: {wrong}"
            )
    else:
        entrants = make_entrants(
            expand_names(players, snapshots), agents, LoadSettings(**settings), seed=seed
        )
    out = Path(out)
    if run_models.is_run(out):
        raise ConfigError(f"{out} is a run folder: choose another one, such as {out}/league")
    play_settings: dict[str, Any] = {"split": split, "seed": seed, "greedy": greedy}
    play_settings |= {"env_args": dict(env_args or {}), "concurrency": concurrency}
    config = {"env": str(env), "deals": deals, **play_settings, **settings}
    loader = _PairLoader(sides)
    results: dict[tuple[int, int], Games] = {}
    with run_folder.locked(out, resume=False):
        if (out / "config.json").exists():
            _check_settings(out, config, "choose another folder")
        else:
            run_folder.write_or_check_config(out, config, resume=False)
        for numbers in pair_order(len(entrants)):
            for i, j in (numbers, numbers[::-1]):
                pair = (entrants[i], entrants[j])
                folder = out / "games" / _file_name(pair[0].name) / _file_name(pair[1].name)
                play = partial(collect_chunks, env, tasks=deals, **play_settings)
                pair_config = {**config, "players": [entrant.fingerprint for entrant in pair]}
                results[i, j] = _load_or_play(
                    folder, pair_config, partial(loader.load_pair, *pair), play, sides, on_game_end
                )
        result = summarize_league(entrants, sides, results, env=str(env), seed=seed, split=split)
        files.write(out / LEAGUE_FILE, json.dumps(result.to_dict(), indent=2) + "\n")
    return result


def find_two_sides(env: str | Callable[[], AECEnv], args: Mapping[str, Any]) -> tuple[Side, ...]:
    """The agents of both sides of an environment: those of ``metadata["sides"]``, or each of two agents.

    Raises :class:`ConfigError` unless there are two sides, and every agent is on one.
    """
    built = make_env(env, args)
    sides = list_sides(built)
    if len(sides) != 2:
        raise ConfigError(
            f"a league needs two sides, but {built} has {len(sides)} ({'; '.join(map(', '.join, sides))}): "
            "choose an environment with two agents or with metadata['sides'], which must name every agent, or "
            "compare policies with llmzoo eval and llmzoo eval compare"
        )
    return sides


def pair_order(count: int) -> Iterator[tuple[int, int]]:
    """All pairs of ``count`` players. Each pair shares a player with the previous one, so only one must be
    loaded."""
    for i in range(count - 1):
        others = range(i + 1, count)
        for j in others if i % 2 == 0 else reversed(others):
            yield i, j


class _PairLoader:
    """Holds the policies of the two players of a pair, and releases others."""

    def __init__(self, sides: Sequence[Side]):
        self._sides = sides
        self._loaded: dict[str, Mapping[str, Policy]] = {}

    def load_pair(self, first: Entrant, second: Entrant) -> dict[str, Policy]:
        """The policies of both players, by agent: the first plays the first side."""
        pair = {first.name: first, second.name: second}
        if not pair.keys() >= self._loaded.keys():
            self._loaded = {name: self._loaded[name] for name in self._loaded if name in pair}
            gc.collect()  # a model may be in a reference cycle
        for name, entrant in pair.items():
            if name not in self._loaded:
                self._loaded[name] = entrant.load()
        return {
            a: self._loaded[n][a] for n, side in zip(pair, self._sides, strict=True) for a in side
        }


def _load_or_play(
    folder: Path,
    config: Mapping[str, Any],
    load: Callable[[], Mapping[str, Policy]],
    play: Callable[..., Iterator[list[Episode]]],
    sides: Sequence[Side],
    on_game_end: Callable[[], object],
) -> Games:
    """The games of two players in one order, read from the folder or played now."""
    if (folder / "config.json").exists():
        _check_settings(folder, config, "remove this folder to play its games again")
        saved_result = files.read_json_object(folder / RESULT_FILE)
        if saved_result is not None:
            games = Games.from_dict(saved_result)
            for _ in games.ids:
                on_game_end()
            return games
    pair = load()
    resume = (folder / "config.json").exists()
    with open_episode_folder(
        folder, config, resume=resume, replay_interrupted=not is_billed(pair)
    ) as episode_folder:
        chunks = play(pair, on_episode_end=lambda episode: on_game_end(), saved=episode_folder)
        games = Games.from_episodes([episode for chunk in chunks for episode in chunk], sides)
        episode_folder.finish(games.to_dict())
        return games


def _check_settings(folder: Path, config: Mapping[str, Any], remedy: str) -> None:
    """Raise :class:`CheckpointError` unless the folder has these settings."""
    try:
        run_folder.check_unchanged(folder, config)
    except CheckpointError as error:
        raise CheckpointError(f"{error}: {remedy}") from error


def _as_entrant(
    name: str,
    player: PoliciesLike,
    env: str | Callable[[], AECEnv],
    agents: Sequence[str],
    seed: int,
) -> Entrant:
    """A player given as a Python object."""
    if isinstance(player, str | Path):
        (found,) = make_entrants([str(player)], agents, seed=seed)
        return replace(found, name=name)
    policy, display_name = resolve_policy(player, env, seed=seed)
    return Entrant(
        name=name, load=partial(policies_by_agent, policy, agents), fingerprint=display_name
    )


def _file_name(player: str) -> str:
    """A folder name for a player, unique for each name."""
    return re.sub(r"^\.", "%2E", quote(player, safe="@"))
