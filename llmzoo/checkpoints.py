"""Checkpoints: written whole or not at all, without pickle.

A checkpoint is a folder ``step_000120/`` with one transformers folder and one
``optimizer.safetensors`` for each policy, and ``state.json``. It is written under another name and
renamed when complete. All randomness of a run is derived from its seed and the number of the
iteration, so weights, optimiser and iteration are the whole state.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from llmzoo.engine.local import LocalEngine
from llmzoo.errors import CheckpointError
from llmzoo.policies.transformers import no_bars

_FORMAT = 1


def save(folder: Path, engine: LocalEngine, step: int, *, keep: int = 3) -> Path:
    """Write the checkpoint of iteration ``step``; all but the newest ``keep`` are removed."""
    final = folder / f"step_{step:06d}"
    partial = folder / f".writing_{step:06d}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    schedules = {}
    for name, policy in engine.policies.items():
        policy.save(partial / name)
        save_file(_tensors(engine.optimizers[name]), partial / f"{name}.optimizer.safetensors")
        schedules[name] = engine.schedules[name].last_epoch
    state = {
        "format": _FORMAT,
        "step": step,
        "schedules": schedules,
        "torch_rng": torch.get_rng_state().numpy().tobytes().hex(),
    }
    (partial / "state.json").write_text(json.dumps(state))
    for path in partial.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    shutil.rmtree(final, ignore_errors=True)
    partial.rename(final)
    for old in sorted(folder.glob("step_*"))[:-keep]:
        shutil.rmtree(old)
    return final


def latest(folder: Path) -> Path | None:
    """The newest complete checkpoint in a folder."""
    found = sorted(folder.glob("step_*"))
    return found[-1] if found else None


def load(checkpoint: Path, engine: LocalEngine) -> int:
    """Put a checkpoint's weights and optimiser state into ``engine``; returns its iteration.

    Raises :class:`CheckpointError` for one that is incomplete or of other policies.
    """
    try:
        state: dict[str, Any] = json.loads((checkpoint / "state.json").read_text())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{checkpoint} is not a checkpoint: {error}") from error
    if state.get("format") != _FORMAT or set(state["schedules"]) != set(engine.policies):
        raise CheckpointError(
            f"{checkpoint} holds policies {sorted(state.get('schedules', {}))}, "
            f"this run trains {sorted(engine.policies)}"
        )
    for name, policy in engine.policies.items():
        with no_bars():
            trained = type(policy.model).from_pretrained(
                str(checkpoint / name), dtype=policy.model.dtype
            )
        policy.model.load_state_dict(trained.state_dict())
        tensors = load_file(checkpoint / f"{name}.optimizer.safetensors")
        _restore(engine.optimizers[name], tensors)
        schedule = engine.schedules[name]
        schedule.last_epoch = state["schedules"][name]
        rates = [
            base * factor(schedule.last_epoch)
            for base, factor in zip(schedule.base_lrs, schedule.lr_lambdas, strict=True)
        ]
        schedule._last_lr = rates
        for group, rate in zip(engine.optimizers[name].param_groups, rates, strict=True):
            group["lr"] = rate
    raw = bytearray(bytes.fromhex(state["torch_rng"]))
    torch.set_rng_state(torch.frombuffer(raw, dtype=torch.uint8))
    return int(state["step"])


def _tensors(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """The optimiser's state as named tensors: ``"parameter number.name"``."""
    return {
        f"{number}.{name}": torch.as_tensor(value).detach().clone().contiguous()
        for number, entry in optimizer.state_dict()["state"].items()
        for name, value in entry.items()
    }


def _restore(optimizer: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    entries: dict[int, dict[str, torch.Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        entries.setdefault(int(number), {})[name] = tensor
    state = optimizer.state_dict()
    state["state"] = entries
    optimizer.load_state_dict(state)
