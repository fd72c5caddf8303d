"""The folder of a bundle, which may come from somebody else, and how it is read.

    bundle.json                 the title, the claims, and the size and SHA-256 of every other file
    NAME/config.json            the settings of an evaluation, as llmzoo eval --out keeps them
    NAME/provenance.json        versions, commit, machine and date of each start
    NAME/episodes.jsonl.gz      every episode, a line each
    NAME/result.json            the evaluation's numbers
    NAME/training.json          of a trained policy: the settings, provenance and cost of its run

Every file is plain JSON. Links, devices, other files, NaN and files beyond a bound are refused.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from llmzoo import files
from llmzoo.errors import CheckpointError
from llmzoo.records.episode_rows import SampleKey, to_episode
from llmzoo.runs.provenance import PROVENANCE_FILE

FORMAT = 1
BUNDLE_FILE = "bundle.json"
CONFIG_FILE, RESULT_FILE = "config.json", "result.json"
EPISODES_FILE = "episodes.jsonl.gz"
TRAINING_FILE = "training.json"
REQUIRED_FILES = (CONFIG_FILE, PROVENANCE_FILE, EPISODES_FILE, RESULT_FILE)
_MAX_EVALUATIONS = 1000
MAX_BUNDLE_BYTES = 2**28  # of all episodes together, uncompressed
_MAX_DIGITS = 300  # of a whole number, so that it is in the range of a float
_NAME = re.compile(r"\w[\w.=,-]{0,149}")
_MANIFEST_TYPES = {
    **{"format": int, "title": str, "price": object},
    **{"claims": list, "evaluations": list, "files": dict},
}
_CONFIG_TYPES = {
    **{"env": str, "env_args": dict, "split": str, "policy": str, "policies": dict},
    **{"tasks": (int, str), "samples": int, "seed": int, "greedy": bool, "concurrency": int},
}
_ROW_TYPES = {
    **{"task": int, "sample": int, "seed": int, "id": str, "env_id": str, "failure": str},
    **{"success": bool, "totals": dict, "info": dict, "decisions": list},
}
_COMPLETION_TYPES = {"text": str, "prompt_ids": list, "ids": list, "logprobs": list}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvaluation:
    """An evaluation in a bundle. ``rows``: its episodes in the order of tasks and samples."""

    name: str
    config: Mapping[str, Any]
    starts: tuple[Mapping[str, Any], ...]  # the provenance of each start
    rows: tuple[Mapping[str, Any], ...]
    result: Mapping[str, Any]
    training: Mapping[str, Any] | None = None

    def settings_for(self, agent: str) -> Mapping[str, Any]:
        """The recorded policy of an agent: its name, sampling, prompts and the hash of its weights."""
        policies = self.config["policies"]
        settings = policies.get(agent, policies.get("all"))
        return settings if isinstance(settings, dict) else {}

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(self.rows[0]["totals"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A bundle as it was read. ``other_files``: files that do not belong to it."""

    folder: Path
    title: str
    price: tuple[float, float] | None  # of a million tokens that an endpoint reads and writes
    claims: tuple[Mapping[str, Any], ...]
    files: Mapping[str, Any]  # path -> {"sha256": ..., "bytes": ...}, as the bundle says
    evaluations: tuple[StoredEvaluation, ...]
    other_files: tuple[str, ...] = field(default=())


def read_bundle(folder: str | Path) -> Bundle:
    """The bundle in a folder.

    Raises :class:`llmzoo.errors.CheckpointError` if the folder is not a bundle, or has a link, a device, a file
    beyond a bound, or a value of another type than is written there.
    """
    folder = Path(folder)
    path = folder / BUNDLE_FILE
    if not folder.is_dir() or not path.exists():
        raise CheckpointError(
            f"{folder} is not a bundle: it has no {BUNDLE_FILE}. llmzoo eval bundle FOLDER --out BUNDLE makes "
            "one of the folders of llmzoo eval --out"
        )
    try:
        files.check_tree(folder)
    except RecursionError:
        raise CheckpointError(f"{folder} has folders in folders without end") from None
    manifest = read_json(path)
    if manifest.get("format") != FORMAT:
        raise CheckpointError(
            f"{path}: this llmzoo reads bundles of format {FORMAT}, got {manifest.get('format')!r:.80}"
        )
    _check_types(manifest, _MANIFEST_TYPES, str(path), only=True)
    names = manifest["evaluations"]
    if not 0 < len(names) <= _MAX_EVALUATIONS or len({*map(str, names)}) < len(names):
        raise CheckpointError(
            f"{path}: 'evaluations' must be 1 to {_MAX_EVALUATIONS} names that differ"
        )
    budget = ReadingBudget()
    evaluations = tuple(_read_evaluation(folder, name, budget) for name in names)
    expected = {BUNDLE_FILE, *(f"{e.name}/{name}" for e in evaluations for name in _files_of(e))}
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}
    return Bundle(
        folder=folder,
        title=manifest["title"],
        price=_read_price(manifest.get("price"), path),
        claims=tuple(manifest["claims"]),
        files=manifest["files"],
        evaluations=evaluations,
        other_files=tuple(sorted(there - expected)),
    )


def check_name(name: object, where: object) -> str:
    """The name of an evaluation, which is that of its folder; :class:`CheckpointError` for a path or another value."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise CheckpointError(
            f"{where}: the name of an evaluation has letters, digits and _.=,- and is no path, got {name!r:.80}"
        )
    return name


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a plain file, without NaN; raises :class:`CheckpointError` for anything else."""
    try:
        with files.open_plain_file(path) as file:
            data = file.read(files.MAX_JSON_BYTES + 1)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > files.MAX_JSON_BYTES:
        raise CheckpointError(
            f"{path} is larger than {files.MAX_JSON_BYTES:,} bytes, and is not read"
        )
    return parse_object(data, str(path))


def parse_object(data: bytes, where: str) -> dict[str, Any]:
    """A JSON object that every reader reads alike: without NaN, numbers beyond a float, and equal names.

    Raises :class:`CheckpointError` for anything else.
    """
    try:
        value = json.loads(
            data,
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            parse_int=_parse_int,
            object_pairs_hook=_make_object,
        )
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where} is not JSON: {error!r:.200}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{where} must be a JSON object, got {value!r:.80}")
    return value


def read_rows(path: Path, budget: ReadingBudget | None = None) -> Iterator[dict[str, Any]]:
    """The rows of ``episodes.jsonl.gz``; raises :class:`CheckpointError` for anything else."""
    budget = budget or ReadingBudget()
    try:
        with files.open_plain_file(path) as packed, gzip.GzipFile(fileobj=packed) as lines:
            for number, line in enumerate(
                iter(lambda: lines.readline(files.MAX_EPISODE_BYTES + 1), b""), start=1
            ):
                budget.spend(len(line), path)
                where = f"{path}, line {number}"
                yield _check_row(parse_object(line, where), where)
    except (OSError, EOFError, zlib.error) as error:
        raise CheckpointError(f"{path} cannot be read: {error!r:.200}") from None


class ReadingBudget:
    """How many bytes of episodes are read from one bundle. Python takes three to four times as many."""

    def __init__(self) -> None:
        self._left = MAX_BUNDLE_BYTES

    def spend(self, size: int, path: Path) -> None:
        """Raise :class:`CheckpointError` for a line that is too long, or beyond what is left."""
        self._left -= size
        if size > files.MAX_EPISODE_BYTES or self._left < 0:
            raise CheckpointError(
                f"{path} has a line of more than {files.MAX_EPISODE_BYTES:,} bytes, or the bundle has more "
                f"than {MAX_BUNDLE_BYTES:,} bytes of episodes, and is not read further"
            )


def row_key(row: Mapping[str, Any]) -> SampleKey:
    """The task of an episode, and which of its samples it is."""
    return row["task"], row["sample"]


def _files_of(evaluation: StoredEvaluation) -> tuple[str, ...]:
    return (*REQUIRED_FILES, *([] if evaluation.training is None else [TRAINING_FILE]))


def _read_evaluation(folder: Path, name: object, budget: ReadingBudget) -> StoredEvaluation:
    name = check_name(name, folder / BUNDLE_FILE)
    own = folder / name
    for file in REQUIRED_FILES:
        if not (own / file).is_file():
            raise CheckpointError(f"{own} has no {file}, so the bundle is not complete")
    config = read_json(own / CONFIG_FILE)
    _check_types(config, _CONFIG_TYPES, str(own / CONFIG_FILE), only=True)
    starts = read_json(own / PROVENANCE_FILE).get("starts")
    if not isinstance(starts, list) or not starts or not all(isinstance(s, dict) for s in starts):
        raise CheckpointError(f"{own / PROVENANCE_FILE}: 'starts' must be a list of JSON objects")
    rows = tuple(sorted(read_rows(own / EPISODES_FILE, budget), key=row_key))
    if not rows:
        raise CheckpointError(f"{own / EPISODES_FILE} has no episode")
    has_training = (own / TRAINING_FILE).exists()
    return StoredEvaluation(
        name=name,
        config=config,
        starts=tuple(starts),
        rows=rows,
        result=read_json(own / RESULT_FILE),
        training=read_json(own / TRAINING_FILE) if has_training else None,
    )


def _read_price(price: object, path: Path) -> tuple[float, float] | None:
    if price is None:
        return None
    if isinstance(price, list) and len(price) == 2 and all(map(_is_number, price)):
        return float(price[0]), float(price[1])
    raise CheckpointError(f"{path}: 'price' must be two numbers or null, got {price!r:.80}")


def _check_row(row: dict[str, Any], where: str) -> dict[str, Any]:
    """The row of an episode, whose values have the types that are written."""
    try:
        _check_types(row, _ROW_TYPES, where)
        if not all(map(_is_number, row["totals"].values())):
            raise ValueError("'totals' must be numbers")
        for decision in row["decisions"]:
            completion = decision["completion"]
            _check_types(completion, _COMPLETION_TYPES, where)
            if not all(map(_is_number, (decision["reward"], *completion["logprobs"]))):
                raise ValueError("rewards and log-probabilities must be numbers")
            if not all(type(i) is int for name in ("ids", "prompt_ids") for i in completion[name]):
                raise ValueError("token ids must be whole numbers")
        to_episode(row)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{where} is not an episode: {error!r:.200}") from None
    return row


def _check_types(
    values: Mapping[str, Any], types: Mapping[str, Any], where: str, *, only: bool = False
) -> None:
    """``only``: there are no other values, since no check would look at them."""
    if only and (unknown := values.keys() - types.keys()):
        raise CheckpointError(f"{where} has {min(unknown)!a:.80}, which no bundle has")
    for name, kind in types.items():
        if name not in values:
            raise CheckpointError(f"{where} has no {name!r}")
        value = values[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise CheckpointError(f"{where}: {name!r} has the wrong type, got {value!r:.80}")


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object with these names and values. Of two equal names some readers take the first."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object has a name twice")
    return value


def _parse_float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse_constant(text)


def _parse_int(text: str) -> int:
    return int(text) if len(text) <= _MAX_DIGITS else _refuse_constant(text)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text:.20} is not a number that can be read")
