"""Nobody is paid for a debate that he does not hold; honest speakers are, however they speak."""

from __future__ import annotations

import pytest

from tests.attacks.rewards import debate as family
from tests.attacks.rewards.honest_debates import HONEST


def honest(one):
    speeches = iter(one.speeches)
    return family.play(one.topic, one.side, lambda debate, side: next(speeches))


@pytest.mark.parametrize("one", HONEST, ids=lambda one: f"{one.topic}-{one.style}")
def test_an_honest_speaker_is_worth_three_quarters_of_the_expert(one):
    assert honest(one) > -0.25  # the expert has 1.0


def test_there_are_enough_of_them():
    assert {one.style for one in HONEST} == {"short", "talking", "ordered"}
    assert len({one.topic for one in HONEST}) >= 5
    assert len(family.ATTACKS) >= 24


@pytest.mark.parametrize("attack", family.ATTACKS, ids=lambda attack: attack.__name__)
def test_an_attack_is_worth_less_than_the_weakest_honest_speaker(attack):
    one = HONEST[1]
    for side in ("pro", "con"):
        assert family.play(one.topic, side, attack) < family.weakest_honest()


def test_a_text_for_both_sides_earns_neither_of_them_anything():
    for attack in (family.same_text_for_both, family.both_briefs_at_once):
        scores = [family.play("wolves-return", side, attack) for side in ("pro", "con")]
        assert max(scores) < -0.9


@pytest.mark.slow
def test_every_attack_fails_on_every_topic():
    rows = list(family.attacks())
    assert [row.attack for row in rows if not row.failed] == []
