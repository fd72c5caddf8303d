"""docs/testing_tables.md and docs/external.md hold the rows that their scripts write."""

from __future__ import annotations

import importlib
import re

import pytest
from pages import ROOT

import llmzoo

DOCS = ROOT / "docs"
PAGE = (DOCS / "testing_tables.md").read_text()


@pytest.fixture(scope="module")
def tables():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield importlib.import_module("testing_tables")


def test_each_table_has_rows_for_every_environment(tables):
    for name in tables.TABLES:
        assert list(tables.split_table(PAGE, name)[1]) == list(llmzoo.list_envs()), name


def test_no_agent_is_flat_and_no_degenerate_policy_is_above_the_noisy_expert(tables):
    groups = tables.split_table(PAGE, "groups")[1]
    assert [rows for rows in groups.values() if " 0%" in "".join(rows)] == []
    degenerate = tables.split_table(PAGE, "degenerate")[1]
    assert [rows for rows in degenerate.values() if "**" in "".join(rows)] == []


@pytest.mark.parametrize("name", ["groups", "degenerate"])
def test_rows_come_from_the_script(tables, name):
    rows = tables.TABLES[name]("signal_v0")
    assert tables.split_table(PAGE, name)[1]["signal_v0"] == rows, (
        "run python docs/testing_tables.py: it takes about five minutes of processor time"
    )
    assert tables.replace_rows(PAGE, name, {"signal_v0": rows}) == PAGE


def test_a_changed_row_is_replaced(tables):
    changed = tables.replace_rows(PAGE, "groups", {"signal_v0": ["| `signal_v0` | new | row |"]})
    assert changed.count("`signal_v0`") == PAGE.count("`signal_v0`") - 1
    assert tables.split_table(changed, "groups")[1]["signal_v0"] == ["| `signal_v0` | new | row |"]


def test_the_page_of_other_collections_counts_the_tasks_of_the_tables():
    counts = re.findall(
        r"^(\d+) tasks of .* are played, (\d+) are refused\.$",
        (DOCS / "external.md").read_text(),
        re.MULTILINE,
    )
    played, refused = (sum(map(int, column)) for column in zip(*counts, strict=True))
    text = " ".join((DOCS / "other_collections.md").read_text().split())
    assert f"{played} are played, and {refused} are refused" in text
