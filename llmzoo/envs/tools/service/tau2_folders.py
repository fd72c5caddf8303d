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
from llmzoo.envs.sources import BadField, LoadedTasks
from llmzoo.envs.tasks import TaskList
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.tools import Side
from llmzoo.envs.tools.toolbox import Toolbox
from llmzoo.errors import ConfigError

T = TypeVar("T")
FOLDER_FILE = "tasks.json"
SUBSETS_FILE = "split_tasks.json"
_BASIS = ["DB", "COMMUNICATE"]  # of a record that does not say


class NamedTask(Hashable, Protocol):
    """A task with its id and its goal."""

    @property
    def name(self) -> str: ...
    @property
    def goal(self) -> str: ...


N = TypeVar("N", bound=NamedTask)


class CustomerScript(NamedTuple):
    """What a record says to its customer, in its words."""

    reason: str
    known_info: str
    instructions: str
    persona: str


def load(
    source: str,
    sibling_files: Iterable[str],
    make_reader: Callable[[Path, tuple[int, ...]], Callable[[Mapping[str, Any]], T]],
    on_bad_record: str,
) -> LoadedTasks[T]:
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
    files = [file.parent / name for name in sibling_files]
    changed = tuple(each.stat().st_mtime_ns if each.is_file() else 0 for each in files)
    return sources.load_file(str(file), make_reader(file.parent, changed), on_bad_record)


def select_tasks(
    loaded: LoadedTasks[N],
    source: str,
    intent: str | None,
    subset: str | None,
    canonical: Callable[[N], str],
    split: str,
) -> TaskList[N]:
    """The tasks of an intent and of a subset; raises ``ConfigError`` if there is none."""
    if intent is not None:
        loaded = loaded.filter_tasks(_has_goal, intent, asked=True)
    if subset is not None:
        loaded = loaded.filter_tasks(_has_name_in, _load_subset(source, subset), asked=True)
    if not loaded.tasks:
        raise ConfigError(f"{source} has no task of intent {intent} in the subset {subset}")
    return loaded.task_list(canonical, split)


def parse_file(file: Path, convert: Callable[[Mapping[str, Any]], T]) -> T:
    """What ``convert`` makes of a file of TOML or JSON; raises ``ConfigError``."""
    try:
        text = file.read_text(encoding="utf-8")
        return convert(_parse_toml(text) if file.suffix == ".toml" else json.loads(text))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{file} cannot be read: {type(error).__name__}: {error}") from error


def read_customer_script(record: Mapping[str, Any]) -> CustomerScript:
    """What a record says to its customer; raises ``BadField``."""
    scenario = sources.get_field(record, "user_scenario", dict)
    instructions = sources.get_field(scenario, "instructions", dict)
    return CustomerScript(
        reason=sources.get_field(instructions, "reason_for_call", str),
        known_info=sources.get_field(instructions, "known_info", str),
        instructions=sources.get_field(instructions, "task_instructions", str),
        persona=scenario.get("persona") or "",
    )


def read_reward_basis(criteria: Mapping[str, Any], supported: frozenset[str]) -> frozenset[str]:
    """By what a record is judged; raises ``BadField`` for a judge that is not in ``supported``."""
    given = frozenset(sources.get_strings(criteria, "reward_basis", _BASIS))
    if not given or not given <= supported:
        names = ", ".join(sorted(supported))
        raise BadField("reward_basis", f"must be of {names}; it has {', '.join(sorted(given))}")
    return given


def read_objects(record: Mapping[str, Any], name: str) -> list[Any]:
    """A list of objects, or none; raises ``BadField``."""
    found = record.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise BadField(name, "must be a list of objects")
    return found


def read_reference_call(record: Mapping[str, Any], tools: Mapping[Side, Toolbox]) -> ToolCall:
    """A call of the reference; raises ``BadField``."""
    side = record.get("requestor", "assistant")
    name = sources.get_field(record, "name", str)
    if side not in tools or name not in tools[side].tools:
        raise BadField("actions", f"has {side} {name!r}, which is no tool")
    return ToolCall(name, sources.get_field(record, "arguments", dict))


def _load_subset(source: str, name: str) -> frozenset[str]:
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


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError as error:  # Python 3.10
        raise ValueError("Python reads TOML from 3.11 on; give it as .json") from error
    return tomllib.loads(text)


def _has_goal(task: NamedTask, intent: str) -> bool:
    return task.goal == intent


def _has_name_in(task: NamedTask, names: frozenset[str]) -> bool:
    return task.name in names
