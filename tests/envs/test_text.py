"""What is done to text before it is shown."""

from __future__ import annotations

from llmzoo.envs.text import count_to_omit, replace_surrogates, truncate


def test_cut():
    assert truncate("abcde", 5) == "abcde"
    assert truncate("abcdef", 5) == "abcde... (6 characters)"


def test_half_a_surrogate_pair_becomes_a_question_mark():
    assert replace_surrogates("a\ud83d b\udc00") == "a? b?"
    assert replace_surrogates("é \U0001f600 \x00") == "é \U0001f600 \x00"


def test_the_first_texts_are_left_out_until_the_rest_fits():
    texts = ["aaa", "bb", "cc"]
    assert [count_to_omit(texts, limit) for limit in (7, 6, 4, 3, 2, 1)] == [0, 1, 1, 2, 2, 3]
    assert count_to_omit([], 0) == 0
