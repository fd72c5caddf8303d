"""Right answers, written as chat models write them, are read as they are meant, in every environment."""

from __future__ import annotations

import pytest
from quick_cases import slow_but

import llmzoo
from llmzoo.envs.text import content_lines, strip_markup
from tests.envs.answer_formats import IN_LINE, WRAPPINGS, play, wrap

PROSE = "the text is prose and judged as it stands, with all that is added"
LAST = "the prompt asks for the answer alone on the last line, so that one answer has one reading"
LABELLED = (
    "a program of one line has no label, emphasis or table around it; those would be other programs"
)
NOT_READ = {
    **dict.fromkeys(
        ("story_v0", "tldr_v0", "arxiv_v0"), ({"a closing", "both", "a note after"}, PROSE)
    ),
    "debate_v0": ({*WRAPPINGS} - {"space around", "line ends of Windows"}, PROSE),
    "propose_v0": (
        {"a closing", "both", "a note after", "a bold heading and a fence", "a bullet"},
        f"{LAST}; a bullet before an expression is its sign",
    ),
    **dict.fromkeys(
        ("aime24_v0", "aime25_v0", "math500_v0", "olympiadbench_v0"),
        ({*IN_LINE} - {"code", "Answer:"}, LABELLED),
    ),
}
QUICK = ("calendar_v0", "negotiation_v0", "sudoku_v0", "relay_v0")


@pytest.mark.filterwarnings("ignore::llmzoo.errors.FallbackWarning")
@pytest.mark.parametrize(
    "id",
    slow_but(QUICK, llmzoo.list_envs()),
)
def test_wrapped_answers_are_read_as_meant(id):
    env = llmzoo.make(id)
    returns, success = play(env, lambda answer: answer)
    excepted = NOT_READ.get(id, (set(), ""))[0]
    wrong = {}
    for name in [name for name in WRAPPINGS if name not in excepted]:
        found = play(env, lambda answer, name=name: wrap(name, answer))
        if found != (pytest.approx(returns), success):
            wrong[name] = found
    assert not wrong, (returns, success)


def test_every_exception_is_of_a_wrapping_and_an_environment():
    assert set(NOT_READ) <= set(llmzoo.list_envs())
    assert all(names <= set(WRAPPINGS) for names, _ in NOT_READ.values())


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("**42**", "42"),
        ("Answer: `42`", "42"),
        ("**Final answer:** **42**", "42"),
        ("The answer is 42", "42"),
        ("| 42 |", "42"),
        ("| 4 | 2 |", "| 4 | 2 |"),
        ("**4** and **2**", "**4** and **2**"),
        ("4 ** 2", "4 ** 2"),
        ("**", "**"),
        ("answers 42", "answers 42"),
    ],
)
def test_a_bare_line(line, bare):
    assert strip_markup(line) == bare


def test_bare_lines_leave_out_fences_and_rules():
    assert content_lines("Sure:\n\n```text\nAB\n```\n---\n| a |\n|---|\n") == ["Sure:", "AB", "a"]
