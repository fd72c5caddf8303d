"""Paired tests and curves of a bench, against worked numbers."""

from __future__ import annotations

import json

import pytest
from made_runs import evaluation, iteration, make
from matplotlib.axes import Axes

from llmzoo.report.bench_tests import MAX_SHOWN_PAIRS, markdown_section, run_paired_tests
from llmzoo.report.runs import load_run
from llmzoo.report.token_curves import mean_tokens_by_step, save_curves


def row(learner, marks, *, seed=0, env="sudoku_v0", first=0):
    returns = [float(mark) for mark in marks]
    return {
        "env": env,
        "learner": learner,
        "seed": seed,
        "ids": [f"task{first + i}" for i in range(len(marks))],
        "solved": "".join(map(str, marks)),
        "returns": {"a": returns, "b": returns},
    }


def test_mcnemars_test_on_the_same_tasks():
    """Ten tasks: one learner alone solves 5, the other alone 1."""
    rows = [row("x", [1, 1, 1, 1, 1, 0, 1, 1, 0, 0]), row("y", [0, 0, 0, 0, 0, 1, 1, 1, 0, 0])]
    (pair,) = run_paired_tests(rows)["sudoku_v0"]
    assert (pair.first, pair.second, pair.tasks, pair.more, pair.less) == ("x", "y", 10, 5, 1)
    assert pair.p_value == pytest.approx(2 * (6 + 1) / 64)
    assert pair.gain == pytest.approx(0.4)


def test_seeds_are_paired_by_task():
    """Two seeds on three tasks: the differences are 2, 1 and 0, of four signs two sum to 3 or -3."""
    rows = [row("x", [1, 1, 1], seed=0), row("x", [1, 1, 0], seed=1)]
    rows += [row("y", [0, 0, 1], seed=0), row("y", [0, 1, 0], seed=1)]
    (pair,) = run_paired_tests(rows)["sudoku_v0"]
    assert (pair.tasks, pair.more, pair.less, pair.p_value) == (3, 2, 0, 0.5)


def test_p_values_are_corrected_over_all_environments():
    """Two pairs, one for each environment: Holm doubles the smaller p-value."""
    rows = [row("x", [1] * 6), row("y", [0] * 6)]
    rows += [row("x", [1, 0], env="sokoban_v0"), row("y", [0, 1], env="sokoban_v0")]
    pairs = run_paired_tests(rows)
    assert pairs["sudoku_v0"][0].p_value == 2 / 64
    assert pairs["sudoku_v0"][0].p_holm == 4 / 64
    assert pairs["sokoban_v0"][0].p_holm == 1.0


def test_what_cannot_be_paired_is_left_out():
    diverged = {"env": "sudoku_v0", "learner": "z", "seed": 0, "error": "nan"}
    others = row("w", [1, 1], first=5)  # other tasks
    assert run_paired_tests([row("x", [1, 1]), diverged, others]) == {}
    assert markdown_section({}) == ""


def test_the_section_of_the_table():
    rows = [row(f"l{n}", [1] * n + [0] * (7 - n)) for n in range(7)]
    text = markdown_section(run_paired_tests(rows))
    assert "0 of 21 pairs differ in success at 5%" in text
    cells = [line for line in text.splitlines() if line.startswith("| sudoku_v0 |")]
    assert len(cells) == MAX_SHOWN_PAIRS
    assert cells[0].startswith("| sudoku_v0 | l0 against l6 | -85.7% | 0 | 6 | 0.0312 |")


def test_curves_by_tokens(tmp_path, monkeypatch):
    drawn = {}
    plot, errorbar = Axes.plot, Axes.errorbar

    def watched(axes, x, y, *args, **options):
        drawn[options["label"]] = (list(x), list(y))
        return plot(axes, x, y, *args, **options)

    def held_out(axes, x, y, **options):
        drawn.setdefault("held out", []).append((list(x), list(y)))
        return errorbar(axes, x, y, **options)

    monkeypatch.setattr(Axes, "plot", watched)
    monkeypatch.setattr(Axes, "errorbar", held_out)

    def rows(*tokens, **more):
        steps = [iteration(n, 0.5, **more) | {"tokens": t} for n, t in enumerate(tokens, start=1)]
        return [evaluation(0, 30), *steps, evaluation(len(tokens), 80)]

    folders = [
        make(tmp_path / "a", rows(100, 200), learner="magrpo", seed=0),
        make(tmp_path / "b", rows(300, 200, 50), learner="magrpo", seed=1),
        make(tmp_path / "c", rows(10, demonstrated_tokens=10), learner="sft"),
        tmp_path / "diverged before anything was written",
    ]
    (path,) = save_curves(folders, tmp_path)
    assert path == tmp_path / "curve-sudoku_v0.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    # means of 100 and 300, and of 300 and 500; the third iteration is one seed's alone
    assert drawn["magrpo"] == ([200, 400], [0.5, 0.5])
    assert drawn["sft"] == ([], [])  # nothing was played
    assert drawn["held out"][0] == ([0, 400, 550], [0.3, 0.8, 0.8])
    assert drawn["held out"][1] == ([0, 10], [0.3, 0.8])


def test_tokens_at_an_iteration(tmp_path):
    run = load_run(make(tmp_path / "a", [iteration(1, 0.5), iteration(2, 0.5)]), "a")
    assert mean_tokens_by_step([run]) == {1: 1000, 2: 2000}
    assert json.dumps(mean_tokens_by_step([run]))
