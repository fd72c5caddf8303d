"""BFCL from the hub: two files a category, requests and right calls, joined by their ids.

``datasets.load_dataset`` cannot read them, since a parameter's accepted values are of mixed types;
the files are fetched as they are, and kept in the hub's own cache.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from llmzoo.envs import sources
from llmzoo.envs.sources import BadField, Loaded, Record
from llmzoo.errors import ConfigError, FallbackWarning, LlmzooError, MissingExtraError

T = TypeVar("T")

HUB_ID = "gorilla-llm/Berkeley-Function-Calling-Leaderboard"
FILES = tuple(
    f"BFCL_v3_{category}.json"
    for category in ("simple", "multiple", "parallel", "parallel_multiple")
)


@cache
def load(
    parse: Callable[[Record], T], sample: Callable[[], Iterable[Record]], *, fall_back: bool
) -> Loaded[T]:
    """The tasks of the hub, once per process; with ``fall_back`` the sample, with one warning, where
    the hub and its cache do not answer. Raises ``ConfigError`` and ``MissingExtraError``."""
    try:
        return Loaded(_parsed(_records(), parse), "hub")
    except LlmzooError as error:
        if not fall_back:
            raise
        warnings.warn(
            f"{HUB_ID} is out of reach, its place is taken by a small sample of other requests; "
            f"numbers from it do not compare with anybody's. Say source='sample' if that is meant, "
            f"or give source='hub' or a file. ({error})",
            FallbackWarning,
            stacklevel=2,
        )
        return Loaded(tuple(map(parse, sample())), "sample", fallback=True)


def joined(
    requests: Iterable[Mapping[str, Any]], answers: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Records of both files with the same id as one."""
    truths = {answer.get("id"): answer.get("ground_truth") for answer in answers}
    for request in requests:
        yield {**request, "ground_truth": truths.get(request.get("id"))}


def _parsed(records: Iterable[Record], parse: Callable[[Record], T]) -> tuple[T, ...]:
    tasks = []
    for record in records:
        try:
            tasks.append(parse(record))
        except BadField as error:
            raise ConfigError(f"{HUB_ID}: {record.get('id')}: {error}") from error
    return tuple(tasks)


def _records() -> list[dict[str, Any]]:
    try:
        import huggingface_hub.constants as settings
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the data set {HUB_ID}", "train", error.name) from error
    # left alone the library tries for half a minute to reach a hub that does not answer
    cached = settings.HF_HUB_OFFLINE or not sources._hub_answers(settings.ENDPOINT)
    return [
        record
        for name in FILES
        for record in joined(_lines(name, cached), _lines(f"possible_answer/{name}", cached))
    ]


def _lines(name: str, cached: bool) -> list[dict[str, Any]]:
    """The records of a file; with ``cached`` the hub is not asked."""
    from huggingface_hub import hf_hub_download

    try:
        path = hf_hub_download(HUB_ID, name, repo_type="dataset", local_files_only=cached)
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    except Exception as error:  # network, cache, schema: the library raises of every kind
        raise ConfigError(
            f"{HUB_ID} cannot be loaded from the hub ({type(error).__name__}: {error}); give "
            "source='sample' or a file"
        ) from error
