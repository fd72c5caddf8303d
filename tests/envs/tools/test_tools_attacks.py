"""No attack on the rewards of tool use and function calling pays what honest play pays."""

from __future__ import annotations

import pytest

from tests.attacks.rewards import tools

BEST = {
    "tool_use_v0": 1.0,
    "bfcl_v0": 2.0,
    "bfcl_multi_turn_v0": 1.0,
    "telecom_v0": 1.0,
    "airline_v0": 1.0,
}


@pytest.mark.slow
def test_no_attack_pays():
    rows = list(tools.attacks())
    assert {row.env for row in rows} == {*BEST}
    assert len(rows) == 83
    assert not [row for row in rows if not row.failed]
    honest = {row.env: row.honest for row in rows}
    assert honest == pytest.approx(BEST)
