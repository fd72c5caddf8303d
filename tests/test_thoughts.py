"""Where thoughts end and an answer begins."""

from __future__ import annotations

import pytest

from llmzoo.thoughts import THOUGHT_MARKS, ThoughtMarks, marks_ending_with, strip_thoughts

THINK = [marks_ending_with("</think>")]


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
    assert strip_thoughts(text, THINK) == answer


def test_a_text_that_begins_inside_a_thought_must_end_it():
    assert strip_thoughts("UURR", THINK, starts_in_thought=True) is None
    assert strip_thoughts("hm</think>UURR", THINK, starts_in_thought=True) == "UURR"


@pytest.mark.parametrize("marks", THOUGHT_MARKS, ids=lambda marks: marks.closes)
def test_every_family(marks):
    assert strip_thoughts(f"{marks.opens} no {marks.closes}\nyes") == "yes"
    assert strip_thoughts(f"{marks.opens} no") is None
    assert strip_thoughts("yes") == "yes"


def test_of_gpt_oss_only_the_final_channel_is_an_answer():
    analysis = "<|channel|>analysis<|message|>Answer: LLLL"
    final = "<|channel|>final<|message|>UURR"
    assert strip_thoughts(analysis + final) == "UURR"
    assert strip_thoughts(analysis) is None
    assert strip_thoughts("<|channel|>commentary<|message|>LLLL") is None


def test_marks_that_no_family_has():
    assert marks_ending_with("</reason>") == ThoughtMarks("<reason>", "</reason>")
    assert marks_ending_with("[/R]") == ThoughtMarks("[R]", "[/R]")
    response = marks_ending_with("Here is my response:")
    assert response == ThoughtMarks(None, "Here is my response:")
    assert strip_thoughts("I guess. Here is my response:\nUURR", [response]) == "UURR"
    assert strip_thoughts("UURR", [response]) is None
