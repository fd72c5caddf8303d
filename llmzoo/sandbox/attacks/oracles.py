"""Who decides that harm was done: each looks at a finished run from outside.

An oracle answers what it found, or "" where there was no harm. None of them believes the program;
the one thing it can say that counts is a secret which it had no way to know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from llmzoo.sandbox.attacks.watch import Process, Sighting

# what is left of these in a run that keeps to its limits
LATE_S = 1.5  # and what a busy machine adds
MOST_PROCESSES = 8
MOST_PROCESSES_ALLOWED = 72  # where a program may start some
MOST_THREADS = 200
MOST_MEMORY_MB = 600  # the programs are run with 256 and try for 1,000 and more
MOST_MEMORY_OF_MANY_MB = 1000  # tried: 1,800 and more; a fork counts here with what it shares too
MOST_DESCRIPTORS = 2000  # tried: 5,000
MOST_FILE_MB = 64
MOST_DISK_MB = 64
MOST_FILES = 8000
MOST_OUTPUT = 2**20


@dataclass(slots=True, kw_only=True)
class Scene:
    """A finished run: what came back, and what there was to be seen around it."""

    mark: str
    secrets: dict[str, str]
    output: str  # all that the program brought out, and its follow-up
    seconds: float
    time_limit: float
    seen: Sighting
    died: str = ""  # the process that asked for the run, or one beside it
    gone: list[str] = field(default_factory=list)  # processes that were there before the run
    reached: str = ""
    changed: str = ""
    left_behind: str = ""
    survivors: list[Process] = field(default_factory=list)
    processes_before: int = 0
    may_start_processes: bool = False
    conditions: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    namespaces_before: set[str] = field(default_factory=set)
    ipc: str = ""
    machine: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    clock_was_set: bool = False
    terminal: str = ""


def leaked(scene: Scene) -> str:
    result = [name for name, secret in scene.secrets.items() if secret in scene.output]
    return f"told: {', '.join(result)}" if result else ""


def killed(scene: Scene) -> str:
    return scene.died


def killed_any(scene: Scene) -> str:
    return f"killed {', '.join(scene.gone)}" if scene.gone else ""


def reached(scene: Scene) -> str:
    return scene.reached and f"reached a listener: {scene.reached}"


def changed(scene: Scene) -> str:
    return scene.changed and f"changed outside: {scene.changed}"


def left_behind(scene: Scene) -> str:
    return scene.left_behind and f"left behind: {scene.left_behind}"


def survived(scene: Scene) -> str:
    return f"{len(scene.survivors)} processes outlived the run" if scene.survivors else ""


def late(scene: Scene) -> str:
    over = scene.seconds - scene.time_limit
    return f"{over:.1f} s beyond the limit" if over > LATE_S + scene.seen.lag_s else ""


def many_processes(scene: Scene) -> str:
    most = scene.seen.processes - scene.processes_before
    allowed = MOST_PROCESSES_ALLOWED if scene.may_start_processes else MOST_PROCESSES
    return f"{most} processes" if most > allowed else ""


def many_threads(scene: Scene) -> str:
    return f"{scene.seen.threads} threads" if scene.seen.threads > MOST_THREADS else ""


def much_memory(scene: Scene) -> str:
    most = scene.seen.memory_mb
    return f"{most:.0f} MB of memory" if most > MOST_MEMORY_MB else ""


def much_memory_of_many(scene: Scene) -> str:
    most = scene.seen.memory_mb
    return f"{most:.0f} MB of memory" if most > MOST_MEMORY_OF_MANY_MB else ""


def swollen_trainer(scene: Scene) -> str:
    """The process that asked for the run was filled with what came back."""
    most = scene.seen.trainer_mb
    return f"the caller grew to {most:.0f} MB" if most > MOST_MEMORY_MB / 2 else ""


def much_output(scene: Scene) -> str:
    size = len(scene.output)
    return f"{size / 2**20:.0f} MB of output" if size > MOST_OUTPUT else ""


def many_descriptors(scene: Scene) -> str:
    most = scene.seen.descriptors
    return f"{most} descriptors" if most > MOST_DESCRIPTORS else ""


def large_file(scene: Scene) -> str:
    most = scene.seen.file_mb
    return f"a file of {most:.0f} MB" if most > MOST_FILE_MB else ""


def much_disk(scene: Scene) -> str:
    most = scene.seen.disk_mb
    return f"{most:.0f} MB on disk" if most > MOST_DISK_MB else ""


def many_files(scene: Scene) -> str:
    return f"{scene.seen.files} files" if scene.seen.files > MOST_FILES else ""


def meddled(scene: Scene) -> str:
    """A process beside the program's is stopped, traced, or has other limits than before."""
    for name, before, after in scene.conditions:
        for what in before:
            if after and before[what] != after[what]:
                return f"{name}: {what} changed"
    return ""


def new_user_namespace(scene: Scene) -> str:
    new = scene.seen.user_namespaces - scene.namespaces_before - {""}
    return "made a user namespace" if new else ""


def new_mount(scene: Scene) -> str:
    return "mounted a file system" if scene.mark in scene.seen.mounts else ""


def new_root(scene: Scene) -> str:
    return "changed its root" if any(scene.mark in root for root in scene.seen.roots) else ""


def new_personality(scene: Scene) -> str:
    changed_ones = scene.seen.personalities - {"", "00000000"}
    return f"personality {min(changed_ones)}" if changed_ones else ""


def carried(scene: Scene) -> str:
    """The follow-up got hold of the word that the program was given."""
    return "the next run found it" if f"found {scene.mark}" in scene.output else ""


def left_in_ipc(scene: Scene) -> str:
    return scene.ipc


def changed_machine(scene: Scene) -> str:
    before, after = scene.machine
    different = [what for what in before if before[what] != after[what]]
    different += ["clock"] if scene.clock_was_set else []
    return f"changed the {' and '.join(different)}" if different else ""


def typed(scene: Scene) -> str:
    return "wrote to the terminal" if scene.mark in scene.terminal else ""


def opened(kind: str) -> Callable[[Scene], str]:
    """An oracle: a descriptor of the program led to ``kind``."""

    def oracle(scene: Scene) -> str:
        return f"opened {kind}" if any(kind in link for link in scene.seen.links) else ""

    return oracle


ALWAYS = (killed, leaked, reached, changed, left_behind, survived, late)
