"""The files of a run that are written once: its configuration and its first evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from llmzoo.errors import CheckpointError


def prepare(run: Path, config: Mapping[str, Any], *, resume: bool) -> None:
    """Write ``config.json`` of a new run, or check that a resumed one has the same settings.

    Only ``steps`` may differ. Raises :class:`CheckpointError` where a new run would overwrite one,
    there is none to resume, or it was started with other settings.
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
    changed = [k for k in now if k != "steps" and saved.get(k) != now[k]]
    if changed:
        raise CheckpointError(
            f"{run} was started with other settings: "
            + ", ".join(f"{k}={saved.get(k)!r} (now {now[k]!r})" for k in changed)
        )
    path.write_text(text)


def once(path: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What ``measure`` gives, kept in a file so that a resumed run has the same."""
    if path.exists():
        return json.loads(path.read_text())
    found = measure()
    partial = path.with_suffix(".writing")
    partial.write_text(json.dumps(found, indent=2) + "\n")
    partial.replace(path)
    return found
