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
from llmzoo.envs.sources import BadField, LoadedTasks, PublicSet
from llmzoo.envs.tools.bfcl.tasks import HUB_ID, joined_hub_records
from llmzoo.envs.tools.bfcl_multi_turn.apis import APIS
from llmzoo.envs.tools.bfcl_multi_turn.apis.base import Padding
from llmzoo.envs.tools.bfcl_multi_turn.execution import (
    World,
    build_world,
    copy_world,
    execute,
    parse_call,
)
from llmzoo.envs.tools.bfcl_multi_turn.tools import make_api_toolbox
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.errors import ConfigError

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
ANSWERS = "possible_answer"  # the folder of the ground truths, with the same names of files

ResponseCounts = Mapping[bytes, int]  # how often each response was given, by the response's digest


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
    truths: tuple[tuple[ToolCall, ...], ...]
    held_out_functions: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    path: tuple[str, ...] = ()

    def start(self, padding: Padding | None) -> World:
        """The state before the first turn. ``padding`` counts in a long context only."""
        return build_world(
            self.apis, self.config, padding if self.category == "long_context" else None
        )


@dataclass(frozen=True, eq=False, slots=True)
class ReferenceTurn:
    """The responses to the calls of a turn's ground truth, and the state after them."""

    responses: ResponseCounts
    world: World


def count_responses(
    responses: Iterable[str], before: ResponseCounts | None = None
) -> ResponseCounts:
    """How often each response was given, and ``before``. Digests take less room than long responses."""
    digests = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for text in responses
    )
    return Counter(before or {}) + Counter(digests)


@lru_cache(maxsize=1_024)
def reference_turns(dialogue: Dialogue, padding: Padding | None) -> tuple[ReferenceTurn, ...]:
    """The turns of the ground truth, played. Shared, and not to be changed."""
    world, played = dialogue.start(padding), []
    for calls in dialogue.truths:
        world = copy_world(world)
        played.append(ReferenceTurn(count_responses(execute(calls, world)), world))
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
        [*parts, {str(k): v for k, v in dialogue.held_out_functions.items()}],
        sort_keys=True,
        default=repr,
    )


def parse_record(record: Mapping[str, Any]) -> Dialogue:
    """The task of a record; raises ``BadField``."""
    name = sources.record_id(record)
    turns = sources.get_field(record, "question", list)
    apis = sources.get_strings(record, "involved_classes")
    for api in apis:
        if api not in APIS:
            known = ", ".join(APIS)
            raise BadField("involved_classes", f"has {api!r}; the APIs that are played are {known}")
    calls = _parse_reference_calls(record, len(turns))
    held_out = _held_out_functions(record, len(turns))
    known_functions = make_api_toolbox(apis).tools
    for function in (*(c.name for turn in calls for c in turn), *sum(held_out.values(), ())):
        if function not in known_functions:
            raise BadField(
                "ground_truth",
                f"or missed_function names {function!r}, which no API of the record has",
            )
    path = sources.get_strings(record, "path", []) or tuple(c.name for turn in calls for c in turn)
    dialogue = Dialogue(
        name,
        _category(name, calls, held_out),
        tuple(_turn_text(messages) for messages in turns),
        apis,
        sources.get_field(record, "initial_config", dict),
        calls,
        held_out,
        path,
    )
    try:
        build_world(apis, dialogue.config, None)
    except Exception as error:  # a configuration may be wrong in every way
        reason = f"{type(error).__name__}: {error}"
        raise BadField("initial_config", f"is none of the APIs' ({reason[:200]})") from error
    return dialogue


def _category(name: str, calls: tuple[tuple[ToolCall, ...], ...], missed: Mapping[int, Any]) -> str:
    """The category that the id says, as BFCL takes it, or else what the record has."""
    for category in CATEGORIES:
        if f"multi_turn_{category}" in name:
            return category
    if missed:
        return "miss_func"
    return "base" if all(calls) else "miss_param"


def _turn_text(messages: Any) -> str:
    if not isinstance(messages, list) or not all(isinstance(each, Mapping) for each in messages):
        raise BadField("question", "must hold a list of messages for each turn")
    return "\n".join(sources.get_field(each, "content", str) for each in messages)


def _parse_reference_calls(
    record: Mapping[str, Any], turns: int
) -> tuple[tuple[ToolCall, ...], ...]:
    if record.get("ground_truth") is None:
        raise BadField(
            "ground_truth",
            f"is missing. BFCL keeps it in the folder {ANSWERS}: give the folder of both as the source, "
            "or write each record and its answer, which have the same id, as one record",
        )
    turns_of_calls = sources.get_field(record, "ground_truth", list)
    if not turns or len(turns_of_calls) != turns:
        raise BadField("ground_truth", f"has {len(turns_of_calls)} turns, and question {turns}")
    try:
        return tuple(tuple(map(parse_call, _call_texts(each))) for each in turns_of_calls)
    except ValueError as error:
        raise BadField("ground_truth", f"has {error}") from error


def _call_texts(turn: Any) -> list[str]:
    if not isinstance(turn, list) or not all(isinstance(each, str) for each in turn):
        raise BadField("ground_truth", "must hold a list of calls, as text, for each turn")
    return turn


def _held_out_functions(record: Mapping[str, Any], turns: int) -> dict[int, tuple[str, ...]]:
    given = sources.get_field(record, "missed_function", dict, {})
    held_out = {}
    for turn in given:
        if not str(turn).isdecimal() or not 0 <= int(turn) < turns:
            raise BadField("missed_function", f"has {turn!r}, which is no turn of the record")
        held_out[int(turn)] = sources.get_strings(given, turn)
    return held_out


def load(source: str, on_bad_record: str) -> LoadedTasks[Dialogue]:
    """The tasks of "auto", "hub", "sample", a file or a folder; raises ``ConfigError``."""
    if source not in ("auto", "hub", "sample") and (
        record_files.is_record_file(source) or Path(source).is_dir()
    ):
        return sources.load_file(source, parse_record, on_bad_record, records_of=records_of)
    return PUBLIC_SET.load(source, on_bad_record)


def records_of(path: str) -> Iterator[NamedRecord]:
    """The records of a file, or of the files of BFCL in a folder, each joined with its ground truth."""
    place = Path(path)
    if not place.is_dir():
        yield from _join_with_answers(place)
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
        yield from _join_with_answers(file)


def _join_with_answers(file: Path) -> Iterator[NamedRecord]:
    """The records of a file, with the ground truths of the file of the same name in ``possible_answer``."""
    answers = file.parent / ANSWERS / file.name
    if not answers.is_file():
        yield from record_files.read_records(str(file))
        return
    found = [r for _, r in record_files.read_records(str(answers)) if isinstance(r, Mapping)]
    truth = {answer.get("id"): answer.get("ground_truth") for answer in found}
    for where, record in record_files.read_records(str(file)):
        if isinstance(record, Mapping) and not isinstance(record, BadRecord):
            record = {"ground_truth": truth.get(record.get("id")), **record}
        yield where, record


def hub_records() -> Iterable[dict[str, Any]]:
    """The records of the hub or its cache. Raises ``ConfigError`` and ``MissingExtraError``."""
    return joined_hub_records(f"BFCL_v3_multi_turn_{category}.json" for category in CATEGORIES)


PUBLIC_SET = PublicSet(
    hub_id=HUB_ID,
    read=parse_record,
    sample=Path(__file__).parent / "sample.jsonl",
    hub_records=hub_records,
)
