"""Where the tasks of a public set come from: the hub, a file of the same schema, or a shipped sample.

* ``"hub"``: ``datasets.load_dataset``, which keeps a cache of its own.
* a path that ends in ``.jsonl``, ``.json``, ``.parquet``, ``.jsonl.gz`` or ``.json.gz``: records of
  the hub's schema.
* ``"sample"``: problems of the same form, written for this project.
* ``"auto"``: the hub where it or its cache answers, otherwise the sample, with one warning.

Records become tasks in their order, and none of them disappears without a word: two alike are two
tasks, and those that are left out are counted.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from llmzoo.envs import hub as hub_sets
from llmzoo.envs import record_files
from llmzoo.envs.record_files import BadRecord, Found
from llmzoo.envs.settings import one_of
from llmzoo.envs.tasks import Listed
from llmzoo.errors import (
    ConfigError,
    FallbackWarning,
    LlmzooError,
    SkippedWarning,
)

T = TypeVar("T", bound=Hashable)
K = TypeVar("K")
Record = Mapping[str, Any]
Parse = Callable[[Record], T | None]

ID_FIELDS = ("task_id", "id", "problem_id", "question_id", "unique_id")  # the first one counts
ON_BAD_RECORD = ("error", "skip")
_MOST_NAMED = 5  # skipped records that the warning names

_REQUIRED = object()
_loaded: dict[tuple[Any, ...], Loaded[Any]] = {}  # environments of one process share their tasks
_warned: set[str] = set()


class BadField(BadRecord):
    """A record's field is missing or of the wrong kind; :func:`load` adds where the record stands."""

    def __init__(self, name: str, message: str):
        super().__init__(f"field {name!r} {message}")


@dataclass(frozen=True, eq=False)
class Loaded(Generic[T]):
    """Tasks and their ``source``: ``"hub"``, ``"sample"`` or a path.

    ``fallback``: the sample was taken because ``"auto"`` could not reach the hub. ``names``: the
    records' own ids as text, "" where there is none, or nothing at all. ``skipped``: how many bad
    records there were; ``left_out``: how many that are good but of a kind that is not played.
    """

    tasks: tuple[T, ...]
    source: str
    fallback: bool = False
    names: tuple[str, ...] = ()
    skipped: int = 0
    left_out: int = 0

    def listed(self, canonical: Callable[[T], str], split: str) -> Listed[T]:
        """The tasks of a split. Environments of one process share it: canonical forms can be dear."""
        return _listed(self, canonical, split)

    def those(self, chosen: Callable[[T], bool], *, asked: bool) -> Loaded[T]:
        """The tasks for which ``chosen`` is true. ``asked``: as the user has asked for these; those
        that the environment leaves out by itself are counted."""
        names = self.names or ("",) * len(self.tasks)
        kept = [(t, name) for t, name in zip(self.tasks, names, strict=True) if chosen(t)]
        less = 0 if asked else len(self.tasks) - len(kept)
        return Loaded(
            tuple(task for task, _ in kept),
            self.source,
            self.fallback,
            tuple(name for _, name in kept),
            self.skipped,
            self.left_out + less,
        )


@lru_cache(maxsize=64)
def _listed(found: Loaded[Any], canonical: Callable[[Any], str], split: str) -> Listed[Any]:
    return Listed(
        found.tasks,
        canonical,
        split=split,
        source=found.source,
        names=found.names,
        skipped=found.skipped,
        left_out=found.left_out,
    )


def load(
    source: str,
    *,
    hub_id: str,
    sample: Callable[[], Iterable[Record]],
    parse: Parse[T],
    hub_args: tuple[str, ...] = (),
    hub_splits: tuple[str, ...] | None = None,
    hub_records: Callable[[], Iterable[Record]] | None = None,
    on_bad_record: str = "error",
    id_fields: tuple[str, ...] = ID_FIELDS,
) -> Loaded[T]:
    """The tasks of a set, once per process and source.

    ``hub_args``: further positional arguments of ``load_dataset``, such as a configuration.
    ``hub_splits``: which of the hub's splits, all by default; llmzoo splits by content itself.
    ``hub_records``: reads the hub in the place of ``load_dataset``, for a set that it cannot read;
    raises ``ConfigError`` where the hub does not answer (see :func:`llmzoo.envs.hub.in_reach`).
    ``sample``: the shipped records. ``parse`` makes a task of a record, with :func:`field`, or None
    of one that is left out. ``on_bad_record``: ``"skip"`` leaves out bad records with a warning.
    ``id_fields``: the first of these fields that a record has is its id.

    Raises ``ConfigError`` for a source that cannot be read and for a bad record, named by place and
    field, and ``MissingExtraError`` where ``datasets`` is needed and absent.
    """
    if source not in ("auto", "hub", "sample") and not record_files.is_record_file(source):
        raise ConfigError(
            f"source must be 'auto', 'hub', 'sample' or a file whose name ends in one of "
            f"{', '.join(record_files.ENDINGS)}; got {source!r}"
        )
    if source not in ("auto", "hub", "sample"):
        return load_file(source, parse=parse, on_bad_record=on_bad_record, id_fields=id_fields)
    one_of("on_bad_record", on_bad_record, ON_BAD_RECORD)
    key = (source, hub_id, hub_args, hub_splits, parse, on_bad_record, id_fields)

    def of(name: str, found: Iterable[Found], *, fallback: bool = False) -> Loaded[T]:
        return taken(
            found, parse, name, on_bad_record=on_bad_record, id_fields=id_fields, fallback=fallback
        )

    def hub() -> Iterator[Found]:
        if hub_records is not None:
            return _numbered(hub_id, hub_records())
        return hub_sets.records(hub_id, hub_args, hub_splits)

    def read() -> Loaded[T]:
        if source == "sample":
            return of("sample", _numbered(f"sample of {hub_id}", sample()))
        if source == "hub":
            return of("hub", hub())
        try:
            found = list(hub())
        except LlmzooError as error:
            _warn_once(hub_id, error)
            return of("sample", _numbered(f"sample of {hub_id}", sample()), fallback=True)
        return of("hub", found)

    return _once(key, read)


def load_file(
    path: str,
    *,
    parse: Parse[T],
    on_bad_record: str = "error",
    id_fields: tuple[str, ...] = ID_FIELDS,
    read: Callable[[str], Iterator[Found]] = record_files.read,
) -> Loaded[T]:
    """The tasks of a file, once per process and content.

    ``read`` gives records with their places; a :class:`BadRecord` stands for what is none. Raises
    ``ConfigError`` as :func:`load` does.
    """
    one_of("on_bad_record", on_bad_record, ON_BAD_RECORD)
    key = (path, _stamp(path), parse, on_bad_record, id_fields, read)
    return _once(
        key,
        lambda: taken(
            read(path), parse, path, on_bad_record=on_bad_record, id_fields=id_fields, unique=True
        ),
    )


def taken(
    found: Iterable[Found],
    parse: Parse[T],
    source: str,
    *,
    on_bad_record: str = "error",
    id_fields: tuple[str, ...] = ID_FIELDS,
    unique: bool = False,
    fallback: bool = False,
) -> Loaded[T]:
    """A task of each record. ``found``: the records, each behind the name of its place.

    ``unique``: two records with one id are a mistake; the splits of a set on the hub may count anew.
    Raises ``ConfigError``, which names the place, for what is no record, for a :class:`BadRecord`
    and where nothing is left.
    """
    tasks: list[T] = []
    names: list[str] = []
    places: dict[str, str] = {}  # of ids
    bad: list[str] = []
    left_out = 0
    for where, record in found:
        try:
            task, name = _one(record, parse, id_fields)
            if unique and name in places:
                raise BadRecord(f"the id {name!r} is taken by {places[name]}")
        except BadRecord as error:
            if on_bad_record == "error":
                raise ConfigError(f"{where}: {error}") from error
            bad.append(f"{where}: {error}")
            continue
        if name:
            places[name] = where
        if task is None:
            left_out += 1
        else:
            tasks.append(task)
            names.append(name)
    if not tasks:
        raise ConfigError(_nothing(source, bad, left_out))
    if bad:
        _warn_of_skipped(source, bad, len(bad) + len(tasks) + left_out)
    return Loaded(tuple(tasks), source, fallback, tuple(names), len(bad), left_out)


def _one(record: Any, parse: Parse[T], id_fields: tuple[str, ...]) -> tuple[T | None, str]:
    """The task of a record and its id; raises :class:`BadRecord`."""
    if isinstance(record, BadRecord):
        raise record
    if not isinstance(record, Mapping):
        raise BadRecord(f"not a record but {type(record).__name__}")
    return parse(record), identifier(record, id_fields)


def identifier(record: Record, names: tuple[str, ...] = ID_FIELDS) -> str:
    """A record's id as text: the first of the fields that it has, a text or a whole number; "" where
    it has none of them."""
    for name in names:
        value = record.get(name)
        if value is not None and value != "":
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise BadField(
                    name, f"must be a text or a whole number, got {type(value).__name__}"
                )
            return str(value)
    return ""


def _nothing(source: str, bad: list[str], left_out: int) -> str:
    if bad:
        return f"{source}: all of its {len(bad) + left_out} records are bad or left out: {bad[0]}"
    if left_out:
        return f"{source}: all of its {left_out} records are of a kind that is not played"
    return f"{source} holds no records"


def _warn_of_skipped(source: str, bad: list[str], total: int) -> None:
    more = f"; and {len(bad) - _MOST_NAMED} more" if len(bad) > _MOST_NAMED else ""
    warnings.warn(
        f"{source}: {len(bad)} of {total} records were skipped: "
        f"{'; '.join(bad[:_MOST_NAMED])}{more}",
        SkippedWarning,
        stacklevel=2,
    )


def _once(key: tuple[Any, ...], read: Callable[[], Loaded[T]]) -> Loaded[T]:
    if key not in _loaded:
        _loaded[key] = read()
    return _loaded[key]


def field(record: Record, name: str, kind: type[K], default: Any = _REQUIRED) -> K:
    """``record[name]``, which must be a ``kind``; raises :class:`BadField`."""
    value = record.get(name)
    if value is None:
        if default is _REQUIRED:
            raise BadField(name, "is missing")
        return default
    if not isinstance(value, kind):
        raise BadField(name, f"must be {kind.__name__}, got {type(value).__name__}")
    return value


def texts(record: Record, name: str, default: Any = _REQUIRED) -> tuple[str, ...]:
    """``record[name]``, which must be a list of strings; raises :class:`BadField`."""
    values = field(record, name, list, default)
    if not all(isinstance(value, str) for value in values):
        raise BadField(name, "must be a list of strings")
    return tuple(values)


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file that llmzoo ships, one to a line. A text may hold the other characters
    at which Python splits lines, so only a line feed ends one."""
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.strip():
            yield json.loads(line)


def _warn_once(hub_id: str, error: Exception) -> None:
    if hub_id not in _warned:
        _warned.add(hub_id)
        warnings.warn(
            f"{hub_id} is out of reach, its place is taken by a small sample of other problems; "
            f"numbers from it do not compare with anybody's. Say source='sample' if that is meant, "
            f"or give source='hub' or a file. ({error})",
            FallbackWarning,
            stacklevel=2,
        )


def _numbered(name: str, records: Iterable[Any]) -> Iterator[Found]:
    for number, record in enumerate(records, start=1):
        yield f"{name}:{number}", record


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"source {path!r} cannot be read: {why}") from error
    return found.st_mtime_ns, found.st_size
