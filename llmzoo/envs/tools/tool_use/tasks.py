"""Where questions come from: families that make them, or a user's own list or file.

A user's record has ``question`` and ``answer`` (a number or a text, or a list if several are right). It
may have ``tools`` (the names of the tools that it needs, one for each call) and ``files`` (path and text
of each file that exists at the start).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.record_files import SUFFIXES, is_record_file
from llmzoo.envs.sources import BadField, LoadedTasks
from llmzoo.envs.tasks import GeneratedTasks, Tasks, generate_tasks
from llmzoo.envs.text import replace_surrogates
from llmzoo.envs.tools.file_tools import make_folder
from llmzoo.envs.tools.tool_use.families import FAMILIES, Family
from llmzoo.envs.tools.tool_use.questions import (
    ExpectedAnswer,
    NeededCall,
    ToolQuestion,
    format_number,
)
from llmzoo.errors import ConfigError, UnknownNameError

_MAX_ANSWER = 1e300  # a number, so that it is finite and can be written

TaskSource = str | Sequence[Mapping[str, Any]]  # a file, or records


def load_questions(
    source: TaskSource | None,
    *,
    family: str | None,
    calls: int | None,
    tools: frozenset[str],
    split: str,
    on_bad_record: str = "error",
) -> Tasks[ToolQuestion]:
    """The questions of a split. ``tools``: the names of the tools at hand, which must suffice."""
    if source is None:
        return _generate(family, calls, tools, split)
    if family is not None or calls is not None:
        raise ConfigError("family and calls choose among our questions; leave them out with tasks=")
    loaded = _load_own(source, on_bad_record)
    for question in loaded.tasks:
        missing = {tool for step in question.steps for tool in step.tools} - tools
        if question.files:
            missing |= {"read_file"} - tools
        if missing:
            raise ConfigError(
                f"the question {question.text[:60]!r} needs {', '.join(sorted(missing))}, which is "
                f"not among the tools: {', '.join(sorted(tools))}"
            )
    return loaded.task_list(content, split)


def content(question: ToolQuestion) -> str:
    return question.content


def _generate(
    family: str | None, calls: int | None, tools: frozenset[str], split: str
) -> GeneratedTasks[ToolQuestion]:
    if family is not None and family not in FAMILIES:
        raise UnknownNameError("family", family, FAMILIES)
    if calls not in (None, 1, 2, 3, 4):
        raise ConfigError(f"calls must be None or from 1 to 4, got {calls!r}")
    chosen = {
        name: each
        for name, each in FAMILIES.items()
        if family in (None, name) and calls in (None, len(each.tools)) and tools >= {*each.tools}
    }
    if not chosen:
        raise ConfigError(
            f"no family of questions fits family={family!r}, calls={calls!r} and the tools "
            f"{', '.join(sorted(tools)) or '(none)'}; with tools of your own give tasks= too"
        )
    name = f"tool_use {' '.join(chosen)}"
    return generate_tasks(
        _sample_question, content, split=split, name=name, families=tuple(chosen.values())
    )


def _sample_question(rng: random.Random, families: Sequence[Family]) -> ToolQuestion:
    return rng.choice(families).draw(rng)


def _load_own(source: TaskSource, on_bad_record: str) -> LoadedTasks[ToolQuestion]:
    if isinstance(source, str):
        if not is_record_file(source):
            raise ConfigError(
                "tasks must be a list, or a file whose name ends in one of "
                f"{', '.join(SUFFIXES)}; got {source!r}"
            )
        return sources.load_file(source, _parse_question, on_bad_record)
    if isinstance(source, Mapping):
        raise ConfigError("tasks must be a list of records, got one record: put it in a list")
    numbered = ((f"tasks: {number}", record) for number, record in enumerate(source, start=1))
    return sources.parse_records(
        numbered, _parse_question, "own tasks", on_bad_record=on_bad_record, unique=True
    )


def _parse_question(record: Mapping[str, Any]) -> ToolQuestion:
    text = sources.get_field(record, "question", str)
    if replace_surrogates(text) != text:
        raise BadField("question", "holds half a character (of a surrogate pair)")
    files = sources.get_field(record, "files", dict, {})
    if not all(isinstance(each, str) for pair in files.items() for each in pair):
        raise BadField("files", "must map paths to texts")
    try:
        make_folder(files)
    except ConfigError as error:
        raise BadField("files", f"cannot be: {error}") from error
    return ToolQuestion(
        text=text,
        target=_parse_target(record.get("answer")),
        steps=tuple(NeededCall((tool,)) for tool in sources.get_strings(record, "tools", [])),
        family="own",
        content=" ".join(text.split()),
        files=tuple(files.items()),
    )


def _parse_target(answer: Any) -> ExpectedAnswer:
    several = answer if isinstance(answer, list) else [answer]
    if several and all(
        isinstance(each, int | float) and type(each) is not bool and abs(each) < _MAX_ANSWER
        for each in several
    ):
        return ExpectedAnswer(tuple(map(format_number, several)), 0.0)
    if several and all(isinstance(each, str) and each.strip() for each in several):
        return ExpectedAnswer(tuple(several))
    raise BadField("answer", "must be a number or a text, or a list of one kind")
