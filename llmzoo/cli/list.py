"""``llmzoo list``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmzoo import registry
from llmzoo.cli.options import read
from llmzoo.cli.output import as_json, as_table
from llmzoo.learners import list_learners


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Which environments there are.

    Args:
        family: only those of this family.
        json: print a JSON list instead of a table.
    """

    family: str | None = None
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = Options(**read("list", argv, Options))
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
