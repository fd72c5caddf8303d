"""No attack on the rewards of propose_v0 pays."""

from __future__ import annotations

import pytest

from tests.attacks.rewards import proposing


@pytest.fixture(scope="module")
def rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposing, "TASKS", 60)
        return list(proposing.attacks())


@pytest.mark.slow
def test_no_attack_pays(rows):
    each = len(proposing.PROPOSALS) + len(proposing.ANSWERS)
    assert len(rows) == len(proposing.FORMS) * each + 2
    assert not [row for row in rows if not row.failed]


@pytest.mark.slow
def test_of_the_proposals_only_the_easiest_puzzle_pays(rows):
    """The rules refuse the others."""
    paid = {row.attack for row in rows if row.score and "proposer_0" in row.attack}
    assert paid == {f"proposer_0: the easiest puzzle, {form}" for form in proposing.FORMS}
