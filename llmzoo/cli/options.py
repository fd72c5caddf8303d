"""Reads a command line: typed dataclasses, YAML files, and errors that name the nearest option.

A command's options are the fields of dataclasses; their help texts are the ``Args`` section of the
docstrings. ``--env.NAME``, ``--learner.NAME``, ``--lora.NAME`` and
``--agent.AGENT.NAME`` fill the mappings ``env_args``, ``learner_args``, ``lora_args`` and ``agent_args``, ``--source`` is
``--env.source``, dashes in a name are as good as underscores, a list is ``a,b`` or ``[a,b]``, and a
switch needs no value.
"""

from __future__ import annotations

import json
import re
from argparse import ArgumentError, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import yaml
from jsonargparse import ActionConfigFile, ArgumentParser, DefaultHelpFormatter

from llmzoo.cli import COMMANDS
from llmzoo.cli.installed_configs import resolve_config_paths
from llmzoo.cli.yaml_bounds import MAX_BYTES, BoundsError, check_bounds
from llmzoo.errors import ConfigError, LlmzooError, UnknownNameError
from llmzoo.fields import field_names
from llmzoo.names import check_names

_MAPPING_FAMILIES = {
    "env": "env_args",
    "learner": "learner_args",
    "agent": "agent_args",
    "lora": "lora_args",
    "sampler": "sampler_args",
    "engine": "engine_args",
    "opponents": "opponents_args",
    "curriculum": "curriculum_args",
}
_TEXTS = ("system", "thought_end")  # settings of an agent that are texts, even "Note: be brief"
_NESTED_DOT = "/"  # stands for the dot between a mapping's name in a family and a name in it
_TYPE_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_ALIASES = {"source": "env.source"}  # a short form, because it is used often
# the name in one command -> the name of the same thing in another
_OTHER_COMMANDS_NAMES = {
    "env": "envs",
    "learner": "learners",
    "seed": "seeds",
    "tasks": "eval_tasks",
    "eval_tasks": "tasks",
    "split": "eval_split",
    "eval_split": "split",
}
_NO_LISTS = ("stop",)  # a comma may be a part of the text


class CommandOptions:
    """Base class of the options of a command, which are dataclasses."""

    POSITIONAL: tuple[str, ...] = ()  # options that may be given first, without their names
    USAGE: str | None = None  # the first line of the help; None is the usual one
    EXAMPLES: tuple[str, ...] = ()  # commands at the end of the help


def parse_options(
    command: str,
    argv: Sequence[str],
    options: type[CommandOptions],
    *others: type,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """The options given on a command line and in its configuration files, without defaults.

    The keys are fields of ``options`` and of the dataclasses ``others``, except the fields of
    ``others`` named in ``without``. An option of ``options.FIRST`` that takes a list takes all
    words up to the first option. Raises :class:`ConfigError` or :class:`UnknownNameError`;
    ``--help`` and ``--print_config`` print and exit.
    """
    hints = option_hints(options)
    for cls in others:
        hints |= {name: h for name, h in option_hints(cls).items() if name not in without}
    argv = resolve_config_paths(
        _normalize_argv(_name_positionals(argv, options.POSITIONAL, hints), hints)
    )
    _check_files(argv, hints)
    parser = ArgumentParser(
        prog=f"llmzoo {command}",
        usage=options.USAGE or f"llmzoo {command} [options]",
        epilog=_format_epilog(command, options.EXAMPLES),
        formatter_class=_Help,
        exit_on_error=False,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--config", action=ActionConfigFile, help="YAML file with any of these options."
    )
    for cls in others:
        parser.add_class_arguments(cls, skip=set(without))
    parser.add_class_arguments(options)
    try:
        given = parser.parse_args(argv, defaults="--print_config" in argv)
    except ArgumentError as error:
        raise ConfigError(_explain_parser_error(_one_line(str(error)), hints)) from None
    values = {name: value for name, value in given.as_dict().items() if name != "config"}
    for name in set(_MAPPING_FAMILIES.values()) & set(values):
        values[name] = _nest(values[name])
    for agent, value in values.get("agent_args", {}).items():
        if not isinstance(value, Mapping):
            raise ConfigError(
                f"--agent.{agent} must name a setting: --agent.{agent}.learning_rate 1e-4"
            )
        values["agent_args"][agent] = {**_nest(value, "."), **_agent_text_settings(argv, agent)}
    return values


def _format_epilog(command: str, examples: Sequence[str]) -> str:
    """The end of a command's help: its subcommands and its examples."""
    below = [
        f"  {name:<24}{what}" for name, what in COMMANDS.items() if name.startswith(f"{command} ")
    ]
    subcommands = ["subcommands:", *below, ""] if below else []
    return "\n".join([*subcommands, "examples:", *(f"  {line}" for line in examples)])


class _Help(DefaultHelpFormatter, RawDescriptionHelpFormatter):
    """Keeps the lines of the examples."""


def check_types(hints: Mapping[str, Any], values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """``values`` checked against type hints; an unknown name is refused with the nearest.

    ``what`` says whose names they are, such as ``"option of learner 'grpo'"``.
    """
    check_names(what, values, hints)
    checked = {}
    for name, value in values.items():
        parser = ArgumentParser(exit_on_error=False)
        parser.add_argument(f"--{name}", type=hints[name])
        try:
            if isinstance(value, str) and _is_text_list(hints[name]) and name not in _NO_LISTS:
                value = parse_names(value)
            # as plain mappings, also where a hint names a dataclass
            checked[name] = parser.parse_object({name: value}).as_dict()[name]
        except ArgumentError:
            wanted = describe_type(hints[name])
            raise ConfigError(f"{what} {name!r} must be {wanted}, got {value!r}") from None
    return checked


def describe_type(hint: Any) -> str:
    """What a value of a type looks like."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in _TYPE_WORDS:
        return _TYPE_WORDS[kind]
    if kind is Callable:
        return "a function"
    if kind is Literal:
        values = ", ".join(map(str, inner))
        return f"one of {values}" if len(inner) > 1 else values
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "a mapping of names to values"
    if isinstance(kind, type) and issubclass(kind, Sequence):
        if inner[:1] == (str,):
            return "a list of texts, such as [a, b]"
        of_mappings = inner and issubclass(get_origin(inner[0]) or inner[0], Mapping)
        return "a list of mappings" if of_mappings else "a list"
    alternatives = [describe_type(one) for one in inner if one is not NoneType]
    return " or ".join(alternatives) or str(hint)


def parse_names(value: str | int | Sequence[str | int]) -> list[str]:
    """``"a,b"``, ``"[a,b]"`` or a list, as a list of strings."""
    if isinstance(value, str):
        value = value.strip().removeprefix("[").removesuffix("]").split(",")
    parts = value
    return [str(p).strip() for p in (parts if isinstance(parts, Sequence) else [parts])]


def parse_seeds(value: str | int | Sequence[str | int]) -> list[int]:
    """Seeds, in the forms of :func:`parse_names`. Raises :class:`ConfigError` for values that are not integers,
    and for a seed that is given twice."""
    given = parse_names(value)
    try:
        seeds = [int(seed) for seed in given]
    except ValueError:
        joined = ", ".join(given)
        raise ConfigError(f"--seeds must be integers separated by commas, got {joined!r}") from None
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"--seeds has a seed twice: {', '.join(given)}")
    return seeds


def _is_text_list(hint: Any) -> bool:
    """Whether a type is a list of texts, and nothing else."""
    kind = get_origin(hint)
    return isinstance(kind, type) and issubclass(kind, Sequence) and get_args(hint)[0] is str


def option_hints(cls: type) -> dict[str, Any]:
    """The type hints of the fields of a dataclass."""
    known = field_names(cls)
    return {name: hint for name, hint in get_type_hints(cls).items() if name in known}


def _name_positionals(
    argv: Sequence[str], first: Sequence[str], hints: Mapping[str, Any]
) -> list[str]:
    """``env my_game --out x`` as ``--kind env --name my_game --out x``."""
    named: list[str] = []
    rest = list(argv)
    switches: list[str] = []  # before the words, as in --attack ENV
    while _is_switch(rest, hints):
        switches.append(rest.pop(0))
    words = [*takewhile(lambda token: not token.startswith("-"), rest)]
    for option in first[: len(words)]:
        if get_origin(hints[option]) is list:
            named.append(f"--{option}={json.dumps(words)}")
            return [*named, *switches, *rest[len(words) :]]
        named += [f"--{option}", rest.pop(0)]
    return [*named, *switches, *rest]


def _is_switch(argv: Sequence[str], hints: Mapping[str, Any]) -> bool:
    """Whether a command line begins with a switch that has no value."""
    name = argv[0].removeprefix("--").replace("-", "_") if argv else ""
    return (
        hints.get(name) is bool and argv[0][:2] == "--" and argv[1:2] not in (["true"], ["false"])
    )


def _normalize_argv(argv: Sequence[str], hints: Mapping[str, Any]) -> list[str]:
    """The command line as the parser wants it; an unknown option is refused."""
    known = {*hints, "help", "config", "print_config"}
    normal = []
    joined_index = -1  # the index of a value that has been joined to its option
    for index, token in enumerate(argv):
        if index == joined_index:
            continue
        if not token.startswith("--") or token == "--":
            normal.append(token)
            continue
        option, equals, value = token.removeprefix("--").partition("=")
        option = _ALIASES.get(option, option) if "env_args" in hints else option
        root, dot, rest = option.replace("-", "_").partition(".")
        if dot and _MAPPING_FAMILIES.get(root) in hints:
            root = _MAPPING_FAMILIES[root]
        if root not in known and not dot:
            root = _OTHER_COMMANDS_NAMES.get(root, root)
        if root not in known:
            raise _unknown_option_error(option, root, hints, known, argv)
        following = argv[index + 1] if index + 1 < len(argv) else ""
        switch = hints.get(root) is bool and following not in ("true", "false")
        if not equals and (switch or (dot and following[:2] in ("", "--"))):
            equals, value = "=", "true"
        if (
            not dot
            and _is_text_list(hints.get(root))
            and (equals or following[:2] not in ("", "--"))
        ):
            value, joined_index = (value, joined_index) if equals else (following, index + 1)
            equals, value = "=", value if value.startswith("[") else json.dumps(parse_names(value))
        # without this the parser would replace a nested mapping by the one entry that is given
        normal.append(f"--{root}{dot}{rest.replace('.', _NESTED_DOT)}{equals}{value}")
    return normal


# what other tools call an option
_OTHER_TOOLS_NAMES = {
    "lr": "learner.learning_rate",
    "learning_rate": "learner.learning_rate",
    "batch_size": "episodes_per_step",
    "per_device_train_batch_size": "episodes_per_step",
    **dict.fromkeys(("num_generations", "group_size", "k", "n"), "learner.group_size"),
    **dict.fromkeys(("beta", "kl", "kl_coef"), "learner.kl"),
    **dict.fromkeys(("epochs", "num_train_epochs"), "learner.epochs"),
    **dict.fromkeys(("max_steps", "iterations", "num_steps"), "steps"),
    **dict.fromkeys(("max_tokens", "max_completion_length"), "max_new_tokens"),
    **dict.fromkeys(("output_dir", "output", "save_dir"), "out"),
    **dict.fromkeys(("model_name", "model_name_or_path"), "model"),
    **dict.fromkeys(("dtype", "bf16"), "precision"),
    **dict.fromkeys(("rank", "lora_rank", "lora_r"), "lora.r"),
    **dict.fromkeys(("num_tasks", "limit"), "tasks"),
}


def _unknown_option_error(
    option: str,
    root: str,
    hints: Mapping[str, Any],
    known: Collection[str],
    argv: Sequence[str],
) -> LlmzooError:
    """The error for an unknown option: what it is called here, or the nearest."""
    name_here = _OTHER_TOOLS_NAMES.get(root, "")
    if not name_here and "env_args" in hints and root in _env_argument_names(argv):
        name_here = f"env.{root}"
    family, dot, _ = name_here.partition(".")
    if (_MAPPING_FAMILIES.get(family, family) if dot else name_here) in hints:
        return ConfigError(f"unknown option '--{option}'. Did you mean '--{name_here}'?")
    return UnknownNameError("option", f"--{option}", [f"--{name}" for name in known])


def _env_argument_names(argv: Sequence[str]) -> Collection[str]:
    """The arguments of the environment that a command line names, or of the usual one."""
    from llmzoo import registry

    given = [value for name, value in pairwise(argv) if name == "--env"]
    env = given[-1] if given and given[-1] in registry.list_envs() else "sudoku_v0"
    return registry.argument_types(registry.spec(env)) or ()


class _DuplicateKeyError(yaml.YAMLError):
    """A key occurs twice in a mapping."""


class _UniqueKeyLoader(yaml.SafeLoader):
    """Refuses a mapping with a duplicate key, of which YAML would take the last value."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        counts = Counter(str(key.value) for key, _ in node.value)
        twice = next((key for key, count in counts.items() if count > 1), None)
        if twice is not None:
            raise _DuplicateKeyError(f"{twice!r} occurs twice{node.start_mark}")
        return node


def _check_files(argv: Sequence[str], hints: Mapping[str, Any]) -> None:
    """Refuse configuration files that cannot be read or hold an unknown key, or one twice."""
    for index, token in enumerate(argv):
        if token == "--config":
            name = argv[index + 1] if index + 1 < len(argv) else ""
        elif token.startswith("--config="):
            name = token.partition("=")[2]
        else:
            continue
        try:
            with Path(name).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            check_bounds(data)
            content = yaml.load(data, _UniqueKeyLoader)
        except OSError as error:
            raise ConfigError(f"--config {name}: {error.strerror}") from None
        except BoundsError as error:
            raise ConfigError(f"--config {name} {error}, and is not read") from None
        except _DuplicateKeyError as error:
            raise ConfigError(f"--config {name}: {_one_line(str(error))}") from None
        except yaml.YAMLError as error:
            raise ConfigError(f"--config {name} is not YAML: {_one_line(str(error))}") from None
        if not isinstance(content, Mapping):
            raise ConfigError(f"--config {name} must hold a mapping of options to values")
        for key in content:
            if key not in hints:
                raise UnknownNameError(f"key of {name},", str(key), hints)


def _nest(values: Mapping[str, Any], dot: str = _NESTED_DOT) -> dict[str, Any]:
    """``{"a/b": 1, "a": {"c": 2}}``, as the parser leaves it, as ``{"a": {"b": 1, "c": 2}}``."""
    nested: dict[str, Any] = {}
    for name, value in values.items():
        outer, separator, inner = name.partition(dot)
        part = {inner.replace(_NESTED_DOT, "."): value} if separator else value
        before = nested.get(outer, {})
        both = isinstance(before, Mapping) and isinstance(part, Mapping)
        nested[outer] = {**before, **part} if both else part
    return nested


def _agent_text_settings(argv: Sequence[str], agent: str) -> dict[str, str]:
    """The settings of an agent that are texts, as they stand on the command line.

    The parser knows no types inside a mapping, and reads a text with a colon as a mapping.
    """
    texts = {}
    for token, following in zip(argv, [*argv[1:], ""], strict=True):
        option, equals, value = token.partition("=")
        for name in _TEXTS:
            if option == f"--agent_args.{agent}{_NESTED_DOT}{name}":
                texts[name] = value if equals else following
    return texts


def _explain_parser_error(message: str, hints: Mapping[str, Any]) -> str:
    """A clear message for the parser's error about a value; any other message unchanged."""
    match = re.search(r'Parser key "(\w+)":.*(?:Got|Given) value: (.*)$', message)
    if match is None or match[1] not in hints:
        return message
    return f"--{match[1]} must be {describe_type(hints[match[1]])}, got {match[2]}"


def _one_line(message: str) -> str:
    return " ".join(message.split())
