"""The package, every help and every usage error load quickly and without torch."""

import json
import subprocess
import sys

import pytest

from llmzoo.cli import COMMANDS

HEAVY = ("torch", "transformers", "datasets", "trl", "peft", "accelerate", "matplotlib")
MISTAKES = [
    "train --learnr grpo",
    "train --steps many",
    "train --env sudokuu_v0",
    "train --learner grppo",
    "train --config absent.yaml",
    "bench --sedes 1",
    "eval --env sudokuu_v0",
    "eval --env sudoku_v0 --env.sise 4",
    "collect --env sudoku_v0 --out rows.csv",
    "play sudoku_v0 --task",
    "report",
    "export",
    "trian",
]


def loaded_by(code: str) -> tuple[float, set[str]]:
    """The seconds of CPU that ``code`` takes in a new process, and the heavy modules it loads."""
    end = (
        "print(); "
        f"print(json.dumps([time.process_time(), [m for m in {HEAVY} if m in sys.modules]]))"
    )
    source = f"import json, sys, time\n{code}\n{end}"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seconds, modules = json.loads(done.stdout.splitlines()[-1])
    return seconds, set(modules)


def calls(*lines: str) -> str:
    return (
        "from llmzoo.cli import main\n"
        f"for line in {list(lines)}:\n"
        "    try:\n"
        "        code = main(line.split())\n"
        "    except SystemExit as end:\n"
        "        code = end.code\n"
        "    assert code == (0 if '--help' in line else 2), (line, code)\n"
    )


@pytest.mark.parametrize(
    "code",
    [
        "import llmzoo",
        calls("train --help"),
        calls("train --learner grppo"),
        calls("eval --env sudoku_v0 --env.sise 4"),
    ],
)
def test_it_takes_less_than_a_second(code):
    seconds, modules = loaded_by(code)
    assert modules == set()
    assert seconds < 1.0


def test_no_help_loads_torch():
    assert loaded_by(calls("--help", *(f"{name} --help" for name in COMMANDS)))[1] == set()


def test_no_usage_error_loads_torch():
    assert loaded_by(calls(*MISTAKES))[1] == set()
