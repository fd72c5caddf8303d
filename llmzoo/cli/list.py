"""``llmzoo list``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmzoo import registry
from llmzoo.cli.options import CommandOptions, read
from llmzoo.cli.output import as_json, as_table
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners import learner_class, list_learners


@dataclass(frozen=True, kw_only=True)
class ListOptions(CommandOptions):
    """List the environments or the learners.

    Args:
        family: only environments of this family.
        learners: list the learners, each with its credit rule.
        json: print a JSON list instead of a table.
    """

    EXAMPLES = (
        "llmzoo list",
        "llmzoo list --family games --json",
        "llmzoo list --learners",
    )

    family: str | None = None
    learners: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = ListOptions(**read("list", argv, ListOptions))
    if options.learners:
        if options.family is not None:
            raise ConfigError(
                "--family and --learners exclude each other: only environments have families"
            )
        _list_learners(options)
        return
    families = {registry.spec(id).family for id in registry.list_envs()}
    if options.family is not None and options.family not in families:
        raise UnknownNameError("family", options.family, families)
    specs = [registry.spec(id) for id in registry.list_envs(options.family)]
    if options.json:
        as_json(
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
    as_table(("family", "id", "agents", "summary"), rows)
    print("learners:", ", ".join(list_learners()))


def _list_learners(options: ListOptions) -> None:
    rows = []
    for name in list_learners():
        summary = (learner_class(name).__doc__ or "").strip().splitlines()[0]
        rows.append((name, summary))
    if options.json:
        as_json([{"name": name, "summary": summary} for name, summary in rows])
    else:
        as_table(("learner", "summary"), rows)
