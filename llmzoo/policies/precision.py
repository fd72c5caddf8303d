"""Number formats: what weights are kept in, what forward passes compute in, and what learns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from llmzoo.errors import CheckpointError, ConfigError

Precision = Literal["float32", "bf16_autocast", "bf16"]

WEIGHTS: Mapping[str, torch.dtype] = {
    "float32": torch.float32,
    "bf16_autocast": torch.float32,
    "bf16": torch.bfloat16,
}

FULL = (torch.float32, torch.float64)  # formats in which small updates add up


def weight_dtype(precision: str) -> torch.dtype:
    """The format of the weights; raises :class:`ConfigError` for a precision that is not known."""
    if precision not in WEIGHTS:
        raise ConfigError(f"precision is one of {', '.join(WEIGHTS)}; got {precision!r}")
    return WEIGHTS[precision]


def cast_weights(model: nn.Module, precision: str) -> None:
    """Cast a model's weights in place, and only these.

    ``model.to(dtype)`` would cast its buffers too: rotary embeddings keep their frequencies in one,
    and rounding these shifts positions, the more the farther they are.
    """
    dtype = weight_dtype(precision)
    for parameter in model.parameters():
        if parameter.dtype != dtype:
            parameter.data = parameter.data.to(dtype)


def autocast(device: torch.device, precision: str | None) -> torch.autocast:
    """The context of a forward pass: bfloat16 arithmetic for ``"bf16_autocast"``, else none."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16_autocast")


class MasterWeights:
    """float32 copies of weights that a model keeps in bfloat16, for an optimiser to step.

    bfloat16 has 8 significant bits: near 1 its numbers lie 2^-7 = 0.0078 apart, and an update of
    less than half of that is rounded away, every time. Added up in float32 it is not
    (mixed-precision training, arXiv 1710.03740).

    ``masters`` are what the optimiser gets. Call :meth:`gradients` before its step,
    or after every backward pass, so that a gradient of many parts is summed in float32 too; and
    :meth:`publish` after it. A parameter that is float32 or float64 already is its own master.
    """

    def __init__(self, parameters: Iterable[Parameter]):
        self.weights = list(parameters)
        self.masters = [
            p if p.dtype in FULL else Parameter(p.detach().float()) for p in self.weights
        ]

    def _copied(self) -> list[tuple[str, Parameter, Parameter]]:
        """Number in a saved state, the model's weight, its master; where they are not the same."""
        pairs = enumerate(zip(self.weights, self.masters, strict=True))
        return [(str(n), weight, master) for n, (weight, master) in pairs if weight is not master]

    @torch.no_grad()
    def gradients(self) -> None:
        """Move the weights' gradients to the masters, added in float32 to what is there."""
        for _, weight, master in self._copied():
            if weight.grad is not None:
                moved = weight.grad.float()
                master.grad = moved if master.grad is None else master.grad + moved
                weight.grad = None

    @torch.no_grad()
    def publish(self) -> None:
        """Write the masters into the model's weights, rounded to nearest; their gradients go."""
        for _, weight, master in self._copied():
            weight.copy_(master)
            master.grad = None

    def state_dict(self) -> dict[str, Tensor]:
        """The masters that are copies, by their number: a part of a checkpoint."""
        return {name: master.detach().clone() for name, _, master in self._copied()}

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up what :meth:`state_dict` gave, and publish it.

        Raises :class:`CheckpointError` where it was saved for other parameters.
        """
        wanted = {name: master.shape for name, _, master in self._copied()}
        if {name: tensor.shape for name, tensor in state.items()} != wanted:
            raise CheckpointError("these master weights were saved for other parameters")
        for name, _, master in self._copied():
            master.copy_(state[name])
        self.publish()
