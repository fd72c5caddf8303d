"""Attacks that solve nothing and try to be paid, one file a way of doing so."""

from llmzoo.sandbox.attacks.attack import Fake
from llmzoo.sandbox.attacks.fakes import (
    answers,
    channels,
    exits,
    frames,
    patches,
    printing,
    protocols,
    shared,
    unittests,
)

GROUPS: dict[str, tuple[Fake, ...]] = {
    module.__name__.rpartition(".")[2]: module.ATTACKS
    for module in (
        exits,
        answers,
        protocols,
        shared,
        frames,
        patches,
        unittests,
        channels,
        printing,
    )
}
FAKES: tuple[Fake, ...] = tuple(attack for group in GROUPS.values() for attack in group)
