"""The table of one run in each environment: what it shows, and what it says of MAGRPO."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))


def measured(solved: str, greedy: str, total: float, width: float = 0.1) -> dict:
    rate = {"success": solved.count("1") / len(solved), "solved": solved, "tasks": len(solved)}
    likeliest = {"success": greedy.count("1") / len(greedy), "solved": greedy}
    interval = {"a": [total - width, total + width], "b": [9.0, 9.0]}
    returns = {"mean_return": {"a": total, "b": 9.0}, "return_ci95": interval}
    return rate | returns | {"greedy": likeliest}


def of_run(taught: dict, ended: dict, flat: tuple[float, ...] = (0.5, 1.0)) -> dict:
    """Agent ``a`` learns, ``b`` does not."""
    curve = [{"step": 1}, *({"step": 2, "flat_groups": {"a": one}} for one in flat)]
    start = measured("0" * 10, "0" * 10, -1.0)
    return {"task": "x_v0", "before": start, "after_stages": [taught, ended], "curve": curve}


def test_a_line_shows_the_start_the_end_of_imitation_and_the_end():
    from single_runs import tables

    row = of_run(measured("1000000000", "1100000000", 0.25), measured("1" * 10, "1" * 10, 1.0))
    line = tables([row])["coverage"].splitlines()[2]
    assert line == (
        "| `x_v0` | 10 | 0% → 10% → 100% | 0% → 20% → 100% | -1.00 → 0.25 → 1.00 | 25% | greedy success rises |"
    )  # of two iterations one half of the groups differed and none: 0.25


@pytest.mark.parametrize(
    ("taught", "ended", "flat", "said"),
    [
        # six more tasks and none fewer: p = 2 / 2**6 = 0.031; five: 0.0625
        (
            ("0" * 10, "0" * 10, 0.0),
            ("0" * 10, "1" * 6 + "0" * 4, 0.0),
            0.5,
            "greedy success rises",
        ),
        (
            ("0" * 10, "1" * 6 + "0" * 4, 0.0),
            ("0" * 10, "0" * 10, 0.0),
            0.5,
            "greedy success falls",
        ),
        (("0" * 10, "0" * 10, 0.0), ("1" * 6 + "0" * 4, "0" * 10, 0.0), 0.5, "success rises"),
        (("0" * 10, "0" * 10, 0.0), ("1" * 5 + "0" * 5, "0" * 10, 0.0), 0.5, "no clear change"),
        (("0" * 10, "0" * 10, 0.0), ("0" * 10, "0" * 10, 0.3), 0.5, "return rises"),
        (("0" * 10, "0" * 10, 0.0), ("0" * 10, "0" * 10, -0.3), 0.5, "return falls"),
        (("0" * 10, "0" * 10, 0.0), ("0" * 10, "0" * 10, 0.15), 0.5, "no clear change"),
        (("1" * 10, "1" * 10, 0.0), ("1" * 10, "1" * 10, 0.0), 1.0, "nothing left to learn"),
        (("0" * 10, "0" * 10, 0.0), ("0" * 10, "0" * 10, 0.0), 1.0, "no group differs"),
    ],
)
def test_what_is_said_of_magrpo(taught, ended, flat, said):
    from single_runs import what_magrpo_added

    assert what_magrpo_added(of_run(measured(*taught), measured(*ended), (flat, flat))) == said


def test_a_run_that_diverged_says_so():
    from single_runs import tables

    row = {"task": "x_v0", "error": "the loss of 'policy' is nan"}
    assert "| `x_v0` | the loss of 'policy' is nan |" in tables([row])["coverage"]
