"""Configurations that were installed with the package: a name such as ``configs/demo.yaml`` works anywhere.

A wheel puts ``configs`` and ``examples`` of the repository into ``share/llmzoo`` of the environment it is
installed in. ``llmzoo info --machine`` says where that is.
"""

from __future__ import annotations

import site
import sys
from collections.abc import Sequence
from pathlib import Path


def installed_folder() -> Path | None:
    """Where the installed configurations and examples are; None in a clone."""
    places = [Path(base) / "share" / "llmzoo" for base in (sys.prefix, site.getuserbase())]
    return next((place for place in places if place.is_dir()), None)


def resolve_config_paths(argv: Sequence[str]) -> list[str]:
    """The command line, with the installed file in ``--config`` if there is no file of that name here."""
    words = list(argv)
    for index, word in enumerate(words):
        if index and words[index - 1] == "--config":
            words[index] = _resolve_config_path(word)
        elif word.startswith("--config="):
            words[index] = f"--config={_resolve_config_path(word.partition('=')[2])}"
    return words


def _resolve_config_path(name: str) -> str:
    installed = installed_folder()
    if installed is None or Path(name).exists() or not name.startswith("configs/"):
        return name
    return str(installed / name) if (installed / name).is_file() else name
