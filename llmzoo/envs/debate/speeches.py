"""What is said in a debate: speeches, each by a seat for a side in a phase, and never changed."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from llmzoo.envs.debate.topics import Topic

MAX_WORDS = 250
MAX_CHARS = 2_000  # 250 words of English prose have about 1,500

OPENING, REBUTTAL, CLOSING = "opening", "rebuttal", "closing"


@dataclass(frozen=True, slots=True)
class Speech:
    seat: str
    side: str
    phase: str
    text: str

    @property
    def line(self) -> str:
        """``text`` in one line, so that it cannot be taken for another speaker's."""
        return self.text.replace("\n", " ") or "(silence)"


@dataclass(frozen=True, slots=True)
class Debate:
    """A topic and what was said on it so far. ``total``: speeches that a side has in all."""

    topic: Topic
    total: int
    speeches: tuple[Speech, ...] = ()

    @property
    def over(self) -> bool:
        return len(self.speeches) == 2 * self.total

    @property
    def share(self) -> float:
        """How much of it has been held, from 0 to 1."""
        return len(self.speeches) / (2 * self.total)


def phase_of(round: int, rounds: int) -> str:
    """The phase of round ``round``, counted from 0, of ``rounds`` (at least 2)."""
    if round == 0:
        return OPENING
    return CLOSING if round == rounds - 1 else REBUTTAL


def heard(text: str) -> str:
    """``text`` as it is heard: its first 250 words, within 2,000 characters, without control
    characters or lone surrogates, blank space as single blanks and line ends."""
    shown = text[: 4 * MAX_CHARS]
    if not shown.replace("\n", "").isprintable():  # what is printable can be spoken
        shown = "".join(c for c in shown if c == "\n" or _speakable(c))
    lines: list[str] = []
    left = MAX_WORDS
    for line in shown.split("\n"):
        words = line.split()[:left]
        left -= len(words)
        if words:
            lines.append(" ".join(words))
    return "\n".join(lines)[:MAX_CHARS].rstrip()


def _speakable(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) not in (
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
    )
