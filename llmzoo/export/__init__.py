"""Trained agents of a run as plain transformers and peft folders, with model cards, and to the hub."""

from __future__ import annotations

from llmzoo.export.folders import ExportResult, export_run
from llmzoo.export.hub import push_to_hub

__all__ = ["ExportResult", "export_run", "push_to_hub"]
