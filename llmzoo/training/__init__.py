"""Training: what defines a run, and the one loop that runs it."""

from llmzoo.training.config import FitConfig, make_config
from llmzoo.training.loop import FitResult, fit
from llmzoo.training.stages import fit_stages

__all__ = ["FitConfig", "FitResult", "fit", "fit_stages", "make_config"]
