"""Dialogues: records of BFCL's multi-turn files, each joined with its ground truth.

A record holds ``question`` (a list of messages for each user turn), ``initial_config`` (the state of each
API), ``involved_classes`` (the APIs), ``path`` (the functions that the dialogue was made from), for the
category miss_func ``missed_function`` (functions by the turn that brings them), and ``ground_truth`` (a list
of calls, as text, for each turn).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from llmzoo.envs import record_files, sources
from llmzoo.envs.record_files import BadRecord, NamedRecord
from llmzoo.envs.sources import BadField, Loaded, PublicSet
from llmzoo.envs.tools.bfcl.tasks import HUB_ID, both_files
from llmzoo.envs.tools.bfcl_multi_turn.apis import APIS
from llmzoo.envs.tools.bfcl_multi_turn.apis.base import Padding, functions_of
from llmzoo.envs.tools.bfcl_multi_turn.execution import (
    Call,
    World,
    built,
    copied,
    execute,
    read_call,
)
from llmzoo.errors import ConfigError

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
ANSWERS = "possible_answer"  # the folder of the ground truths, with the same names of files

Given = Mapping[bytes, int]  # how often each response was given, by the response's digest


@dataclass(frozen=True, eq=False, slots=True)
class Dialogue:
    """A task.

    turns: what the user writes in each turn; "" in a turn that brings functions.
    missed: the names of the functions that a turn brings.
    truths: the calls of each turn's ground truth.
    path: the functions that the dialogue was made from, by which it is put in a split.
    """

    name: str
    category: str
    turns: tuple[str, ...]
    apis: tuple[str, ...]
    config: Mapping[str, Any]
    truths: tuple[tuple[Call, ...], ...]
    missed: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    path: tuple[str, ...] = ()

    def start(self, padding: Padding | None) -> World:
        """The state before the first turn. ``padding`` counts in a long context only."""
        return built(self.apis, self.config, padding if self.category == "long_context" else None)


@dataclass(frozen=True, eq=False, slots=True)
class Truth:
    """What a turn's ground truth responds, and the state after it."""

    given: Given
    world: World


def counted(responses: Iterable[str], before: Given | None = None) -> Given:
    """How often each response was given, and ``before``. Digests take less room than long responses."""
    digests = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for text in responses
    )
    return Counter(before or {}) + Counter(digests)


@lru_cache(maxsize=1_024)
def truths(dialogue: Dialogue, padding: Padding | None) -> tuple[Truth, ...]:
    """The turns of the ground truth, played. Shared, and not to be changed."""
    world, played = dialogue.start(padding), []
    for calls in dialogue.truths:
        world = copied(world)
        played.append(Truth(counted(execute(calls, world)), world))
    return tuple(played)


def canonical(dialogue: Dialogue) -> str:
    """The functions that a dialogue was made from. The variants of a dialogue (a function or a parameter
    missing, a long context) have the same, and so are in one split."""
    return json.dumps(dialogue.path)


def content(dialogue: Dialogue) -> str:
    """All of a dialogue but its name. Tasks with the same content are one task."""
    calls = [[[c.name, c.positional, c.arguments] for c in turn] for turn in dialogue.truths]
    parts = [dialogue.category, dialogue.turns, dialogue.apis, dialogue.config, calls]
    return json.dumps(
        [*parts, {str(k): v for k, v in dialogue.missed.items()}], sort_keys=True, default=repr
    )


def read(record: Mapping[str, Any]) -> Dialogue:
    """The task of a record; raises ``BadField``."""
    name = sources.identifier(record)
    turns = sources.field(record, "question", list)
    apis = sources.texts(record, "involved_classes")
    for api in apis:
        if api not in APIS:
            known = ", ".join(APIS)
            raise BadField("involved_classes", f"has {api!r}; the APIs that are played are {known}")
    calls = _truths(record, len(turns))
    missed = _missed(record, len(turns))
    callable_names = {function for api in apis for function in functions_of(APIS[api])}
    for function in (*(c.name for turn in calls for c in turn), *sum(missed.values(), ())):
        if function not in callable_names:
            raise BadField(
                "ground_truth",
                f"or missed_function names {function!r}, which no API of the record has",
            )
    path = sources.texts(record, "path", []) or tuple(c.name for turn in calls for c in turn)
    dialogue = Dialogue(
        name,
        _category(name, calls, missed),
        tuple(_said(messages) for messages in turns),
        apis,
        sources.field(record, "initial_config", dict),
        calls,
        missed,
        path,
    )
    try:
        built(apis, dialogue.config, None)
    except Exception as error:  # a configuration may be wrong in every way
        reason = f"{type(error).__name__}: {error}"
        raise BadField("initial_config", f"is none of the APIs' ({reason[:200]})") from error
    return dialogue


def _category(name: str, calls: tuple[tuple[Call, ...], ...], missed: Mapping[int, Any]) -> str:
    """The category that the id says, as BFCL takes it, or else what the record has."""
    for category in CATEGORIES:
        if f"multi_turn_{category}" in name:
            return category
    if missed:
        return "miss_func"
    return "base" if all(calls) else "miss_param"


def _said(messages: Any) -> str:
    if not isinstance(messages, list) or not all(isinstance(each, Mapping) for each in messages):
        raise BadField("question", "must hold a list of messages for each turn")
    return "\n".join(sources.field(each, "content", str) for each in messages)


def _truths(record: Mapping[str, Any], turns: int) -> tuple[tuple[Call, ...], ...]:
    if record.get("ground_truth") is None:
        raise BadField(
            "ground_truth",
            f"is missing. BFCL keeps it in the folder {ANSWERS}: give the folder of both as the source, "
            "or write each record and its answer, which have the same id, as one record",
        )
    listed = sources.field(record, "ground_truth", list)
    if not turns or len(listed) != turns:
        raise BadField("ground_truth", f"has {len(listed)} turns, and question {turns}")
    try:
        return tuple(tuple(map(read_call, _strings(each))) for each in listed)
    except ValueError as error:
        raise BadField("ground_truth", f"has {error}") from error


def _strings(turn: Any) -> list[str]:
    if not isinstance(turn, list) or not all(isinstance(each, str) for each in turn):
        raise BadField("ground_truth", "must hold a list of calls, as text, for each turn")
    return turn


def _missed(record: Mapping[str, Any], turns: int) -> dict[int, tuple[str, ...]]:
    given = sources.field(record, "missed_function", dict, {})
    missed = {}
    for turn in given:
        if not str(turn).isdecimal() or not 0 <= int(turn) < turns:
            raise BadField("missed_function", f"has {turn!r}, which is no turn of the record")
        missed[int(turn)] = sources.texts(given, turn)
    return missed


def load(source: str, on_bad_record: str) -> Loaded[Dialogue]:
    """The tasks of "auto", "hub", "sample", a file or a folder; raises ``ConfigError``."""
    if source not in ("auto", "hub", "sample") and (
        record_files.is_record_file(source) or Path(source).is_dir()
    ):
        return sources.load_file(source, read, on_bad_record, records_of=records_of)
    return PUBLIC_SET.load(source, on_bad_record)


def records_of(path: str) -> Iterator[NamedRecord]:
    """The records of a file, or of the files of BFCL in a folder, each joined with its ground truth."""
    place = Path(path)
    if not place.is_dir():
        yield from _join(place)
        return
    files = [
        file
        for folder in (place, place / "data", place / "bfcl_eval" / "data")
        for category in CATEGORIES
        for file in sorted(folder.glob(f"*multi_turn_{category}.json"))
    ]
    if not files:
        raise ConfigError(
            f"{path} has no file *_multi_turn_{{{','.join(CATEGORIES)}}}.json, as BFCL names them; "
            "give the folder of such files"
        )
    for file in files:
        yield from _join(file)


def _join(file: Path) -> Iterator[NamedRecord]:
    """The records of a file, with the ground truths of the file of the same name in ``possible_answer``."""
    answers = file.parent / ANSWERS / file.name
    if not answers.is_file():
        yield from record_files.read(str(file))
        return
    found = [r for _, r in record_files.read(str(answers)) if isinstance(r, Mapping)]
    truth = {answer.get("id"): answer.get("ground_truth") for answer in found}
    for where, record in record_files.read(str(file)):
        if isinstance(record, Mapping) and not isinstance(record, BadRecord):
            record = {"ground_truth": truth.get(record.get("id")), **record}
        yield where, record


def hub_records() -> Iterable[dict[str, Any]]:
    """The records of the hub or its cache. Raises ``ConfigError`` and ``MissingExtraError``."""
    return both_files(f"BFCL_v3_multi_turn_{category}.json" for category in CATEGORIES)


PUBLIC_SET = PublicSet(
    hub_id=HUB_ID,
    read=read,
    sample=Path(__file__).parent / "sample.jsonl",
    hub_records=hub_records,
)
