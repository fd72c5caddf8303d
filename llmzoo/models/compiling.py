"""Fuses the passes over activations in the layers of a model, with ``torch.compile``.

Norms, gates, rotations and residuals are each a few operations on every activation. Compiled, each
of them reads and writes the activations once. Attention is left as it is, since a layout is Python
that differs from call to call: every layer has two compiled parts, one before it and one after. The
layers of a model share their code, and so does every length of input (dynamic shapes). Adapters do
not: torch compiles for four of them at most, and runs the others uncompiled.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

import torch
from torch import nn
from transformers import AttentionInterface
from transformers.modeling_layers import GradientCheckpointingLayer

from llmzoo.errors import ConfigError
from llmzoo.models import attention

Compile = Literal["auto", "on", "off"]


def should_compile(model: Any, compile: Compile) -> bool:
    """Whether the likelihoods of a model are to run as compiled code.

    ``auto``: on a GPU with Triton. On a CPU less is saved, and compiling takes a minute: see
    docs/performance.md.

    Raises :class:`ConfigError` where ``on`` cannot be: without a compiler, or for a model whose
    attention :mod:`.attention` does not support.
    """
    if compile not in ("auto", "on", "off"):
        raise ConfigError(f"compile must be auto, on or off, got {compile!r}")
    if compile == "off":
        return False
    on_cpu = model.device.type == "cpu"
    supported = attention.is_supported(model.config)
    compiler = _cpp_compiler() is not None if on_cpu else find_spec("triton") is not None
    if compile == "auto":
        return supported and compiler and not on_cpu
    if not supported:
        raise ConfigError(
            f"compile=on cannot be used with {model.config.model_type}: set it to off"
        )
    if not compiler:
        needed = "a C++ compiler: install g++, name one in CXX" if on_cpu else "Triton: install it"
        raise ConfigError(f"compile=on needs {needed}, or set it to off")
    return True


def _cpp_compiler() -> str | None:
    return next(filter(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++")), None)


@contextmanager
def compile_layers(model: nn.Module) -> Iterator[None]:
    """Within this context the layers of a model run as compiled code."""
    _disable_attention_compilation()
    layers = [m for m in model.modules() if isinstance(m, GradientCheckpointingLayer)]
    for layer in layers:
        # the instance's attribute hides the class's method until it is deleted
        layer.forward = _compile_forward(type(layer).forward).__get__(layer)
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


@cache
def _compile_forward(forward: Callable[..., Any]) -> Callable[..., Any]:
    compiled: Callable[..., Any] = torch.compile(forward, dynamic=True)
    return compiled


@cache
def _disable_attention_compilation() -> None:
    function = AttentionInterface()[attention.ATTENTION_NAME]
    AttentionInterface.register(attention.ATTENTION_NAME, torch.compiler.disable(function))
