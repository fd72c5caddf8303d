"""No attack on the rewards of philosophers_v0 and commons_v0 pays."""

from __future__ import annotations

from tests.attacks.rewards import crowd


def test_no_attack_pays(monkeypatch):
    monkeypatch.setattr(crowd, "TASKS", 15)
    rows = list(crowd.attacks())
    assert len(rows) == len(crowd.FORMS) * sum(
        len(crowd.COMMON) + len(own) for own in crowd.ATTACKS.values()
    )
    assert not [row for row in rows if not row.failed]
