"""``llmzoo report``"""

import json
import webbrowser

import pytest
from made_runs import episode, learning, make

from llmzoo.cli import main
from llmzoo.report import page


@pytest.fixture
def without_figures(monkeypatch):
    """They take a second a page, and are tested elsewhere."""
    monkeypatch.setattr(page, "make_plots", lambda groups: [])


@pytest.fixture
def llmzoo(capsys):
    def call(*argv):
        capsys.readouterr()
        code = main(["report", *map(str, argv)])
        return code, *capsys.readouterr()

    return call


@pytest.mark.usefixtures("without_figures")
def test_one_run(tmp_path, llmzoo):
    run = make(tmp_path / "a", learning(3), [episode(1, 1), episode(2, 2)])
    code, out, _ = llmzoo(run, "--json")
    assert (code, json.loads(out)) == (
        0,
        {"page": str(run / "report.html"), "runs": 1, "episodes": 2},
    )
    assert (run / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.usefixtures("without_figures")
def test_several_runs_go_into_this_folder(tmp_path, llmzoo, monkeypatch):
    runs = [make(tmp_path / name, learning(2), seed=n) for n, name in enumerate(["a, 1", "b"])]
    monkeypatch.chdir(tmp_path)
    code, out, _ = llmzoo(*runs)
    assert (code, out) == (0, "report.html: 2 runs, 0 episodes\n")


@pytest.mark.usefixtures("without_figures")
@pytest.mark.slow
def test_files_and_the_browser(tmp_path, llmzoo, monkeypatch):
    shown = []
    monkeypatch.setattr(webbrowser, "open", shown.append)
    run = make(tmp_path / "a", learning(2))
    out = tmp_path / "page.html"
    assert (
        llmzoo(run, "--out", out, "--plots", tmp_path / "plots", "--format=svg", "--open")[0] == 0
    )
    assert (tmp_path / "plots" / "success.svg").exists()
    assert shown == [out.as_uri()]


@pytest.mark.usefixtures("without_figures")
def test_watching_a_run_that_has_ended(tmp_path, llmzoo):
    run = make(tmp_path / "a", learning(2))
    code, out, err = llmzoo(run, "--watch", "--every", 0.5, "--json")
    assert code == 0
    assert json.loads(out)["runs"] == 1
    assert f"watching; the page is {run / 'report.html'}" in err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "name at least one run folder: llmzoo report RUN"),
        (["nowhere"], "there is no folder nowhere"),
        (["."], "holds no run"),
        ([".", "--every", "0"], "--every must be at least 0.5"),
        ([".", "--format", "pdf"], "--format must be one of png, svg"),
        ([".", "--wach"], "Did you mean '--watch'?"),
    ],
)
def test_mistakes(tmp_path, llmzoo, monkeypatch, argv, said):
    monkeypatch.chdir(tmp_path)
    code, _, err = llmzoo(*argv)
    assert code == 2
    assert said in err
    assert list(tmp_path.iterdir()) == []
