"""What is installed is all that is needed: a wheel, away from the repository, in an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _known(*paths: str) -> list[str]:
    """The files that git knows, or would add."""
    command = ["git", "ls-files", "-co", "--exclude-standard", *paths]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The site-packages of a new environment with a wheel of the files that git knows, or would take."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone: which files belong to it is git's to say")
    source, folder = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("installed")
    parts = ("llmzoo", "configs", "examples", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")
    for name in _known(*parts):
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True
    )
    python = str(folder / "venv" / "bin" / "python")
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    subprocess.run([*command, str(wheel)], check=True)
    (packages,) = folder.glob("venv/lib/*/site-packages")
    (packages / "those_it_needs.pth").write_text(sysconfig.get_path("purelib"))
    return packages


def _alone() -> dict[str, str]:
    """The environment without this project's folder on the path."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture
def run(installed, tmp_path):
    def call(*argv: str) -> str:
        done = subprocess.run(
            [str(installed.parents[2] / "bin" / "llmzoo"), *argv],
            env=_alone(),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.slow
def test_it_holds_every_file_that_the_package_reads(installed):
    """Everything under llmzoo/ that git knows and that is no source is package data."""
    missing = [n for n in _known("llmzoo") if (ROOT / n).exists() and not (installed / n).exists()]
    assert missing == []


@pytest.mark.slow
def test_it_works_without_the_repository(run, installed, tmp_path):
    python = str(installed.parents[2] / "bin" / "python")
    where = subprocess.run(
        [python, "-P", "-c", "import llmzoo; print(llmzoo.__file__)"],
        **{"env": _alone(), "cwd": tmp_path, "capture_output": True, "text": True, "check": True},
    ).stdout
    assert where.startswith(str(installed))
    settings = (
        "--env sudoku_v0 --env.max_turns 1 --steps 1 --episodes_per_step 2 --eval_tasks 4 --quiet"
    )
    assert json.loads(run("train", *settings.split(), "--out", "first", "--json"))["steps"] == 1
    told = json.loads(run("report", "first", "--json"))
    assert told["runs"] == 1
    assert Path(tmp_path / told["page"]).read_text().startswith("<!doctype html>")


@pytest.mark.slow
def test_it_brings_the_configurations_and_examples(run, installed, tmp_path):
    share = installed.parents[2] / "share" / "llmzoo"
    for name in ("configs", "examples"):
        known = [n for n in _known(name) if (ROOT / n).exists() and _is_shipped(n)]
        assert [n for n in known if not (share / n).exists()] == []
    assert json.loads(run("info", "--machine", "--json"))["shipped"] == str(share)
    demo = run("train", "--config", "configs/demo.yaml", "--print_config")
    assert "out: runs/demo" in demo
    own = tmp_path / "configs" / "demo.yaml"
    own.parent.mkdir()
    own.write_text("steps: three")
    with pytest.raises(AssertionError, match="whole number"):
        run("train", "--config", "configs/demo.yaml")


def _is_shipped(name: str) -> bool:
    """The programs of one file; folders of examples are for clones."""
    return name.startswith("configs/") or name.count("/") == 1
