"""No attack on the rewards of signal_v0 and relay_v0 pays."""

from __future__ import annotations

from tests.attacks.rewards import signals


def test_no_attack_pays(monkeypatch):
    monkeypatch.setattr(signals, "TASKS", 100)
    rows = list(signals.attacks())
    assert len(rows) == 4 * len(signals.ATTACKS)
    assert not [row for row in rows if not row.failed]
