"""``llmzoo info``"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from llmzoo import registry
from llmzoo.cli.options import read
from llmzoo.cli.output import as_json, as_table
from llmzoo.errors import SandboxError
from llmzoo.learners import list_learners
from llmzoo.version import __version__

_PACKAGES = ("pettingzoo", "gymnasium", "numpy", "torch", "transformers", "trl", "peft", "datasets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What this installation and this machine offer.

    Args:
        json: print one JSON object instead of a table.
    """

    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = Options(**read("info", argv, Options))
    found = {
        "llmzoo": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "environments": len(registry.list_envs()),
        "learners": len(list_learners()),
        "sandbox": _sandbox(),
    }
    if options.json:
        as_json(found)
        return
    rows = []
    for name, value in found.items():
        if isinstance(value, dict):
            rows += [[f"{name}: {key}", _text(item)] for key, item in value.items() if item != {}]
        else:
            rows.append([name, str(value)])
    as_table(("what", "is"), rows)


def _sandbox() -> dict[str, Any]:
    """How untrusted code is confined here."""
    from llmzoo.sandbox import Sandbox

    try:
        with Sandbox(workers=1, min_level=1) as box:
            report = box.report
    except SandboxError as error:
        return {"level": 0, "layers": [], "missing": {"all": str(error)}}
    return {
        "level": report.level,
        "layers": list(report.layers),
        "missing": dict(report.missing),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {text}" for key, text in value.items())
    if isinstance(value, list):
        return ", ".join(value)
    return "not installed" if value is None else str(value)
