"""Attacks that try to damage or to learn something, one file a subject."""

from llmzoo.sandbox.attacks.attack import Harm
from llmzoo.sandbox.attacks.harms import (
    between_runs,
    judges,
    kernel,
    network,
    others,
    processes,
    reading,
    resources,
    writing,
)

GROUPS: dict[str, tuple[Harm, ...]] = {
    module.__name__.rpartition(".")[2]: module.ATTACKS
    for module in (
        reading,
        writing,
        network,
        processes,
        others,
        resources,
        kernel,
        between_runs,
        judges,
    )
}
HARMS: tuple[Harm, ...] = tuple(attack for group in GROUPS.values() for attack in group)
