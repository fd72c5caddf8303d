"""Training: configuration, the loop, and what it records."""

from __future__ import annotations

from typing import Any

from llmzoo.registry import load_object

# loaded on first use: the loop needs torch, but reading a run folder does not
_LAZY = {
    "FitConfig": "llmzoo.training.config:FitConfig",
    "FitResult": "llmzoo.training.loop:FitResult",
    "fit": "llmzoo.training.loop:fit",
    "fit_stages": "llmzoo.training.stages:fit_stages",
    "make_config": "llmzoo.training.config:make_config",
}

__all__ = list(_LAZY)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'llmzoo.training' has no attribute {name!r}")
    return load_object(_LAZY[name])
