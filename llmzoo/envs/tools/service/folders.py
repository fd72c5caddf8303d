"""Folders of tau2-bench: a file of tasks, the database beside it, and lists of the tasks of subsets.

A task's record has ``user_scenario`` with its ``instructions``, ``initial_state`` and ``evaluation_criteria``
with ``actions`` and ``reward_basis`` (arXiv 2506.07982).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from llmzoo.envs import record_files, sources
from llmzoo.envs.sources import BadField, Loaded
from llmzoo.envs.tasks import Listed
from llmzoo.envs.tools.service.toolset import Call, Toolset
from llmzoo.errors import ConfigError

T = TypeVar("T")
FOLDER_FILE = "tasks.json"
SUBSETS_FILE = "split_tasks.json"
_BASIS = ["DB", "COMMUNICATE"]  # of a record that does not say


class Named(Hashable, Protocol):
    """A task with its id and its goal."""

    @property
    def name(self) -> str: ...
    @property
    def goal(self) -> str: ...


N = TypeVar("N", bound=Named)


class Told(NamedTuple):
    """What a record says to its customer, in its words."""

    reason: str
    known: str
    instructions: str
    persona: str


def load(
    source: str,
    beside: Iterable[str],
    reader: Callable[[Path, tuple[int, ...]], Callable[[Mapping[str, Any]], T]],
    on_bad_record: str,
) -> Loaded[T]:
    """The tasks of a folder or file; raises ``ConfigError``.

    beside: names of files that the tasks are about. reader: makes a reader of records of the folder and the
    times at which these files were changed; it is cached, and so are the tasks.
    """
    place = Path(source)
    file = place / FOLDER_FILE if place.is_dir() else place
    if not record_files.is_record_file(str(file)) or not file.is_file():
        raise ConfigError(
            f"source must be 'generator', a folder with {FOLDER_FILE}, or a file of such tasks; got {source!r}"
        )
    files = [file.parent / name for name in beside]
    changed = tuple(each.stat().st_mtime_ns if each.is_file() else 0 for each in files)
    return sources.load_file(str(file), reader(file.parent, changed), on_bad_record)


def chosen(
    loaded: Loaded[N],
    source: str,
    intent: str | None,
    subset: str | None,
    canonical: Callable[[N], str],
    split: str,
) -> Listed[N]:
    """The tasks of an intent and of a subset; raises ``ConfigError`` if there is none."""
    if intent is not None:
        loaded = loaded.those(_is_about, intent, asked=True)
    if subset is not None:
        loaded = loaded.those(_is_named, _subset(source, subset), asked=True)
    if not loaded.tasks:
        raise ConfigError(f"{source} has no task of intent {intent} in the subset {subset}")
    return loaded.listed(canonical, split)


def parsed(file: Path, made: Callable[[Mapping[str, Any]], T]) -> T:
    """What ``made`` makes of a file of TOML or JSON; raises ``ConfigError``."""
    try:
        text = file.read_text(encoding="utf-8")
        return made(_toml(text) if file.suffix == ".toml" else json.loads(text))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{file} cannot be read: {type(error).__name__}: {error}") from error


def told(record: Mapping[str, Any]) -> Told:
    """What a record says to its customer; raises ``BadField``."""
    scenario = sources.field(record, "user_scenario", dict)
    given = sources.field(scenario, "instructions", dict)
    return Told(
        reason=sources.field(given, "reason_for_call", str),
        known=sources.field(given, "known_info", str),
        instructions=sources.field(given, "task_instructions", str),
        persona=scenario.get("persona") or "",
    )


def basis(criteria: Mapping[str, Any], judged: frozenset[str]) -> frozenset[str]:
    """By what a record is judged; raises ``BadField`` for a judge that is not in ``judged``."""
    given = frozenset(sources.texts(criteria, "reward_basis", _BASIS))
    if not given or not given <= judged:
        names = ", ".join(sorted(judged))
        raise BadField("reward_basis", f"must be of {names}; it has {', '.join(sorted(given))}")
    return given


def objects(record: Mapping[str, Any], name: str) -> list[Any]:
    """A list of objects, or none; raises ``BadField``."""
    found = record.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise BadField(name, "must be a list of objects")
    return found


def action(given: Mapping[str, Any], tools: Toolset[Any]) -> Call:
    """A call of the reference; raises ``BadField``."""
    side = given.get("requestor", "assistant")
    name = sources.field(given, "name", str)
    if name not in tools.tools.get(side, {}):
        raise BadField("actions", f"has {side} {name!r}, which is no tool")
    return Call(side, name, sources.field(given, "arguments", dict))


def _subset(source: str, name: str) -> frozenset[str]:
    """The ids that the file of subsets beside a source lists under a name; raises ``ConfigError``."""
    place = Path(source)
    file = (place if place.is_dir() else place.parent) / SUBSETS_FILE
    try:
        lists = json.loads(file.read_text(encoding="utf-8"))
        return frozenset(lists[name])
    except (OSError, ValueError) as error:
        raise ConfigError(f"subset {name!r} needs {file}, which cannot be read: {error}") from error
    except (KeyError, TypeError) as error:
        known = ", ".join(lists) if isinstance(lists, dict) else "none"
        raise ConfigError(f"{file} has no subset {name!r}; it has: {known}") from error


def _toml(text: str) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError as error:  # Python 3.10
        raise ValueError("Python reads TOML from 3.11 on; give it as .json") from error
    return tomllib.loads(text)


def _is_about(task: Named, intent: str) -> bool:
    return task.goal == intent


def _is_named(task: Named, names: frozenset[str]) -> bool:
    return task.name in names
