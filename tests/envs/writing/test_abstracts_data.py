"""The shipped abstracts and their introductions: enough, distinct, of the asked form and faithful."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

from each_record import for_each

from llmzoo.envs import prose
from llmzoo.envs.tasks import assign_split
from llmzoo.envs.writing import arxiv
from llmzoo.envs.writing.scoring import ARXIV, MOST, VOCABULARY, measure_structure
from llmzoo.envs.writing.tasks import canonical
from llmzoo.envs.writing.words import tokens

RECORDS = arxiv.raw_env.public_set.sample_records()
FIELDS = ("id", "title", "abstract", "background", "method")
BODIES = FIELDS[2:]
COPIED = 8  # words in a row that no part of an introduction shares with its abstract
SHARED = 7  # words in a row that no two records share
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
for_each_record = for_each(RECORDS, lambda record: record["id"])


def runs(text, length):
    return set(prose.ngrams(tokens(text), length))


def sentences(text):
    return re.split(r"(?<=[.!?])\s+", text)


def test_there_are_sixty_two_records_of_the_same_fields():
    assert len(RECORDS) == 62
    assert {tuple(record) for record in RECORDS} == {FIELDS}
    assert all(isinstance(value, str) and value for record in RECORDS for value in record.values())


def test_no_identifier_title_or_sentence_stands_twice():
    said = [
        sentence for record in RECORDS for name in BODIES for sentence in sentences(record[name])
    ]
    for values in ([r["id"] for r in RECORDS], [r["title"] for r in RECORDS], said):
        assert [value for value, times in Counter(values).items() if times > 1] == []


def test_no_two_records_share_a_run_of_seven_words():
    spans = {r["id"]: set().union(*(runs(r[name], SHARED) for name in BODIES)) for r in RECORDS}
    shared = {(a, b): spans[a] & spans[b] for a, b in combinations(spans, 2) if spans[a] & spans[b]}
    assert shared == {}


def test_no_two_texts_begin_with_the_same_five_words():
    beginnings = Counter(tuple(tokens(r[name])[:5]) for r in RECORDS for name in BODIES)
    assert [start for start, times in beginnings.items() if times > 1] == []


def test_both_splits_have_tasks():
    count = Counter(
        assign_split(canonical(task)) for task in arxiv.raw_env.public_set.load("sample").tasks
    )
    assert count.total() == len(RECORDS)
    assert min(count["train"], count["test"]) >= 5


@for_each_record
def test_texts_are_single_paragraphs_of_whole_sentences(record):
    for name in BODIES:
        assert re.fullmatch(r"[!-~]+(?: [!-~]+)*", record[name]), name  # ASCII, single spaces
        assert record[name][-1] in ".?"
        assert all(re.match(r"[A-Z0-9]", sentence) for sentence in sentences(record[name]))


@for_each_record
def test_lengths_and_ratios_are_those_asked_for(record):
    assert 110 <= len(record["abstract"].split()) <= 170
    assert 132 <= len(record["background"].split()) <= 165
    assert 180 <= len(record["method"].split()) <= 250
    shape = measure_structure(record["background"], record["method"], ARXIV)
    assert shape.failed is None
    assert 1.33 <= shape.measured["ratio"] <= 1.57
    assert shape.parts[VOCABULARY] == MOST[VOCABULARY]
    assert shape.measured["overlap"] >= ARXIV.overlap
    assert shape.measured["categories"] >= 4


@for_each_record
def test_an_introduction_copies_no_run_of_eight_words(record):
    given = runs(record["abstract"], COPIED)
    for name in ("background", "method"):
        assert given & runs(record[name], COPIED) == set()


@for_each_record
def test_figures_of_an_introduction_stand_in_the_abstract(record):
    allowed = set(FIGURE.findall(record["title"] + " " + record["abstract"]))
    figures = set(FIGURE.findall(record["background"] + " " + record["method"]))
    assert figures - allowed == set()
    assert len(figures) >= 0.6 * len(set(FIGURE.findall(record["abstract"])))
