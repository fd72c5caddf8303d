"""Reads settings, metrics and evaluations from run folders.

A run may still be going on, may have been killed in the middle of a line, and may have been written
by an earlier version that wrote less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.evaluation.standings import League
from llmzoo.files import iter_lines, read_json_object
from llmzoo.runs import provenance, run_folder
from llmzoo.runs.run_folder import parse_row
from llmzoo.terminal_text import escape_unprintable

Row = Mapping[str, Any]
LEAGUE_FILE = "league/league.json"  # where llmzoo eval league writes that of a single run
MAX_DEPTH = 4  # levels of subfolders that are searched for runs


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """The current content of one run folder.

    ``train`` and ``evals`` are the rows of ``metrics.jsonl``, one per step. ``before`` and ``after``
    are evaluations; ``after`` is None until the run has ended. ``league`` is that in the folder ``league``.
    ``starts``: where it was started and resumed (:mod:`llmzoo.runs.provenance`); empty in runs of
    earlier versions. ``notes`` say what is unreadable.
    """

    folder: Path
    name: str  # unique in the report
    config: Mapping[str, Any]
    train: tuple[Row, ...]
    evals: tuple[Row, ...]
    before: Row | None
    after: Row | None
    league: League | None = None  # of its checkpoints and copies
    starts: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.after is not None

    @property
    def steps(self) -> int:
        """Iterations done."""
        return self.train[-1]["step"] if self.train else 0

    @property
    def tokens(self) -> int:
        """Tokens sampled in training."""
        return sum(row.get("tokens", 0) for row in self.train)

    @property
    def seconds(self) -> float:
        """Seconds of playing, learning and evaluating, without start-up and saving."""
        parts = ("rollout_seconds", "update_seconds")
        trained = sum(row.get(part, 0.0) for row in self.train for part in parts)
        return trained + sum(row.get("seconds", 0.0) for row in self.evals)


def find_runs(paths: Iterable[str | Path]) -> list[Path]:
    """The run folders among ``paths`` and inside them, sorted by name.

    A folder of stages or of a bench gives all its runs. Raises :class:`ConfigError` for a folder that
    does not exist or contains no run.
    """
    folders: dict[Path, Path] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            raise ConfigError(f"there is no folder {path}: name a run folder of llmzoo train")
        inside = _runs_in(path, MAX_DEPTH)
        if not inside:
            raise ConfigError(
                f"{path} holds no run: a run folder has config.json, written by llmzoo train or fit"
            )
        folders.update({run.resolve(): run for run in inside})
    if not folders:
        raise ConfigError("name at least one run folder: llmzoo report RUN [RUN...]")
    return list(folders.values())


def load_run(folder: Path, name: str) -> RunData:
    """The run in a folder; raises :class:`ConfigError` for unreadable settings or metrics."""
    notes: list[str] = []
    rows = _load_rows(folder / "metrics.jsonl", notes)
    by_kind: dict[str, dict[int, Row]] = {"train": {}, "eval": {}}
    for row in rows:
        by_kind.get(row["kind"], {})[row["step"]] = row
    train, evals = (
        tuple(row for _, row in sorted(by_kind[kind].items())) for kind in ("train", "eval")
    )
    before: Row | None = _load_evaluation(folder / "before.json")
    if before is None and evals and evals[0]["step"] == 0:
        before = evals[0]
    config = _make_printable(run_folder.require_config(folder))
    if "steps" in config and not is_finite(config["steps"]):
        raise ConfigError(f"{folder / 'config.json'}: steps is a number, not {config['steps']!r}")
    return RunData(
        folder=folder,
        name=name,
        config=config,
        train=train,
        evals=evals,
        before=before,
        after=_load_evaluation(folder / "after.json"),
        league=_load_league(folder / LEAGUE_FILE, notes),
        starts=_load_starts(folder / provenance.PROVENANCE_FILE, notes),
        notes=tuple(notes),
    )


def _runs_in(folder: Path, depth: int) -> list[Path]:
    if _is_run(folder):
        return [folder]
    if depth == 0:
        return []
    inside = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    return [run for path in inside for run in _runs_in(path, depth - 1)]


def _is_run(folder: Path) -> bool:
    """Whether this is a run folder. Model folders have a ``config.json`` with other settings."""
    path = folder / "config.json"
    if not path.is_file():
        return False
    config = _read_json(path)
    return config is not None and {"env", "learner"} <= set(config)


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        return _make_printable(read_json_object(path))
    except CheckpointError as error:
        raise ConfigError(str(error)) from error


def _make_printable(value: Any) -> Any:
    """A value of JSON whose texts are printable: names of agents and metrics stand in figures."""
    if isinstance(value, Mapping):
        return {escape_unprintable(key): _make_printable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [*map(_make_printable, value)]
    return escape_unprintable(value) if isinstance(value, str) else value


# keys of rows and the types of their values; other numbers may be NaN or infinite, shown as gaps
_NUMBERS = ("tokens", "rollout_seconds", "update_seconds", "seconds", "tasks")
_MAPPINGS = ("return", "agents", "greedy")


def _is_valid_row(row: Row) -> bool:
    """Whether this looks like a row or an evaluation of a run."""
    return (
        all(is_finite(row[name]) for name in _NUMBERS if name in row)
        and all(isinstance(row[name], Mapping) for name in _MAPPINGS if name in row)
        and all(isinstance(one, Mapping) for one in row.get("agents", {}).values())
        and all(
            isinstance(one.get("reward_components", {}), Mapping)
            for one in row.get("agents", {}).values()
        )
        and all(map(_is_valid_leaf, _leaves(row)))
        and _is_share(row.get("success"))
        and (
            row.get("kind") == "train"
            or (_has_success_interval(row) and bool(row.get("tasks", 0) >= 1))
        )
        and ("greedy" not in row or _has_success_interval(row["greedy"]))
    )


def _is_share(value: Any) -> bool:
    return not is_finite(value) or bool(0 <= value <= 1)


def _has_success_interval(row: Row) -> bool:
    """Whether this has a success rate with its interval."""
    pair = row.get("success_ci95")
    return (
        is_finite(row.get("success"))
        and _is_share(row["success"])
        and isinstance(pair, list)
        and len(pair) == 2
        and all(map(is_finite, pair))
    )


def _leaves(value: Any) -> Iterator[Any]:
    inner = value.values() if isinstance(value, Mapping) else value
    for one in inner:
        if isinstance(one, Mapping | list):
            yield from _leaves(one)
        else:
            yield one


def _is_valid_leaf(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) < 2**63


def is_finite(value: Any) -> bool:
    """Whether this is a finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) < 2**63 if isinstance(value, int) else math.isfinite(value)


def _load_evaluation(path: Path) -> dict[str, Any] | None:
    row = _read_json(path)
    if row is not None and not _is_valid_row(row):
        raise ConfigError(f"{path} cannot be read: it has another form than an evaluation")
    return row


def _load_starts(path: Path, notes: list[str]) -> tuple[Any, ...]:
    try:
        starts = _make_printable((read_json_object(path) or {}).get("starts", []))
    except CheckpointError:
        starts = None
    if not isinstance(starts, list):
        notes.append(f"{path.name} cannot be read")
        return ()
    return tuple(starts)


def _load_league(path: Path, notes: list[str]) -> League | None:
    try:
        row = read_json_object(path)
        return None if row is None else League.from_dict(_make_printable(row))
    except CheckpointError:
        notes.append(f"{path.parent.name}/{path.name} cannot be read")
        return None


def _load_rows(path: Path, notes: list[str]) -> list[Row]:
    try:
        lines = [*iter_lines(path, keep_all=True)]
    except CheckpointError as error:
        raise ConfigError(str(error)) from error
    rows: list[Row] = [
        row
        for row in map(_make_printable, map(parse_row, lines))
        if row and isinstance(row.get("kind"), str) and _is_valid_row(row)
    ]
    lost = len(lines) - len(rows)
    if lines and not rows:
        raise ConfigError(f"{path} holds no metrics: none of its {len(lines)} lines is a row")
    if lost:
        notes.append(f"{lost} of {len(lines)} lines of metrics.jsonl cannot be read")
    return rows
