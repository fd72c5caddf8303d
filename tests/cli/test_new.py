"""``llmzoo new``: what it writes works at once."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from llmzoo.cli import new

ROOT = Path(__file__).resolve().parents[2]
# no page of the documentation uses these names: what one test imports, the next would find
WRITTEN = {"made_up_env.py", "test_made_up_env.py", "made_up_learner.py", "test_made_up_learner.py"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An environment and a learner, written into an empty folder as a user would."""
    from llmzoo.cli import main

    result = tmp_path_factory.mktemp("new") / "mine"
    assert main(["new", "env", "made_up_env", "--out", str(result)]) == 0
    assert main(["new", "learner", "made_up_learner", "--out", str(result)]) == 0
    assert {path.name for path in result.iterdir()} == WRITTEN
    return result


def own_tests(folder, *names):
    """What pytest says of test files, in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *names]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_tests_that_are_written_pass(folder):
    ran = own_tests(folder, ".")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "17 passed" in ran.stdout  # 12 of the environment, 5 of the learner


@pytest.mark.slow
def test_a_broken_environment_fails_its_tests(folder, tmp_path):
    """The tests that come with a template see a mistake in it."""
    for name, text in new.render_files("env", "made_up_env").items():
        if name == "made_up_env.py":
            assert text.count("0.1 * (answer is not None)") == 1
            text = text.replace("0.1 * (answer is not None)", "0.1 * random.random()")
        (tmp_path / name).write_text(text)
    ran = own_tests(tmp_path, ".")
    assert ran.returncode == 1
    assert "FAILED test_made_up_env.py::test_what_an_answer_is_worth" in ran.stdout
    assert "FAILED test_made_up_env.py::test_conforms[check_seeds]" in ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["env", "learner"])
def test_the_next_steps_work(kind, folder, llmzoo, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])  # where the command adds the folder
    steps = [shlex.split(step) for step in new.next_steps(kind, f"made_up_{kind}")]
    assert steps[0][0] == "pytest"  # another test runs it
    for step in steps[1:]:
        said = llmzoo(*step[1:])
        assert said.code == 0, said.err
        if step[1] == "check":
            assert "kept" in said.out
        if step[1] == "play":
            assert "\nsolved\n" in said.out
        if step[1] == "eval":
            assert "100.0%" in said.out
        if step[1] == "train":
            assert "after 2" in said.out


def test_they_read_as_ruff_wants_it(folder):
    """With the rules of this project, and with ruff's own, which a new project has. The length of a
    line depends on the name, so it is that of this project."""
    from ruff.__main__ import find_ruff_bin

    settings = ["--no-cache", "--config", str(ROOT / "pyproject.toml")]
    own = ["--no-cache", "--isolated"]
    # in a project of the user's llmzoo is somebody else's package
    third = ["--config", 'lint.isort.known-third-party = ["llmzoo"]']
    for command in (
        ["check", *settings, *third],
        ["check", *own, *third],
        ["format", "--diff", *settings],
    ):
        ran = subprocess.run(
            [find_ruff_bin(), *command, "."],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_it_says_what_was_written_and_what_to_do_next(llmzoo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = llmzoo("new", "env", "river_run", "--out", "games")
    assert said.out.splitlines()[:5] == [
        "wrote games/river_run.py",
        "wrote games/test_river_run.py",
        "",
        "next:",
        "  cd games",
    ]
    assert "  llmzoo play river_run:RiverRun --policy expert" in said.out
    assert (
        '= {**TextEnv.metadata, "name": "river_run_v0"}'
        in (tmp_path / "games" / "river_run.py").read_text()
    )
    assert "pip install pytest" not in said.out
    monkeypatch.setitem(sys.modules, "pytest", None)  # as where it is not installed
    here = llmzoo("new", "learner", "ranked")
    assert "\nnext:\n  pip install pytest\n  pytest test_ranked.py\n" in here.out
    assert (tmp_path / "ranked.py").exists()
    assert "cd " not in here.out


def test_nothing_is_overwritten(llmzoo, tmp_path):
    (tmp_path / "test_made_up_env.py").write_text("mine")
    said = llmzoo("new", "env", "made_up_env", "--out", tmp_path)
    assert said.code == 2
    assert "test_made_up_env.py exists" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["test_made_up_env.py"]
    assert (tmp_path / "test_made_up_env.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("my-game", "not a valid module name"),
        ("2048", "not a valid module name"),
        ("_2048", "not a valid module name"),
        ("class", "not a valid module name"),
        ("__", "not a valid module name"),
        ("a/b", "not a valid module name"),
        ("MyGame", "lower case"),
        ("_game", "lower case"),
        ("random", "a module named 'random' exists"),
        ("llmzoo", "a module named 'llmzoo' exists"),
    ],
)
def test_names_that_cannot_be(name, reason, llmzoo, tmp_path):
    said = llmzoo("new", "env", name, "--out", tmp_path / "here")
    assert said.code == 2
    assert reason in said.err
    assert not (tmp_path / "here").exists()


def test_what_else_is_refused(llmzoo):
    assert "environment" in llmzoo("new", "environment", "x").err
    assert llmzoo("new", "env").code == 2
    assert llmzoo("new").code == 2
