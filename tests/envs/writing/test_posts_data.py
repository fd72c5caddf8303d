"""The shipped posts and story openings: enough of them, whole, distinct, and honestly rewritten."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from each_record import for_each

import llmzoo
from llmzoo.envs import prose
from llmzoo.envs.tasks import assign_split
from llmzoo.envs.writing import tldr
from llmzoo.envs.writing.scoring import STORY, TLDR, measure_structure, transition_kinds
from llmzoo.envs.writing.words import STOP_WORDS, stem

TEXTS = Path(llmzoo.__file__).parent / "envs" / "writing" / "texts"
FIELDS = {
    "tldr": ("prompt", "completion", "detailed"),
    "story": ("id", "opening", "first", "second"),
}
COPIED = 7  # words in a row that no summary shares with its post
NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+|\b\d+\b")  # inside of a sentence; or a figure


def read(name):
    lines = (TEXTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read_posts():
    tasks = map(tldr.task_from_record, read("tldr"))
    return [
        {"id": task.title, "title": task.title, "post": task.text}
        | dict(zip(("concise", "detailed"), task.parts, strict=True))
        for task in tasks
    ]


POSTS, STORIES = read_posts(), read("story")
for_each_post = for_each(POSTS, lambda record: record["id"])
for_each_story = for_each(STORIES, lambda record: record["id"])


def words(text):
    return re.findall(r"[a-z0-9]+(?:'[a-z]+)?", text.lower())


def runs(text, length):
    return set(prose.ngrams(words(text), length))


def bodies(record):
    return [text for name, text in record.items() if name not in ("id", "title")]


def sentences(text):
    return [s for s in re.split(r"(?<=[.!?])[\"')]*\s+", text) if len(words(s)) > 3]


@pytest.mark.parametrize("name", FIELDS)
def test_a_file_holds_at_least_sixty_records_of_the_same_fields(name):
    records = read(name)
    assert len(records) >= 60
    assert {tuple(record) for record in records} == {FIELDS[name]}
    assert all(isinstance(value, str) and value for record in records for value in record.values())


@pytest.mark.parametrize("records", [POSTS, STORIES], ids=["tldr", "story"])
def test_no_identifier_or_sentence_stands_twice(records):
    ids = Counter(record["id"] for record in records)
    said = Counter(s for record in records for text in bodies(record) for s in sentences(text))
    assert ids.most_common(1)[0][1] == 1
    assert [sentence for sentence, times in said.items() if times > 1] == []


@pytest.mark.parametrize("records", [POSTS, STORIES], ids=["tldr", "story"])
def test_no_two_records_share_a_run_of_seven_words(records):
    spans = {record["id"]: set().union(*(runs(t, 7) for t in bodies(record))) for record in records}
    shared = {(a, b): spans[a] & spans[b] for a, b in combinations(spans, 2) if spans[a] & spans[b]}
    assert shared == {}


@pytest.mark.parametrize("records", [POSTS, STORIES], ids=["tldr", "story"])
def test_texts_are_plain_english_text_without_stray_spaces(records):
    for record in records:
        for value in record.values():
            assert re.fullmatch(r"[ -~£é\n]+", value), record["id"]
            assert not re.search(r" {2}| \n|\n |\n{3}|^\s|\s$", value), record["id"]
        assert all(text.rstrip("\"')")[-1] in ".!?" for text in bodies(record)), record["id"]


@pytest.mark.parametrize(
    "texts",
    [[record["post"] for record in POSTS], [record["opening"] for record in STORIES]],
    ids=["tldr", "story"],
)
def test_both_splits_have_tasks(texts):
    count = Counter(map(assign_split, texts))
    assert count["train"] >= 30
    assert count["test"] >= 5


def test_no_two_posts_begin_alike():
    beginnings = Counter(tuple(words(record["post"])[:3]) for record in POSTS)
    assert [start for start, times in beginnings.items() if times > 1] == []


@for_each_post
def test_a_post_and_its_summaries_have_their_lengths(record):
    post, concise, detailed = (words(record[name]) for name in ("post", "concise", "detailed"))
    assert 130 <= len(post) <= 260
    assert 20 <= len(concise) <= 32
    assert (
        1 <= len(re.findall(r"[.!?](?=\s|$)", re.sub(r"\b(?:Mr|Ms)\.", "", record["concise"]))) <= 2
    )
    assert 2.0 <= len(record["detailed"]) / len(record["concise"]) <= 2.9
    assert len(set(detailed)) >= 2.1 * len(set(concise))


@for_each_post
def test_summaries_are_in_their_own_words(record):
    for name in ("concise", "detailed"):
        assert runs(record["post"], COPIED) & runs(record[name], COPIED) == set()


@for_each_post
def test_a_detailed_summary_keeps_names_and_figures_and_adds_none(record):
    source = f"{record['title']} {record['post']}"
    assert set(NAME.findall(source)) & set(NAME.findall(record["detailed"]))
    figures = r"\d+[,.:]\d+"  # the ones that no summary spells out: 1,400 and 6:12
    assert set(re.findall(figures, record["detailed"])) <= set(re.findall(figures, source))


@for_each_post
def test_a_detailed_summary_has_three_kinds_of_transitions(record):
    assert len(transition_kinds(record["detailed"])) >= 3


@for_each_post
def test_the_references_of_a_post_pass_all_stages(record):
    stages = measure_structure(record["concise"], record["detailed"], TLDR)
    assert stages.failed is None
    assert stages.measured["overlap"] > 0


@for_each_story
def test_an_opening_and_its_passages_have_their_lengths(record):
    opening, first, second = (words(record[name]) for name in ("opening", "first", "second"))
    assert 60 <= len(opening) <= 110
    assert 90 <= len(first) <= 130
    assert 90 <= len(second) <= 130
    assert 0.8 <= len(record["second"]) / len(record["first"]) <= 1.25


@for_each_story
def test_the_passages_go_on_with_the_names_and_things_of_the_opening(record):
    capitals = re.findall(r"[A-Z][a-z]+", record["opening"])
    names = {word for word in capitals if word.lower() not in STOP_WORDS}
    kept = {word for name in ("first", "second") for word in re.findall(r"\w+", record[name])}
    assert names & kept
    things = {stem(word) for word in words(record["opening"]) if word not in STOP_WORDS}
    for name in ("first", "second"):
        assert len(things & {stem(word) for word in words(record[name])}) >= 6
        assert runs(record["opening"], COPIED + 1) & runs(record[name], COPIED + 1) == set()


@for_each_story
def test_the_references_of_a_story_pass_all_stages(record):
    assert measure_structure(record["first"], record["second"], STORY).failed is None
