"""CUDA graphs: a function whose kernels a GPU repeats without the host launching each of them."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from llmzoo.errors import CudaGraphWarning

Step = Callable[[], None]

_CAPTURING = threading.RLock()
_WARM_UP = 2  # runs before the capture, in which libraries set up what they need


def capture_cuda_graph(step: Step, device: torch.device) -> Step | None:
    """``step`` as a CUDA graph; None if the device is no GPU, or if it cannot be captured.

    ``step`` reads and writes tensors at fixed addresses, has no result, and never waits for a number
    from the device. It runs three times here. Raises torch's ``OutOfMemoryError``.
    """
    if device.type != "cuda":
        return None
    try:
        with _CAPTURING:  # torch captures one graph of a process at a time
            return _capture(step, device)
    except torch.OutOfMemoryError:
        raise
    # from drivers, allocators, empty graphs, and builds without CUDA
    except (RuntimeError, AttributeError, UserWarning) as error:
        _warn_once(str(error).partition("\n")[0])
        return None


def _capture(step: Step, device: torch.device) -> Step:
    current_stream = torch.cuda.current_stream(device)
    # torch leaves the capture's stream current where a capture fails
    with torch.cuda.device(device), torch.cuda.stream(current_stream):
        side_stream = torch.cuda.Stream(device)
        side_stream.wait_stream(current_stream)
        with torch.cuda.stream(side_stream):
            for _ in range(_WARM_UP):
                step()
        current_stream.wait_stream(side_stream)
        pool, stream, _ = _shared_resources(device)
        replay: Step = _record_graph(step, pool, stream).replay
    return replay


@cache
def _shared_resources(device: torch.device) -> tuple[Any, Any, Any]:
    """What the graphs of a device share: their memory, since none needs what it computed after it has run,
    the stream of captures, and a first graph, which keeps the memory alive when all others are gone."""
    pool, stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream(device)
    number = torch.zeros(1, device=device)
    return pool, stream, _record_graph(lambda: _increase(number), pool, stream)


def _increase(number: torch.Tensor) -> None:
    number.add_(number * 2)


def _record_graph(step: Step, pool: Any, stream: Any) -> Any:
    graph = torch.cuda.CUDAGraph()
    # other threads may go on using the device
    with (
        warnings.catch_warnings(),
        torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"),
    ):
        warnings.filterwarnings("error", message="The CUDA Graph is empty")
        step()
    return graph


@cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"a decoding step cannot be captured as a CUDA graph, and runs without: {reason}",
        CudaGraphWarning,
        stacklevel=4,
    )
