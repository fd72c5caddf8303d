"""Checkpoints: written whole or not at all, without pickle.

A checkpoint is a folder ``step_000120/`` with one transformers folder for each policy, the state
of the learner's updater (such as ``policy.optimizer.safetensors``), and ``state.json``. It is
written under another name and renamed when complete. All randomness of a run is derived from its seed and the number of the
iteration, so weights, optimiser and iteration are the whole state.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from llmzoo import ranks
from llmzoo.engine.base import Engine
from llmzoo.errors import CheckpointError

_FORMAT = 2


def save(folder: Path, engine: Engine, step: int, tokens: int, *, keep: int = 3) -> Path:
    """Write the checkpoint of iteration ``step``; all but the newest ``keep`` are removed.

    All ranks of a run call this, with a folder that they share.
    ``tokens``: sampled in the run so far.
    """
    final = folder / f"step_{step:06d}"
    partial = folder / f".writing_{step:06d}"
    if ranks.rank() == 0:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    ranks.meet()
    engine.save(partial)
    if ranks.rank() == 0:
        _complete(partial, final, engine, step, tokens, keep)
    ranks.meet()
    return final


def _complete(
    partial: Path, final: Path, engine: Engine, step: int, tokens: int, keep: int
) -> None:
    state = {
        "format": _FORMAT,
        "step": step,
        "tokens": tokens,
        "policies": sorted(engine.policies),
        "torch_rng": torch.get_rng_state().numpy().tobytes().hex(),
    }
    (partial / "state.json").write_text(json.dumps(state))
    for path in partial.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    shutil.rmtree(final, ignore_errors=True)
    partial.rename(final)
    for old in sorted(final.parent.glob("step_*"))[:-keep]:
        shutil.rmtree(old)


def latest(folder: Path) -> Path | None:
    """The newest complete checkpoint in a folder, as rank 0 sees it; all ranks call this."""
    found = ranks.told([path.name for path in sorted(folder.glob("step_*"))])
    return folder / found[-1] if found else None


def load(checkpoint: Path, engine: Engine) -> tuple[int, int]:
    """Put a checkpoint's state into ``engine``; returns its iteration, and the tokens until then.

    Raises :class:`CheckpointError` for one that is incomplete, or of another run.
    """
    try:
        state: dict[str, Any] = json.loads((checkpoint / "state.json").read_text())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{checkpoint} is not a checkpoint: {error}") from error
    if state.get("format") != _FORMAT:
        raise CheckpointError(
            f"{checkpoint} was written in form {state.get('format')}, this is form {_FORMAT}: "
            "its model folders load as models, but the run cannot go on from it"
        )
    if state["policies"] != sorted(engine.policies):
        raise CheckpointError(
            f"{checkpoint} holds policies {state['policies']}, "
            f"this run trains {sorted(engine.policies)}"
        )
    try:
        engine.load(checkpoint)
    except CheckpointError:
        raise
    # files that are absent, cut short or unreadable, and weights of another shape
    except (OSError, KeyError, ValueError, SafetensorError, RuntimeError) as error:
        raise CheckpointError(f"{checkpoint} cannot be loaded: {error}") from error
    raw = bytearray(bytes.fromhex(state["torch_rng"]))
    torch.set_rng_state(torch.frombuffer(raw, dtype=torch.uint8))
    return int(state["step"]), int(state["tokens"])
