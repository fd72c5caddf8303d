"""Checkpoints: written whole or not at all, without pickle.

A checkpoint is a folder ``step_000120/`` with one transformers folder for each policy, the state
of the learner's updater (such as ``policy.optimizer.safetensors``), and ``state.json``. It is
written under another name and renamed when complete. All randomness of a run is derived from its seed and the number of the
iteration, so weights, optimiser and iteration are the whole state.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from llmzoo import files
from llmzoo.distributed import ranks
from llmzoo.engine.base import Engine
from llmzoo.errors import CheckpointError
from llmzoo.policies.run_models import list_checkpoints

_FORMAT = 2


def save(
    folder: Path,
    engine: Engine,
    step: int,
    tokens: int,
    *,
    mean_return: float | None = None,
    keep: int = 3,
) -> Path:
    """Write the checkpoint of iteration ``step``.

    The newest ``keep`` stay, and the one with the highest ``mean_return``: that of the iterations just
    before it, or of the training tasks that checkpoints play.

    All ranks of a run call this, with a folder that they share.
    ``tokens``: sampled in the run so far. Raises :class:`CheckpointError` where it cannot be
    written, and leaves the earlier ones as they are.
    """
    final = folder / f"step_{step:06d}"
    partial = folder / f"{files.TEMPORARY_PREFIX}{step:06d}"
    if ranks.rank() == 0:
        files.recreate_folder(partial)
    ranks.barrier()
    try:
        engine.save(partial)
        if ranks.rank() == 0:
            _finalize(
                partial, final, engine, {"step": step, "tokens": tokens, "mean_return": mean_return}
            )
            _remove_old(folder, keep)
    except (OSError, SafetensorError) as error:
        files.remove(partial)
        raise CheckpointError(
            f"the checkpoint of iteration {step} cannot be written to {folder} ({error}); those "
            "before it are whole"
        ) from error
    ranks.barrier()
    return final


def _finalize(partial: Path, final: Path, engine: Engine, reached: Mapping[str, Any]) -> None:
    state = {
        "format": _FORMAT,
        **reached,
        "policies": sorted(engine.policies),
        "torch_rng": torch.get_rng_state().numpy().tobytes().hex(),
    }
    (partial / "state.json").write_text(json.dumps(state))
    for path in partial.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    files.remove(final)
    partial.rename(final)


def _remove_old(folder: Path, keep: int) -> None:
    found = list_checkpoints(folder)
    best = max(reversed(found), key=_mean_return)  # the newest of those that earn the same
    for old in found[:-keep]:
        if old != best:
            files.remove(old)


def _mean_return(checkpoint: Path) -> float:
    """As ``state.json`` says; that of a link, or of a checkpoint that cannot be read, is the lowest."""
    try:
        state = (
            None if checkpoint.is_symlink() else files.read_json_object(checkpoint / "state.json")
        )
    except CheckpointError:
        state = None
    found = (state or {}).get("mean_return")
    return found if isinstance(found, float) and math.isfinite(found) else -math.inf


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint in a folder, as rank 0 sees it; all ranks call this."""
    names = ranks.broadcast([path.name for path in list_checkpoints(folder)])
    return folder / names[-1] if names else None


def load(checkpoint: Path, engine: Engine) -> tuple[int, int]:
    """Put a checkpoint's state into ``engine``; returns its iteration, and the tokens until then.

    Raises :class:`CheckpointError` for one that is incomplete, or of another run.
    """
    state = files.read_json_object(checkpoint / "state.json")
    if state is None:
        raise CheckpointError(f"{checkpoint} is not a checkpoint: it has no state.json")
    if state.get("format") != _FORMAT:
        raise CheckpointError(
            f"{checkpoint} was written in form {state.get('format')}, this is form {_FORMAT}: "
            "its model folders load as models, but the run cannot go on from it"
        )
    if state.get("policies") != sorted(engine.policies):
        raise CheckpointError(
            f"{checkpoint} holds policies {state.get('policies')}, "
            f"this run trains {sorted(engine.policies)}"
        )
    try:
        step, tokens = int(state["step"]), int(state["tokens"])
        raw = torch.frombuffer(bytearray.fromhex(state["torch_rng"]), dtype=torch.uint8)
        if step < 0 or tokens < 0 or raw.shape != torch.get_rng_state().shape:
            raise ValueError("state.json holds numbers that no run has written")
        engine.load(checkpoint)
        torch.set_rng_state(raw)
    except CheckpointError:
        raise
    # files that are absent, cut short or unreadable, and weights of another shape
    except (OSError, LookupError, TypeError, ValueError, SafetensorError, RuntimeError) as error:
        raise CheckpointError(f"{checkpoint} cannot be loaded: {error}") from error
    return step, tokens
