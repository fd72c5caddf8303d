"""A run's metrics: JSON lines, and TensorBoard."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from torch.utils.tensorboard import SummaryWriter


class Tracker:
    """Appends to ``metrics.jsonl`` and to TensorBoard files under ``tensorboard/``.

    ``first``: the iteration that a resumed run starts from; rows of later ones are dropped, for
    they will be written again, and so will the evaluation after the last one, ``steps``.
    """

    def __init__(self, run: Path, first: int, steps: int):
        self._path = run / "metrics.jsonl"
        if self._path.exists():
            rows = [json.loads(line) for line in _complete_lines(self._path)]
            kept = [
                row
                for row in rows
                if 0 < first >= row["step"] and (row["kind"], row["step"]) != ("eval", steps)
            ]
            partial = self._path.with_suffix(".writing")
            partial.write_text("".join(json.dumps(row) + "\n" for row in kept))
            partial.replace(self._path)
        self._file = self._path.open("a")
        self._board = SummaryWriter(
            str(run / "tensorboard"), purge_step=first + 1 if first else None
        )

    def __enter__(self) -> Tracker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._board.close()

    def iteration(self, step: int, row: Mapping[str, Any]) -> None:
        self._write({"kind": "train", "step": step, **row}, "train")

    def evaluation(self, step: int, found: Mapping[str, Any]) -> None:
        self._write({"kind": "eval", "step": step, **found}, "eval")

    def flush(self) -> None:
        """Make what has been written safe on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._board.flush()

    def _write(self, row: Mapping[str, Any], prefix: str) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        for name, value in _scalars(row):
            self._board.add_scalar(f"{prefix}/{name}", value, row["step"])


def _scalars(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _scalars(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool) and name != "step":
            yield f"{prefix}{name}", float(value)


def _complete_lines(path: Path) -> list[str]:
    """All lines but one that a kill cut short."""
    text = path.read_text()
    return text[: text.rfind("\n") + 1].splitlines()
