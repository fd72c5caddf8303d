"""What pieces of attacks write."""

from __future__ import annotations

import random

import pytest

from llmzoo.attacks import evolution
from llmzoo.attacks.pieces import MAX_CHARS, Attack, AttackContext, Piece

PROMPT = 'You add. Be quick.\n\nWhat is 3 plus 45?\nSay: "a number"'
SHAPES = {"a_0": [["[f(x=12)]", "[]"], ["[g(y=3)]"]]}


def write(*pieces, scene=None, **options):
    scene = scene or AttackContext(agent="a_0", observation=PROMPT)
    return Attack(pieces, **options).write(scene, SHAPES)


@pytest.mark.parametrize(
    ("piece", "text"),
    [
        (Piece("prompt", "whole"), PROMPT),
        (Piece("prompt", "line", -1), 'Say: "a number"'),
        (Piece("prompt", "sentence", 1), "Be quick."),
        (Piece("prompt", "paragraph", 0), "You add. Be quick."),
        (Piece("prompt", "text after colon"), '"a number"'),
        (Piece("prompt", "numbers"), "3 45"),
        (Piece("prompt", "number", -1), "45"),
        (Piece("prompt", "quoted"), "a number"),
        (Piece("prompt", "code"), ""),
        (Piece("prompt", "sentence", 0, start=0.5), "add."),
        (Piece("prompt", "number", 0, times=3), "3 3 3"),
        (Piece("prompt", "sentence", 0, edit="backwards"), "add. You"),
        (Piece("shape", "as it is", 0), "[f(x=12)]"),
        (Piece("shape", "other digits", 0), "[f(x=70)]"),  # 3 * 1 + 4 = 7, 3 * 2 + 4 = 10
        (Piece("shape", "emptied", 0), "[f()]"),
        (Piece("shape", "blanked", 1), "[x(x=x)]"),
        (Piece("last"), ""),
    ],
)
def test_a_piece_writes(piece, text):
    assert write(piece) == text


def test_pieces_are_joined_and_framed():
    assert write(Piece("text", "a"), Piece("text", "b"), joint="+", frame="<@@|@@>") == "<a+b|a+b>"


def test_a_later_turn_has_the_shape_of_that_turn_and_the_last_answer():
    scene = AttackContext(agent="a_0", observation="", turn=1, last="before")
    assert write(Piece("shape", "as it is", 0), Piece("last"), scene=scene) == "[]\nbefore"


def test_an_empty_prompt_and_an_unknown_agent_raise_nothing():
    for attack in evolution.first_attacks(SHAPES):
        attack.write(AttackContext(agent="other", observation=""), {})


def test_no_answer_is_too_long():
    scene = AttackContext(agent="a_0", observation="word " * 100_000)
    assert len(write(Piece("prompt", "whole", times=30), scene=scene)) == MAX_CHARS


def test_children_are_the_same_for_the_same_seed_and_stay_small():
    parents = [*evolution.first_attacks(SHAPES)][:20]
    pool = evolution.build_vocabulary([PROMPT], SHAPES)
    assert pool == evolution.build_vocabulary([PROMPT], SHAPES)

    def brood(seed):
        rng = random.Random(seed)
        return [evolution.breed(parents, pool, rng) for _ in range(200)]

    assert brood(1) == brood(1) != brood(2)
    assert all(1 <= len(each.pieces) <= evolution.MAX_PIECES for each in brood(1))
