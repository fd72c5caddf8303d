"""The folder of a run: what is written there once, and where its policies are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from llmzoo import ranks
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.policies.base import answer_limit

# settings that say where the work is done, and change nothing in what a run gives
PLACEMENT = ("engine", "engine_args", "parallel", "cpu_offload")
# what may be other where a run goes on: its length, the above, and what is kept for people to read
FREE = ("steps", *PLACEMENT, "record_every", "record_tasks")


def prepare(run: Path, config: Mapping[str, Any], *, resume: bool) -> None:
    """Write ``config.json`` of a new run, or check that a resumed one has the same settings.

    Only the settings ``FREE`` may differ. Raises :class:`CheckpointError` where a new run would
    overwrite one, there is none to resume, or it was started with other settings.
    """
    path = run / "config.json"
    text = json.dumps(config, indent=2, default=str) + "\n"
    if not resume:
        if path.exists():
            raise CheckpointError(f"{run} already holds a run: resume it, or choose another folder")
        run.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    if not path.exists():
        raise CheckpointError(f"{run} holds no run to resume")
    saved = json.loads(path.read_text())
    now = json.loads(text)
    changed = [k for k in now if k not in FREE and saved.get(k) != now[k]]
    if changed:
        raise CheckpointError(
            f"{run} was started with other settings: "
            + ", ".join(f"{k}={saved.get(k)!r} (now {now[k]!r})" for k in changed)
        )
    path.write_text(text)


def keep_lines(path: Path, wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Have a file of JSON lines hold those only that are wanted, and none that a kill cut short."""
    if not path.exists():
        return
    text = path.read_text()
    lines = text[: text.rfind("\n") + 1].splitlines(keepends=True)
    partial = path.with_suffix(".writing")
    partial.write_text("".join(line for line in lines if wanted(json.loads(line))))
    partial.replace(path)


def once(path: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What ``measure`` gives, kept in a file so that a resumed run has the same.

    All ranks call this, and measure together.
    """
    kept = ranks.told(json.loads(path.read_text()) if path.exists() else None)
    if kept is not None:
        return kept
    found = measure()
    if ranks.rank() == 0:
        partial = path.with_suffix(".writing")
        partial.write_text(json.dumps(found, indent=2) + "\n")
        partial.replace(path)
    return found


def is_run(name: str | Path) -> bool:
    """Whether this is the folder of a run rather than of a model."""
    return (Path(name) / "checkpoints").is_dir()


def settings(run: str | Path) -> dict[str, Any]:
    """The configuration that a run was started with."""
    path = Path(run) / "config.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{run} has no configuration that can be read: {error}") from error
    return found


def chat_of(run: str | Path) -> dict[str, Any]:
    """The fields of ``Chat`` that a run was started with; runs of earlier versions have none."""
    config = settings(run)
    return {name: config.get(name) for name in ("system", "chat_template_args", "thought_end")}


def newest_checkpoint(run: str | Path) -> Path:
    """The folder of the newest checkpoint; raises :class:`CheckpointError` where there is none."""
    found = sorted((Path(run) / "checkpoints").glob("step_*"))
    if not found:
        raise CheckpointError(f"{run} has no checkpoint yet")
    return found[-1]


def policies_in(checkpoint: Path) -> list[str]:
    """The names of the policies that a checkpoint holds."""
    return sorted(path.name for path in checkpoint.iterdir() if path.is_dir())


def start_of(name: str, agent: str) -> str:
    """The model that a seat starts from: of a run what it has for the seat, else ``name`` itself.

    In the newest checkpoint of a run this is the policy named after the seat, or the one that all
    seats shared. Raises :class:`ConfigError` where there is neither.
    """
    if not is_run(name):
        return name
    newest = newest_checkpoint(name)
    for folder in (newest / agent, newest / "policy"):
        if folder.is_dir():
            return str(folder)
    folders = ", ".join(str(newest / policy) for policy in policies_in(newest))
    raise ConfigError(f"{name} trained no policy for seat {agent!r}: name one of {folders}")


def answer_limit_of(name: str | Path) -> int:
    """Tokens of an answer of a model, or of the policies of a run, where nothing else is said."""
    if not is_run(name):
        return answer_limit(str(name))
    config = settings(name)
    return int(config["max_new_tokens"] or answer_limit_of(config["model"]))
