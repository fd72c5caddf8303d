"""The oracles, which decide whether harm was done: each inspects a finished run from outside.

An oracle returns the harm it found, or "". It does not trust the program's output, except for a
secret that the program had no legitimate way to know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from llmzoo.sandbox.attacks.watch import PeakUsage, Process

# upper limits for a run that respects its limits
LATE_S = 1.5  # plus the delay of a busy machine
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
class AttackScene:
    """A finished run: what came back, and what there was to be seen around it."""

    mark: str
    secrets: dict[str, str]
    output: str  # all that the program brought out, and its follow-up
    seconds: float
    time_limit: float
    peak_usage: PeakUsage
    trainer_error: str = ""  # the process that asked for the run, or one beside it
    killed: list[str] = field(default_factory=list)  # processes that were there before the run
    contacted: str = ""
    changed_files: str = ""
    leftover_files: str = ""
    survivors: list[Process] = field(default_factory=list)
    processes_before: int = 0
    may_start_processes: bool = False
    conditions: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    namespaces_before: set[str] = field(default_factory=set)
    ipc: str = ""
    machine: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    clock_was_set: bool = False
    terminal: str = ""


def detect_leak(scene: AttackScene) -> str:
    leaked = [name for name, secret in scene.secrets.items() if secret in scene.output]
    return f"leaked: {', '.join(leaked)}" if leaked else ""


def detect_lost_trainer(scene: AttackScene) -> str:
    return scene.trainer_error


def detect_killed_process(scene: AttackScene) -> str:
    return f"killed {', '.join(scene.killed)}" if scene.killed else ""


def detect_connection(scene: AttackScene) -> str:
    return scene.contacted and f"reached a listener: {scene.contacted}"


def detect_changed_files(scene: AttackScene) -> str:
    return scene.changed_files and f"changed outside: {scene.changed_files}"


def detect_leftover_files(scene: AttackScene) -> str:
    return scene.leftover_files and f"left behind: {scene.leftover_files}"


def detect_survivors(scene: AttackScene) -> str:
    return f"{len(scene.survivors)} processes outlived the run" if scene.survivors else ""


def detect_overrun(scene: AttackScene) -> str:
    over = scene.seconds - scene.time_limit
    return f"{over:.1f} s beyond the limit" if over > LATE_S + scene.peak_usage.lag_s else ""


def detect_excess_processes(scene: AttackScene) -> str:
    most = scene.peak_usage.processes - scene.processes_before
    allowed = MOST_PROCESSES_ALLOWED if scene.may_start_processes else MOST_PROCESSES
    return f"{most} processes" if most > allowed else ""


def detect_excess_threads(scene: AttackScene) -> str:
    return f"{scene.peak_usage.threads} threads" if scene.peak_usage.threads > MOST_THREADS else ""


def detect_excess_memory(scene: AttackScene) -> str:
    most = scene.peak_usage.memory_mb
    return f"{most:.0f} MB of memory" if most > MOST_MEMORY_MB else ""


def detect_excess_tree_memory(scene: AttackScene) -> str:
    most = scene.peak_usage.memory_mb
    return f"{most:.0f} MB of memory" if most > MOST_MEMORY_OF_MANY_MB else ""


def detect_trainer_memory_growth(scene: AttackScene) -> str:
    """The process that requested the run used too much memory for its output."""
    most = scene.peak_usage.trainer_mb
    return f"the caller grew to {most:.0f} MB" if most > MOST_MEMORY_MB / 2 else ""


def detect_excess_output(scene: AttackScene) -> str:
    size = len(scene.output)
    return f"{size / 2**20:.0f} MB of output" if size > MOST_OUTPUT else ""


def detect_excess_descriptors(scene: AttackScene) -> str:
    most = scene.peak_usage.descriptors
    return f"{most} descriptors" if most > MOST_DESCRIPTORS else ""


def detect_large_file(scene: AttackScene) -> str:
    most = scene.peak_usage.file_mb
    return f"a file of {most:.0f} MB" if most > MOST_FILE_MB else ""


def detect_excess_disk(scene: AttackScene) -> str:
    most = scene.peak_usage.disk_mb
    return f"{most:.0f} MB on disk" if most > MOST_DISK_MB else ""


def detect_excess_files(scene: AttackScene) -> str:
    return f"{scene.peak_usage.files} files" if scene.peak_usage.files > MOST_FILES else ""


def detect_tampering(scene: AttackScene) -> str:
    """A process beside the program's is stopped, traced, or has other limits than before."""
    for name, before, after in scene.conditions:
        for what in before:
            if after and before[what] != after[what]:
                return f"{name}: {what} changed"
    return ""


def detect_user_namespace(scene: AttackScene) -> str:
    new = scene.peak_usage.user_namespaces - scene.namespaces_before - {""}
    return "made a user namespace" if new else ""


def detect_mount(scene: AttackScene) -> str:
    return "mounted a file system" if scene.mark in scene.peak_usage.mounts else ""


def detect_root_change(scene: AttackScene) -> str:
    return "changed its root" if any(scene.mark in root for root in scene.peak_usage.roots) else ""


def detect_personality_change(scene: AttackScene) -> str:
    changed_ones = scene.peak_usage.personalities - {"", "00000000"}
    return f"personality {min(changed_ones)}" if changed_ones else ""


def detect_carryover(scene: AttackScene) -> str:
    """The follow-up got hold of the word that the program was given."""
    return "the next run found it" if f"found {scene.mark}" in scene.output else ""


def detect_ipc_objects(scene: AttackScene) -> str:
    return scene.ipc


def detect_machine_change(scene: AttackScene) -> str:
    before, after = scene.machine
    different = [what for what in before if before[what] != after[what]]
    different += ["clock"] if scene.clock_was_set else []
    return f"changed the {' and '.join(different)}" if different else ""


def detect_terminal_write(scene: AttackScene) -> str:
    return "wrote to the terminal" if scene.mark in scene.terminal else ""


def detect_open(kind: str) -> Callable[[AttackScene], str]:
    """An oracle: a descriptor of the program led to ``kind``."""

    def oracle(scene: AttackScene) -> str:
        return f"opened {kind}" if any(kind in link for link in scene.peak_usage.links) else ""

    return oracle


DEFAULT_ORACLES = (
    detect_lost_trainer,
    detect_leak,
    detect_connection,
    detect_changed_files,
    detect_leftover_files,
    detect_survivors,
    detect_overrun,
)
