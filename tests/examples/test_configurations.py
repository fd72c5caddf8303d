"""Every configuration in configs/ runs, made small; a saved one gives the same run again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

from llmzoo import registry
from llmzoo.cli import main
from llmzoo.learners import list_learners

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
# large_models/ and smollm2/ are for models that are not in the package: test_large_models.py
NAMES = sorted(
    path.relative_to(CONFIGS).as_posix()
    for path in CONFIGS.rglob("*.yaml")
    if path.parent.name not in ("large_models", "smollm2")
)
SMALL = [
    "--episodes_per_step",
    "1",
    "--eval_tasks",
    "1",
    "--max_new_tokens",
    "8",
    "--trackers",
    "[]",
    "--quiet",
    "--json",
]


def read(name: str) -> dict:
    return yaml.safe_load((CONFIGS / name).read_text())


def small_stages(name: str, folder: Path) -> Path:
    """A copy in which each stage has one iteration, which no option of the command line says."""
    content = read(name)
    for stage in content["stages"]:
        stage |= {"steps": 1, "episodes_per_step": 1}
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


FAST = ("demo.yaml", "learners/mappo.yaml")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in FAST else [pytest.mark.slow]) for n in NAMES]
)
def test_one_step(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    staged = "stages" in read(name)
    # with several references in a run there are as many iterations
    steps = str(read(name).get("learner_args", {}).get("rounds", 0) or 1)
    file = small_stages(name, tmp_path) if staged else CONFIGS / name
    argv = ["train", "--config", str(file), *SMALL, *([] if staged else ["--steps", steps])]
    if name == "learners/opd.yaml":  # its teacher
        assert main(["train", "--config", str(CONFIGS / "demo.yaml"), *SMALL, "--steps", "1"]) == 0
    assert main(argv) == 0
    runs = [path.parent for path in (tmp_path / read(name)["out"]).rglob("metrics.jsonl")]
    assert len(runs) == len(read(name).get("stages", ["the only one"]))
    for run in runs:
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        assert [row["step"] for row in rows if row["kind"] == "train"][-1] == int(steps)
        assert json.loads((run / "after.json").read_text())["env"] == read(name)["env"]


def test_there_is_one_for_every_learner_and_every_family():
    learners = {f"learners/{name}.yaml": name for name in list_learners()}
    families = {
        f"environments/{s.family}.yaml": s.family for s in map(registry.spec, registry.list_envs())
    }
    assert {name for name in NAMES if name.startswith("learners/")} == set(learners)
    assert {name for name in NAMES if name.startswith("environments/")} == set(families)
    for name, learner in learners.items():
        assert read(name)["learner"] == learner
    for name, family in families.items():
        assert registry.spec(read(name)["env"]).family == family


@pytest.mark.parametrize("name", NAMES)
def test_each_says_how_it_is_started_and_what_to_change(name):
    text = (CONFIGS / name).read_text()
    started = (
        "# make demo: " if name == "demo.yaml" else f"# llmzoo train --config configs/{name}\n# "
    )
    assert text.startswith(started)
    assert "\nmodel: tiny # a real one: a folder, or a hub id" in text
    assert "\nseed: 0\n" in text
    assert max(map(len, text.splitlines())) <= 110


def test_the_table_names_them_all():
    table = (CONFIGS / "README.md").read_text()
    for name in NAMES:
        assert f"]({name})" in table, name


# numbers that YAML and JSON write differently, lists, mappings in mappings, what is null
GIVEN = {
    "at_grpo": "--learner.learning_rate 1e-6 --learner.rewards '[scale 2]' --top_p 0.9 "
    "--policies lora --lora.r 4 --agent.planner_1.temperature 0.7 --seed 3",
    "ippo": "--learner.critic value_head --env.size 4 --token_budget 1000 --seed 4",
    "sft": "--learner.max_length 512 --policies planner_1 --seed 5",
}


@pytest.mark.slow
@pytest.mark.parametrize("learner", GIVEN)
def test_the_configuration_of_a_run_gives_the_same_run(learner, tmp_path):
    first, again, other = tmp_path / "first", tmp_path / "again", tmp_path / "other"
    small = "--env sudoku_v0 --env.max_turns 1 --steps 1 --episodes_per_step 2 --eval_tasks 2 --trackers [] --quiet"
    argv = ["--learner", learner, *shlex.split(GIVEN[learner]), *small.split()]
    assert main(["train", *argv, "--out", str(first)]) == 0
    saved = first / "config.json"
    assert main(["train", "--config", str(saved), "--quiet", "--out", str(again)]) == 0
    assert json.loads((again / "config.json").read_text()) == json.loads(saved.read_text())
    weights = sorted(path.relative_to(first) for path in first.rglob("*.safetensors"))
    assert weights == sorted(path.relative_to(again) for path in again.rglob("*.safetensors"))
    for path in weights:
        assert (first / path).read_bytes() == (again / path).read_bytes(), path
    # and not because nothing depends on the configuration
    assert (
        main(["train", "--config", str(saved), "--quiet", "--seed", "9", "--out", str(other)]) == 0
    )
    trained = [path for path in weights if "optimizer" not in path.name]
    assert any((first / p).read_bytes() != (other / p).read_bytes() for p in trained)
