"""Delegation: its limits, its tables, and the start that looks up values on pages."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))


def of_words(context: int) -> SimpleNamespace:
    """A model to which each word is a token, that may write 2."""
    return SimpleNamespace(
        context=context,
        sampling=SimpleNamespace(max_new_tokens=2),
        encode=lambda text, agent: text.split(),
    )


def test_a_form_is_answered_as_long_as_its_longest_prompt_fits():
    """A worker reads "delegate worker", "page MONTH", four words of each record, "task MEASURE SUBJECT" and "report":
    8 words and 4 for each record. 40 words fit, so 8 records do and 9 do not. An agent alone reads the question
    and its notes as well, so that with 8 records it is beyond; four pages of the book are."""
    from delegation import limits_of

    found = {(row["form"], row["rows"]): row for row in limits_of(of_words(42), (4, 8, 9), 20)}
    assert [found["workers", rows]["longest"] for rows in (8, 9)] == [40, 44]
    assert [found["workers", rows]["fits"] for rows in (4, 8, 9)] == [1.0, 1.0, 0.0]
    assert found["pages", 8]["fits"] == 0.0
    assert found["book", 4]["fits"] == 0.0
    # "delegate reader", four times "page MONTH" and 16 words, "answer", and the question: "ask KIND SUBJECT MONTH"
    # has 4 words, 5 with a second month, 6 with the word "price" before it
    assert found["book", 4]["longest"] == 2 + 4 * 18 + 1 + 6
    # its lead reads the same, however long the pages are
    assert len({found["workers", rows]["longest_lead"] for rows in (4, 8, 9)}) == 1


def test_the_interval_is_over_seeds_and_within_0_and_1():
    """Of 0.5, 0.5 and 0.8 the standard deviation is 0.1732, and 0.1 after division by the root of 3; Student's
    quantile of two degrees of freedom is 4.303."""
    from delegation import over_seeds

    mean, (low, high) = over_seeds([0.5, 0.5, 0.8])
    assert mean == pytest.approx(0.6)
    assert (low, high) == (pytest.approx(0.6 - 0.4303, abs=1e-4), 1.0)


def test_each_size_is_read_from_where_it_was_measured():
    from delegation import tables

    def run(arm: str, seed: int, greedy: float, sampled: float) -> dict:
        also = {"g": {"rows": 4, "greedy": True}, "s": {"rows": 4}}
        measured = {"success": greedy, "tasks": 10, "tokens": 50, "answers": 20}
        return {
            **{"task": "questions", "arm": arm, "seed": seed, "tokens": 100, "seconds": 2.0},
            **{"curve": [{}, {}], "also_args": also, "settings": {"env_args": {"rows": 8}}},
            "also": {"g": {"success": greedy}, "s": {"success": sampled}},
            "before": {"greedy": measured},
            "after": {**measured, "greedy": measured},
        }

    rows = [run("workers", seed, 0.5, 0.2) for seed in range(3)] + [run("pages", 0, 0.25, 0.0)]
    made = tables(rows)
    greedy, sampled = (line.split(" | ") for line in made["crowd delegation"].splitlines()[2:])
    assert greedy[:4] == ["| 8", "greedy", "4", "50.0% [50.0%, 50.0%] (50%, 50%, 50%)"]
    assert sampled[3].startswith("20.0%")
    assert greedy[4].startswith("25.0%")
    assert greedy[5] == "not run |"
    (line,) = made["crowd delegation differences"].splitlines()[2:]
    assert line == "| 8 | 4 | +25.0 [+25.0, +25.0] | +20.0 [+20.0, +20.0] | not run | not run |"
    cost = made["crowd delegation cost"].splitlines()[2].split(" | ")
    assert cost[4:] == ["100", "2", "2", "2.0", "5.0 |"]


def test_the_labels_of_a_lookup_are_the_values_of_its_page(tmp_path):
    """Each label is the number that the page says, read again from the tokens of page and question."""
    import lookup_model
    import words

    tokenizer = words.word_tokenizer(
        lookup_model.vocabulary(),
        words.word_pattern(lookup_model.vocabulary()),
    )
    rng = random.Random(3)
    seen = 0
    for _ in range(30):
        ids, labels, measures = lookup_model.lookups(tokenizer, 4, rng)
        assert len(ids) == len(labels)
        asked = [place for place, label in enumerate(labels) if label != lookup_model.UNLABELLED]
        assert [labels[place] for place in asked] == [ids[place] for place in asked]
        assert len(asked) == len(measures)
        text = tokenizer.decode(ids)
        lines = [line.split() for line in text.replace("<|end|>", "\n").splitlines()]
        records = [line for line in lines if len(line) == 4]
        question, answer = lines[-2] if len(measures) > 1 else None, lines[-1]
        if question and question[0] == "last":
            days = [int(day) for day, person, *_ in records if person == question[1]]
            assert answer == [str(max(days))]
            seen += 1
    assert seen
