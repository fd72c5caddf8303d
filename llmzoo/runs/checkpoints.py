"""Checkpoints, written atomically and without pickle.

A checkpoint is a folder ``step_000120/`` with the engine's state and ``state.json``. The engine
(:meth:`llmzoo.engine.local.LocalEngine.save`) writes one transformers folder for each policy, the state
of the learner's updater (optimisers such as ``policy.optimizer.safetensors``, and, if used, replayed
groups, role baselines and hashes of KL references), the results against opponents, and the curriculum's
results. ``state.json`` has the iteration, the tokens sampled so far, the mean return, the names of the
policies, and the state of torch's random generator. All other randomness of a run is derived from its
seed and the iteration number.

A checkpoint is written under a temporary name and renamed when complete. A run is resumed by
``training.setup.Setup.load_checkpoint``, before the first iteration.
``run_folder.write_or_check_config`` refuses to resume with other settings.
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

    Keeps the newest ``keep`` checkpoints and the one with the highest ``mean_return``. That is the
    mean return of the iterations just before the checkpoint, or on the training tasks that the
    checkpoint plays.

    All ranks of a run call this, with a shared folder. ``tokens``: the number of tokens sampled in the run so far.
    Raises :class:`CheckpointError` if the checkpoint cannot be written; earlier ones remain intact.
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
            f"the checkpoint of iteration {step} cannot be written to {folder} ({error}); earlier "
            "checkpoints are intact"
        ) from error
    ranks.barrier()
    return final


def _finalize(partial: Path, final: Path, engine: Engine, progress: Mapping[str, Any]) -> None:
    state = {
        "format": _FORMAT,
        **progress,
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
    checkpoints = list_checkpoints(folder)
    best = max(reversed(checkpoints), key=_mean_return)  # the newest in a tie
    for old in checkpoints[:-keep]:
        if old != best:
            files.remove(old)


def _mean_return(checkpoint: Path) -> float:
    """The mean return in ``state.json``; -inf for a symlink or an unreadable checkpoint."""
    try:
        state = (
            None if checkpoint.is_symlink() else files.read_json_object(checkpoint / "state.json")
        )
    except CheckpointError:
        state = None
    value = (state or {}).get("mean_return")
    return value if isinstance(value, float) and math.isfinite(value) else -math.inf


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint in a folder, as rank 0 sees it; all ranks call this."""
    names = ranks.broadcast([path.name for path in list_checkpoints(folder)])
    return folder / names[-1] if names else None


def load(checkpoint: Path, engine: Engine) -> tuple[int, int]:
    """Load a checkpoint into ``engine``; return its iteration and the tokens sampled so far.

    Raises :class:`CheckpointError` if it is incomplete or belongs to another run.
    """
    state = files.read_json_object(checkpoint / "state.json")
    if state is None:
        raise CheckpointError(f"{checkpoint} is not a checkpoint: it has no state.json")
    if state.get("format") != _FORMAT:
        raise CheckpointError(
            f"{checkpoint} has format {state.get('format')}, and this version needs "
            f"format {_FORMAT}: its model folders load as models, but the run cannot be resumed from it"
        )
    if state.get("policies") != sorted(engine.policies):
        raise CheckpointError(
            f"{checkpoint} contains policies {state.get('policies')}, "
            f"this run trains {sorted(engine.policies)}"
        )
    try:
        step, tokens = int(state["step"]), int(state["tokens"])
        rng_state = torch.frombuffer(bytearray.fromhex(state["torch_rng"]), dtype=torch.uint8)
        if step < 0 or tokens < 0 or rng_state.shape != torch.get_rng_state().shape:
            raise ValueError("state.json contains invalid values")
        engine.load(checkpoint)
        torch.set_rng_state(rng_state)
    except CheckpointError:
        raise
    # files that are missing, truncated or unreadable, or weights of another shape
    except (OSError, LookupError, TypeError, ValueError, SafetensorError, RuntimeError) as error:
        raise CheckpointError(f"{checkpoint} cannot be loaded: {error}") from error
    return step, tokens
