"""Preferences: which of two answers is better, by their returns or by a file.

Pure functions on the returns of one group, and the reading of preference data sets, with columns
``prompt``, ``chosen`` and ``rejected``, through ``datasets``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from llmzoo.errors import ConfigError, MissingExtraError

PairChoice = Literal["gap", "random", "all"]
COLUMNS = ("prompt", "chosen", "rejected")
_LOADERS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}
_ROUNDING = 1e-6  # returns closer than this, relative to their size, are the same


def choose_pairs(
    returns: Sequence[float],
    choice: PairChoice,
    *,
    rng: random.Random,
    min_gap: float = 0.0,
    same: Sequence[object] | None = None,
) -> list[tuple[int, int]]:
    """Pairs (chosen, rejected) of the K answers whose returns are given.

    ``"all"``: every pair whose returns differ, by at least ``min_gap``. ``"gap"``: the pair with the
    largest difference, or the first such pair. ``"random"``: one of all these pairs. ``same``: the
    answers; two equal answers are no pair, whatever their returns.
    """
    usable = []
    for i in range(len(returns)):
        for j in range(i + 1, len(returns)):
            gap = abs(returns[i] - returns[j])
            tie = gap <= _ROUNDING * max(1.0, abs(returns[i]), abs(returns[j]))
            if tie or gap < min_gap or (same is not None and same[i] == same[j]):
                continue
            usable.append((i, j) if returns[i] > returns[j] else (j, i))
    if choice == "all" or not usable:
        return usable
    if choice == "random":
        return [rng.choice(usable)]
    return [max(usable, key=lambda pair: returns[pair[0]] - returns[pair[1]])]


def count_candidate_pairs(count: int, choice: PairChoice) -> int:
    """The largest possible number of pairs of ``count`` answers, without ties."""
    every = count * (count - 1) // 2
    return every if choice == "all" else min(1, every)


def load_preferences(source: str) -> list[dict[str, Any]]:
    """The rows of a preference set: of a .jsonl, .json, .csv or .parquet file, or a hub id.

    A hub id means its split ``train``; write ``"id:split"`` for another split. ``prompt``,
    ``chosen`` and ``rejected`` are all texts, or all conversations: lists of messages with ``role``
    and ``content``. ``chosen`` and ``rejected`` are then the assistant's turns after ``prompt``.

    Raises :class:`ConfigError`, which names the row and the column, for anything else.
    """
    loaded = _load(source)
    missing = [name for name in COLUMNS if name not in loaded.column_names]
    if missing:
        raise ConfigError(
            f"{source}: no column {' and no '.join(missing)} (it has "
            f"{', '.join(loaded.column_names)}); preferences have the columns {', '.join(COLUMNS)}"
        )
    rows = [{name: row[name] for name in COLUMNS} for row in loaded]
    if not rows:
        raise ConfigError(f"{source} has no rows")
    for number, row in enumerate(rows, start=1):
        _check_row(row, f"{source}:{number}")
    return rows


def is_conversational(row: Mapping[str, Any]) -> bool:
    """Whether a row is of messages rather than of texts."""
    return not isinstance(row["prompt"], str)


def _load(source: str) -> Any:
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the preferences {source}", "train", error.name) from error
    path = Path(source)
    try:
        if path.suffix in _LOADERS:
            if not path.is_file():
                raise ConfigError(f"preferences: there is no file {source}")
            return datasets.load_dataset(_LOADERS[path.suffix], data_files=source, split="train")
        name, _, split = source.partition(":")
        return datasets.load_dataset(name, split=split or "train")
    except ConfigError:
        raise
    except Exception as error:  # network, cache, schema: the library raises of every kind
        raise ConfigError(
            f"the preferences {source} cannot be loaded ({type(error).__name__}: {error}); give a "
            "hub id or a .jsonl, .json, .csv or .parquet file"
        ) from error


def _check_row(row: Mapping[str, Any], where: str) -> None:
    wanted = "a text" if isinstance(row["prompt"], str) else "a list of messages"
    for name in COLUMNS:
        value = row[name]
        good = isinstance(value, str) if wanted == "a text" else _is_message_list(value)
        if not good or not value:
            raise ConfigError(
                f"{where}: {name} must be {wanted} with something in it, got {value!r}. The three "
                "columns hold texts, or lists of messages with the texts role and content"
            )
    if row["chosen"] == row["rejected"]:
        raise ConfigError(f"{where}: chosen and rejected are the same")


def _is_message_list(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(m, dict) and isinstance(m.get("role"), str) and isinstance(m.get("content"), str)
        for m in value
    )
