"""No attack on the rewards of the building environments pays."""

from __future__ import annotations

import pytest

from tests.attacks.rewards import building


@pytest.mark.slow
def test_no_attack_pays(monkeypatch):
    monkeypatch.setattr(building, "TASKS", 30)
    rows = list(building.attacks())
    own = sum(len(forms) * len(building.OWN[id]) for id, forms in building.FORMS.items())
    assert len(rows) == 8 * len(building.ATTACKS) + own
    assert not [row for row in rows if not row.failed]
