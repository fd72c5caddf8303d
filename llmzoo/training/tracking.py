"""A run's metrics: JSON lines, and the trackers of accelerate, such as TensorBoard."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from accelerate import PartialState
from accelerate.tracking import LOGGER_TYPE_TO_CLASS, GeneralTracker, get_available_trackers

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.files import open_for_append
from llmzoo.runs.run_folder import flatten, keep_lines

TENSORBOARD = "tensorboard"
PROJECT = "llmzoo"
# each tracker's argument for the name of a run
_RUN_NAME = {"wandb": "name", "trackio": "name", "mlflow": "run_name"}


def check_trackers(names: Sequence[str]) -> None:
    """Reject trackers that are unknown, not installed or named twice.

    ``names``: trackers of ``accelerate.tracking``, including those registered there. Raises
    :class:`UnknownNameError` or :class:`ConfigError`.
    """
    if len(set(names)) < len(names):
        raise ConfigError(f"a tracker is named twice: {', '.join(names)}")
    installed = {str(name) for name in get_available_trackers()}
    for name in names:
        if name not in LOGGER_TYPE_TO_CLASS:
            raise UnknownNameError("tracker", name, LOGGER_TYPE_TO_CLASS)
        own = LOGGER_TYPE_TO_CLASS[name].__module__ == "accelerate.tracking"
        if own and name not in installed:
            raise ConfigError(
                f"the tracker {name!r} needs a package that is not installed: pip install {name}"
            )


class Tracker(AbstractContextManager["Tracker"]):
    """Appends to ``metrics.jsonl``, and reports to the trackers named in ``trackers``.

    ``completed_steps``: the number of iterations that a resumed run has done. Rows of later iterations are
    dropped, because the run writes them again. So is the evaluation after the last iteration, ``steps``.
    TensorBoard's files are in ``tensorboard/`` and hide overwritten values. In other trackers a resumed run
    is a new run that begins at ``completed_steps``. Mappings are flattened: ``{"return": {"a": 1}}`` becomes
    ``train/return/a``. All trackers except TensorBoard show ``settings`` with the run.
    """

    def __init__(
        self,
        run: Path,
        completed_steps: int,
        steps: int,
        *,
        trackers: Sequence[str] = (TENSORBOARD,),
        settings: Mapping[str, Any],
    ):
        path = run / "metrics.jsonl"
        keep_lines(
            path,
            lambda row: (
                completed_steps > 0
                and row["step"] <= completed_steps
                and (row.get("kind"), row["step"]) != ("eval", steps)
            ),
        )
        self._file = open_for_append(path)
        PartialState()  # accelerate's trackers ask it which process they are in
        self._trackers = [_start_tracker(name, run, completed_steps, settings) for name in trackers]

    def __exit__(self, *error: object) -> None:
        self._file.close()
        for tracker in self._trackers:
            tracker.finish()

    def log_iteration(self, step: int, row: Mapping[str, Any]) -> None:
        self._write({"kind": "train", "step": step, **row}, "train")

    def log_evaluation(self, step: int, evaluation: Mapping[str, Any]) -> None:
        self._write({"kind": "eval", "step": step, **evaluation}, "eval")

    def flush(self) -> None:
        """Make the rows written so far safe on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def _write(self, row: Mapping[str, Any], prefix: str) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        values = {
            f"{prefix}/{name}": float(value)
            for name, value in flatten(row, "/")
            if isinstance(value, int | float) and not isinstance(value, bool) and name != "step"
        }
        for tracker in self._trackers:
            tracker.log(values, step=row["step"])


def _start_tracker(
    name: str, run: Path, completed_steps: int, settings: Mapping[str, Any]
) -> GeneralTracker:
    make = LOGGER_TYPE_TO_CLASS[name]
    if name == TENSORBOARD:
        tracker = make(
            TENSORBOARD, run, purge_step=completed_steps + 1 if completed_steps else None
        )
        tracker.start()
        return tracker
    project = os.environ.get(f"{name.upper()}_PROJECT", PROJECT)
    folder = [run] if make.requires_logging_directory else []
    named = {_RUN_NAME[name]: run.resolve().name} if name in _RUN_NAME else {}
    tracker = make(project, *folder, **named)
    tracker.start()
    plain = bool | int | float | str | None
    tracker.store_init_configuration(
        {key: v if isinstance(v, plain) else str(v) for key, v in flatten(settings, "/")}
    )
    return tracker
