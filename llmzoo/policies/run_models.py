"""Models in the folders of runs: checkpoints and copies, the newest one, and the policy in it for an agent."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from llmzoo import files
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.names import is_name

CHECKPOINTS = "checkpoints"
OPPONENTS = "opponents"  # frozen copies of the policies that learn


def is_run(name: str | Path) -> bool:
    """Whether this is the folder of a run rather than of a model."""
    return os.path.isdir(Path(name) / CHECKPOINTS)


def find_run(name: str | Path) -> Path | None:
    """The run with this folder, or the run that this checkpoint or copy belongs to; None for other names."""
    path = Path(name)
    if is_run(path):
        return path
    run = path.parent.parent
    return run if path.parent.name in (CHECKPOINTS, OPPONENTS) and is_run(run) else None


def list_snapshots(run: str | Path) -> dict[int, Path]:
    """What a run has kept of its policies, by iteration: checkpoints, and copies for opponents."""
    both = [*list_opponent_copies(Path(run)), *list_checkpoints(Path(run) / CHECKPOINTS)]
    return dict(sorted({snapshot_step(path): path for path in both}.items()))


def list_opponent_copies(run: Path) -> list[Path]:
    """The frozen copies that a run has kept for opponents (``000120``), sorted by iteration."""
    return sorted(path for path in (run / OPPONENTS).glob("[0-9]*") if path.is_dir())


def snapshot_step(snapshot: Path) -> int:
    """The iterations that were done when a checkpoint or a copy was made."""
    return int(snapshot.name.removeprefix("step_"))


def shortest_unique_names(folders: Sequence[Path]) -> list[str]:
    """The shortest end of each folder's path that no other folder has."""
    parts = [folder.resolve().parts for folder in folders]
    length = 1
    while len({part[-length:] for part in parts}) < len(parts):
        length += 1
    return ["/".join(part[-length:]) for part in parts]


def list_checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints in a folder (``step_000120``), sorted by iteration."""
    matches = {path: re.fullmatch(r"step_(\d{6,12})", path.name) for path in folder.glob("step_*")}
    numbered = [(int(name[1]), path) for path, name in matches.items() if name is not None]
    return [path for _, path in sorted(numbered)]


def newest_checkpoint(run: str | Path) -> Path:
    """The newest checkpoint; raises :class:`CheckpointError` if there is none, or one with links."""
    checkpoints = list_checkpoints(Path(run) / CHECKPOINTS)
    if not checkpoints:
        raise CheckpointError(f"{run} has no checkpoint yet")
    return validate_checkpoint(checkpoints[-1])


def validate_checkpoint(checkpoint: Path) -> Path:
    """The checkpoint; raises :class:`CheckpointError` if it contains a link or a device."""
    files.check_folder(checkpoint.parent)
    files.check_tree(checkpoint)
    return checkpoint


def list_policy_names(checkpoint: Path) -> list[str]:
    """The names of the policies that a checkpoint holds."""
    return sorted(path.name for path in checkpoint.iterdir() if path.is_dir())


def resolve_start_model(name: str, agent: str) -> str:
    """The model that an agent starts from: ``name`` itself, or the run's policy for the agent.

    In a run's newest checkpoint this is the policy that the run's ``policies`` names, the one named after
    the agent, or the shared policy.
    Raises :class:`ConfigError` if it has neither.
    """
    if not is_run(name):
        return name
    newest = newest_checkpoint(name)
    mapping = (files.read_json_object(Path(name) / "config.json") or {}).get("policies")
    own = str(mapping.get(agent, agent)) if isinstance(mapping, dict) else agent
    own = own if is_name(own) else "policy"  # never a place outside the checkpoint
    for folder in (newest / own, newest / "policy"):
        if folder.is_dir():
            return str(folder)
    folders = ", ".join(str(newest / policy) for policy in list_policy_names(newest))
    raise ConfigError(f"{name} trained no policy for agent {agent!r}: name one of {folders}")
