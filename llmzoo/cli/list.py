"""``llmzoo list``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmzoo import registry
from llmzoo.adapters import external
from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json, print_table
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners import learner_summary, list_learners
from llmzoo.registry import EnvSpec


@dataclass(frozen=True, kw_only=True)
class ListOptions(CommandOptions):
    """List the environments or the learners.

    Args:
        family: only environments of this family, or tasks of this collection.
        installed: list the tasks of other collections too, of those that are installed. It imports
            them, which takes seconds.
        learners: list the learners, each with its credit rule.
        json: print a JSON list instead of a table.
    """

    EXAMPLES = (
        "llmzoo list",
        "llmzoo list --family games --json",
        "llmzoo list --family textarena",
        "llmzoo list --learners",
    )

    family: str | None = None
    installed: bool = False
    learners: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = ListOptions(**parse_options("list", argv, ListOptions))
    if options.learners:
        if options.family is not None or options.installed:
            raise ConfigError(
                "--family and --installed are about environments, and --learners about learners"
            )
        _list_learners(options)
        return
    families = {registry.spec(id).family for id in registry.list_envs()}
    if options.family is not None and options.family not in {
        *families,
        *registry.EXTERNAL_COLLECTIONS,
    }:
        raise UnknownNameError(
            "family", options.family, {*families, *registry.EXTERNAL_COLLECTIONS}
        )
    specs = [registry.spec(id) for id in registry.list_envs(options.family)]
    specs += _external_specs(options)
    if options.json:
        print_json(
            [
                {"id": s.id, "family": s.family, "agents": list(s.agents), "summary": s.summary}
                for s in specs
            ]
        )
        return
    rows = []
    family = ""
    for s in sorted(specs, key=lambda s: s.family):  # each family named once, above its ids
        rows.append([s.family if s.family != family else "", s.id, ", ".join(s.agents), s.summary])
        family = s.family
    print_table(("family", "id", "agents", "summary"), rows)
    print("learners:", ", ".join(list_learners()))


def _external_specs(options: ListOptions) -> list[EnvSpec]:
    """The tasks of other collections that are asked for, without those that are refused."""
    if options.family in registry.EXTERNAL_COLLECTIONS:
        asked = [options.family]
    elif options.installed and options.family is None:
        asked = [name for name in registry.EXTERNAL_COLLECTIONS if external.is_installed(name)]
    else:
        asked = []
    return [
        EnvSpec(
            id=f"{name}:{task}",
            entry_point="",
            family=name,
            agents=known.agents,
            summary=known.summary,
        )
        for name in asked
        for task, known in external.load_collection(name).tasks().items()
        if not known.refused
    ]


def _list_learners(options: ListOptions) -> None:
    rows = [(name, learner_summary(name)) for name in list_learners()]
    if options.json:
        print_json([{"name": name, "summary": summary} for name, summary in rows])
    else:
        print_table(("learner", "summary"), rows)
