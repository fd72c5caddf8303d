"""``llmzoo --completion SHELL``: it knows every command and option that there is, in a real shell too."""

import re
import shutil
import subprocess

import pytest

from llmzoo.cli import COMMANDS
from llmzoo.cli.completion import command_hints, make_parser


@pytest.mark.parametrize("command", COMMANDS)
def test_it_knows_the_options_that_the_help_lists(llmzoo, capsys, command):
    with pytest.raises(SystemExit):
        llmzoo(*command.split(), "--help")
    listed = set(re.findall(r"^  (?:-h, )?--([a-z_]+)", capsys.readouterr().out, re.MULTILINE))
    families = {
        "env_args",
        "learner_args",
        "agent_args",
        "lora_args",
        "sampler_args",
        "engine_args",
    }
    families |= {"model_args", "opponents_args", "curriculum_args"}
    assert set(command_hints(command)) == listed - families - {"help", "config", "print_config"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes(llmzoo, tmp_path):
    expected = {
        "llmzoo ev": "eval",
        "llmzoo train --learner mag": "magrpo",
        "llmzoo eval --env sud": "sudoku_v0",
        "llmzoo eval sud": "sudoku_v0",
        "llmzoo eval comp": "compare",
        "llmzoo eval compare --pl": "--plot",
        "llmzoo check ta": "tasks",
        "llmzoo check tasks sud": "sudoku_v0",
        "llmzoo serve g": "gateway",
        "llmzoo --completion fi": "fish",
        "llmzoo eval --pol": "--policy",
        "llmzoo play plan_p": "plan_path_v0",
        "llmzoo info marl": "marloo",
        "llmzoo new l": "learner",
        "llmzoo train --parallel f": "fsdp",
    }
    script = tmp_path / "llmzoo.bash"
    script.write_text(llmzoo("--completion", "bash").out)
    ask = f"source {script}"
    for typed in expected:
        ask += (
            f"; COMP_WORDS=({typed}); COMP_CWORD={len(typed.split()) - 1}; COMPREPLY=()"
            "; _shtab_llmzoo llmzoo; echo ${COMPREPLY[*]}"
        )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == list(expected.values()), done.stderr


def test_what_may_stand_first_more_than_once():
    result = make_parser().parse_args(["report", "runs/a", "runs/b"])
    assert result.runs == ["runs/a", "runs/b"]


def test_other_shells(llmzoo):
    assert "#compdef llmzoo" in llmzoo("--completion", "zsh").out
    assert "complete -c llmzoo" in llmzoo("--completion", "fish").out
    for words in (["klingon"], []):
        said = llmzoo("--completion", *words)
        assert said.code == 2
        assert "--completion must be followed by one of bash, " in said.err
