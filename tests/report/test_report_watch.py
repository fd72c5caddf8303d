"""The page while a run goes on."""

import json

import pytest
from made_runs import episode, evaluation, iteration, learning, make

from llmzoo.report import page
from llmzoo.report.page import RunReport, watch_runs


class Clock:
    """Stands for ``sleep``: what happens while the watch waits, one function for each wait."""

    def __init__(self, *events):
        self.events = list(events)
        self.slept = []

    def __call__(self, seconds):
        self.slept.append(seconds)
        self.events.pop(0)()


@pytest.fixture(autouse=True)
def without_figures(monkeypatch):
    """They take a second a page, and are tested elsewhere."""
    monkeypatch.setattr(page, "make_plots", lambda groups: [])


@pytest.fixture
def pages(monkeypatch):
    """Every page that is written: (whether it renews itself, number of iterations in it)."""
    result = []
    html = page.RunReport.render_html

    def noted(self, *, every=None):
        result.append((every, self.runs[0].steps, self.episodes))
        return html(self, every=every)

    monkeypatch.setattr(page.RunReport, "render_html", noted)
    return result


def add(path, *rows):
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def test_it_is_written_when_files_change_and_ends_with_the_run(tmp_path, pages):
    folder = make(tmp_path / "a", [evaluation(0, 30), iteration(1, 0.5)], [], ended=False)
    out = tmp_path / "report.html"

    def ends():
        (folder / "after.json").write_text(json.dumps(evaluation(3, 80)))

    clock = Clock(
        lambda: None,
        lambda: add(folder / "metrics.jsonl", iteration(2, 0.5)),
        lambda: add(folder / "played.jsonl", episode(2, 1)),
        lambda: None,
        ends,
        lambda: add(folder / "metrics.jsonl", evaluation(3, 80)),
    )
    watch_runs(RunReport([folder]), out, every=2.0, sleep=clock)
    assert pages == [(2.0, 1, 0), (2.0, 2, 0), (2.0, 2, 1), (None, 2, 1)]
    assert clock.events == []
    assert all(seconds >= 2.0 for seconds in clock.slept[:-1])
    text = out.read_text()
    assert "data-every" not in text.split("<body>")[0]
    assert "80.0%" in text  # the last evaluation


def test_a_new_run_in_a_folder_is_seen(tmp_path):
    make(tmp_path / "bench" / "a", learning(2), ended=False)
    report = RunReport([tmp_path / "bench"])

    def second():
        make(tmp_path / "bench" / "b", learning(2))
        (tmp_path / "bench" / "a" / "after.json").write_text(json.dumps(evaluation(2, 80)))

    watch_runs(report, tmp_path / "r.html", every=1.0, sleep=Clock(second, lambda: None))
    assert [run.name for run in report.runs] == ["a", "b"]


def test_ctrl_c_leaves_a_page_that_renews_itself_no_more(tmp_path, pages):
    folder = make(tmp_path / "a", learning(2), ended=False)

    def stop():
        raise KeyboardInterrupt

    out = tmp_path / "r.html"
    watch_runs(RunReport([folder]), out, every=1.0, sleep=Clock(stop))
    assert [every for every, *_ in pages] == [1.0, None]
    assert "data-every" not in out.read_text().split("<body>")[0]
