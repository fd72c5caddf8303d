"""CUDA graphs without a GPU: the operations of a step are recorded once, and repeated on the same tensors.

As in a real graph no Python runs again, so whatever a step keeps outside of its tensors stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from llmzoo.models import static_step


class Graphs:
    """``captures``, ``replays``: how many there were. ``operations``: that compute, of each captured step."""

    def __init__(self) -> None:
        self.captures = self.replays = 0
        self.operations: list[int] = []

    def captured(self, step: Callable[[], None], device: torch.device) -> Callable[[], None]:
        record = _Recording()
        with record:
            step()
        self.captures += 1
        computing = [bool(own) or func._schema.is_mutable for func, _, _, own in record.calls]
        self.operations.append(sum(computing))  # without views

        def replay() -> None:
            self.replays += 1
            for func, args, kwargs, own in record.calls:
                results = _tensors(func(*args, **kwargs))
                for at, old in own:
                    old.copy_(results[at])

        return replay


class _Recording(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, list[tuple[int, Tensor]]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        given = {_memory(each) for each in _tensors((args, kwargs))}
        own = [  # results with memory of their own: no views, and nothing that was changed in place
            (at, each) for at, each in enumerate(_tensors(result)) if _memory(each) not in given
        ]
        # a graph knows addresses: a tensor that is given other memory later stays the old one here
        args, kwargs, own = tree_map(_alias, (args, kwargs, own))
        self.calls.append((func, args, kwargs, own))
        return result


def _alias(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _tensors(tree: Any) -> list[Tensor]:
    return [each for each in tree_leaves(tree) if isinstance(each, Tensor)]


def _memory(tensor: Tensor) -> int:
    inside: Tensor = getattr(tensor, "inside", tensor)  # of a virtual GPU
    return inside.untyped_storage().data_ptr()


@contextmanager
def recorded() -> Iterator[Graphs]:
    """Within this context static steps are recorded and repeated."""
    graphs = Graphs()
    with mock.patch.object(static_step, "capture_cuda_graph", graphs.captured):
        yield graphs
