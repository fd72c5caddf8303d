"""A debate and its topic: a motion, a brief for each side, and the speeches so far.

Topics are shipped in ``topics/topics.jsonl``. A side reads the motion, its own position and its own
points. Replies answer the other side's points one by one; only the scripted players know them.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from llmzoo.envs.sources import read_shipped_records

TOPICS_FILE = Path(__file__).parent / "topics" / "topics.jsonl"
SIDES = ("pro", "con")
OPENING, REBUTTAL, CLOSING = "opening", "rebuttal", "closing"
MAX_WORDS = 250
MAX_CHARS = 2_000  # 250 words of English prose have about 1,500
_UNSPEAKABLE = ("Cc", "Cf", "Cs", "Co", "Cn")


@dataclass(frozen=True, slots=True)
class BriefPoint:
    """A claim of one sentence, and the evidence for it."""

    claim: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Brief:
    """What one side is given. ``replies[i]`` answers point i of the other side."""

    position: str
    points: tuple[BriefPoint, ...]
    replies: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """Everything that the side reads: its position, claims and evidence."""
        point_lines = [text for point in self.points for text in (point.claim, point.evidence)]
        return (self.position, *point_lines)


@dataclass(frozen=True, slots=True)
class Topic:
    id: str
    motion: str
    pro: Brief
    con: Brief

    def brief(self, side: str) -> Brief:
        return self.pro if side == "pro" else self.con


@dataclass(frozen=True, slots=True)
class Speech:
    """What an agent said for a side in a phase."""

    agent: str
    side: str
    phase: str
    text: str

    @property
    def line(self) -> str:
        """``text`` in one line, so that it cannot be taken for another speaker's."""
        return self.text.replace("\n", " ") or "(silence)"


@dataclass(frozen=True, slots=True)
class Debate:
    """A topic and the speeches on it so far. ``total``: the number of speeches that each side has."""

    topic: Topic
    total: int
    speeches: tuple[Speech, ...] = ()

    @property
    def over(self) -> bool:
        return len(self.speeches) == 2 * self.total

    @property
    def share(self) -> float:
        """The share of its speeches that were held, from 0 to 1."""
        return len(self.speeches) / (2 * self.total)


def other_side(side: str) -> str:
    return "con" if side == "pro" else "pro"


def canonical(topic: Topic) -> str:
    """The motion: topics with the same motion are the same, whatever their briefs say."""
    return " ".join(topic.motion.lower().split())


@cache
def load_topics() -> tuple[Topic, ...]:
    """All topics."""
    return tuple(
        Topic(record["id"], record["motion"], *(_brief_from_record(record[side]) for side in SIDES))
        for record in read_shipped_records(TOPICS_FILE)
    )


def _brief_from_record(record: dict[str, object]) -> Brief:
    points, replies = record["points"], record["replies"]
    assert isinstance(points, list)
    assert isinstance(replies, list)
    brief_points = tuple(BriefPoint(point["claim"], point["evidence"]) for point in points)
    return Brief(str(record["position"]), brief_points, tuple(replies))


def phase_of(round: int, rounds: int) -> str:
    """The phase of a round, counted from 0, of ``rounds`` (at least 2)."""
    if round == 0:
        return OPENING
    return CLOSING if round == rounds - 1 else REBUTTAL


def clean_speech(text: str) -> str:
    """``text`` as it is heard: its first 250 words, within 2,000 characters, without control
    characters and lone surrogates; blank space becomes single blanks and line ends."""
    cleaned = text[: 4 * MAX_CHARS]
    if not cleaned.replace("\n", "").isprintable():
        cleaned = "".join(c for c in cleaned if c.isspace() or _is_speakable(c))
    lines: list[str] = []
    left = MAX_WORDS
    for line in cleaned.split("\n"):
        words = line.split()[:left]
        left -= len(words)
        if words:
            lines.append(" ".join(words))
    return "\n".join(lines)[:MAX_CHARS].rstrip()


def _is_speakable(character: str) -> bool:
    return unicodedata.category(character) not in _UNSPEAKABLE
