"""``llmzoo --completion SHELL``: a script that completes the command line in a shell."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import shtab

from llmzoo import registry
from llmzoo.cli import COMMANDS, command_module, list_subcommands
from llmzoo.cli.bench import VARIED_SETTINGS
from llmzoo.cli.options import CommandOptions, option_hints
from llmzoo.errors import ConfigError
from llmzoo.learners import list_learners
from llmzoo.models.model_catalog import MODEL_CATALOG, TINY
from llmzoo.policies import SCRIPTED
from llmzoo.registry import load_object
from llmzoo.training import FitConfig

# commands that also take the settings of a run, except those listed
_RUN_COMMANDS: Mapping[str, Collection[str]] = {"train": (), "bench": VARIED_SETTINGS}
_FILES = ("config", "tls_cert", "tls_key", "tls_client_ca")
_FOLDERS = ("out", "resume", "plots", "run", "runs", "players")


def run(argv: Sequence[str]) -> None:
    """Print a script that completes commands, options, ids and names in the shell ``argv`` names."""
    shell = " ".join(argv)
    if shell not in shtab.SUPPORTED_SHELLS:
        known = ", ".join(shtab.SUPPORTED_SHELLS)
        raise ConfigError(f"--completion must be followed by one of {known}, got {shell!r}")
    print(shtab.complete(make_parser(), shell))


def make_parser() -> ArgumentParser:
    """A parser of the whole command line, only for generating completions."""
    root = ArgumentParser("llmzoo", description="Multi-agent RL for language models.")
    root.add_argument("--version", action="store_true", help="Print the version.")
    root.add_argument(
        "--completion", choices=shtab.SUPPORTED_SHELLS, help="Print a shell completion script."
    )
    subparsers = root.add_subparsers()
    for name, what in COMMANDS.items():
        if " " not in name:
            _add_command(subparsers, name, what)
    return root


def _add_command(parsers: Any, name: str, what: str) -> None:
    """Add a command, and its subcommands below it."""
    command: ArgumentParser = parsers.add_parser(name.split()[-1], help=what)
    subcommands = list_subcommands(name)
    hints = command_hints(name)
    for option in _options_class(name).POSITIONAL:
        many = get_origin(hints[option]) is list
        added = command.add_argument(option, nargs="*" if many else "?")
        _set_completion(added, option, hints[option])
        if subcommands:  # a word after the command is either
            added.choices = [*subcommands, *(added.choices or ())]
    if subcommands:
        subparsers = command.add_subparsers()
        for subcommand in subcommands:
            full_name = f"{name} {subcommand}"
            _add_command(subparsers, full_name, COMMANDS[full_name])
    config: Any = command.add_argument("--config", help="YAML file with any of these options.")
    config.complete = shtab.FILE
    command.add_argument("--print_config", action="store_true", help="Print a configuration.")
    for option, hint in hints.items():
        _add_option(command, option, hint)


def command_hints(command: str) -> dict[str, Any]:
    """The options of a command with their type hints; families such as ``--env.NAME`` left out."""
    hints = option_hints(_options_class(command))
    if command in _RUN_COMMANDS:
        more = option_hints(FitConfig)
        hints = {
            **{name: more[name] for name in more if name not in _RUN_COMMANDS[command]},
            **hints,
        }
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not Mapping}


def _options_class(command: str) -> type[CommandOptions]:
    name = "".join(word.capitalize() for word in command.split())
    options: type[CommandOptions] = load_object(f"{command_module(command)}:{name}Options")
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
