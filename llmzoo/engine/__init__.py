"""Where the work runs. Today: this process."""

from llmzoo.engine.local import LocalEngine

__all__ = ["LocalEngine"]
