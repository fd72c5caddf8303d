"""BFCL from the hub: two files a category, requests and right calls, joined by their ids.

``datasets.load_dataset`` cannot read them, since a parameter's accepted values are of mixed types;
the files are fetched as they are, and kept in the hub's own cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.hub import in_reach
from llmzoo.errors import ConfigError, MissingExtraError

HUB_ID = "gorilla-llm/Berkeley-Function-Calling-Leaderboard"
FILES = tuple(
    f"BFCL_v3_{category}.json"
    for category in ("simple", "multiple", "parallel", "parallel_multiple")
)


def records() -> list[dict[str, Any]]:
    """The records of the hub or its cache. Raises ``ConfigError`` and ``MissingExtraError``."""
    try:
        # left alone the library tries for half a minute to reach a hub that does not answer
        cached = not in_reach()
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the data set {HUB_ID}", "train", error.name) from error
    return [
        record
        for name in FILES
        for record in joined(_lines(name, cached), _lines(f"possible_answer/{name}", cached))
    ]


def joined(
    requests: Iterable[Mapping[str, Any]], answers: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Records of both files with the same id as one."""
    truths = {answer.get("id"): answer.get("ground_truth") for answer in answers}
    for request in requests:
        yield {**request, "ground_truth": truths.get(request.get("id"))}


def _lines(name: str, cached: bool) -> list[dict[str, Any]]:
    """The records of a file; with ``cached`` the hub is not asked."""
    from huggingface_hub import hf_hub_download

    try:
        path = hf_hub_download(HUB_ID, name, repo_type="dataset", local_files_only=cached)
        return list(sources.records(Path(path)))
    except Exception as error:  # network, cache, schema: the library raises of every kind
        raise ConfigError(
            f"{HUB_ID} cannot be loaded from the hub ({type(error).__name__}: {error}); give "
            "source='sample' or a file"
        ) from error
