"""The tests' own float64: nothing inside a model or a trainer falls back to float32."""

import pytest
import torch
from float64 import in_float64
from test_hidden import groups
from tiny_models import policy
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Formats(TorchDispatchMode):
    """Takes down the format of every tensor that is made."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        self.seen |= {t.dtype for t in tree_leaves(found) if isinstance(t, torch.Tensor)}
        return found


def formats():
    """Those of a likelihood and its gradients; the layers are computed twice."""
    with Formats() as made:
        player = policy(gradient_checkpointing=True)
        player.likelihood(groups()).logprobs.sum().backward()
    return {dtype for dtype in made.seen if dtype.is_floating_point}


def test_everything_is_float64_in_both_passes():
    assert formats() == {torch.float32}
    with in_float64():
        assert formats() == {torch.float64}
    assert formats() == {torch.float32}


def test_it_ends_with_an_error_too():
    with pytest.raises(ZeroDivisionError), in_float64():
        raise ZeroDivisionError
    assert torch.get_default_dtype() == torch.float32
    assert torch.ones(1).double().float().dtype == torch.float32
