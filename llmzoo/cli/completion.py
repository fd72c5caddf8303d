"""``llmzoo completion``"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

import shtab

from llmzoo import registry
from llmzoo.cli import COMMANDS
from llmzoo.cli.bench import VARIED
from llmzoo.cli.options import CommandOptions, option_hints, parse_options
from llmzoo.learners import list_learners
from llmzoo.models.model_catalog import MODEL_CATALOG, TINY
from llmzoo.policies import SCRIPTED
from llmzoo.registry import load_object
from llmzoo.training import FitConfig

# commands that take the settings of a run too, but for those named
_FIT: Mapping[str, Collection[str]] = {"train": (), "bench": VARIED}
_FILES = ("config", "tls_cert", "tls_key", "tls_client_ca")
_FOLDERS = ("out", "resume", "plots", "run", "runs", "players")


@dataclass(frozen=True, kw_only=True)
class CompletionOptions(CommandOptions):
    """Print a script that completes commands, options, ids and names in a shell.

    In bash: llmzoo completion bash > ~/.local/share/bash-completion/completions/llmzoo

    Args:
        shell: bash, zsh, fish, tcsh or powershell; can be given first, without --shell.
    """

    POSITIONAL = ("shell",)
    USAGE = "llmzoo completion SHELL"
    EXAMPLES = ("llmzoo completion bash > ~/.local/share/bash-completion/completions/llmzoo",)

    shell: Literal["bash", "zsh", "fish", "tcsh", "powershell"]


def run(argv: Sequence[str]) -> None:
    options = CompletionOptions(**parse_options("completion", argv, CompletionOptions))
    print(shtab.complete(make_parser(), options.shell))


def make_parser() -> ArgumentParser:
    """A parser of the whole command line, only for generating completions."""
    root = ArgumentParser("llmzoo", description="Multi-agent RL for language models.")
    root.add_argument("--version", action="store_true", help="Print the version.")
    below = root.add_subparsers()
    for name, what in COMMANDS.items():
        command = below.add_parser(name, help=what)
        takes = command_hints(name)
        for option in _options_class(name).POSITIONAL:
            many = get_origin(takes[option]) is list
            added = command.add_argument(option, nargs="*" if many else "?")
            _set_completion(added, option, takes[option])
        config: Any = command.add_argument("--config", help="YAML file with any of these options.")
        config.complete = shtab.FILE
        command.add_argument("--print_config", action="store_true", help="Print a configuration.")
        for option, hint in takes.items():
            _add_option(command, option, hint)
    return root


def command_hints(command: str) -> dict[str, Any]:
    """The options of a command with their type hints; families such as ``--env.NAME`` left out."""
    hints = option_hints(_options_class(command))
    if command in _FIT:
        more = option_hints(FitConfig)
        hints = {**{name: more[name] for name in more if name not in _FIT[command]}, **hints}
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not Mapping}


def _options_class(command: str) -> type[CommandOptions]:
    options: type[CommandOptions] = load_object(
        f"llmzoo.cli.{command}:{command.capitalize()}Options"
    )
    return options


def _add_option(command: ArgumentParser, option: str, hint: Any) -> None:
    if hint is bool:
        command.add_argument(f"--{option}", action="store_true")
    else:
        _set_completion(command.add_argument(f"--{option}"), option, hint)


def _set_completion(added: Any, option: str, hint: Any) -> None:
    """Say what the value of an option may be."""
    added.choices = _choices(option, hint)
    if option in _FILES:
        added.complete = shtab.FILE
    elif option in _FOLDERS:
        added.complete = shtab.DIRECTORY


def _choices(option: str, hint: Any) -> list[str] | None:
    """What an option's value may be, where there is a list of that."""
    if get_origin(hint) is Literal:
        return [str(value) for value in get_args(hint)]
    if option in ("env", "envs"):
        return list(registry.list_envs())
    if option == "name":
        return [*registry.list_envs(), *list_learners()]
    if option in ("learner", "learners"):
        return list(list_learners())
    if option in ("policy", "others"):
        return [*SCRIPTED, TINY, *MODEL_CATALOG]
    if option == "model":
        return [TINY, *MODEL_CATALOG]
    if option == "split":
        return ["train", "test", "all"]
    return None
