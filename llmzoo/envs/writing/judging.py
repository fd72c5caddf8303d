"""What two parts are worth: their start, the stages of their structure, and how faithful they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmzoo.envs.writing.grounding import FAITHFUL, Grounding, Source, Standard, ground
from llmzoo.envs.writing.start import start
from llmzoo.envs.writing.structure import LENGTH, STAGES, Form, Structure, structure

START = "start"
PARTS = (START, *STAGES)
STARTED = 0.1  # what the start pays at most; the length pays so much less


@dataclass(frozen=True, slots=True)
class Judgement:
    """``start``: see :func:`llmzoo.envs.writing.start.start`. ``read``: both parts could be read;
    otherwise nothing but the start is paid."""

    structure: Structure
    grounding: Grounding
    start: float
    read: bool

    @property
    def faithful(self) -> float:
        """The factor on the stages; 0 for a part of too few or too many words."""
        return 0.0 if self.structure.failed == LENGTH else self.grounding.factor

    @property
    def success(self) -> bool:
        """All stages passed, and the pair is faithful enough."""
        return self.read and self.structure.failed is None and self.faithful >= FAITHFUL

    def worth(self, reward: str) -> Mapping[str, float]:
        """The named parts of the ``"grounded"`` or ``"structural"`` reward."""
        stages = self.structure.parts if self.read else dict.fromkeys(STAGES, 0.0)
        if reward == "structural":
            return {START: 0.0, **stages}
        paid = {name: self.faithful * value for name, value in stages.items()}
        if paid[LENGTH]:
            paid[LENGTH] -= self.faithful * STARTED
        return {START: STARTED * self.start, **paid}


def judge(
    first: str, second: str, source: Source, form: Form, standard: Standard, *, read: bool = True
) -> Judgement:
    found = structure(first, second, form)
    grounding = ground(first, second, source, standard)
    return Judgement(found, grounding, start(found, grounding, form), read)
