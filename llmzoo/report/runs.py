"""What run folders say: settings, metrics, evaluations; whole or cut short.

Files are only read. A run may still go on, may have been killed in the middle of a line, and may be
of an earlier version that wrote less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.files import read_object
from llmzoo.run_folder import lines_of, row_of

Row = Mapping[str, Any]
DEPTH = 4  # folders below the one that was named in which runs are looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run as its folder has it now.

    ``train`` and ``evals`` are the rows of ``metrics.jsonl`` by their step, each once. ``before``
    and ``after`` are evaluations; ``after`` is None until the run has ended. ``notes`` say what
    could not be read.
    """

    folder: Path
    name: str  # unlike that of any other run of the report
    config: Mapping[str, Any]
    train: tuple[Row, ...]
    evals: tuple[Row, ...]
    before: Row | None
    after: Row | None
    notes: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
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
        """Time of playing, learning and evaluating; start-up and saving are left out."""
        parts = ("rollout_seconds", "update_seconds")
        trained = sum(row.get(part, 0.0) for row in self.train for part in parts)
        return trained + sum(row.get("seconds", 0.0) for row in self.evals)


def find(paths: Iterable[str | Path]) -> list[Path]:
    """Run folders: those named, and of any other folder those inside, in the order of their names.

    So a folder of stages or of a bench stands for its runs. Raises :class:`ConfigError` where a
    folder is not there or holds no run.
    """
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            raise ConfigError(f"there is no folder {path}: name a run folder of llmzoo train")
        inside = _runs_in(path, DEPTH)
        if not inside:
            raise ConfigError(
                f"{path} holds no run: a run folder has config.json, written by llmzoo train or fit"
            )
        found.update({run.resolve(): run for run in inside})
    if not found:
        raise ConfigError("name at least one run folder: llmzoo report RUN [RUN...]")
    return list(found.values())


def names_of(folders: Sequence[Path]) -> list[str]:
    """For each folder the shortest end of its path that no other has."""
    parts = [folder.resolve().parts for folder in folders]
    length = 1
    while len({part[-length:] for part in parts}) < len(parts):
        length += 1
    return ["/".join(part[-length:]) for part in parts]


def read(folder: Path, name: str) -> Run:
    """Raises :class:`ConfigError` for settings that cannot be read, or metrics that are none."""
    notes: list[str] = []
    rows = _rows(folder / "metrics.jsonl", notes)
    by_kind: dict[str, dict[int, Row]] = {"train": {}, "eval": {}}
    for row in rows:
        by_kind.get(row["kind"], {})[row["step"]] = row
    train, evals = (
        tuple(row for _, row in sorted(by_kind[kind].items())) for kind in ("train", "eval")
    )
    before: Row | None = _object(folder / "before.json")
    if before is None and evals and evals[0]["step"] == 0:
        before = evals[0]
    config = _object(folder / "config.json")
    assert config is not None  # what makes the folder a run
    return Run(
        folder=folder,
        name=name,
        config=config,
        train=train,
        evals=evals,
        before=before,
        after=_object(folder / "after.json"),
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
    """A model's folder has a ``config.json`` too, of other settings."""
    path = folder / "config.json"
    if not path.is_file():
        return False
    config = _object(path)
    return config is not None and {"env", "learner"} <= set(config)


def _object(path: Path) -> dict[str, Any] | None:
    try:
        return read_object(path)
    except CheckpointError as error:
        raise ConfigError(str(error)) from error


def _rows(path: Path, notes: list[str]) -> list[Row]:
    try:
        lines = [*lines_of(path)]
    except CheckpointError as error:
        raise ConfigError(str(error)) from error
    rows = [row for row in map(row_of, lines) if row and isinstance(row.get("kind"), str)]
    lost = len(lines) - len(rows)
    if lines and not rows:
        raise ConfigError(f"{path} holds no metrics: none of its {len(lines)} lines is a row")
    if lost:
        notes.append(f"{lost} of {len(lines)} lines of metrics.jsonl cannot be read")
    return rows
