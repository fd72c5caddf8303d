"""The provenance of a run: package versions, commit, command line, machine and date."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from llmzoo import files
from llmzoo.version import __version__

PROVENANCE_FILE = "provenance.json"  # in the run folder
_PACKAGES = (
    *("torch", "transformers", "peft", "datasets", "accelerate", "vllm", "ray"),
    *("pettingzoo", "gymnasium", "numpy"),
)
_ROOT = Path(__file__).resolve().parents[2]


def collect_provenance() -> dict[str, Any]:
    """The provenance of this process, as JSON values.

    ``commit`` is that of the repository that holds llmzoo; None without one.
    """
    return {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "llmzoo": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: number for name in _PACKAGES if (number := _version(name))},
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "gpus": _gpus(),
        },
    }


def record_start(run: Path) -> None:
    """Add this process to the run's provenance, a list with an entry for each start and resume."""
    path = run / PROVENANCE_FILE
    earlier = (files.read_json_object(path) or {}).get("starts", [])
    starts = [*(earlier if isinstance(earlier, list) else []), collect_provenance()]
    files.write(path, json.dumps({"starts": starts}, indent=2) + "\n")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    if not (_ROOT / ".git").exists():  # an installed package, perhaps inside another repository
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(_ROOT), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _gpus() -> list[str]:
    import torch

    count = torch.cuda.device_count()
    return [torch.cuda.get_device_properties(index).name for index in range(count)]
