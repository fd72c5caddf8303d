"""Attacks: templates of answers that know nothing about a task but its prompt.

An attack is a few pieces in a frame. A piece is a fixed text, a part of the prompt, the agent's own
last answer, or the shape of an expert's answer to another task.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

MAX_CHARS = 19_000  # of an answer; most environments read up to 20,000
PLACEHOLDER = "@@"  # where the pieces stand in a frame
PieceKind = Literal["text", "prompt", "last", "shape"]
Shapes = Mapping[str, Sequence[Sequence[str]]]  # by agent: for each task, its answers turn by turn


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackContext:
    """What an attack sees at a turn: ``turn`` counts the agent's own answers from 0."""

    agent: str
    observation: str
    turn: int = 0
    last: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """``value``: the text, the name in :data:`PROMPT_PARTS`, or the number of a shape and its edit.

    ``number`` counts lines, sentences, paragraphs or words of the prompt, also from the end (-1).
    ``start`` and ``end`` are shares of the piece's words; ``times`` repeats it.
    """

    kind: PieceKind
    value: str = ""
    number: int = 0
    start: float = 0.0
    end: float = 1.0
    times: int = 1
    edit: str = ""

    def write(self, scene: AttackContext, shapes: Shapes) -> str:
        if self.kind == "text":
            text = self.value
        elif self.kind == "prompt":
            text = PROMPT_PARTS[self.value](scene.observation, self.number)
        elif self.kind == "last":
            text = scene.last
        else:
            tasks = shapes.get(scene.agent) or [[""]]
            turns = tasks[self.number % len(tasks)] or [""]
            text = SHAPE_EDITS[self.value](turns[scene.turn % len(turns)])
        if (self.start, self.end) != (0.0, 1.0):
            text = _slice_words(text, self.start, self.end)
        text = EDITS[self.edit](text)
        most = max(1, MAX_CHARS // (len(text) + 1))
        return " ".join([text] * min(self.times, most)) if self.times > 1 else text

    def __str__(self) -> str:
        if self.kind == "text":
            shown = repr(self.value if len(self.value) < 60 else f"{self.value[:57]}...")
        elif self.kind == "last":
            shown = "its last answer"
        elif self.kind == "shape":
            shown = f"the expert's answer to another task ({self.value})"
        else:
            shown = f"the prompt's {self.value}"
            shown += f" {self.number}" if self.value in _NUMBERED else ""
        if (self.start, self.end) != (0.0, 1.0):
            shown += f" from {self.start:.0%} to {self.end:.0%}"
        return (
            shown + (f", {self.edit}" if self.edit else "") + f" x{self.times}" * (self.times > 1)
        )


@dataclass(frozen=True, slots=True)
class Attack:
    """Pieces, what joins them, and the frame around them."""

    pieces: tuple[Piece, ...]
    joint: str = "\n"
    frame: str = PLACEHOLDER

    def write(self, scene: AttackContext, shapes: Shapes) -> str:
        text = self.joint.join(piece.write(scene, shapes) for piece in self.pieces)
        return self.frame.replace(PLACEHOLDER, text)[:MAX_CHARS]

    @property
    def is_constant(self) -> bool:
        """Whether it writes the same whatever the prompt is."""
        return all(piece.kind in ("text", "shape") for piece in self.pieces)

    def __str__(self) -> str:
        within = " + ".join(map(str, self.pieces)) or "''"
        return within if self.frame == PLACEHOLDER else f"{within} in {self.frame!r}"


def _slice_words(text: str, start: float, end: float) -> str:
    """The words from one share of a text to another, with the space between them."""
    words = [*re.finditer(r"\S+", text)]
    chosen = words[int(start * len(words)) : max(1, round(end * len(words)))]
    return text[chosen[0].start() : chosen[-1].end()] if chosen else ""


def _nth(items: Sequence[str], number: int) -> str:
    return items[number % len(items)] if items else ""


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _paragraphs(text: str) -> list[str]:
    return [each for each in re.split(r"\n\s*\n", text) if each.strip()]


def _sentences(text: str) -> list[str]:
    return [each for each in re.split(r"(?<=[.!?])\s+|\n", text) if each.strip()]


def _all_matches(pattern: str, joint: str = " ") -> Callable[[str, int], str]:
    compiled = re.compile(pattern)
    return lambda text, _: joint.join(dict.fromkeys(compiled.findall(text)))


def _nth_match(pattern: str) -> Callable[[str, int], str]:
    compiled = re.compile(pattern)
    return lambda text, number: _nth(compiled.findall(text), number)


_NUMBER, _QUOTED = r"-?\d+(?:\.\d+)?", r"""["'`“]([^"'`“”\n]{1,200})["'`”]"""
PROMPT_PARTS: Mapping[str, Callable[[str, int], str]] = {
    "whole": lambda text, _: text,
    "line": lambda text, number: _nth(_lines(text), number),
    "sentence": lambda text, number: _nth(_sentences(text), number),
    "paragraph": lambda text, number: _nth(_paragraphs(text), number),
    "longest line": lambda text, _: max(_lines(text), key=len, default=""),
    "longest paragraph": lambda text, _: max(_paragraphs(text), key=len, default=""),
    "text after colon": _nth_match(r":[ \t]*(\S.*)"),
    "numbers": _all_matches(_NUMBER),
    "number": _nth_match(_NUMBER),
    "words": _all_matches(r"\w{5,}"),
    "word": _nth_match(r"\w+"),
    "names": _all_matches(r"\b[A-Z]\w+"),
    "quoted": _all_matches(_QUOTED),
    "quotation": _nth_match(_QUOTED),
    "code": _all_matches(r"(?s)```\w*\n(.*?)```", "\n"),
}
_NUMBERED = ("line", "sentence", "paragraph", "text after colon", "number", "word", "quotation")


def _shuffle(text: str) -> str:
    words = text.split()
    random.Random(text).shuffle(words)
    return " ".join(words)


def _every_second_word(text: str) -> str:
    return " ".join(text.split()[::2])


EDITS: Mapping[str, Callable[[str], str]] = {
    "": lambda text: text,
    "in capitals": str.upper,
    "backwards": lambda text: " ".join(reversed(text.split())),
    "shuffled": _shuffle,
    "every second word": _every_second_word,
    "one line": lambda text: " ".join(text.split()),
}


def _replace_digits(text: str) -> str:
    return re.sub(r"\d", lambda found: str((int(found[0]) * 3 + 4) % 10), text)


def _shuffle_words(text: str) -> str:
    words = re.findall(r"[^\W\d]{3,}", text)
    random.Random(text).shuffle(words)
    return re.sub(r"[^\W\d]{3,}", lambda _: words.pop(), text)


def _empty_brackets(text: str) -> str:
    """Brackets and quotes without what stands in them."""
    for _ in range(4):
        text = re.sub(r"([\[({])[^\[\](){}]+([\])}])", r"\1\2", text)
    return re.sub(r"\"[^\"\n]*\"", '""', text)


SHAPE_EDITS: Mapping[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "other digits": _replace_digits,
    "words shuffled": _shuffle_words,
    "emptied": _empty_brackets,
    "blanked": lambda text: re.sub(r"\w+", "x", text),
}
