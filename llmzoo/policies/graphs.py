"""CUDA graphs: a function whose kernels a GPU repeats without the host launching each of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from llmzoo.errors import NoGraphWarning

Step = Callable[[], None]

_WARM_UP = 2  # runs before the capture, in which libraries set up what they need


def repeatable(step: Step, device: torch.device) -> Step:
    """``step`` as a CUDA graph on a GPU; elsewhere, or where it cannot be captured, ``step`` itself.

    ``step`` reads and writes tensors that stay where they are, has no result, and never asks the device
    for a number. It runs three times here.
    """
    if device.type != "cuda":
        return step
    try:
        return _captured(step, device)
    except (RuntimeError, AttributeError) as error:  # of drivers, allocators, builds without CUDA
        _warn_once(str(error).partition("\n")[0])
        return step


def _captured(step: Step, device: torch.device) -> Step:
    with torch.cuda.device(device):
        aside, here = torch.cuda.Stream(), torch.cuda.current_stream()
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UP):
                step()
        here.wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        # other threads may go on using the device
        with torch.cuda.graph(graph, pool=_pool(device), capture_error_mode="thread_local"):
            step()
    replay: Step = graph.replay
    return replay


@cache
def _pool(device: torch.device) -> Any:
    """The memory that all graphs share: none needs what it computed after it has run."""
    return torch.cuda.graph_pool_handle()


@cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"a decoding step cannot be captured as a CUDA graph, and runs without: {reason}",
        NoGraphWarning,
        stacklevel=4,
    )
