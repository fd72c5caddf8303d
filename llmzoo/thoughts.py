"""Where a model's thoughts end and its answer begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThoughtMarks:
    """The texts around a thought.

    ``opens`` may be only the beginning of the opening mark. None: there is no opening mark, so every
    text begins inside a thought.
    """

    opens: str | None
    closes: str


THOUGHT_MARKS = (
    ThoughtMarks(
        "<think>", "</think>"
    ),  # Qwen3, DeepSeek-R1, SmolLM3, GLM, Nemotron, Phi-4-reasoning
    ThoughtMarks("[THINK]", "[/THINK]"),  # Magistral
    ThoughtMarks("<thought>", "</thought>"),  # EXAONE Deep
    ThoughtMarks("<seed:think>", "</seed:think>"),  # Seed-OSS
    ThoughtMarks("◁think▷", "◁/think▷"),  # Kimi
    ThoughtMarks("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A Reasoning
    ThoughtMarks("<|channel>", "<channel|>"),  # Gemma 4
    ThoughtMarks(
        "<|channel|>", "<|channel|>final<|message|>"
    ),  # gpt-oss: only this channel is an answer
)


def marks_ending_with(closes: str) -> ThoughtMarks:
    """The marks of the family whose thoughts end with ``closes``.

    For an unknown ``</name>`` the opening mark is ``<name>``, for ``[/NAME]`` it is ``[NAME]``, and
    any other text has no opening mark.
    """
    for marks in THOUGHT_MARKS:
        if marks.closes == closes:
            return marks
    paired = closes[:2] in ("</", "[/")
    return ThoughtMarks(closes[0] + closes[2:] if paired else None, closes)


def strip_thoughts(
    text: str, marks: Sequence[ThoughtMarks] = THOUGHT_MARKS, *, starts_in_thought: bool = False
) -> str | None:
    """The text after the last thought, without leading line breaks; None if a thought is still open.

    A thought is open if the text, or the text after the last thought, begins with an opening mark.
    Later in the text an opening mark is ordinary text, because an answer may mention it.
    ``starts_in_thought``: the text begins inside a thought.
    """
    starts_in_thought = starts_in_thought or any(one.opens is None for one in marks)
    ends = [(at + len(one.closes)) for one in marks if (at := text.rfind(one.closes)) >= 0]
    rest = text[max(ends) :] if ends else text
    opening = tuple(one.opens for one in marks if one.opens is not None)
    if (starts_in_thought and not ends) or rest.lstrip().startswith(opening):
        return None
    return rest.lstrip("\n") if ends else rest
