"""Which pairs of answers are preferences, worked out by hand; and what a file must hold."""

import json
import random

import pytest

from llmzoo.errors import ConfigError
from llmzoo.learners.preferences import (
    choose_pairs,
    count_candidate_pairs,
    is_conversational,
    load_preferences,
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """What ``datasets`` converts goes into the test's folder."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def chosen(returns, choice, **options):
    return choose_pairs(returns, choice, rng=random.Random(0), **options)


def test_the_gap_is_the_best_against_the_worst():
    assert chosen([0.2, 1.0, -0.5, 0.7], "gap") == [(1, 2)]
    assert chosen([1.0, 0.0, 1.0, 0.0], "gap") == [(0, 1)]  # the first of each


def test_all_are_those_that_differ_better_first():
    # of (0, 1), (0, 2), (1, 2) the last are the same
    assert chosen([0.5, 1.0, 1.0], "all") == [(1, 0), (2, 0)]
    assert chosen([3.0, 2.0, 1.0], "all") == [(0, 1), (0, 2), (1, 2)]


def test_random_is_one_that_differs_and_any_of_them_comes():
    result = {tuple(choose_pairs([1, 1, 0], "random", rng=random.Random(s))) for s in range(20)}
    assert result == {((0, 2),), ((1, 2),)}


@pytest.mark.parametrize("choice", ["gap", "random", "all"])
def test_ties_are_no_pairs(choice):
    assert chosen([0.5, 0.5, 0.5], choice) == []
    assert chosen([0.1 + 0.2, 0.3], choice) == []  # equal but for rounding
    assert chosen([1000.1, 1000.1 + 1e-4], choice) == []  # float32 cannot tell these apart
    assert chosen([1.0], choice) == []
    assert chosen([], choice) == []


def test_a_gap_below_the_least_is_no_pair():
    # gaps: 0.25, 1.0 and 0.75
    assert chosen([0.0, 0.25, 1.0], "all", min_gap=0.5) == [(2, 0), (2, 1)]
    assert chosen([0.0, 0.25, 1.0], "all", min_gap=0.75) == [(2, 0), (2, 1)]
    assert chosen([0.0, 0.25, 1.0], "gap", min_gap=1.5) == []


def test_the_same_answer_is_no_pair_whatever_it_was_paid():
    answers = ["x", "x", "y"]
    assert chosen([1.0, 0.0, 0.5], "all", same=answers) == [(0, 2), (2, 1)]
    # the best and the worst are the same answer: of the others 0 and 2 are as far apart as 2 and 1
    assert chosen([1.0, 0.0, 0.5], "gap", same=answers) == [(0, 2)]


def test_candidates():
    assert [count_candidate_pairs(4, c) for c in ("gap", "random", "all")] == [1, 1, 6]
    assert [count_candidate_pairs(1, c) for c in ("gap", "random", "all")] == [0, 0, 0]


def written(tmp_path, *rows, name="preferences.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def said(role, content):
    return [{"role": role, "content": content}]


def test_texts_and_conversations_are_read(tmp_path):
    text = {"prompt": "p", "chosen": "a", "rejected": "b", "source": "somewhere"}
    assert load_preferences(written(tmp_path, text)) == [
        {"prompt": "p", "chosen": "a", "rejected": "b"}
    ]
    talk = {
        "prompt": said("user", "p"),
        "chosen": said("assistant", "a"),
        "rejected": said("assistant", "b"),
    }
    (row,) = load_preferences(written(tmp_path, talk, name="talk.jsonl"))
    assert row == talk
    assert is_conversational(row)
    csv = tmp_path / "some.csv"
    csv.write_text("prompt,chosen,rejected\np,a,b\n")
    assert load_preferences(str(csv)) == [{"prompt": "p", "chosen": "a", "rejected": "b"}]


def test_a_saved_data_set_of_the_hub_is_read_by_its_split(tmp_path):
    """A folder of files is what the library takes a hub id's repository for."""
    (tmp_path / "set").mkdir()
    written(tmp_path, {"prompt": "p", "chosen": "a", "rejected": "b"}, name="set/train.jsonl")
    written(tmp_path, {"prompt": "q", "chosen": "c", "rejected": "d"}, name="set/test.jsonl")
    assert load_preferences(str(tmp_path / "set"))[0]["prompt"] == "p"
    assert load_preferences(f"{tmp_path}/set:test")[0]["prompt"] == "q"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"prompt": "p", "chosen": "a"}, r"no column rejected \(it has prompt, chosen\)"),
        ({"prompt": "p", "chosen": "a", "rejected": 3}, "rejected must be a text"),
        ({"prompt": "p", "chosen": "", "rejected": "b"}, "chosen must be a text and not empty"),
        (
            {"prompt": said("user", "p"), "chosen": "a", "rejected": "b"},
            "chosen must be a list of messages",
        ),
        (
            {"prompt": "p", "chosen": said("user", "p"), "rejected": said("user", "q")},
            "chosen must be a text",
        ),
        (
            {"prompt": [{"text": "p"}], "chosen": [{"text": "p"}], "rejected": [{"text": "q"}]},
            "prompt must be a list of messages",
        ),
        ({"prompt": "p", "chosen": "a", "rejected": "a"}, "chosen and rejected are the same"),
    ],
)
def test_anything_else_is_refused_by_row_and_column(tmp_path, row, message):
    with pytest.raises(ConfigError, match=message):
        load_preferences(written(tmp_path, row))


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="there is no file"):
        load_preferences(str(tmp_path / "absent.jsonl"))
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{not json")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_preferences(str(broken))
    with pytest.raises(ConfigError, match=r"cannot be loaded .* give a hub id or a"):
        load_preferences("nobody/nothing-of-this-name")
