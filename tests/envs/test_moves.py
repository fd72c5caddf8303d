"""Moves are read from free text as the docstring says."""

import contextlib
import time

import pytest
from gymnasium.spaces import Discrete, MultiDiscrete

from llmzoo.envs.moves import MoveNames, UnreadableError, name_moves
from llmzoo.errors import ConfigError
from llmzoo.testing import hostile_texts

NUMBERS = MoveNames([str(i) for i in range(9)])
POKER = MoveNames(["Call", "Raise", "Fold", "Check", "Raise half pot", "All in"])
SQUARES = MoveNames(["e2-e4", "e2-e3", "O-O"])


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("4", 4),
        (" 4.\n", 4),
        ("**4**", 4),
        ("04", 4),
        ("Move: 4", 4),
        ("move = `4`", 4),
        ("Move:\n4", 4),
        ("<move>4</move>", 4),
        (r"So the answer is \boxed{4}.", 4),
        ('{"move": 4}', 4),
        ('{"thought": "2 loses", "action": "4"}', 4),
        ("My move is 4 because 2 and 8 are taken.", 4),
        ("Move: 4, since 2 loses", 4),
        ("Move: 3. No, that loses.\nMove: 4", 4),
        ("Move: 3 was bad. Move: the centre, 4.", 4),
        ("I could take 0 or 2.\n\n4\n", 4),
        ("I take 4. Yes, 4.", 4),
        ("player_1 should stop 2-in-a-row\nMove: 0", 0),
        ("Legal moves: 0, 2, 4\nAnswer: 2", 2),
        ("- 4", 4),
    ],
)
def test_numbers(text, move):
    assert NUMBERS.read(text) == move


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no move"),
        ("the centre", "names no move"),
        ("Move: the centre", "names no move"),
        ("3 or 4", "more than one"),
        ("Move: 3 or 4", "more than one"),
        ("Move: 3, 4", "more than one"),
        ("Move: 3/4", "more than one"),
        ("Move: [3] and then [4]", "more than one"),
        ("I get 3 in a row with 4", "more than one"),
        ("Legal moves: 0, 1, 2", "more than one"),
        ("Move: 1,000", "more than one"),
        ("9", "no move 9"),
        ("Move: -4", "no move -4"),
        ("Move: 4.5", "no move 4.5"),
        ("Move: 12", "no move 12"),
        ("12 or 4", "more than one"),
        ("1" * 10_000, r"no move 1{24}$"),
        ("4" * 6_000 + ".5", "no move 4{24}$"),
        ("४", "names no move"),
        ("²", "names no move"),
        ("4th", "names no move"),
        ("3x3", "names no move"),
    ],
)
def test_numbers_that_cannot_be_read(text, reason):
    with pytest.raises(UnreadableError, match=reason):
        NUMBERS.read(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fold", "Fold"),
        ("I FOLD.", "Fold"),
        ("Action: raise", "Raise"),
        ("Action: raise half pot", "Raise half pot"),
        ("I raise half  pot", "Raise half pot"),
        ("Action: **All-in**!", "All in"),
        ("I would rather not call at 3 to 1\nfold", "Fold"),
    ],
)
def test_names(text, name):
    assert POKER.names[POKER.read(text)] == name


@pytest.mark.parametrize(
    "text", ["call or raise", "Action: call or raise", "3", "foldable", "half"]
)
def test_names_that_cannot_be_read(text):
    with pytest.raises(UnreadableError):
        POKER.read(text)


def test_names_with_signs_in_them():
    assert SQUARES.read("Move: E2-E4") == 0
    assert SQUARES.read("castle: O-O") == 2
    assert MoveNames(["-1", "0", "1"]).read("Move: -1") == 0


@pytest.mark.parametrize("names", [["a", "A"], ["1", "01"], ["", "b"], ["?", "b"], ["a-b", "a b"]])
def test_names_that_read_the_same(names):
    with pytest.raises(ConfigError, match="empty or taken"):
        MoveNames(names)


def test_names_come_from_the_space():
    assert name_moves(Discrete(3, start=2), None).names == ("2", "3", "4")
    assert name_moves(Discrete(2, start=5), "cell {}".format).names == ("cell 5", "cell 6")
    assert name_moves(Discrete(2), ["left", "right"]).names == ("left", "right")
    with pytest.raises(ConfigError, match="3 names for 2 actions"):
        name_moves(Discrete(2), ["left", "right", "up"])
    with pytest.raises(ConfigError, match="not Discrete"):
        name_moves(MultiDiscrete([2, 2]), None)


@pytest.mark.parametrize(
    "text",
    [
        "Move: " * 8_000,
        "4 " * 25_000,
        "Move:" + " " * 50_000 + "4",
        "Move: x " * 6_000,
        "-" * 50_000,
        "4." * 25_000,
        ", or" * 12_000,
        "raise half " * 5_000,
        "\n" * 50_000,
    ],
)
@pytest.mark.parametrize("moves", [NUMBERS, POKER], ids=["numbers", "names"])
def test_time_is_linear(moves, text, no_collector):
    """50,000 characters, more than an environment reads at all; their square would take minutes."""
    started = time.process_time()
    with contextlib.suppress(UnreadableError):
        moves.read(text)
    assert time.process_time() - started < 5


@pytest.mark.slow
def test_any_text_gives_a_move_or_the_named_error():
    many = MoveNames([f"from {i} to {j}" for i in range(64) for j in range(64)])
    for text in hostile_texts(60):
        for moves in (NUMBERS, POKER, many):
            with contextlib.suppress(UnreadableError):
                assert 0 <= moves.read(text) < len(moves.names)
