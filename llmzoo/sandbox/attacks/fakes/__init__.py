"""Attacks that solve nothing and try to be paid, one file a way of doing so."""

from ..attack import Fake
from . import answers, channels, exits, frames, patches, printing, protocols, shared, unittests

FAKES: tuple[Fake, ...] = (
    *exits.ATTACKS,
    *answers.ATTACKS,
    *protocols.ATTACKS,
    *shared.ATTACKS,
    *frames.ATTACKS,
    *patches.ATTACKS,
    *unittests.ATTACKS,
    *channels.ATTACKS,
    *printing.ATTACKS,
)
