"""Every configuration in examples/ runs, made small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from llmzoo.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = ["--eval_tasks", "2", "--quiet"]
NAMES = sorted(path.name for path in EXAMPLES.glob("*.yaml"))


def small(name: str, folder: Path) -> Path:
    """A copy with one iteration of two episodes, in the run and in each of its stages."""
    content = yaml.safe_load((EXAMPLES / name).read_text())
    for part in [content, *content.get("stages", [])]:
        part |= {"steps": 1, "envs": 2} if "learner" in part else {}
    path = folder / name
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_configuration_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = yaml.safe_load((EXAMPLES / name).read_text())["out"]
    assert main(["train", "--config", str(small(name, tmp_path)), *SMALL]) == 0
    runs = sorted(path.parent for path in (tmp_path / out).rglob("config.json"))
    runs = [run for run in runs if (run / "metrics.jsonl").exists()]
    assert len(runs) == len(yaml.safe_load((tmp_path / name).read_text()).get("stages", [name]))
    for run in runs:
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        assert [row["step"] for row in rows if row["kind"] == "train"] == [1]


def test_each_says_how_it_is_started():
    for name in NAMES:
        text = (EXAMPLES / name).read_text()
        assert text.startswith(("# make demo", f"# llmzoo train --config examples/{name}\n"))
