"""The lists of environments and learners: ``llmzoo info`` without a name."""

from __future__ import annotations

from llmzoo import registry
from llmzoo.adapters import external
from llmzoo.cli.output import print_json, print_table
from llmzoo.errors import UnknownNameError
from llmzoo.learners import learner_summary, list_learners
from llmzoo.registry import EnvSpec


def print_environments(family: str | None, *, installed: bool, json: bool) -> None:
    """Print the environments by family, then the names of the learners."""
    families = {registry.spec(id).family for id in registry.list_envs()}
    families |= {*registry.EXTERNAL_COLLECTIONS}
    if family is not None and family not in families:
        raise UnknownNameError("family", family, families)
    specs = [registry.spec(id) for id in registry.list_envs(family)]
    specs += _external_specs(family, installed)
    if json:
        print_json(
            [
                {"id": s.id, "family": s.family, "agents": list(s.agents), "summary": s.summary}
                for s in specs
            ]
        )
        return
    rows = []
    last_family = ""
    for s in sorted(specs, key=lambda s: s.family):  # each family named once, above its ids
        rows.append(
            [s.family if s.family != last_family else "", s.id, ", ".join(s.agents), s.summary]
        )
        last_family = s.family
    print_table(("family", "id", "agents", "summary"), rows)
    print("learners:", ", ".join(list_learners()))


def print_learners(*, json: bool) -> None:
    """Print each learner with its credit rule."""
    rows = [(name, learner_summary(name)) for name in list_learners()]
    if json:
        print_json([{"name": name, "summary": summary} for name, summary in rows])
    else:
        print_table(("learner", "summary"), rows)


def _external_specs(family: str | None, installed: bool) -> list[EnvSpec]:
    """The tasks of other collections that are asked for, without those that are refused."""
    if family in registry.EXTERNAL_COLLECTIONS:
        collections = [family]
    elif installed and family is None:
        collections = [
            name for name in registry.EXTERNAL_COLLECTIONS if external.is_installed(name)
        ]
    else:
        collections = []
    return [
        EnvSpec(
            id=f"{name}:{task}",
            entry_point="",
            family=name,
            agents=known.agents,
            summary=known.summary,
        )
        for name in collections
        for task, known in external.load_collection(name).tasks().items()
        if not known.refused
    ]
