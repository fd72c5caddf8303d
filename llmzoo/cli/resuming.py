"""The settings of a resumed run: those in its folder, checked against their types."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llmzoo.cli.options import check_types, describe_type
from llmzoo.errors import ConfigError
from llmzoo.registry import imports_code
from llmzoo.runs import run_folder


def load_saved_settings(run: Path, hints: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in ``config.json``, checked against their types.

    Mappings are taken as they are: the parser would import a ``class_path`` in them.
    """
    what = f"setting in {run / 'config.json'}"
    saved = run_folder.require_config(run)
    mapping = describe_type(Mapping)
    mappings = {}
    for name, value in saved.items():
        wanted = describe_type(hints[name]) if name in hints else ""
        if isinstance(value, Mapping) and mapping in wanted:
            mappings[name] = dict(value)
        elif wanted and (isinstance(value, Mapping) or (wanted == mapping and value is not None)):
            raise ConfigError(f"{what} {name!r} must be {wanted}, got {value!r}")
    rest = {name: value for name, value in saved.items() if name not in mappings}
    return {**check_types(hints, rest, what), **mappings}


def code_options(env: str, learner: str) -> list[str]:
    """The options that name the environment and the learner of a run, if they are code to import."""
    named = (("--env", env), ("--learner", learner))
    return [word for option, name in named if imports_code(name) for word in (option, name)]
