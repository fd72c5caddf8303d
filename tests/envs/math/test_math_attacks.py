"""No attack on the reward of mathematics pays more than the form of an answer."""

from __future__ import annotations

import pytest

from tests.attacks.rewards import math


@pytest.mark.slow
def test_no_attack_pays():
    rows = list(math.attacks())
    assert len(rows) > 100
    paying = [row for row in rows if not row.failed]
    assert not paying
    assert all(row.limit < row.honest for row in rows)
