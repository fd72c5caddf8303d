"""Attacks that try to damage or to learn something, one file a subject."""

from ..attack import Harm
from . import between_runs, judges, kernel, network, others, processes, reading, resources, writing

HARMS: tuple[Harm, ...] = (
    *reading.ATTACKS,
    *writing.ATTACKS,
    *network.ATTACKS,
    *processes.ATTACKS,
    *others.ATTACKS,
    *resources.ATTACKS,
    *kernel.ATTACKS,
    *between_runs.ATTACKS,
    *judges.ATTACKS,
)
