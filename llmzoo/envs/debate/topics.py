"""Topics: a motion and a brief for each side, as shipped in ``topics/topics.jsonl``.

A side reads the motion, its own position and its own points. Replies answer the other side's points
one by one; they are for the scripted players and no seat reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from llmzoo.envs.sources import records

FILE = Path(__file__).parent / "topics" / "topics.jsonl"
SIDES = ("pro", "con")


@dataclass(frozen=True, slots=True)
class Point:
    """A claim of one sentence, and the evidence that backs it."""

    claim: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Brief:
    """What one side is given. ``replies[i]`` answers point i of the other side."""

    position: str
    points: tuple[Point, ...]
    replies: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """Everything the side reads, a claim or a piece of evidence each."""
        told = [text for point in self.points for text in (point.claim, point.evidence)]
        return (self.position, *told)


@dataclass(frozen=True, slots=True)
class Topic:
    id: str
    motion: str
    pro: Brief
    con: Brief

    def brief(self, side: str) -> Brief:
        return self.pro if side == "pro" else self.con


def other(side: str) -> str:
    return "con" if side == "pro" else "pro"


def canonical(topic: Topic) -> str:
    """The motion: a topic is the same topic whatever its briefs say."""
    return " ".join(topic.motion.lower().split())


@cache
def shipped() -> tuple[Topic, ...]:
    return tuple(
        Topic(record["id"], record["motion"], *(_brief(record[side]) for side in SIDES))
        for record in records(FILE)
    )


def _brief(record: dict[str, object]) -> Brief:
    points, replies, position = record["points"], record["replies"], record["position"]
    assert isinstance(points, list)
    assert isinstance(replies, list)
    return Brief(
        str(position), tuple(Point(p["claim"], p["evidence"]) for p in points), tuple(replies)
    )
