"""The shipped debate topics: complete, of one form, and different from one another.

The tests read the file itself. A failure names the topic.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from each_record import for_each

from llmzoo.envs import debate

SHIPPED = Path(debate.__file__).parent / "topics" / "topics.jsonl"
SIDES = ("pro", "con")
OTHER = {"pro": "con", "con": "pro"}

# words of speech in general, and those by which the briefs name themselves
_COMMON = """
    about above after again against all almost already also although and another any anyone anything
    are around away back because been before behind being below between both but can cannot could did
    does done down during each either else enough even ever every everyone everything few for found
    from full gave get gives given goes going got had half has have having her here him his how however
    into instead its itself just keep keeps kept later least less let like made make makes many may
    merely might more most much must near neither never nobody none nor not nothing now off often once
    one only other others our out over own per quite rather really said same say says see seen several
    shall she should since some somebody something soon still such take takes than that the their them
    themselves then there these they thing things this those though through thus too toward towards
    turn turned under until upon use used uses using very was way well went were what whatever when
    where whether which while who whole whom whose why will with within without would yet you your
    brief brief's file case
"""
COMMON = frozenset(_COMMON.split())
_UNITS = """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
"""
_TENS = """
    twenty thirty forty fifty sixty seventy eighty ninety
"""
SPELLED = {name: value for value, name in enumerate(_UNITS.split(), 2)} | {
    name: 10 * value for value, name in enumerate(_TENS.split(), 2)
}

Record = dict[str, Any]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+(?:['-][a-z]+)*|[0-9]+(?:[.,][0-9]+)*", text.lower())


def content(text: str) -> frozenset[str]:
    """The words that speak of a subject."""
    return frozenset(
        word
        for word in words(text)
        if len(word) > 2 and word not in COMMON and word not in SPELLED and word[0].isalpha()
    )


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?!])\s+", text)


def in_digits(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[0-9]+(?:[.,][0-9]+)*", text))


def figures(text: str) -> frozenset[str]:
    """Figures in digits, and the numbers from two to ninety-nine that are spelled out."""
    told = set(in_digits(text))
    parts = re.findall(r"[a-z]+(?:-[a-z]+)*", text.lower())
    for part in parts:
        numbers = [SPELLED.get(piece, 1 if piece == "one" else None) for piece in part.split("-")]
        counted = [number for number in numbers if number is not None]
        if counted and counted != [1]:
            told.add(str(sum(counted)))
    return frozenset(told)


def alike(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / len(one | two)


def read() -> list[Record]:
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


TOPICS = read()


def points(record: Record, side: str) -> list[str]:
    """The claim and the evidence of each point."""
    return [f"{point['claim']} {point['evidence']}" for point in record[side]["points"]]


def texts(record: Record) -> list[str]:
    """All that a record says, the motion first."""
    said = [record["motion"]]
    for side in SIDES:
        said.append(record[side]["position"])
        for point in record[side]["points"]:
            said += [point["claim"], point["evidence"]]
        said += record[side]["replies"]
    return said


for_each_topic = for_each(TOPICS, lambda record: record["id"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It fell from 38 to 11 in a year.", {"38", "11"}),
        ("Only 4.6 million of 1,300 remained.", {"4.6", "1,300"}),
        ("In one school seven of twenty-five left.", {"7", "25"}),
        ("One thirteen-year-old and somebody of ninety spoke.", {"13", "90"}),
        ("Nobody often counted.", set()),
    ],
)
def test_figures_in_digits_and_in_words(text, expected):
    assert figures(text) == expected


def test_there_are_enough_topics_and_no_two_are_the_same():
    assert len(TOPICS) >= 64
    for name in ("id", "motion"):
        values = Counter(record[name] for record in TOPICS)
        assert [value for value, times in values.items() if times > 1] == []


@for_each_topic
def test_form(record):
    assert list(record) == ["id", "motion", *SIDES]
    assert re.fullmatch(r"[a-z]+(?:-[a-z]+)*", record["id"])
    for side in SIDES:
        assert list(record[side]) == ["position", "points", "replies"]
        assert [list(point) for point in record[side]["points"]] == [["claim", "evidence"]] * 4
        assert len(record[side]["replies"]) == 4


@for_each_topic
def test_lengths(record):
    """Words; the motion, a position and a claim are one sentence, the rest one or two."""

    def fits(text: str, least: int, most: int, parts: int) -> bool:
        return least <= len(text.split()) <= most and len(sentences(text)) <= parts

    assert fits(record["motion"], 4, 20, 1)
    for side in SIDES:
        assert fits(record[side]["position"], 10, 30, 1)
        for point in record[side]["points"]:
            assert fits(point["claim"], 8, 20, 1), point["claim"]
            assert fits(point["evidence"], 20, 45, 2), point["evidence"]
        for reply in record[side]["replies"]:
            assert fits(reply, 20, 45, 2), reply


@for_each_topic
def test_texts_are_plain_sentences(record):
    """Only what any keyboard has, without quotation marks; a capital first, a full stop last."""
    allowed = set(string.ascii_letters + string.digits + " .,;:?'-")
    for text in texts(record):
        assert set(text) <= allowed, sorted(set(text) - allowed)
        assert "  " not in text
        assert all(re.match(r"[A-Z0-9]", part) for part in sentences(text)), text
        assert text.endswith(".")


@for_each_topic
def test_each_piece_of_evidence_has_a_figure_and_names_its_source(record):
    """The source is the brief itself: nothing is passed off as a study that exists."""
    for side in SIDES:
        for point in record[side]["points"]:
            assert in_digits(point["evidence"]), point["evidence"]
            assert re.search(r"\b(?:brief|file)\b", point["evidence"]), point["evidence"]
            assert not in_digits(point["claim"]), point["claim"]


@for_each_topic
def test_no_figure_stands_in_both_briefs(record):
    pro, con = (
        figures(" ".join(point["evidence"] for point in record[side]["points"])) for side in SIDES
    )
    assert pro & con == frozenset()


@for_each_topic
def test_replies_answer_the_point_of_the_same_number(record):
    """A reply shares more words with its point than with any other, and says something of its own."""
    for side in SIDES:
        theirs = [content(point) for point in points(record, OTHER[side])]
        for index, reply in enumerate(record[side]["replies"]):
            said = content(reply)
            shared = [len(said & point) for point in theirs]
            assert shared[index] >= 2, reply
            assert shared[index] == max(shared), reply
            assert len(said - theirs[index]) >= 4, reply


@for_each_topic
def test_replies_bring_no_figures_of_their_own(record):
    for side in SIDES:
        assert [reply for reply in record[side]["replies"] if in_digits(reply)] == []


@for_each_topic
def test_the_sides_speak_of_different_things(record):
    pro, con = (content(" ".join(points(record, side))) for side in SIDES)
    assert alike(pro, con) <= 0.1, sorted(pro & con)


def test_topics_speak_of_different_things():
    """The nearest two (night trains and free buses) share 0.11 of their words."""
    said = {record["id"]: content(" ".join(texts(record))) for record in TOPICS}
    near = [
        (one, two, sorted(said[one] & said[two]))
        for one, two in combinations(said, 2)
        if alike(said[one], said[two]) > 0.13
    ]
    assert near == []


def test_no_sentence_appears_twice():
    times_said = Counter(
        " ".join(words(part))
        for record in TOPICS
        for text in texts(record)
        for part in sentences(text)
    )
    assert [sentence for sentence, times in times_said.items() if times > 1] == []


def test_no_turn_of_phrase_is_a_template():
    """No seven words in a row stand in two topics, and no opening is worn out."""
    where: dict[tuple[str, ...], set[str]] = {}
    for record in TOPICS:
        for said in map(words, texts(record)):
            for start in range(len(said) - 6):
                where.setdefault(tuple(said[start : start + 7]), set()).add(record["id"])
    assert [(" ".join(run), ids) for run, ids in where.items() if len(ids) > 1] == []

    replies = [reply for r in TOPICS for side in SIDES for reply in r[side]["replies"]]
    claims = [point["claim"] for r in TOPICS for side in SIDES for point in r[side]["points"]]
    evidence = [point["evidence"] for r in TOPICS for side in SIDES for point in r[side]["points"]]
    for kind, most in ((replies, 2), (claims, 2), (evidence, len(evidence) // 40)):
        openings = Counter(tuple(words(text)[:2]) for text in kind)
        assert [opening for opening, times in openings.items() if times > most] == []


@for_each_topic
def test_replies_of_a_side_start_in_different_ways(record):
    for side in SIDES:
        assert len({words(reply)[0] for reply in record[side]["replies"]}) == 4
