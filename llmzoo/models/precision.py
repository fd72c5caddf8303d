"""Number formats of weights, of forward passes, and of the weights that an optimiser steps."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from llmzoo.errors import CheckpointError, ConfigError

Precision = Literal["float32", "bf16_autocast", "bf16"]

WEIGHT_DTYPES: Mapping[str, torch.dtype] = {
    "float32": torch.float32,
    "bf16_autocast": torch.float32,
    "bf16": torch.bfloat16,
}

FULL_PRECISION = (torch.float32, torch.float64)  # formats that do not round small updates away


# names in torch.cpu.get_capabilities of processors' instructions for bfloat16
_BF16 = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")


def weight_dtype(precision: str) -> torch.dtype:
    """The format of the weights. Raises :class:`ConfigError` for an unknown precision."""
    if precision not in WEIGHT_DTYPES:
        raise ConfigError(f"precision is one of {', '.join(WEIGHT_DTYPES)}; got {precision!r}")
    return WEIGHT_DTYPES[precision]


def has_bf16(device: torch.device) -> bool:
    """Whether the device has instructions for bfloat16. Without them it computes in float32, and
    rounds."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(False)  # not emulated
    if device.type == "cpu":
        read = getattr(torch.cpu, "get_capabilities", None)  # older versions do not tell
        known = {} if read is None else read()
        return read is None or any(known.get(name) for name in _BF16)
    return True


def warn_if_slow(device: torch.device, precision: str | None) -> None:
    """Warns where bfloat16 is asked for and the device has no instructions for it."""
    if precision in ("bf16", "bf16_autocast") and not has_bf16(device):
        saves = "saves memory, but is" if precision == "bf16" else "is"
        warnings.warn(
            f"this {device.type} has no instructions for bfloat16: precision={precision} {saves} "
            "slower than float32",
            stacklevel=3,
        )


def cast_weights(model: nn.Module, precision: str) -> None:
    """Cast a model's weights in place, but not its buffers.

    ``model.to(dtype)`` would also cast the frequencies of rotary embeddings. Rounding them shifts
    positions, and more so the later ones.
    """
    dtype = weight_dtype(precision)
    for parameter in model.parameters():
        if parameter.dtype != dtype:
            parameter.data = parameter.data.to(dtype)


def autocast(device: torch.device, precision: str | None) -> torch.autocast:
    """The autocast context of a forward pass: bfloat16 for ``"bf16_autocast"``, else disabled."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16_autocast")


class MasterWeights:
    """float32 copies, for an optimiser to step, of weights that a model keeps in bfloat16.

    bfloat16 has 8 significant bits: near 1 its numbers are 2^-7 = 0.0078 apart, so it always rounds
    away an update of less than half of that. float32 adds such updates up (mixed-precision training,
    arXiv 1710.03740).

    Give ``masters`` to the optimiser. Call :meth:`collect_gradients` before its step, or after every backward
    pass to sum the parts of a gradient in float32 too. Call :meth:`copy_to_model` after the step. A
    float32 or float64 parameter is its own master.
    """

    def __init__(self, parameters: Iterable[Parameter]):
        self.weights = list(parameters)
        self.masters = [
            p if p.dtype in FULL_PRECISION else Parameter(p.detach().float()) for p in self.weights
        ]

    def _copies(self) -> list[tuple[str, Parameter, Parameter]]:
        """Key in a saved state, the model's weight and its master, for each master that is a copy."""
        pairs = enumerate(zip(self.weights, self.masters, strict=True))
        return [(str(n), weight, master) for n, (weight, master) in pairs if weight is not master]

    @torch.no_grad()
    def collect_gradients(self) -> None:
        """Add the weights' gradients to the masters' in float32, and remove them from the weights."""
        for _, weight, master in self._copies():
            if weight.grad is not None:
                moved = weight.grad.float()
                master.grad = moved if master.grad is None else master.grad + moved
                weight.grad = None

    @torch.no_grad()
    def copy_to_model(self) -> None:
        """Write the masters into the model's weights, rounded to nearest, and clear their gradients."""
        for _, weight, master in self._copies():
            weight.copy_(master)
            master.grad = None

    def state_dict(self) -> dict[str, Tensor]:
        """The masters that are copies, by number, for a checkpoint."""
        return {name: master.detach().clone() for name, _, master in self._copies()}

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` returned, and copy it to the model.

        Raises :class:`CheckpointError` if it was saved for other parameters.
        """
        wanted = {name: master.shape for name, _, master in self._copies()}
        if {name: tensor.shape for name, tensor in state.items()} != wanted:
            raise CheckpointError("these master weights were saved for other parameters")
        for name, _, master in self._copies():
            master.copy_(state[name])
        self.copy_to_model()
