"""The command line: ``llmzoo COMMAND --help``. One module per command, loaded when it is called.

A command of two words is a command of its own: ``llmzoo eval compare`` is in eval_compare.py.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from difflib import get_close_matches

from llmzoo.distributed import ranks
from llmzoo.errors import ConfigError, EndpointError, LlmzooError, RankZeroError, UnknownNameError
from llmzoo.files import WRITE_ERRORS
from llmzoo.registry import load_object
from llmzoo.terminal_text import escape_unprintable
from llmzoo.version import __version__

# groups of the help -> commands, with their subcommands -> what they do
COMMAND_GROUPS: Mapping[str, Mapping[str, str]] = {
    "Environments": {
        "info": "List environments and learners, or show one of them, or this machine.",
        "play": "Play an episode yourself, or watch policies play.",
        "check": "Check that an environment follows the PettingZoo and llmzoo APIs.",
        "check tasks": "Look for what is wrong with a set of tasks.",
        "new": "Create a new environment or learner from a template.",
    },
    "Evaluation": {
        "eval": "Evaluate a policy on held-out tasks.",
        "eval compare": "Compare evaluations of the same tasks.",
        "eval rescore": "Judge the answers of an evaluation again.",
        "eval bundle": "Put evaluations into a bundle that others can verify.",
        "eval verify": "Check every number and episode of a bundle.",
        "eval league": "Let policies play each other in all pairs, and rate them.",
        "eval exploit": "Measure a policy exactly in a small game.",
        "collect": "Play tasks and save the episodes to a file.",
    },
    "Training": {
        "train": "Train a model, with evaluations before and after.",
        "bench": "Compare learners on environments.",
        "report": "Write an HTML page about training runs: curves, settings, episodes.",
        "export": "Export trained models as transformers or peft folders.",
        "export env": "Export an environment as a package for other hosts, and its tasks.",
    },
    "Hosting and models": {
        "serve": "Serve the agents of a run, or a model, over OpenAI's API.",
        "serve envs": "Host environments over gRPC.",
        "serve gateway": "Answer programs that run elsewhere, and record what is sampled.",
        "fetch": "Download a published model, such as smollm2, and convert it.",
    },
}
COMMANDS = {name: what for group in COMMAND_GROUPS.values() for name, what in group.items()}
OPTIONS = ("--help", "--version", "--completion")  # that are given instead of a command
RENAMED = {  # a command's old name -> the new one
    "list": "info",
    "compare": "eval compare",
    "rescore": "eval rescore",
    "verify": "eval verify",
    "league": "eval league",
    "exploit": "eval exploit",
    "validate": "check tasks",
    "gateway": "serve gateway",
    "completion": "--completion SHELL",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: success. 1: the output pipe was closed, ``check`` reports a violation, or an endpoint does not
    answer. 2: a usage error. 130: interrupted. Results go to standard output, everything else to
    standard error.
    """
    code: int | None = None
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    try:
        if not arguments or arguments[0] in ("-h", "--help"):
            print(_usage())
        elif arguments[0] == "--version":
            print(f"llmzoo {__version__}")
        elif arguments[0] == "--completion":
            load_object("llmzoo.cli.completion:run")(arguments[1:])
        else:
            command, rest = _split_command(arguments)
            with nullcontext() if ranks.is_first_process() else _silence_stdout():
                code = load_object(f"{command_module(command)}:run")(rest)
        sys.stdout.flush()
    except RankZeroError:
        return 2  # the first process says why
    except LlmzooError as error:
        who = "llmzoo" if ranks.is_first_process() else f"llmzoo (process {os.environ['RANK']})"
        print(escape_unprintable(f"{who}: {error}"), file=sys.stderr)
        return 1 if isinstance(error, EndpointError) else 2
    except BrokenPipeError:
        # discard buffered output, or the interpreter reports the closed pipe at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno not in WRITE_ERRORS:
            raise
        where = f": {error.filename}" if error.filename else ""
        print(f"llmzoo: cannot write: {error.strerror}{where}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if ranks.is_first_process():
            print("llmzoo: stopped", file=sys.stderr)
        return 130
    return code or 0


def command_module(command: str) -> str:
    """The module of a command: ``"eval compare"`` is in ``llmzoo.cli.eval_compare``."""
    return f"llmzoo.cli.{command.replace(' ', '_')}"


def list_subcommands(command: str) -> list[str]:
    """The second words of the commands that begin with ``command``."""
    return [name.split()[1] for name in COMMANDS if name.startswith(f"{command} ")]


def _split_command(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The command, of two words or of one, and its own arguments.

    Raises :class:`ConfigError` for the old name of a command and :class:`UnknownNameError` for an unknown
    name. Only a second word of letters can be a misspelt subcommand: ids and paths of environments have
    other characters too.
    """
    first, second = arguments[0], "".join(arguments[1:2])
    if f"{first} {second}" in COMMANDS:
        return f"{first} {second}", arguments[2:]
    if first in RENAMED:
        raise ConfigError(f"there is no command {first!r}: use llmzoo {RENAMED[first]}")
    if first not in COMMANDS:
        option = first.startswith("-")
        raise UnknownNameError(
            "option" if option else "command", first, OPTIONS if option else COMMANDS
        )
    subcommands = list_subcommands(first)
    if second.isalpha() and get_close_matches(second, subcommands):
        known = [f"{first} {name}" for name in subcommands]
        raise UnknownNameError("command", f"{first} {second}", known)
    return first, arguments[1:]


@contextmanager
def _silence_stdout() -> Iterator[None]:
    """Only the first process of a run prints."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        yield


def _usage() -> str:
    lines = ["usage: llmzoo COMMAND [options]"]
    for group, commands in COMMAND_GROUPS.items():
        lines += ["", f"{group}:"]
        for name, what in commands.items():
            indent = "    " if " " in name else "  "
            lines.append(f"{indent + name:<19}{what}")
    return "\n".join(
        [
            *lines,
            "",
            "llmzoo COMMAND --help shows the options of a command, llmzoo --version the version.",
            "llmzoo --completion SHELL prints a completion script for bash, zsh, fish, tcsh or powershell.",
        ]
    )
