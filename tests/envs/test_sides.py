"""Which agents play against which, and which side has won."""

from __future__ import annotations

import pytest

import llmzoo
from llmzoo.envs.sides import list_sides, score_side
from llmzoo.errors import UnknownNameError

ONE_TO_ONE = (("x",), ("y",))
ONE_TO_TWO = (("x",), ("y", "z"))


def test_an_agent_on_no_declared_side_is_a_side_of_its_own():
    sides = {
        "kuhn_poker_v0": [("player_0",), ("player_1",)],
        "negotiation_v0": [("player_0",), ("player_1",)],  # declares no sides
        "relay_v0": [(agent,) for agent in llmzoo.make("relay_v0").possible_agents],
    }
    for name, expected in sides.items():
        assert list_sides(llmzoo.make(name)) == tuple(expected)
    mafia = llmzoo.make("mafia_v0", num_agents=8)
    assert list_sides(mafia) == (
        ("mafia_0", "mafia_1"),
        ("detective_2", *(f"villager_{number}" for number in range(3, 8))),
    )
    debate = llmzoo.make("debate_v0", per_side=2, judge_agent=True)
    assert list_sides(debate) == (("pro_0", "pro_2"), ("con_1", "con_3"), ("judge_4",))


def points(sides, totals, outcomes):
    return [score_side(side, sides, totals, outcomes) for side in sides]


def test_between_two_agents_the_higher_return_wins_whatever_is_reported():
    """After a forfeit both have lost, and the one that has forfeited paid 2. Other words are not read."""
    lost = {"x": "lost", "y": "lost"}
    assert points(ONE_TO_ONE, {"x": -2.0, "y": 0.0}, lost) == [0.0, 1.0]
    assert points(ONE_TO_ONE, {"x": 0.5, "y": 0.5}, {"x": "first", "y": "last"}) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("of_x", "of_others", "expected"),
    [
        ("lost", "won", [0.0, 1.0]),
        ("won", "lost", [1.0, 0.0]),
        ("drawn", "drawn", [0.5, 0.5]),
        ("lost", "lost", [0.5, 0.5]),
    ],
)
def test_the_outcome_of_a_side_counts_and_not_the_returns_of_its_agents(of_x, of_others, expected):
    """x is paid most, and both sums and means of returns say that it has won."""
    totals = {"x": -0.5, "y": -1.2, "z": -0.8}
    outcomes = {"x": of_x, "y": of_others, "z": of_others}
    assert points(ONE_TO_TWO, totals, outcomes) == expected


def test_without_outcomes_the_mean_return_of_a_side_counts_and_not_the_sum():
    # 1.5 against a sum of 2 and a mean of 1
    assert points(ONE_TO_TWO, {"x": 1.5, "y": 2.0, "z": 0.0}, {}) == [1.0, 0.0]


def test_among_more_sides_than_two_the_best_wins():
    # the judge of a debate has no outcome: the returns count
    sides = (("a", "c"), ("b", "d"), ("judge",))
    totals = {"a": 1.0, "c": 0.0, "b": 0.25, "d": 0.25, "judge": 0.25}
    outcomes = dict.fromkeys("ac", "won") | dict.fromkeys("bd", "lost")
    assert points(sides, totals, outcomes) == [1.0, 0.0, 0.0]


def test_other_words_and_agents_are_refused():
    with pytest.raises(UnknownNameError, match=r"unknown outcome 'win'\. Did you mean 'won'"):
        score_side(
            ("x",),
            ONE_TO_TWO,
            {"x": 1.0, "y": 0.0, "z": 0.0},
            {"x": "win", **dict.fromkeys("yz", "lost")},
        )
    env = llmzoo.make("kuhn_poker_v0")
    env.metadata["sides"] = [["player_0"], ["player_2"]]
    with pytest.raises(UnknownNameError, match="unknown agent of a side 'player_2'"):
        list_sides(env)
