"""Where a model's thoughts end and its answer begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Marks:
    """The texts around a thought.

    ``opens`` may be the beginning of what opens a thought. None: nothing does, and so every text
    begins inside a thought.
    """

    opens: str | None
    closes: str


FAMILIES = (
    Marks("<think>", "</think>"),  # Qwen3, DeepSeek-R1, SmolLM3, GLM, Nemotron, Phi-4-reasoning
    Marks("[THINK]", "[/THINK]"),  # Magistral
    Marks("<thought>", "</thought>"),  # EXAONE Deep
    Marks("<seed:think>", "</seed:think>"),  # Seed-OSS
    Marks("◁think▷", "◁/think▷"),  # Kimi
    Marks("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A Reasoning
    Marks("<|channel>", "<channel|>"),  # Gemma 4
    Marks("<|channel|>", "<|channel|>final<|message|>"),  # gpt-oss: only this channel is an answer
)


def marks_of(closes: str) -> Marks:
    """The marks of the family whose thoughts end with ``closes``.

    Of another text ``</name>`` the opening mark is ``<name>``, of ``[/NAME]`` it is ``[NAME]``, and
    of any other text there is none.
    """
    for marks in FAMILIES:
        if marks.closes == closes:
            return marks
    paired = closes[:2] in ("</", "[/")
    return Marks(closes[0] + closes[2:] if paired else None, closes)


def answer_in(text: str, marks: Sequence[Marks] = FAMILIES, *, inside: bool = False) -> str | None:
    """What follows the last thought in a text, less the line breaks between; None where one is open.

    A thought is open where the text, or what follows the last thought, begins with an opening mark.
    Further on the mark is text: an answer may speak of it. ``inside``: the text begins inside a
    thought.
    """
    inside = inside or any(one.opens is None for one in marks)
    ends = [(at + len(one.closes)) for one in marks if (at := text.rfind(one.closes)) >= 0]
    rest = text[max(ends) :] if ends else text
    opening = tuple(one.opens for one in marks if one.opens is not None)
    if (inside and not ends) or rest.lstrip().startswith(opening):
        return None
    return rest.lstrip("\n") if ends else rest
