"""Where the tasks of a public set come from: the hub, a file of the same schema, or a shipped sample.

* ``"hub"``: ``datasets.load_dataset``, which keeps a cache of its own.
* a path that ends in ``.jsonl``, ``.json``, ``.parquet``, ``.jsonl.gz`` or ``.json.gz``: records of
  the hub's schema.
* ``"sample"``: problems of the same form, written for this project.
* ``"auto"``: the hub if it or its cache answers, otherwise the sample, with one warning.

Records become tasks in their order. Two equal records are two tasks. Records that are left out are
counted.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from llmzoo.envs import hub, record_files
from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.record_files import BadRecord, NamedRecord
from llmzoo.envs.tasks import TaskList
from llmzoo.errors import (
    SAMPLE_RULE,
    ConfigError,
    FallbackWarning,
    LlmzooError,
    SkippedRecordsWarning,
)

T = TypeVar("T", bound=Hashable)
K = TypeVar("K")
Record = Mapping[str, Any]
Parse = Callable[[Record], T | None]

ID_FIELDS = ("task_id", "id", "problem_id", "question_id", "unique_id")  # the first one counts
ON_BAD_RECORD = ("error", "skip")
_MAX_NAMED = 5  # the most skipped records that the warning names

_REQUIRED = object()
_loaded: dict[
    tuple[Any, ...], LoadedTasks[Any]
] = {}  # environments of one process share their tasks
_warned: set[str] = set()


class BadField(BadRecord):
    """A record's field is missing or of the wrong kind. The loader adds where the record is."""

    def __init__(self, name: str, message: str):
        super().__init__(f"field {name!r} {message}")


@dataclass(frozen=True, eq=False)
class LoadedTasks(Generic[T]):
    """Tasks and their ``source``: ``"hub"``, ``"sample"`` or a path.

    ``fallback``: the sample was taken because ``"auto"`` could not reach the hub. ``names``: the
    records' own ids as text ("" for a record without one), or nothing at all. ``bad``: what is wrong
    with each bad record. ``left_out``: the number of good records that the environment does not play.
    """

    tasks: tuple[T, ...]
    source: str
    fallback: bool = False
    names: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def skipped(self) -> int:
        """The number of bad records."""
        return len(self.bad)

    def task_list(self, canonical: Callable[[T], str], split: str) -> TaskList[T]:
        """The tasks of a split; cached, because canonical forms can be slow to compute."""
        return _make_task_list(self, canonical, split)

    def filter_tasks(
        self, chosen: Callable[..., bool], *args: Hashable, asked: bool
    ) -> LoadedTasks[T]:
        """The tasks for which ``chosen(task, *args)`` is true; cached.

        ``asked``: whether the user chose these tasks. If not, the environment drops the others itself, and
        they are counted in ``left_out``.
        """
        return _filter_tasks(self, chosen, args, asked)


@lru_cache(maxsize=64)
def _make_task_list(
    loaded: LoadedTasks[Any], canonical: Callable[[Any], str], split: str
) -> TaskList[Any]:
    return TaskList(
        loaded.tasks,
        canonical,
        split=split,
        source=loaded.source,
        fallback=loaded.fallback,
        names=loaded.names,
        bad=loaded.bad,
        left_out=loaded.left_out,
    )


@lru_cache(maxsize=64)
def _filter_tasks(
    loaded: LoadedTasks[T], chosen: Callable[..., bool], args: tuple[Hashable, ...], asked: bool
) -> LoadedTasks[T]:
    names = loaded.names or ("",) * len(loaded.tasks)
    kept = [(t, n) for t, n in zip(loaded.tasks, names, strict=True) if chosen(t, *args)]
    dropped = 0 if asked else len(loaded.tasks) - len(kept)
    return replace(
        loaded,
        tasks=tuple(task for task, _ in kept),
        names=tuple(name for _, name in kept),
        left_out=loaded.left_out + dropped,
    )


@dataclass(frozen=True, kw_only=True)
class PublicSet(Generic[T]):
    """A set of tasks on the hub, and all that llmzoo has to know of it.

    An environment names its set in the class attribute ``public_set``. To add a set, write one file with
    this description and the environment's docstring, and register the environment.

    hub_id: the set's id for ``datasets.load_dataset``. "" for a set that is not on the hub: ``"auto"``
        then means the sample.
    read: makes a task of a record, or None of a record that is left out. It is a pure function, and
        raises :class:`BadField` (see :func:`get_field`) for a bad record.
    sample: a file of records of the same schema, written for this project.
    hub_args: further positional arguments of ``load_dataset``, such as a configuration.
    hub_splits: the hub's splits to read, by default all; llmzoo splits by content itself.
    hub_records: returns the records, for a set that ``load_dataset`` cannot read. Raises
        ``ConfigError`` if the hub does not answer (see :func:`llmzoo.envs.hub.is_reachable`).
    id_fields: a record's id is the first of these fields that it has.
    """

    hub_id: str
    read: Parse[T]
    sample: Path
    hub_args: tuple[str, ...] = ()
    hub_splits: tuple[str, ...] | None = None
    hub_records: Callable[[], Iterable[Record]] | None = None
    id_fields: tuple[str, ...] = ID_FIELDS

    def load(self, source: str, on_bad_record: str = "error") -> LoadedTasks[T]:
        """The tasks of a source, read once per process.

        ``on_bad_record``: ``"skip"`` leaves out bad records with a warning. Raises ``ConfigError`` for
        a source that cannot be read and for a bad record, named by its position and field, and
        ``MissingExtraError`` if ``datasets`` is needed and not installed.
        """
        if source not in ("auto", "hub", "sample"):
            if not record_files.is_record_file(source):
                raise ConfigError(
                    f"source must be 'auto', 'hub', 'sample' or a file whose name ends in one of "
                    f"{', '.join(record_files.SUFFIXES)}; got {source!r}"
                )
            return load_file(source, self.read, on_bad_record, id_fields=self.id_fields)
        check_choice("on_bad_record", on_bad_record, ON_BAD_RECORD)
        key = (self, source, on_bad_record)
        if key not in _loaded:
            _loaded[key] = self._load(source, on_bad_record)
        return _loaded[key]

    def sample_records(self) -> list[dict[str, Any]]:
        """The shipped records."""
        return list(read_shipped_records(self.sample))

    def _load(self, source: str, on_bad_record: str) -> LoadedTasks[T]:
        if source == "hub":
            return self._parse("hub", self._read_hub(), on_bad_record)
        fallback = False
        if source == "auto" and self.hub_id:
            try:
                from_hub = list(self._read_hub())
            except LlmzooError as error:
                _warn_once(self.hub_id, error)
                fallback = True
            else:
                return self._parse("hub", from_hub, on_bad_record)
        shipped = _name_records(
            f"sample of {self.hub_id or self.sample.stem}", self.sample_records()
        )
        return replace(self._parse("sample", shipped, on_bad_record), fallback=fallback)

    def _read_hub(self) -> Iterator[NamedRecord]:
        if not self.hub_id:
            raise ConfigError("this set is not on the hub: give source='sample' or a file")
        if self.hub_records is not None:
            return _name_records(self.hub_id, self.hub_records())
        return hub.load_records(self.hub_id, self.hub_args, self.hub_splits)

    def _parse(
        self, source: str, named: Iterable[NamedRecord], on_bad_record: str
    ) -> LoadedTasks[T]:
        return parse_records(
            named, self.read, source, on_bad_record=on_bad_record, id_fields=self.id_fields
        )


def load_file(
    path: str,
    read: Parse[T],
    on_bad_record: str = "error",
    *,
    id_fields: tuple[str, ...] = ID_FIELDS,
    records_of: Callable[[str], Iterator[NamedRecord]] = record_files.read_records,
) -> LoadedTasks[T]:
    """The tasks of a file, read once per process and content.

    ``records_of`` gives the file's records, each with a name; a :class:`BadRecord` stands for a
    record that cannot be read. Raises ``ConfigError`` as :meth:`PublicSet.load` does.
    """
    check_choice("on_bad_record", on_bad_record, ON_BAD_RECORD)
    key = (path, _file_version(path), read, on_bad_record, id_fields, records_of)
    if key not in _loaded:
        _loaded[key] = parse_records(
            records_of(path),
            read,
            path,
            on_bad_record=on_bad_record,
            id_fields=id_fields,
            unique=True,
        )
    return _loaded[key]


def parse_records(
    named: Iterable[NamedRecord],
    read: Parse[T],
    source: str,
    *,
    on_bad_record: str = "error",
    id_fields: tuple[str, ...] = ID_FIELDS,
    unique: bool = False,
) -> LoadedTasks[T]:
    """A task of each record. ``named``: the records, each with a name that says where it is.

    ``unique``: two records with the same id are an error; the splits of a set on the hub may each
    count from 0. Raises ``ConfigError``, which names the record, for a bad record and if no task is
    left.
    """
    tasks: list[T] = []
    names: list[str] = []
    taken: dict[str, str] = {}  # ids, and the record that has each
    bad: list[str] = []
    left_out = 0
    for where, record in named:
        try:
            task, name = _task_and_id(record, read, id_fields)
            if unique and name in taken:
                raise BadRecord(f"the id {name!r} is taken by {taken[name]}")
        except BadRecord as error:
            if on_bad_record == "error":
                raise ConfigError(f"{where}: {error}") from error
            bad.append(f"{where}: {error}")
            continue
        if name:
            taken[name] = where
        if task is None:
            left_out += 1
        else:
            tasks.append(task)
            names.append(name)
    if not tasks:
        raise ConfigError(_no_tasks_message(source, bad, left_out))
    if bad:
        _warn_about_skipped(source, bad, len(bad) + len(tasks) + left_out)
    return LoadedTasks(tuple(tasks), source, False, tuple(names), tuple(bad), left_out)


def _task_and_id(record: Any, read: Parse[T], id_fields: tuple[str, ...]) -> tuple[T | None, str]:
    """The task of a record and its id; raises :class:`BadRecord`."""
    if isinstance(record, BadRecord):
        raise record
    if not isinstance(record, Mapping):
        raise BadRecord(f"not a record but {type(record).__name__}")
    return read(record), record_id(record, id_fields)


def record_id(record: Record, names: tuple[str, ...] = ID_FIELDS) -> str:
    """A record's id as text: the first of the fields that it has, a text or a whole number. "" if it
    has none of them."""
    for name in names:
        value = record.get(name)
        if value is not None and value != "":
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise BadField(
                    name, f"must be a text or a whole number, got {type(value).__name__}"
                )
            return str(value)
    return ""


def _no_tasks_message(source: str, bad: list[str], left_out: int) -> str:
    if bad:
        return f"{source}: all of its {len(bad) + left_out} records are bad or left out: {bad[0]}"
    if left_out:
        return f"{source}: all of its {left_out} records are of a kind that is not played"
    return f"{source} holds no records"


def _warn_about_skipped(source: str, bad: list[str], total: int) -> None:
    more = f"; and {len(bad) - _MAX_NAMED} more" if len(bad) > _MAX_NAMED else ""
    warnings.warn(
        f"{source}: {len(bad)} of {total} records were skipped: "
        f"{'; '.join(bad[:_MAX_NAMED])}{more}",
        SkippedRecordsWarning,
        stacklevel=2,
    )


def get_field(record: Record, name: str, kind: type[K], default: Any = _REQUIRED) -> K:
    """``record[name]``, which must be a ``kind``; raises :class:`BadField`."""
    value = record.get(name)
    if value is None:
        if default is _REQUIRED:
            raise BadField(name, "is missing")
        return default
    if not isinstance(value, kind):
        raise BadField(name, f"must be {kind.__name__}, got {type(value).__name__}")
    return value


def get_strings(record: Record, name: str, default: Any = _REQUIRED) -> tuple[str, ...]:
    """``record[name]``, which must be a list of strings; raises :class:`BadField`."""
    values = get_field(record, name, list, default)
    if not all(isinstance(value, str) for value in values):
        raise BadField(name, "must be a list of strings")
    return tuple(values)


def read_shipped_records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a JSON-lines file that llmzoo ships.

    Only a line feed ends a line: a text may hold the other characters at which Python splits lines.
    """
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.strip():
            yield json.loads(line)


def _warn_once(hub_id: str, error: Exception) -> None:
    if hub_id not in _warned:
        _warned.add(hub_id)
        warnings.warn(
            f"{hub_id} cannot be reached: {SAMPLE_RULE}. ({error})",
            FallbackWarning,
            stacklevel=2,
        )


def _name_records(name: str, records: Iterable[Any]) -> Iterator[NamedRecord]:
    for number, record in enumerate(records, start=1):
        yield f"{name}:{number}", record


def _file_version(path: str) -> tuple[int, int]:
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"source {path!r} cannot be read: {why}") from error
    return status.st_mtime_ns, status.st_size
