"""Gradient checkpointing: activations inside the layers are computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from llmzoo.errors import ConfigError

Around = Callable[[], AbstractContextManager[None]]


@contextmanager
def recomputed_layers(model: nn.Module, around: Around) -> Iterator[None]:
    """Within this context each of the model's layers keeps only its inputs for the backward pass.

    ``around`` is entered when a layer runs, the second time too: whatever the layer depends on
    beside its inputs (which adapter is active) must be then as it was. transformers has a switch
    of its own, but it works in training mode only, where dropout is on; a likelihood has no
    dropout. A forward pass in this context must not use a key-value cache, which the second run
    would extend again. Chen et al., arXiv 1604.06174.

    Raises :class:`ConfigError` for a model whose layers cannot be told.
    """
    layers = [m for m in model.modules() if isinstance(m, GradientCheckpointingLayer)]
    if not layers:
        raise ConfigError(
            f"{type(model).__name__} has no layers that transformers can checkpoint: "
            "set gradient_checkpointing=False"
        )
    for layer in layers:
        # on the instance, where it hides the class's method until it is deleted
        layer.forward = partial(_checkpointed, layer, layer.forward, around)
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


def _checkpointed(
    layer: nn.Module,
    forward: Callable[..., Any],
    around: Around,
    *inputs: Any,
    **settings: Any,
) -> Any:
    def run(*inputs: Any) -> Any:
        layer.eval()  # no dropout, also where somebody has switched it on before the backward pass
        with around():
            return forward(*inputs, **settings)

    return checkpoint(run, *inputs, use_reentrant=False, preserve_rng_state=False)


def nothing() -> None:
    """What has to be prepared for layers that depend on their inputs alone."""
