"""No attack on the reward of calendar_v0 pays."""

from __future__ import annotations

import pytest

from tests.attacks.rewards import planning


@pytest.mark.slow
def test_no_attack_pays(monkeypatch):
    monkeypatch.setattr(planning, "TASKS", 200)  # of 100, luck decides
    rows = list(planning.attacks())
    assert len(rows) == 3 * len(planning.ATTACKS)
    assert not [row for row in rows if not row.failed]
