"""The board and the README's demo have the numbers of the bundles, and the bundles are verified."""

from __future__ import annotations

import re

import pytest
from builders import build
from bundle_files import statuses
from pages import ROOT

from llmzoo.evaluation.bundles.layout import read_bundle
from llmzoo.evaluation.bundles.verify import verify_bundle

BUNDLES = ROOT / "docs" / "results" / "bundles"
QUICK = ("embedded_sudoku", "scripted")


def test_the_board_is_up_to_date():
    text = (ROOT / "docs" / "board.md").read_text()
    assert text == build.pages_of_bundles()["board.md"]
    assert all(f"docs/results/bundles/{path.name}" in text for path in BUNDLES.iterdir())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(p.name, marks=() if p.name in QUICK else pytest.mark.slow)
        for p in sorted(BUNDLES.iterdir())
    ],
)
def test_a_bundle_of_the_board_is_right(name):
    verification = verify_bundle(BUNDLES / name)
    assert verification.wrong == ()
    found = statuses(verification)
    assert found["episodes"] == "ok"
    judged = [check for check in verification.checks if check.name == "episodes"]
    assert {check.status for check in judged} == {"ok"}


def test_the_rows_of_the_readme_are_those_of_the_bundle():
    results = {e.name: e.result for e in read_bundle(BUNDLES / "demo").evaluations}

    def rate(name, *, interval=True):
        result = results[name]
        low, high = result["success_ci95"]
        return f"{result['success']:.1%}" + (f" [{low:.1%}, {high:.1%}]" if interval else "")

    rows = re.findall(r"^\| (\d) \| (.*?) \| .*? \| (.*?) \| (.*?) \|$", readme(), re.MULTILINE)
    assert [row[0] for row in rows] == ["0", "1", "2"]
    for seed, before, sampled, greedy in rows:
        greedy_before = rate("before_greedy", interval=False)
        assert before == f"{rate(f'before_sampled_{seed}', interval=False)}, {greedy_before}"
        assert sampled == rate(f"sampled_{seed}")
        assert greedy == rate(f"greedy_{seed}")


def readme() -> str:
    return (ROOT / "README.md").read_text()
