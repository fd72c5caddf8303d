"""No attack on the reward of travel_v0 pays."""

from __future__ import annotations

import pytest

from tests.attacks.rewards import trips


@pytest.mark.slow
def test_no_attack_pays(monkeypatch):
    monkeypatch.setattr(trips, "TASKS", 90)
    rows = list(trips.attacks())
    assert len(rows) == 3 * len(trips.ATTACKS)
    assert not [row for row in rows if not row.failed]
