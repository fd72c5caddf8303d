"""Preferences: which of two completions is better, by their returns or from a file.

Pure functions on the returns of one group, and loading of preference data sets through ``datasets``.
Such a set has the columns ``prompt``, ``chosen`` and ``rejected``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from llmzoo.errors import ConfigError, require_extra

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
    """Pairs (chosen, rejected) of the K completions with these returns.

    ``"all"``: every pair whose returns differ, by at least ``min_gap``. ``"gap"``: of these, the
    pair with the largest difference, or the first one in a tie. ``"random"``: one of these, at
    random. ``same``: the completions; two equal completions never form a pair, whatever their
    returns.
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
    """The largest possible number of pairs of ``count`` completions, without ties."""
    all_pairs = count * (count - 1) // 2
    return all_pairs if choice == "all" else min(1, all_pairs)


def load_preferences(source: str) -> list[dict[str, Any]]:
    """The rows of a preference set, given as a .jsonl, .json, .csv or .parquet file or as a hub id.

    A hub id stands for its split ``train``; write ``"id:split"`` for another split. ``prompt``,
    ``chosen`` and ``rejected`` are all texts, or all conversations: lists of messages with ``role``
    and ``content``. ``chosen`` and ``rejected`` are then the assistant's turns after ``prompt``.

    Anything else raises a :class:`ConfigError` that names the row and the column.
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
    """Whether a row holds messages rather than texts."""
    return not isinstance(row["prompt"], str)


def _load(source: str) -> Any:
    with require_extra(f"the preferences {source}", "train"):
        import datasets
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
    except Exception as error:  # network, cache or schema: the library raises many types
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
                f"{where}: {name} must be {wanted} and not empty, got {value!r}. The three columns "
                "must hold texts, or lists of messages with the texts role and content"
            )
    if row["chosen"] == row["rejected"]:
        raise ConfigError(f"{where}: chosen and rejected are the same")


def _is_message_list(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(m, dict) and isinstance(m.get("role"), str) and isinstance(m.get("content"), str)
        for m in value
    )
