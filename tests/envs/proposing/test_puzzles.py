"""Puzzles: how texts are read, which are refused, and what the answers are."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import permutations

import pytest

from llmzoo.envs.proposing import expressions
from llmzoo.envs.proposing.difficulty import DIFFICULTIES, expected_difficulty
from llmzoo.envs.proposing.expressions import (
    evaluate,
    format_expression,
    normal_form,
    parse_expression,
)
from llmzoo.envs.proposing.puzzles import (
    Countdown,
    ProposalRefused,
    PuzzleRules,
    Sum,
    reachable_values,
    sample_puzzle,
)
from llmzoo.envs.text import MalformedError
from llmzoo.envs.tools import calculator

RULES = PuzzleRules((2, 3, 7, 12), "+-*")


@pytest.mark.parametrize(
    ("text", "worth", "short"),
    [
        ("12 - 3 * 7", -9, "12-3*7"),
        ("(12 - 3) * 7", 63, "(12-3)*7"),
        ("12-(3-7)", 16, "12-(3-7)"),
        ("12 - 3 - 7", 2, "12-3-7"),
        ("12 + (3 + 7)", 22, "12+3+7"),
        ("2 * (3 * 7)", 42, "2*3*7"),
        ("((12)) × (7 − 3)", 48, "12*(7-3)"),
    ],
)
def test_sums_are_worked_out_and_written_with_few_parentheses(text, worth, short):
    made = parse_expression(text)
    assert evaluate(made) == worth
    assert format_expression(made, "") == short
    assert evaluate(parse_expression(short)) == worth


@pytest.mark.parametrize(
    "text",
    [
        *("", "12 - ", "12 3", "(12 - 3", "12 ** 3", "12 // 3", "12 / 3", "2 - -3", "+2", "x + 3"),
        *("2(3)", "()", "2, 3", "012 + 3", "1_2 + 3", "2 + 3 = 5", "2 + 3 # 5", "1.5 + 2", "٣ + 4"),
        *("__import__('os')", "9" * 101, "(" * 60, "-" * 90 + "1", "(" * 45 + "2" + ")" * 46),
    ],
)
def test_anything_else_is_malformed(text):
    with pytest.raises(MalformedError):
        parse_expression(text)


def test_the_calculator_finds_the_same_values():
    rng = random.Random(0)
    for _ in range(500):
        size = rng.randint(2, 4)
        puzzle = sample_puzzle("sum", RULES, size, rng, ())
        assert calculator.evaluate(puzzle.text()) == Fraction(evaluate(puzzle.expression))
        assert puzzle.is_solved_by(puzzle.solution())
        assert not puzzle.is_solved_by(puzzle.wrong_answer(rng))
        assert Sum.read(puzzle.text(""), RULES) == puzzle


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2 + 3", "3 + 2", True),
        ("2 + (3 + 7)", "7 + 2 + 3", True),
        ("12 - (3 - 7)", "7 + 12 - 3", True),
        ("2 * (3 * 7)", "7 * 2 * 3", True),
        ("2 * (3 + 7)", "(7 + 3) * 2", True),
        ("12 - 3", "3 - 12", False),
        ("2 * (3 + 7)", "2 * 3 + 7", False),
        ("12 - 3 + 7", "12 - (3 + 7)", False),
    ],
)
def test_order_and_grouping_do_not_make_a_new_sum(one, other, same):
    assert (normal_form(parse_expression(one)) == normal_form(parse_expression(other))) == same


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("3 + 4", "4 is not one of the numbers"),
        ("3 + 3", "3 is used twice"),
        ("7", "fewer than two numbers"),
        ("12 * (3 - 2)", "it multiplies by 1"),
        ("7 + (2 - (12 - (7 + 3)))", "7 is used twice"),
        ("(12 - (2 + 3 + 7)) * 2", "2 is used twice"),
    ],
)
def test_refused_sums(text, why):
    with pytest.raises(ProposalRefused, match=why):
        Sum.read(text, RULES)


def test_trivial_and_huge_sums_are_refused():
    with pytest.raises(ProposalRefused, match="a part of it is 0"):
        Sum.read("(2 + 3 - 5) + 7", PuzzleRules((2, 3, 5, 7), "+-*"))
    with pytest.raises(ProposalRefused, match="a result on the way is beyond 9999"):
        Sum.read("99 * 98 * 97 - 96", PuzzleRules((96, 97, 98, 99), "+-*"))
    with pytest.raises(ProposalRefused, match=r"\* is not one of the signs"):
        Sum.read("2 * 3", PuzzleRules((2, 3), "+-"))
    assert (
        Sum.read("2 + 3 - 5", PuzzleRules((2, 3, 5), "+-*")).solution() == "0"
    )  # only parts count


@pytest.mark.parametrize(
    ("answer", "right"), [("-9", True), ("−9", True), ("9", False), ("-09", True), ("+9", False)]
)
def test_answers_to_a_sum(answer, right):
    assert Sum.read("12 - 3 * 7", RULES).is_solved_by(answer) == right


@pytest.mark.parametrize("answer", ["", "12 - 21", "-9.0", "-9 or 9", "nine", "٩", "9" * 10])
def test_other_answers_to_a_sum_are_malformed(answer):
    with pytest.raises(MalformedError):
        Sum.read("12 - 3 * 7", RULES).is_solved_by(answer)


def by_force(numbers):
    """Every value of every order, grouping and list of signs of three numbers."""
    values = set()
    for a, b, c in permutations(numbers):
        for one in "+-*":
            for other in "+-*":
                left = expressions.apply_sign(other, expressions.apply_sign(one, a, b), c)
                right = expressions.apply_sign(one, a, expressions.apply_sign(other, b, c))
                values |= {left, right}
    return values


@pytest.mark.parametrize("numbers", [(2, 3, 7), (3, 7, 12), (5, 6, 11), (2, 19, 20)])
def test_a_target_can_be_made_exactly_if_some_sum_makes_it(numbers):
    """Negative results on the way, which the search leaves out, make no other target."""
    made = reachable_values(numbers, "+-*")
    assert set(made) == {v for v in by_force(numbers) if 0 <= v <= 9999}
    assert all(evaluate(way) == target for target, way in made.items())
    assert all(sorted(expressions.numbers(way)) == list(numbers) for way in made.values())


def test_countdown_by_hand():
    puzzle = Countdown.read("12, 3 7 -> 33", RULES)  # 12 + 3 * 7
    assert puzzle.text() == "3 7 12 = 33"
    assert Countdown.read("7 12 3=33", RULES) == puzzle
    assert puzzle.is_solved_by("12 + 7 * 3")
    assert puzzle.is_solved_by("3 * 7 + 12")
    assert puzzle.is_solved_by(puzzle.solution())
    assert not puzzle.is_solved_by(puzzle.wrong_answer(random.Random(0)))
    assert not puzzle.is_solved_by("33")
    assert not puzzle.is_solved_by("12 + 7 + 2 * 7")  # other numbers
    assert not puzzle.is_solved_by("12 + 7 * 3 + 2 - 2")
    with pytest.raises(MalformedError):
        puzzle.is_solved_by("12 + 7 * 3 = 33")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("3 7 = 22", "the target cannot be made from all of these numbers"),  # 10, 4, 21
        ("3 7 = 0", "the target is not from 1 to 9999"),
        ("3 8 = 24", "8 is not one of the numbers"),
        ("3 3 = 9", "3 is used twice"),
        ("7 = 7", "fewer than two numbers"),
    ],
)
def test_refused_targets(text, why):
    with pytest.raises(ProposalRefused, match=why):
        Countdown.read(text, RULES)


@pytest.mark.parametrize("text", ["", "3 7", "3 + 7 = 10", "3 7 = ten", "= 10", "3 7 = 10 = 10"])
def test_other_proposals_are_malformed(text):
    with pytest.raises(MalformedError, match="not numbers, = and a target"):
        Countdown.read(text, RULES)


def test_signs_bound_what_counts():
    puzzle = Countdown.read("3 7 = 10", PuzzleRules((3, 7), "+-"))
    assert puzzle.is_solved_by("3 + 7")
    with pytest.raises(ProposalRefused):
        Countdown.read("3 7 = 21", PuzzleRules((3, 7), "+-"))


@pytest.mark.parametrize(
    ("name", "worth"),
    [
        ("absolute_zero", [0, 0.75, 0.5, 0.25, 0]),
        ("r_zero", [0, 0.5, 1, 0.5, 0]),
        ("pairs", [0, 3 / 6, 4 / 6, 3 / 6, 0]),
    ],
)
def test_what_a_difficulty_is_worth(name, worth):
    assert [DIFFICULTIES[name](right, 4) for right in range(5)] == worth


def test_what_it_is_worth_on_average():
    # p = 1/2, four answers: 1/16 x (4 x 0.75 + 6 x 0.5 + 4 x 0.25) = 7/16 = 1/2 - 1/16
    assert expected_difficulty("absolute_zero", 0.5, 4) == pytest.approx(7 / 16)
    # 1/16 x (4 x 0.5 + 6 + 4 x 0.5)
    assert expected_difficulty("r_zero", 0.5, 4) == pytest.approx(10 / 16)
    for attempts in (2, 5, 16):
        assert expected_difficulty("pairs", 0.3, attempts) == pytest.approx(2 * 0.3 * 0.7)
        assert expected_difficulty("absolute_zero", 0.3, attempts) == pytest.approx(
            0.7 - 0.7**attempts
        )


def test_a_solvers_chance_is_that_of_every_operation():
    slips = {"+": 0.1, "-": 0.2, "*": 0.5}
    assert Sum.read("12 - 3 * 7", RULES).chance(slips) == pytest.approx(0.8 * 0.5)
    # 12 + 3 * 7 is the only way: 0.9 x 0.5
    assert Countdown.read("3 7 12 = 33", RULES).chance(slips) == pytest.approx(0.45)
