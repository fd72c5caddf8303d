"""Models in the folders of runs: the newest checkpoint, and the policy in it for a seat."""

from __future__ import annotations

import os
import re
from pathlib import Path

from llmzoo import files
from llmzoo.errors import CheckpointError, ConfigError

CHECKPOINTS = "checkpoints"


def is_run(name: str | Path) -> bool:
    """Whether this is the folder of a run rather than of a model."""
    return os.path.isdir(Path(name) / CHECKPOINTS)


def checkpoints_in(folder: Path) -> list[Path]:
    """The complete checkpoints in a folder (``step_000120``), sorted by iteration."""
    matches = {path: re.fullmatch(r"step_(\d{6,12})", path.name) for path in folder.glob("step_*")}
    numbered = [(int(name[1]), path) for path, name in matches.items() if name is not None]
    return [path for _, path in sorted(numbered)]


def newest_checkpoint(run: str | Path) -> Path:
    """The newest checkpoint; raises :class:`CheckpointError` if there is none, or one with links."""
    checkpoints = checkpoints_in(Path(run) / CHECKPOINTS)
    if not checkpoints:
        raise CheckpointError(f"{run} has no checkpoint yet")
    return checked(checkpoints[-1])


def checked(checkpoint: Path) -> Path:
    """The checkpoint; raises :class:`CheckpointError` if it contains a link or a device."""
    files.check_folder(checkpoint.parent)
    files.check_tree(checkpoint)
    return checkpoint


def policies_in(checkpoint: Path) -> list[str]:
    """The names of the policies that a checkpoint holds."""
    return sorted(path.name for path in checkpoint.iterdir() if path.is_dir())


def start_of(name: str, agent: str) -> str:
    """The model that a seat starts from: ``name`` itself, or the run's policy for the seat.

    In a run's newest checkpoint this is the policy that the run's ``seats`` names, the one named after
    the seat, or the shared policy.
    Raises :class:`ConfigError` if it has neither.
    """
    if not is_run(name):
        return name
    newest = newest_checkpoint(name)
    seats = (files.read_object(Path(name) / "config.json") or {}).get("seats")
    own = seats.get(agent, agent) if isinstance(seats, dict) else agent
    for folder in (newest / own, newest / "policy"):
        if folder.is_dir():
            return str(folder)
    folders = ", ".join(str(newest / policy) for policy in policies_in(newest))
    raise ConfigError(f"{name} trained no policy for seat {agent!r}: name one of {folders}")
