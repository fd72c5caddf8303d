"""Requests, the functions that may be called, and the calls that are right: records of BFCL's form.

A record holds ``question`` (one turn: a list of messages in a list), ``function`` (a list of
descriptions) and ``ground_truth`` (a list of ``{function: {parameter: [accepted values]}}``, where
the accepted value ``""`` says that the parameter may be left out).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.hub import is_reachable
from llmzoo.envs.sources import BadField, PublicSet
from llmzoo.errors import ConfigError, require_extra

HUB_ID = "gorilla-llm/Berkeley-Function-Calling-Leaderboard"
FILES = tuple(
    f"BFCL_v3_{category}.json"
    for category in ("simple", "multiple", "parallel", "parallel_multiple")
)
CATEGORIES = ("simple", "multiple", "parallel")
OPTIONAL = ""  # among the accepted values of a parameter


@dataclass(frozen=True, eq=False, slots=True)
class FunctionDescription:
    """A function as the model reads it. ``text``: its description as JSON."""

    name: str
    text: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class AcceptedCall:
    """A right call: the accepted values of each parameter."""

    name: str
    accepted_values: Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class CallRequest:
    """A task: the messages, each with its role, the functions, and the right calls in the request's
    order."""

    messages: tuple[tuple[str, str], ...]
    functions: Mapping[str, FunctionDescription]
    truths: tuple[AcceptedCall, ...]
    name: str = ""

    @property
    def category(self) -> str:
        if len(self.truths) > 1:
            return "parallel"
        return "multiple" if len(self.functions) > 1 else "simple"


def canonical(request: CallRequest) -> str:
    """The words of a request. Requests with the same words are in one split, whatever the functions."""
    wording = " ".join(text for _, text in request.messages)
    return " ".join(re.findall(r"\w+", wording.lower()))


def content(request: CallRequest) -> str:
    """Request, functions and right calls. Tasks with the same content are one task."""
    truths = [[truth.name, truth.accepted_values] for truth in request.truths]
    functions = [function.text for function in request.functions.values()]
    return json.dumps([canonical(request), functions, truths], sort_keys=True)


def parse_record(record: Mapping[str, Any]) -> CallRequest:
    """The task of a record; raises ``BadField``, also for BFCL's kinds that are not supported."""
    _refuse_other_kinds(record)
    functions = {}
    for description in sources.get_field(record, "function", list):
        function = _parse_function(description)
        functions[function.name] = function
    truths = tuple(_parse_truth(call) for call in sources.get_field(record, "ground_truth", list))
    for truth in truths:
        if truth.name not in functions:
            raise BadField("ground_truth", f"calls {truth.name}, which is not described")
    return CallRequest(
        _parse_messages(sources.get_field(record, "question", list)),
        functions,
        truths,
        sources.record_id(record),
    )


def _refuse_other_kinds(record: Mapping[str, Any]) -> None:
    """Raise ``BadField`` for a record of a kind that the environment does not support."""
    turns, truths = record.get("question"), record.get("ground_truth")
    if (isinstance(turns, list) and len(turns) > 1) or "involved_classes" in record:
        raise BadField("question", "is of BFCL's multi_turn kind, which is not supported")
    if truths == [] or (truths is None and "relevance" in sources.record_id(record)):
        raise BadField(
            "ground_truth", "has no call: BFCL's kinds with (ir)relevance are not supported"
        )
    if truths is None:
        raise BadField(
            "ground_truth",
            "is missing. BFCL keeps it in a file of its own, in the folder possible_answer: write "
            "each request and its answer, which have the same id, as one record",
        )
    if isinstance(truths, list) and isinstance(truths[0], str):
        raise BadField(
            "ground_truth", "holds texts: BFCL's executable kinds (exec, rest) are not supported"
        )


def _parse_messages(turns: list[Any]) -> tuple[tuple[str, str], ...]:
    if len(turns) != 1 or not isinstance(turns[0], list) or not turns[0]:
        raise BadField("question", "must be a list of one turn, which is a list of messages")
    parsed = []
    for message in turns[0]:
        if not isinstance(message, Mapping):
            raise BadField("question", "must hold messages of a role and a content")
        parsed.append(
            (sources.get_field(message, "role", str), sources.get_field(message, "content", str))
        )
    return tuple(parsed)


def _parse_function(description: Any) -> FunctionDescription:
    if not isinstance(description, Mapping):
        raise BadField("function", "must be a list of descriptions")
    parameters = sources.get_field(description, "parameters", dict)
    properties = sources.get_field(parameters, "properties", dict, {})
    if not all(isinstance(each, Mapping) for each in properties.values()):
        raise BadField("properties", "must describe each parameter by an object")
    return FunctionDescription(
        sources.get_field(description, "name", str),
        json.dumps(description, ensure_ascii=False),
        properties,
        sources.get_strings(parameters, "required", []),
    )


def _parse_truth(call: Any) -> AcceptedCall:
    if not isinstance(call, Mapping) or len(call) != 1:
        raise BadField("ground_truth", "must be a list of {function: {parameter: [values]}}")
    ((name, accepted),) = call.items()
    if not isinstance(accepted, Mapping) or not all(
        isinstance(values, list) for values in accepted.values()
    ):
        raise BadField("ground_truth", f"must give {name} a list of values for each parameter")
    return AcceptedCall(name, accepted)


def hub_records() -> list[dict[str, Any]]:
    """The records of the hub or its cache: two files a category, requests and right calls.

    ``datasets.load_dataset`` cannot read them, since a parameter's accepted values have several types.
    Raises ``ConfigError`` and ``MissingExtraError``.
    """
    return [*joined_hub_records(FILES)]


def joined_hub_records(names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The records of files of the hub or its cache, joined with those in ``possible_answer``. Raises
    ``ConfigError`` and ``MissingExtraError``."""
    with require_extra(f"the data set {HUB_ID}", "train"):
        # the library itself would try for half a minute to reach a hub that does not answer
        cached = not is_reachable()
    for name in names:
        yield from join_by_id(_hub_file(name, cached), _hub_file(f"possible_answer/{name}", cached))


def join_by_id(
    requests: Iterable[Mapping[str, Any]], answers: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Records of both files, joined by id."""
    truths = {answer.get("id"): answer.get("ground_truth") for answer in answers}
    for request in requests:
        yield {**request, "ground_truth": truths.get(request.get("id"))}


def _hub_file(name: str, cached: bool) -> list[dict[str, Any]]:
    """The records of a file. ``cached``: read the cache only."""
    from huggingface_hub import hf_hub_download

    try:
        path = hf_hub_download(HUB_ID, name, repo_type="dataset", local_files_only=cached)
        return list(sources.read_shipped_records(Path(path)))
    except Exception as error:  # network, cache, schema: the library raises of every kind
        raise ConfigError(
            f"{HUB_ID} cannot be loaded from the hub ({type(error).__name__}: {error}); give "
            "source='sample' or a file"
        ) from error


PUBLIC_SET = PublicSet(
    hub_id=HUB_ID,
    read=parse_record,
    sample=Path(__file__).parent / "sample.jsonl",
    hub_records=hub_records,
)
