"""The provenance of a run: package versions, commit, command line, machine and date."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from llmzoo import files
from llmzoo.distributed import ranks
from llmzoo.version import __version__

PROVENANCE_FILE = "provenance.json"  # in the run folder
_PACKAGES = (
    *("torch", "transformers", "peft", "datasets", "accelerate", "vllm", "ray"),
    *("pettingzoo", "gymnasium", "numpy"),
)
_PACKAGE = Path(__file__).resolve().parents[1]
_ROOT = _PACKAGE.parent


def collect_provenance() -> dict[str, Any]:
    """The provenance of this process, as JSON values.

    ``commit`` is that of the repository that holds llmzoo; None without one. ``source`` is
    :func:`hash_source`, and ``committed`` says whether it is that of the commit.
    """
    commit, source = _git("rev-parse", "HEAD"), hash_source()
    return {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "llmzoo": __version__,
        "commit": commit,
        "source": source,
        "committed": commit is not None and hash_source_of_commit(commit) == source,
        "python": platform.python_version(),
        "packages": list_packages(),
        "machine": describe_machine(),
    }


def list_packages() -> dict[str, str]:
    """The versions of the packages that results may depend on."""
    return {name: number for name in _PACKAGES if (number := _version(name))}


def describe_machine() -> dict[str, Any]:
    """The system, the processor, the cores, the threads of torch, the processes of the run, and the GPUs.

    Without torch in this process no model runs here, so there are neither threads nor GPUs.
    """
    torch = sys.modules.get("torch")
    gpus = range(torch.cuda.device_count()) if torch else ()
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "model": _processor_model(),
        "cores": os.cpu_count(),
        "processes": ranks.launched_process_count(),
        "threads": torch.get_num_threads() if torch else None,
        "gpus": [torch.cuda.get_device_properties(gpu).name for gpu in gpus] if torch else [],
    }


def hash_source() -> str:
    """A hash of the Python files of llmzoo in this process: their paths and their content."""
    blobs = {
        path.relative_to(_PACKAGE.parent).as_posix(): _git_blob_id(path.read_bytes())
        for path in _PACKAGE.rglob("*.py")
    }
    return _hash_blobs(blobs)


def hash_source_of_commit(commit: str) -> str | None:
    """:func:`hash_source` of a commit; None if the repository of llmzoo is not here, or lacks the commit."""
    listing = _git("ls-tree", "-r", "--end-of-options", commit, "llmzoo")
    if not listing:
        return None
    blobs = {}
    for line in listing.splitlines():  # MODE blob ID<tab>PATH
        description, _, path = line.partition("\t")
        if path.endswith(".py"):
            blobs[path] = description.split()[2]
    return _hash_blobs(blobs)


def _git_blob_id(content: bytes) -> str:
    """Git's own name of a file's content, which the trees of commits hold."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def _hash_blobs(blobs: Mapping[str, str]) -> str:
    lines = (f"{path} {blob}\n" for path, blob in sorted(blobs.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


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


def _git(*arguments: str) -> str | None:
    """What git prints about the repository that holds llmzoo; None without one."""
    if not (_ROOT / ".git").exists():  # an installed package, perhaps inside another repository
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(_ROOT), *arguments],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor_model() -> str:
    """The processor's name, as Linux gives it; elsewhere what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
