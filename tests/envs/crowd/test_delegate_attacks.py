"""No attack on the rewards of delegate_v0 pays, and its page has the table of what attacks earn."""

from __future__ import annotations

from llmzoo.envs.crowd.delegate import env
from tests.attacks.rewards import delegate


def test_no_attack_pays(monkeypatch):
    monkeypatch.setattr(delegate, "TASKS", 100)
    rows = list(delegate.attacks())
    assert len(rows) == len(delegate.FORMS) * len(delegate.ATTACKS)
    assert not [row for row in rows if not row.failed]


def test_the_page_has_the_table():
    assert "\n".join(delegate.table()) in env.__doc__
