"""Where thoughts end and an answer begins."""

from __future__ import annotations

import pytest

from llmzoo.thoughts import FAMILIES, Marks, answer_in, marks_of

THINK = [marks_of("</think>")]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("UURR", "UURR"),
        ("\n UURR", "\n UURR"),  # no thought: nothing is taken off
        ("<think>Answer: LLLL</think>\n\nUURR", "UURR"),
        ("Answer: LLLL</think>\n\n  UURR", "  UURR"),  # the prompt had opened the thought
        ("<think>a</think>b</think>c", "c"),  # the last one counts
        ("<think></think>", ""),
        ("<think>Answer: LLLL", None),
        ("<think>a</think>\n <think>LLLL", None),
        ("<think>a</think>UURR, not <think>", "UURR, not <think>"),  # an answer speaks of the mark
        ("Wrap it in <think>. UURR", "Wrap it in <think>. UURR"),
        ("<think>a</think>UURR<think>b</think>LLLL", "LLLL"),
    ],
)
def test_the_answer_is_what_follows_the_last_thought(text, answer):
    assert answer_in(text, THINK) == answer


def test_a_text_that_begins_inside_a_thought_must_end_it():
    assert answer_in("UURR", THINK, inside=True) is None
    assert answer_in("hm</think>UURR", THINK, inside=True) == "UURR"


@pytest.mark.parametrize("marks", FAMILIES, ids=lambda marks: marks.closes)
def test_every_family(marks):
    assert answer_in(f"{marks.opens} no {marks.closes}\nyes") == "yes"
    assert answer_in(f"{marks.opens} no") is None
    assert answer_in("yes") == "yes"


def test_of_gpt_oss_only_the_final_channel_is_an_answer():
    analysis = "<|channel|>analysis<|message|>Answer: LLLL"
    final = "<|channel|>final<|message|>UURR"
    assert answer_in(analysis + final) == "UURR"
    assert answer_in(analysis) is None
    assert answer_in("<|channel|>commentary<|message|>LLLL") is None


def test_marks_that_no_family_has():
    assert marks_of("</reason>") == Marks("<reason>", "</reason>")
    assert marks_of("[/R]") == Marks("[R]", "[/R]")
    response = marks_of("Here is my response:")
    assert response == Marks(None, "Here is my response:")
    assert answer_in("I guess. Here is my response:\nUURR", [response]) == "UURR"
    assert answer_in("UURR", [response]) is None
