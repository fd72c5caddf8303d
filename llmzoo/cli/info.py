"""``llmzoo info``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmzoo import registry
from llmzoo.cli.arguments import add_cwd_to_path
from llmzoo.cli.installation import print_installation
from llmzoo.cli.listing import print_environments, print_learners
from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json, print_markdown
from llmzoo.cli.reference_docs import environment_arguments_table, environment_docs, learner_docs
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners import list_learners

# an option -> those that cannot be given with it
_EXCLUSIVE = {
    "name": ("machine", "learners", "family", "installed"),
    "machine": ("learners", "family", "installed"),
    "learners": ("family", "installed"),
}


@dataclass(frozen=True, kw_only=True)
class InfoOptions(CommandOptions):
    """List the environments or the learners, or show the page of one of them, or this machine.

    Args:
        name: id of an environment or name of a learner, whose page is shown; can be given first, without
            --name.
        family: only environments of this family, or tasks of this collection.
        installed: list the tasks of other collections too, of those that are installed. It imports
            them, which takes seconds.
        learners: list the learners, each with its credit rule.
        machine: show the installation and the machine: versions, devices, extras and the sandbox.
        json: print JSON instead of text.
    """

    POSITIONAL = ("name",)
    USAGE = "llmzoo info [NAME] [options]"
    EXAMPLES = (
        "llmzoo info",
        "llmzoo info --family games --json",
        "llmzoo info --family textarena",
        "llmzoo info --learners",
        "llmzoo info magrpo",
        "llmzoo info sudoku_v0",
        "llmzoo info --machine",
    )

    name: str | None = None
    family: str | None = None
    installed: bool = False
    learners: bool = False
    machine: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> None:
    given = parse_options("info", argv, InfoOptions)
    for one, others in _EXCLUSIVE.items():
        for other in others:
            if given.get(one) and given.get(other):
                raise ConfigError(
                    f"--{one} and --{other} exclude each other: leave out one of them"
                )
    options = InfoOptions(**given)
    if options.name is not None:
        _print_page(options.name, json=options.json)
    elif options.machine:
        print_installation(json=options.json)
    elif options.learners:
        print_learners(json=options.json)
    else:
        print_environments(options.family, installed=options.installed, json=options.json)


def _print_page(name: str, *, json: bool) -> None:
    """The page of an environment or a learner."""
    add_cwd_to_path(name)
    if name in list_learners():
        kind, text = "learner", learner_docs(name)
    elif (
        registry.is_import_path(name) or registry.is_external(name) or name in registry.list_envs()
    ):
        kind = "environment"
        text = f"{environment_docs(name)}\n\n{environment_arguments_table(name)}"
    else:
        known = [*registry.list_envs(), *list_learners()]
        raise UnknownNameError("environment or learner", name, known)
    if json:
        print_json({"name": name, "kind": kind, "text": text})
    else:
        print_markdown(text)
