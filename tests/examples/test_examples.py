"""Every example runs, made small."""

from __future__ import annotations

import ast
import re
import runpy
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from tiny_models import model, tokenizer

from llmzoo import registry
from llmzoo.policies.transformers import TransformersPolicy

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# arguments that make it small, and a pattern of what it prints
SAYS = {
    "coding.py": ("", r"the reference: paid 1\.000 .*\nclaims: paid 0\.030 .*'tests': 0\.0"),
    "credit_rules.py": ("--group-size 3", r"return   mareinforce .*\n( +-?\d.*\n){3}$"),
    "critics.py": (
        "--steps 1 --episodes_per_step 2 --tasks 2",
        r"ippo 1: foresaw .*\n(.*\n)+mappo 1: foresaw",
    ),
    "calculator_program.py": ("--steps 1 --tasks 2", r"success .* before, .* after"),
    "debate_program.py": ("--steps 1 --tasks 2", r"success .* before, .* after"),
    "debate_self_play.py": ("", r"expert [+-]\d\.\d\d, against noisy_expert [+-]\d\.\d\d\n"),
    "distributed.py": (
        "--steps 1 --episodes_per_step 2 --tasks 2",
        r"success .*, returns proposer_0 \d\.\d{5}",
    ),
    "dpo_from_preferences.py": ("--steps 1 --tasks 2", r"[5-8] pairs in (.*\n)+success .* after"),
    "every_learner.py": ("--steps 1 --tasks 2", r"iteration 1: success in play .*\nmagrpo: "),
    "from_configuration.py": ("--steps 1 --tasks 2", r"the same weights, bit for bit: True"),
    "games.py": ("", r"proposer_0 answers .*: paid \+1\.00\n"),
    "javascript_program.py": ("--steps 1 --tasks 1", r"success .* before, .* after"),
    "math_partners.py": (
        "--steps 1 --episodes_per_step 2 --tasks 2",
        r"math reasoner 2/2\n.*\nyou .*\ntool ",
    ),
    "own_environment.py": ("", r"success=1\.0"),
    "own_learner.py": ("--steps 1 --tasks 2", r"success .* before, .* after"),
    "own_program.py": ("--steps 1 --tasks 2", r"success .* before, .* after"),
    "quickstart.py": ("--tasks 5", r"expert: success 100\.0% .*\ntiny: success "),
    "several_environments.py": (
        "--steps 1 --tasks 2",
        r"sokoban_v0: .* before\nsokoban_v0: .* after",
    ),
    "sft_then_rl.py": (
        "--steps 1 --episodes_per_step 2 --tasks 2",
        r"after SFT: .*\nafter AT-GRPO: success",
    ),
    "tool_use.py": ("", r"<answer>04:50</answer>\n.*policy='by_hand'.* success=1\.0"),
    "train_separate_agents.py": ("--steps 1 --tasks 2", r"only planner_1 trained: success "),
    "world_model.py": (
        "--steps 1 --episodes_per_step 2",
        r"tokens foretold\n(.*\n)+--- predicted\n(.*\n)+--- what",
    ),
    "writing.py": ("", r"=== expert\n(.*\n)+paid 2\.\d\d (.*\n)+=== tiny\n"),
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """``run(name, arguments)`` runs an example as a program and gives what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_specs", dict(registry._specs))  # forget what it registers

    def call(name: str, arguments: str) -> str:
        if name == "javascript_program.py" and shutil.which("node") is None:
            pytest.skip("node is not installed")
        monkeypatch.setattr(sys, "argv", [name, *arguments.split()])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Overriding environment")  # PettingZoo's
            runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return call


FAST = (
    *("coding.py", "credit_rules.py", "games.py", "own_environment.py", "quickstart.py"),
    "tool_use.py",
)


# distributed.py runs below
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in FAST))
        for name in SAYS
        if name != "distributed.py"
    ],
)
def test_each_runs(name, run):
    arguments, says = SAYS[name]
    assert re.search(says, run(name, arguments))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sft_then_rl.py", "writing.py"])
def test_another_model_takes_one_argument(name, run, tmp_path_factory):
    """A model as from the hub, of another architecture, that is not made for short prompts."""
    folder = tmp_path_factory.mktemp("model")
    made = model("llama", max_position_embeddings=4096)
    TransformersPolicy(made, tokenizer()).save(folder)
    assert run(name, f"{SAYS[name][0]} --model {folder}") != ""


@pytest.mark.slow
def test_distributed_on_two_processes_gives_what_one_gives(run, tmp_path):
    arguments, says = SAYS["distributed.py"]
    alone = run("distributed.py", f"{arguments} --out one")
    assert re.search(says, alone)
    program = [str(EXAMPLES / "distributed.py"), *arguments.split(), "--out", "two"]
    two = subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node",
            "2",
            *program,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert two.stdout == alone


def test_all_examples_are_here_and_short_and_in_the_table():
    table = (EXAMPLES / "README.md").read_text()
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)
    for name in SAYS:
        text = (EXAMPLES / name).read_text()
        lines = len(text.splitlines())
        assert lines < 60, f"{name}: {lines} lines"
        assert f"| [{name}]({name}) |" in table


@pytest.mark.parametrize("name", SAYS)
def test_each_says_what_to_expect_and_takes_a_model(name):
    text = (EXAMPLES / name).read_text()
    said = ast.get_docstring(ast.parse(text))
    for part in ("Expect", "Left out"):
        assert part in said
    assert 'add_argument("--model"' in text
    assert ".model" in text.partition("parse_args()")[2]  # what it is given is used
