"""Reading run folders, whole and broken."""

import html
import json
import math

import pytest
from made_runs import evaluation, iteration, learning, make

from llmzoo.cli import main
from llmzoo.errors import ConfigError
from llmzoo.policies.run_models import shortest_unique_names
from llmzoo.report.runs import find_runs, load_run
from llmzoo.report.series import compute_curve
from llmzoo.terminal_text import escape_unprintable


def test_a_run_as_it_is(tmp_path):
    run = load_run(make(tmp_path / "a", learning(3)), "a")
    assert [row["step"] for row in run.train] == [1, 2, 3]
    assert [row["step"] for row in run.evals] == [0, 3]
    assert run.steps == 3
    assert run.tokens == 3 * 1000
    # (3 s of play + 1 s of updating) x 3 + two evaluations of 1.5 s
    assert run.seconds == pytest.approx(15.0)
    assert run.has_ended
    assert run.notes == ()


def test_a_line_that_is_still_being_written_is_left_out(tmp_path):
    folder = make(tmp_path / "a", learning(3), ended=False)
    whole = (folder / "metrics.jsonl").read_text()
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(iteration(4, 0.5))[:40])
    run = load_run(folder, "a")
    assert run.steps == 3
    assert run.notes == ()
    assert not run.has_ended
    # the same row whole
    (folder / "metrics.jsonl").write_text(whole + json.dumps(iteration(4, 0.5)) + "\n")
    assert load_run(folder, "a").steps == 4


def test_a_broken_line_in_the_middle_is_told(tmp_path):
    folder = make(tmp_path / "a")
    lines = [json.dumps(iteration(1, 0.5)), '{"kind": "tr', json.dumps(iteration(2, 0.5)), "[1]"]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    run = load_run(folder, "a")
    assert run.steps == 2
    assert run.notes == ("2 of 4 lines of metrics.jsonl cannot be read",)


def test_metrics_that_are_none_are_refused(tmp_path):
    folder = make(tmp_path / "a")
    (folder / "metrics.jsonl").write_bytes(b"\xff\xfe\x00binary\nmore\n")
    with pytest.raises(ConfigError, match=r"metrics\.jsonl holds no metrics: none of its 2 lines"):
        load_run(folder, "a")


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": "many"},
        {"tokens": None},
        {"rollout_seconds": 10**400},
        {"loss": 10**400},
        {"success": -1},
        {"return": [1]},
        {"agents": {"a": 1}},
        {"agents": {"a": {"reward_components": 2.0}}},
    ],
)
def test_a_row_of_another_form_is_told(tmp_path, change):
    folder = make(tmp_path / "a")
    rows = [iteration(1, 0.5), {**iteration(2, 0.5), **change}, iteration(3, 0.5)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = load_run(folder, "a")
    assert [row["step"] for row in run.train] == [1, 3]
    assert run.tokens == 2000
    assert run.notes == ("1 of 3 lines of metrics.jsonl cannot be read",)


def test_numbers_that_are_not_finite_are_gaps_and_no_lines_lost(tmp_path):
    folder = make(tmp_path / "a")
    rows = [iteration(1, 0.5), {**iteration(2, math.nan), "loss": math.inf}]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = load_run(folder, "a")
    assert run.notes == ()
    assert compute_curve([run], lambda row: row["success"]).mean == (0.5,)
    assert compute_curve([run], lambda row: row["loss"]).steps == (1.0,)


@pytest.mark.parametrize(
    "change",
    [
        {"success_ci95": math.inf},
        {"success_ci95": [0.1]},
        {"success": None},
        {"success": 7},
        {"tasks": 0},
        {"seconds": "long"},
        {"greedy": {}},
        {"greedy": 3},
    ],
)
def test_an_evaluation_of_another_form_is_refused(tmp_path, change):
    folder = make(tmp_path / "a", [evaluation(0, 10)])
    (folder / "after.json").write_text(json.dumps({**evaluation(3, 10), **change}))
    with pytest.raises(ConfigError, match=r"after\.json cannot be read: it has another form"):
        load_run(folder, "a")


def test_steps_that_are_no_number_are_refused(tmp_path):
    folder = make(tmp_path / "a")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "steps": "x"}))
    with pytest.raises(ConfigError, match="steps is a number, not 'x'"):
        load_run(folder, "a")


@pytest.mark.parametrize("text", ["{", "[1, 2]"])
def test_an_evaluation_that_cannot_be_read_is_refused(tmp_path, text):
    folder = make(tmp_path / "a")
    (folder / "after.json").write_text(text)
    with pytest.raises(ConfigError, match=r"after\.json cannot be read"):
        load_run(folder, "a")


def test_a_run_that_has_just_begun(tmp_path):
    folder = make(tmp_path / "a", ended=False)
    for name in ("metrics.jsonl", "before.json"):
        (folder / name).unlink()
    run = load_run(folder, "a")
    assert (run.train, run.evals, run.before, run.has_ended) == ((), (), None, False)


def test_the_last_row_of_a_step_counts(tmp_path):
    rows = [evaluation(0, 30), iteration(1, 0.2), iteration(2, 0.3), iteration(2, 0.9)]
    assert [row["success"] for row in load_run(make(tmp_path / "a", rows), "a").train] == [0.2, 0.9]


def test_a_folder_stands_for_the_runs_in_it(tmp_path):
    make(tmp_path / "bench" / "runs" / "b")
    make(tmp_path / "bench" / "runs" / "a")
    # of a model, within a run and beside it, which is no run
    for model in ("bench/runs/a/checkpoints/step_1/policy", "bench/model"):
        folder = tmp_path / model
        folder.mkdir(parents=True)
        (folder / "config.json").write_text('{"model_type": "llama"}')
    runs = tmp_path / "bench" / "runs"
    assert find_runs([tmp_path / "bench"]) == [runs / "a", runs / "b"]
    assert find_runs([runs / "b", tmp_path / "bench"]) == [runs / "b", runs / "a"]  # each once


def test_stages_are_runs(tmp_path):
    for stage in ("1-sft", "2-magrpo"):
        make(tmp_path / "staged" / stage)
    assert [run.name for run in find_runs([tmp_path / "staged"])] == ["1-sft", "2-magrpo"]


def test_what_holds_no_run_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="there is no folder"):
        find_runs([tmp_path / "nowhere"])
    with pytest.raises(ConfigError, match="holds no run: a run folder has"):
        find_runs([tmp_path])
    with pytest.raises(ConfigError, match="name at least one run folder"):
        find_runs([])


def test_names_are_as_short_as_they_can_be(tmp_path):
    folders = [tmp_path / "x" / "a", tmp_path / "x" / "b"]
    assert shortest_unique_names(folders) == ["a", "b"]
    assert shortest_unique_names([tmp_path / "x" / "a", tmp_path / "y" / "a"]) == ["x/a", "y/a"]


@pytest.mark.parametrize(
    "name", ["a$x_{$", "$\\frac{1}{", "a\0b", "a\x1b[31mb", "<b>&", "a\ud800b"]
)
@pytest.mark.slow
def test_odd_names_of_metrics_and_agents_are_drawn(tmp_path, name):
    rows = [row | {name: 0.5} for row in learning(3)]
    for row in rows:
        if row["kind"] == "train":
            row["return"] = {name: 0.1, **row["return"]}
            row["agents"] = {name: {"reward_components": {name: 0.1}}, **row["agents"]}
    folder = make(tmp_path / "a", rows)
    out = tmp_path / "report.html"
    assert main(["report", str(folder), "--out", str(out)]) == 0
    page = out.read_text()
    assert all(c.isprintable() or c in "\n\t" for c in page)
    assert html.escape(escape_unprintable(name), quote=False) in page
