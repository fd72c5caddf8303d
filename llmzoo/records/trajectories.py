"""Trajectories: episodes as rows, one per decision, and their files, through ``datasets``.

The rows of an episode are consecutive, in the order of its decisions. Each has the fields of
:data:`FIELDS`. ``next_observation`` is the agent's own next observation, ``return`` its undiscounted
return from this decision on, ``episode_return`` its return of the whole episode, and ``policy`` the
name of the policy that wrote the completion.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llmzoo.errors import ConfigError, require_extra
from llmzoo.records.records import Completion, Decision, Episode

Row = dict[str, Any]

FIELDS: Mapping[str, type] = {
    "env": str,
    "seed": int,
    "agent": str,
    "turn": int,
    "prompt": str,
    "completion": str,
    "next_observation": str,
    "reward": float,
    "return": float,
    "episode_return": float,
    "success": bool,
    "policy": str,
}
_LOADERS = {".jsonl": "json", ".json": "json", ".parquet": "parquet"}


def to_rows(episodes: Sequence[Episode], *, policy: str = "") -> list[Row]:
    """A row for each decision, episode after episode."""
    table: list[Row] = []
    for episode in episodes:
        returns = episode.returns()
        next_observations = _next_observations(episode)
        for decision, next_observation, returned in zip(
            episode.decisions, next_observations, returns, strict=True
        ):
            table.append(
                {
                    "env": episode.env_id,
                    "seed": episode.seed,
                    "agent": decision.agent,
                    "turn": decision.turn,
                    "prompt": decision.observation,
                    "completion": decision.completion.text,
                    "next_observation": next_observation,
                    "reward": float(decision.reward),
                    "return": float(returned),
                    "episode_return": float(episode.totals[decision.agent]),
                    "success": episode.success,
                    "policy": policy,
                }
            )
    return table


def _next_observations(episode: Episode) -> list[str]:
    following = dict(episode.final)
    texts = []
    for decision in reversed(episode.decisions):
        texts.append(following.get(decision.agent, ""))
        following[decision.agent] = decision.observation
    return texts[::-1]


def split_by_episode(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each episode.

    A new episode begins when the environment, the seed or the policy changes, or when a turn of an
    agent occurs again.
    """
    groups: list[list[Row]] = []
    before: tuple[Any, ...] = ()
    turns: set[tuple[str, int]] = set()
    for row in rows:
        episode_key = (row["env"], row["seed"], row["policy"])
        turn = (row["agent"], row["turn"])
        if not groups or episode_key != before or turn in turns:
            groups.append([])
            turns = set()
        before = episode_key
        turns.add(turn)
        groups[-1].append(row)
    return groups


def to_episodes(rows: Sequence[Row]) -> list[Episode]:
    """The episodes of the rows, as if just played; :func:`to_rows` gives the same rows again.

    Whatever a row does not contain is empty: infos, states, and the tokens of completions.
    """
    return [_to_episode(episode_rows) for episode_rows in split_by_episode(rows)]


def _to_episode(episode_rows: Sequence[Row]) -> Episode:
    decisions = tuple(
        Decision(
            agent=row["agent"],
            turn=row["turn"],
            observation=row["prompt"],
            completion=Completion(text=row["completion"]),
            reward=row["reward"],
            paid_after=((number, row["reward"]),) if row["reward"] else (),
        )
        for number, row in enumerate(episode_rows)
    )
    return Episode(
        env_id=episode_rows[0]["env"],
        seed=episode_rows[0]["seed"],
        decisions=decisions,
        terminated=True,
        truncated=False,
        success=episode_rows[0]["success"],
        totals={row["agent"]: row["episode_return"] for row in episode_rows},
        final={
            row["agent"]: row["next_observation"] for row in episode_rows
        },  # an agent's last row counts
    )


def filter_mask(
    rows: Sequence[Row],
    *,
    min_return: float | None = None,
    top: float | None = None,
    success: bool = False,
) -> list[bool]:
    """Which rows pass the filters. Of an agent's rows of one episode, all pass or none.

    ``success``: only successful episodes. ``min_return``: only episodes in which the agent's return
    is at least this. ``top``: only this share of the agent's episodes, those with the highest
    returns among the episodes that pass the other filters. The number is rounded up, and of equal
    episodes the earlier ones are taken. Agents are ranked separately, because their rewards may
    differ in scale.
    """
    candidates: dict[str, list[tuple[int, float]]] = {}  # of each agent: number and return
    numbered = [
        (number, row)
        for number, episode_rows in enumerate(split_by_episode(rows))
        for row in episode_rows
    ]
    for number, row in numbered:
        agent, returned = row["agent"], row["episode_return"]
        passes = (row["success"] or not success) and (min_return is None or returned >= min_return)
        if passes and (number, returned) not in candidates.setdefault(agent, [])[-1:]:
            candidates[agent].append((number, returned))
    chosen = set()
    for agent, entries in candidates.items():
        # rounded, because 0.07 * 100 is a little more than 7 in binary
        count = len(entries) if top is None else math.ceil(round(top * len(entries), 9))
        best = sorted(entries, key=lambda entry: -entry[1])[:count]  # stable: the earlier first
        chosen |= {(agent, number) for number, _ in best}
    return [(row["agent"], number) in chosen for number, row in numbered]


def filter_rows(
    rows: Sequence[Row],
    *,
    min_return: float | None = None,
    top: float | None = None,
    success: bool = False,
) -> list[Row]:
    """The rows that pass; see :func:`filter_mask`."""
    flags = filter_mask(rows, min_return=min_return, top=top, success=success)
    return [row for row, flag in zip(rows, flags, strict=True) if flag]


def save(path: str | Path, rows: Sequence[Row]) -> None:
    """Write rows as JSON lines (``.jsonl``) or Parquet (``.parquet``), by the path's suffix.

    Numbers come back exactly. Raises :class:`ConfigError` for another suffix, and for a row that
    :func:`load` would refuse.
    """
    path = Path(path)
    checked = list(_validate_rows(rows, "the rows to save"))
    if path.suffix == ".jsonl":
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in checked)
    elif path.suffix == ".parquet":
        datasets = _import_datasets(path)
        columns = {name: [row[name] for row in checked] for name in FIELDS}
        types = {str: "string", int: "int64", float: "float64", bool: "bool"}
        features = {name: datasets.Value(types[kind]) for name, kind in FIELDS.items()}
        table = datasets.Dataset.from_dict(columns, features=datasets.Features(features))
        with _hide_progress_bars(datasets):
            table.to_parquet(path)
    else:
        raise ConfigError(f"trajectories are saved as .jsonl or .parquet, not as {path.name}")


def load(source: str | Path) -> list[Row]:
    """The rows of a ``.jsonl``, ``.json`` or ``.parquet`` file, or of a hub id's split ``train``.

    Columns other than :data:`FIELDS` are dropped. Raises :class:`ConfigError`, with the row and the
    field, for malformed rows, and for a source that cannot be read.
    """
    path = Path(source)
    datasets = _import_datasets(source)
    if path.suffix in _LOADERS and not path.is_file():
        raise ConfigError(f"trajectories: there is no file {source}")
    try:
        if path.suffix in _LOADERS:
            with _hide_progress_bars(datasets):
                loaded = datasets.load_dataset(
                    _LOADERS[path.suffix], data_files=str(path), split="train"
                )
        else:
            loaded = datasets.load_dataset(str(source), split="train")
    except Exception as error:  # network, cache, schema: the library raises of every kind
        raise ConfigError(
            f"the trajectories {source} cannot be loaded ({type(error).__name__}: {error}); give a "
            ".jsonl, .json or .parquet file, or a hub id"
        ) from error
    read = list(_validate_rows(loaded, str(source)))
    if not read:
        raise ConfigError(f"{source} has no rows")
    return read


def _import_datasets(source: str | Path) -> Any:
    with require_extra(f"the trajectories {source}", "train"):
        import datasets
    return datasets


@contextmanager
def _hide_progress_bars(datasets: Any) -> Iterator[None]:
    """Hide the progress bars of ``datasets``; the files are small."""
    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def _validate_rows(given: Any, source: str) -> Iterator[Row]:
    """Each row with exactly the known fields. Integers in ``float`` fields become floats."""
    for number, row in enumerate(given, start=1):
        checked: Row = {}
        for name, kind in FIELDS.items():
            if name not in row:
                raise ConfigError(
                    f"{source}, row {number}: no field {name!r}; trajectories have the fields "
                    f"{', '.join(FIELDS)}"
                )
            value: Any = row[name]
            if kind is float and type(value) is int:
                value = float(value)
            not_finite = isinstance(value, float) and not math.isfinite(value)
            if type(value) is not kind or not_finite:
                raise ConfigError(
                    f"{source}, row {number}: {name!r} must be a"
                    f"{'n int' if kind is int else f' {kind.__name__}'}, got {value!r}"
                )
            checked[name] = value
        yield checked
