"""Checks which llmzoo played, and describes the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmzoo.evaluation.bundles.checks import Finding, name_some, not_checked, ok, wrong
from llmzoo.evaluation.bundles.layout import StoredEvaluation
from llmzoo.runs.provenance import (
    describe_machine,
    hash_source,
    hash_source_of_commit,
    list_packages,
)
from llmzoo.version import __version__

_MACHINE = ("processor", "model", "threads", "processes", "gpus")  # what changes rounding
_PACKAGES = ("torch", "transformers")


def check_source(evaluation: StoredEvaluation) -> Finding:
    """The commit is that of the code that played, where it is here; and whether this code is the same."""
    unknown = []  # commits that are not here
    for start in evaluation.starts:
        commit = str(start["commit"]) if start.get("commit") and start.get("committed") else None
        found = None if commit is None else hash_source_of_commit(commit)
        if found is None:
            unknown.append(_name_commit(start))
        elif found != start.get("source"):
            return wrong(f"commit {commit!s:.12} has other code than the code that played")
    if is_same_source(evaluation):
        note = f"; {name_some(dict.fromkeys(unknown))} cannot be compared here" if unknown else ""
        return ok(f"the code that played is this one, llmzoo {__version__}{note}")
    versions = dict.fromkeys(
        f"llmzoo {start.get('llmzoo')!s:.20} at {_name_commit(start)}"
        for start in evaluation.starts
    )
    return not_checked(
        f"another version: {name_some(versions)}; this is llmzoo {__version__}. The episodes, judged "
        "again, decide"
    )


def is_same_source(evaluation: StoredEvaluation) -> bool:
    """Whether the code that played is the code of this process."""
    own = hash_source()
    return all(start.get("source") == own for start in evaluation.starts)


def other_machine(evaluation: StoredEvaluation) -> str:
    """How the machine and the packages that played differ from these; "" if they do not."""
    here, packages = describe_machine(), list_packages()
    for start in evaluation.starts:
        machine, installed = _mapping(start, "machine"), _mapping(start, "packages")
        for name in _MACHINE:
            if machine.get(name) != here[name]:
                return f"{name} {machine.get(name)!r:.80}, here {here[name]!r:.80}"
        for name in _PACKAGES:
            if installed.get(name) != packages.get(name):
                return f"{name} {installed.get(name)!r:.40}, here {packages.get(name)!r:.40}"
    return ""


def _name_commit(start: Mapping[str, Any]) -> str:
    if start.get("commit") is None:
        return "an unknown commit"
    changed = "" if start.get("committed") else " with changes"
    return f"commit {start['commit']!s:.12}{changed}"


def _mapping(start: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = start.get(name)
    return value if isinstance(value, dict) else {}
