"""What is installed here, and what this machine offers: ``llmzoo info --machine``."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from typing import Any

from llmzoo import registry
from llmzoo.cli.installed_configs import installed_folder
from llmzoo.cli.output import print_json, print_table
from llmzoo.errors import SandboxError
from llmzoo.learners import list_learners
from llmzoo.version import __version__

DISTRIBUTION = "llmzoo-marl"
_PACKAGES = ("pettingzoo", "gymnasium", "numpy", "torch", "transformers", "trl", "peft", "datasets")


def print_installation(*, json: bool) -> None:
    """Print the versions, the devices, the extras and the sandbox of this machine."""
    facts: dict[str, Any] = {
        "llmzoo": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "devices": _devices(),
        "extras": {
            extra: _missing_packages(extra)
            for extra in metadata(DISTRIBUTION).get_all("Provides-Extra") or ()
        },
        "packages": {name: _version(name) for name in _PACKAGES},
        "environments": len(registry.list_envs()),
        "learners": len(list_learners()),
        "sandbox": _sandbox_facts(),
        "shipped": str(installed_folder() or "in the clone"),
    }
    if json:
        print_json(facts)
        return
    rows = []
    for name, value in facts.items():
        if name == "extras":
            lacking = {
                extra: "needs " + ", ".join(names) for extra, names in value.items() if names
            }
            rows += [[f"extra: {extra}", lacking.get(extra, "installed")] for extra in value]
        elif isinstance(value, dict):
            rows += [
                [f"{name}: {key}", _format_value(item)] for key, item in value.items() if item != {}
            ]
        else:
            rows.append([name, _format_value(value)])
    print_table(("what", "is"), rows)


def _devices() -> list[str]:
    """Where models can run: the processor and, if torch is installed, the devices that torch finds."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    devices = [f"cpu: {cores} cores"]
    try:
        import torch
    except ModuleNotFoundError:
        return devices
    from llmzoo.models.precision import has_bf16

    devices = [f"cpu: {cores} cores, {'with' if has_bf16(torch.device('cpu')) else 'no'} bfloat16"]
    for index in range(torch.cuda.device_count()):
        device = torch.cuda.get_device_properties(index)
        devices.append(f"cuda:{index}: {device.name}, {device.total_memory / 2**30:.0f} GiB")
    if torch.backends.mps.is_available():
        devices.append("mps: Apple GPU")
    return devices


def _missing_packages(extra: str) -> list[str]:
    """The packages of an extra that are not installed."""
    lacking: list[str] = []
    for line in requires(DISTRIBUTION) or ():
        requirement, _, marker = line.partition(";")
        if not re.search(rf"extra == ['\"]{re.escape(extra)}['\"]", marker):
            continue
        name = re.match(r"[\w.-]+", requirement)
        inner = re.search(r"\[(.*)\]", requirement)
        if name and name[0] == DISTRIBUTION and inner:
            lacking += [
                n for other in inner[1].split(",") for n in _missing_packages(other.strip())
            ]
        elif name and _version(name[0]) is None:
            lacking.append(name[0])
    return sorted(set(lacking))


def _sandbox_facts() -> dict[str, Any]:
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


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {text}" for key, text in value.items())
    if isinstance(value, list):
        return ", ".join(value)
    return "not installed" if value is None else str(value)
