"""Training: what defines a run, the one loop that runs it, and what it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmzoo.registry import load_object

if TYPE_CHECKING:
    from llmzoo.training.config import FitConfig, make_config
    from llmzoo.training.loop import FitResult, fit
    from llmzoo.training.stages import fit_stages

# loaded at first use, since the loop needs torch and the reading of a run folder does not
_LAZY = {
    "FitConfig": "llmzoo.training.config:FitConfig",
    "FitResult": "llmzoo.training.loop:FitResult",
    "fit": "llmzoo.training.loop:fit",
    "fit_stages": "llmzoo.training.stages:fit_stages",
    "make_config": "llmzoo.training.config:make_config",
}

__all__ = ["FitConfig", "FitResult", "fit", "fit_stages", "make_config"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'llmzoo.training' has no attribute {name!r}")
    return load_object(_LAZY[name])
