"""What is done to text before it is shown."""

from __future__ import annotations

from llmzoo.envs.text import replace_surrogates, truncate


def test_cut():
    assert truncate("abcde", 5) == "abcde"
    assert truncate("abcdef", 5) == "abcde... (6 characters)"


def test_half_a_surrogate_pair_becomes_a_question_mark():
    assert replace_surrogates("a\ud83d b\udc00") == "a? b?"
    assert replace_surrogates("é \U0001f600 \x00") == "é \U0001f600 \x00"
