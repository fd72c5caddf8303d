"""The face of the command line: its commands, its exit codes, and how little it loads."""

import re
import shlex
import subprocess
import sys

import pytest

from llmzoo.cli import COMMAND_GROUPS, COMMANDS, RENAMED, list_subcommands
from llmzoo.version import __version__


def test_without_a_command_it_says_what_there_is(llmzoo):
    said = llmzoo()
    assert said.code == 0
    assert all(name in said.out for name in ("info", "play", "eval", "train", "bench"))
    assert llmzoo("--help").out == said.out


def test_the_help_lists_12_commands_in_four_groups(llmzoo):
    sections = llmzoo("--help").out.split("\n\n")[1:-1]
    assert [section.partition(":")[0] for section in sections] == [*COMMAND_GROUPS]
    lines = [line for section in sections for line in section.splitlines()[1:]]
    commands = [line.split()[0] for line in lines if re.match(r"  \w", line)]
    assert commands == [
        *("info", "play", "check", "new", "eval", "collect"),
        *("train", "bench", "report", "export", "serve", "fetch"),
    ]
    subcommands = [" ".join(line.split()[:2]) for line in lines if re.match(r"    \w", line)]
    assert subcommands == [
        "check tasks",
        *(
            "eval compare",
            "eval rescore",
            "eval bundle",
            "eval verify",
            "eval league",
            "eval exploit",
        ),
        "export env",
        *("serve envs", "serve gateway"),
    ]


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_of_a_command_names_the_new_one(llmzoo, old, new):
    said = llmzoo(old, "--json")
    assert (said.code, said.out) == (2, "")
    assert said.err == f"llmzoo: there is no command {old!r}: use llmzoo {new}\n"
    assert new.startswith("--completion") or new in COMMANDS


def test_a_command_of_two_words_is_tried_first(llmzoo):
    assert "only_one holds no evaluation" in llmzoo("eval", "compare", "only_one").err
    assert "unknown environment 'sudoku'" in llmzoo("eval", "sudoku").err
    assert "no module named 'compare'" in llmzoo("eval", "compare:Env").err


def test_version(llmzoo):
    assert llmzoo("--version").out == f"llmzoo {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "near"),
    [
        ("evla", "'eval'"),
        ("leauge", "'eval league'"),
        ("eval comprae A B", "'eval compare'"),
        ("serve gatewya --agents a_0", "'serve gateway'"),
        ("check task", "'check tasks'"),
        ("--completon bash", "'--completion'"),
        ("info --jsn", "'--json'"),
        ("eval --env sudko_v0 --policy expert", "'sudoku_v0'"),
        ("eval --env sudoku_v0 --policy exprt", "'expert'"),
        ("eval --env sudoku_v0 --policy expert --taks 3", "'--tasks'"),
        ("eval --env sudoku_v0 --policy expert --env.siz 9", "'size'"),
        ("train --learner at_gpro", "'at_grpo'"),
        ("train --learner.group_siz 8", "'group_size'"),
        ("train --policies planer_1", "'planner_1'"),
        ("bench --envs sudoku_v0,sokban_v0", "'sokoban_v0'"),
        ("bench --lerners grpo", "'--learners'"),
        ("play sudoku_v0 --human plannr_1", "'planner_1'"),
    ],
)
def test_an_unknown_name_is_an_error_that_names_the_nearest(llmzoo, argv, near):
    said = llmzoo(*argv.split())
    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("llmzoo: unknown ")
    assert f"Did you mean {near}?" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        ("eval", "give --env ID"),
        ("eval --env sudoku_v0 --tasks few", "--tasks must be a whole number or all, got few"),
        ("eval --env sudoku_v0 --env.size big", "'size' must be a whole number, got 'big'"),
        ("eval --env sudoku_v0 --env.size 5", "size must be 4 or 9, got 5"),
        ("eval --env sudoku_v0 --env.max_turns 0", "sudoku_v0: max_turns must be at least 1"),
        ("eval --env sudoku_v0 --env.split train", "use --split"),
        ("eval --env sudoku_v0 --env.source nowhere.jsonl", "nowhere.jsonl"),
        ("eval --env sudoku_v0 --policy human", "llmzoo play"),
        ("eval --env sudoku_v0 --policy expert --tasks 0", "tasks must be at least 1"),
        ("eval --config nowhere.yaml", "nowhere.yaml: No such file"),
        ("eval --env sudoku_v0 --policy tiny --temperature 0", "temperature is 0.0001 to 100"),
        ("train --steps 0", "at least 1"),
        ("train --steps", "expected one argument"),
        ("train --temperature 0", "temperature is 0.0001 to 100"),
        ("train --eval_tasks 0", "eval_tasks must be at least 1"),
        ("train --eval_every -1", "eval_every must be at least 0"),
        ("train --eval_split mine", "eval_split=mine: split must be one of"),
        ("train --token_budget many", "--token_budget must be a whole number, got many"),
        ("train --token_budget 0", "token_budget must be at least 1"),
        ("train --learner magrpo --learner.group_size", "must be a whole number, got True"),
        ("train --learner sft --learner.args_class x", "unknown option of learner 'sft'"),
        ("train --env.split all", "--eval_split"),
        ("train --learner.clip_high 0.3 --learner magrpo", "clip_high requires clip"),
        ("train --resume nowhere", "no run to resume"),
        ("train --out here --resume there", "different folders"),
        ("bench --seeds one", "must be integers"),
        ("bench --learners magrpo,ippo --learner.group_size 2", "option of learner 'ippo'"),
        ("play sudoku_v0 --policy expert --human planner_1", "exclude each other"),
    ],
)
def test_what_cannot_be_done_is_one_line(llmzoo, argv, reason):
    said = llmzoo(*argv.split())
    assert said.code == 2
    assert said.err.startswith("llmzoo: ")
    assert reason in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("command", ["info", "play", "eval", "train", "bench"])
def test_help_comes_from_docstrings(command, capsys):
    from llmzoo.cli import main

    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert f"usage: llmzoo {command}" in said
    explained = {"info": "only environments of this family", "play": "the agent that you play"}
    assert explained.get(command, "--env.NAME VALUE sets one") in " ".join(said.split())


def test_as_a_module():
    failed = subprocess.run(
        [sys.executable, "-m", "llmzoo", "inof"], check=False, capture_output=True, text=True
    )
    assert failed.returncode == 2
    assert "Did you mean 'info'?" in failed.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_explains_every_option_and_its_examples_are_right(
    llmzoo, capsys, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text("env: sudoku_v0\n")
    with pytest.raises(SystemExit) as ended:
        llmzoo(*command.split(), "--help")
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert said.startswith(f"usage: llmzoo {command}")
    options, _, examples = said.partition("\nexamples:\n")
    options, _, subcommands = options.partition("\nsubcommands:\n")
    assert subcommands.split("\n\n")[0].count("\n") == len(list_subcommands(command))
    for option in re.split(r"\n  (?=--)", options)[1:]:
        words = " ".join(option.partition("(type:")[0].split()).split(" ", 2)
        assert len(words) == 3, f"{words[0]} is not explained"
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        assert words[: 1 + len(command.split())] == ["llmzoo", *command.split()]
        with pytest.raises(SystemExit) as ended:
            llmzoo(*words[1:], "--print-config")
        assert ended.value.code == 0


def test_errors_and_tables_hold_no_control_characters(capsys):
    from llmzoo.cli import main
    from llmzoo.cli.output import print_table

    assert main(["eval", "--env", "sudoku_v0", "--policy", "\x1b[2Jno\rmodel"]) == 2
    print_table(["\x1b]0;title\x07"], [["a\x1b[31mb\nc"]])
    said = capsys.readouterr()
    assert r"\x1b[2Jno\rmodel" in said.err
    assert r"a\x1b[31mb" in said.out
    assert all(c.isprintable() or c == "\n" for c in said.err + said.out)


def test_help_is_a_command_too(llmzoo, capsys):
    said = llmzoo("help")
    assert (said.code, said.err) == (0, "")
    assert said.out == llmzoo("--help").out
    with pytest.raises(SystemExit, match="0"):
        llmzoo("help", "eval")
    assert capsys.readouterr().out.startswith("usage: llmzoo eval")


def test_a_short_name_of_the_field_is_understood(llmzoo):
    said = llmzoo("train", "--learner.lr", "1e-4", "--env", "sudoku_v0")
    assert "Did you mean 'learning_rate'?" in said.err


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("tasks: 2\nenv: sudoku_v0\ntasks: 3\n", "tasks"),
        ("env: sudoku_v0\nenv_args: {num_agents: 1, num_agents: 2}\n", "num_agents"),
        ("env: sudoku_v0\nenv_args: {x: {y: 1, y: 1}}\n", "y"),
    ],
)
def test_a_key_that_stands_twice_is_named(llmzoo, tmp_path, text, key):
    path = tmp_path / "eval.yaml"
    path.write_text(text)
    said = llmzoo("eval", "--config", path, "--policy", "expert", "--json")
    assert said.code == 2
    assert f"{key!r} occurs twice" in said.err
    assert "is not YAML" not in said.err


def test_keys_of_merged_mappings_may_be_overridden(llmzoo, tmp_path):
    path = tmp_path / "eval.yaml"
    path.write_text(
        "env: sudoku_v0\nenv_args: &a {num_agents: 1, max_turns: 2}\n"
        "chat_template_args: {b: &b {<<: *a, max_turns: 1}, c: {<<: *b, num_agents: 2}, d: {<<: *b}}\n"
    )
    said = llmzoo("eval", "--config", path, "--policy", "expert", "--json", "--tasks", 1)
    assert "occurs twice" not in said.err
