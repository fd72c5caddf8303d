"""The package, every help, every usage error and scripted play load quickly and without torch."""

import json
import subprocess
import sys

from llmzoo.cli import COMMANDS

HEAVY = ("torch", "transformers", "datasets", "trl", "peft", "accelerate", "matplotlib")
QUICK = ["train --help", "train --learner grppo", "eval --env sudoku_v0 --env.sise 4"]
HELP = ["--help", *(f"{name} --help" for name in COMMANDS)]
PLAY = ["eval --env sudoku_v0 --policy expert --tasks 2", "info --json"]
MISTAKES = [
    "train --learnr grpo",
    "train --steps many",
    "train --env sudokuu_v0",
    "train --learner grppo",
    "train --config absent.yaml",
    "train --device gpu",
    "bench --sedes 1",
    "train --learner.lr 1",
    "train --learner magrpo --learner.kl -1",
    "train --learner dpo --learner.loss_type sigmod",
    "train --temperature -1",
    "train --policies lorra",
    "train --learner ppo --policies reasoner_0",
    "train --agent.planer_0.frozen true",
    "eval --env sudokuu_v0",
    "eval --env sudoku_v0 --env.sise 4",
    "eval --device gpu",
    "serve --device gpu",
    "collect --env sudoku_v0 --out rows.csv",
    "play sudoku_v0 --task",
    "report",
    "export",
    "trian",
    "compare evals/a evals/b",
    "eval comprae evals/a evals/b",
    "eval verify nowhere",
    "eval bundle nowhere --out bundles/b",
    "info --machine --learners",
]
CALLS = """
import json, sys, time
import llmzoo
from llmzoo.cli import main
codes = []
for line in json.loads(sys.argv[1]):
    try:
        codes.append(main(line.split()))
    except SystemExit as end:
        codes.append(end.code)
print()
print(json.dumps([time.process_time(), codes, sorted(sys.modules)]))
"""


def calls(*lines: str) -> float:
    """The seconds of CPU that commands take in a new process, which loads no heavy module."""
    command = [sys.executable, "-c", CALLS, json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, codes, modules = json.loads(done.stdout.splitlines()[-1])
    assert codes == [0 if "--help" in line or line in PLAY else 2 for line in lines]
    assert set(HEAVY) & set(modules) == set()
    return seconds


def test_the_package_a_help_and_two_usage_errors_load_quickly():
    assert calls(*QUICK) < 1.5  # 0.7 s without load


def test_no_help_and_no_usage_error_and_no_scripted_play_loads_torch():
    calls(*HELP, *MISTAKES, *PLAY)
