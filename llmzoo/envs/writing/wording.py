"""What the authors read: the source, their task, the rules, and the feedback on a first try."""

from __future__ import annotations

from dataclasses import dataclass

from llmzoo.envs.text import truncate
from llmzoo.envs.writing.grounding import GroundedPart
from llmzoo.envs.writing.scoring import (
    INFINITE,
    LENGTH,
    RATIO,
    VOCABULARY,
    Band,
    Judgement,
    StructureThresholds,
)
from llmzoo.envs.writing.tasks import WritingTask

DELIMITER = "====="
MAX_SOURCE_CHARS = 8_000
MAX_OWN_CHARS = 2_000
_MAX_WORDS_NAMED = 8
_UNLIKE = {RATIO: "length", VOCABULARY: "different words"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The texts of an environment's prompts. ``source``: what the source text is. ``task``: what the
    authors write from it. ``parts``: the name and the content of each part. ``rules``: the rules besides
    the thresholds."""

    source: str
    task: str
    parts: tuple[tuple[str, str], tuple[str, str]]
    rules: tuple[str, ...]


def role_text(wording: Wording, own: int | None) -> str:
    """Tells the reader that it is the author of part ``own`` (0 or 1), or of both (None)."""
    if own is None:
        (first, first_holds), (second, second_holds) = wording.parts
        return (
            f"You are an author. Write {wording.task}: first {first} ({first_holds}), then {second} "
            f"({second_holds})."
        )
    (name, holds), (other, other_holds) = wording.parts[own], wording.parts[1 - own]
    return (
        f"Two authors write {wording.task} at the same time; neither sees what the other writes. "
        f"You write {name}: {holds}. The other author writes {other}: {other_holds}."
    )


def task_prompt(
    wording: Wording, thresholds: StructureThresholds, source: WritingTask, own: int | None
) -> str:
    """The prompt without feedback."""
    (first, _), (second, _) = wording.parts
    answer = "Answer with your part only, without a heading."
    if own is None:
        answer = f"Answer with both parts, separated by a line that consists of {DELIMITER} only."
    lines = [
        role_text(wording, own),
        "",
        f"{wording.source}:",
        "",
        *([f"Title: {source.title}"] if source.title else []),
        truncate(source.text, MAX_SOURCE_CHARS),
        "",
        "What counts:",
        f"- {first} and {second} have {thresholds.words[0]} to {thresholds.words[1]} words each",
        f"- {second} has {_span(thresholds.ratio)} times the characters of {first}",
        f"- {second} has {_span(thresholds.vocabulary)} times as many different words as {first}",
        *(f"- {rule}" for rule in wording.rules),
        "",
        answer,
    ]
    return "\n".join(lines)


def feedback_text(
    wording: Wording, thresholds: StructureThresholds, judged: Judgement, own: int | None
) -> str:
    """The feedback on the last round: the stage that failed, with numbers, and the faithfulness."""
    measured, failed = judged.structure.measured, judged.structure.failed
    (first, _), (second, _) = wording.parts
    if failed == LENGTH:
        return (
            f"{first} has {measured['first_words']:.0f} words and {second} "
            f"{measured['second_words']:.0f}; each needs {thresholds.words[0]} to {thresholds.words[1]}"
        )
    ratios = (
        f"{second} has {measured['ratio']:.2f} times the characters of {first} (paid in full: "
        f"{_span(thresholds.ratio)}) and {measured['vocabulary']:.2f} times its different words "
        f"({_span(thresholds.vocabulary)})"
    )
    lines = [f"too unlike in {_UNLIKE[failed]}: {ratios}" if failed else ratios]
    if not failed:
        lines.append(
            f"they share {measured['overlap']:.1%} of their words without stop words (paid in full "
            f"from {thresholds.overlap:.0%}), with {measured['categories']:.0f} of 12 kinds of transitions"
        )
    lines.append(f"faithfulness of both together: {judged.grounding.factor:.2f} of 1")
    parts = (judged.grounding.first, judged.grounding.second)
    lines += [
        f"{name}: {_faithful(parts[i])}"
        for i, (name, _) in enumerate(wording.parts)
        if own in (None, i)
    ]
    return "\n".join(lines)


def revision_prompt(turn: int, max_turns: int, last: str, heard: str) -> str:
    """The feedback on a round, with the author's own last text."""
    return (
        f"Round {turn} of {max_turns}. Your last text:\n<<<\n{last}\n>>>\nFeedback on it: {heard}\n"
        "Write it again, improved."
    )


def _faithful(part: GroundedPart) -> str:
    named = ", ".join(truncate(word, 30) for word in part.unsupported[:_MAX_WORDS_NAMED])
    return (
        f"{part.measured['support']:.0%} of its telling words stand in the source"
        f"{f' (not: {named})' if named else ''}, and {part.measured['copied']:.0%} of it is copied"
    )


def _span(band: Band) -> str:
    if band.full_to == INFINITE:
        return f"at least {band.full_from:g}"
    return f"{band.full_from:g} to {band.full_to:g}"
