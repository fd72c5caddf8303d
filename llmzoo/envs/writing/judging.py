"""What two parts are worth: the stages of their structure, and how faithful they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmzoo.envs.writing.grounding import FAITHFUL, Grounding, Source, Standard, ground
from llmzoo.envs.writing.structure import LENGTH, Form, Structure, structure


@dataclass(frozen=True, slots=True)
class Judgement:
    """``grounding`` is None where a part has too few or too many words to be read on."""

    structure: Structure
    grounding: Grounding | None

    @property
    def faithful(self) -> float:
        return self.grounding.factor if self.grounding else 0.0

    @property
    def success(self) -> bool:
        """All stages passed, and the pair is faithful enough."""
        return self.structure.failed is None and self.faithful >= FAITHFUL

    def worth(self, reward: str) -> Mapping[str, float]:
        """The named parts of the ``"grounded"`` or ``"structural"`` reward."""
        factor = self.faithful if reward == "grounded" else 1.0
        return {name: factor * value for name, value in self.structure.parts.items()}


def judge(first: str, second: str, source: Source, form: Form, standard: Standard) -> Judgement:
    found = structure(first, second, form)
    if found.failed == LENGTH:
        return Judgement(found, None)
    return Judgement(found, ground(first, second, source, standard))
