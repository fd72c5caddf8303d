"""Where the tasks of a public set come from: the hub, a file of the same schema, or a shipped sample.

* ``"hub"``: ``datasets.load_dataset``, which keeps a cache of its own.
* a path ending in ``.jsonl`` or ``.json``: records of the hub's schema.
* ``"sample"``: problems of the same form, written for this project.
* ``"auto"``: the hub where it or its cache answers, otherwise the sample, with one warning.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from llmzoo.errors import ConfigError, FallbackWarning, LlmzooError, MissingExtraError

T = TypeVar("T")
Record = Mapping[str, Any]

CONNECT_S = 3.0  # how long the hub may take to answer at all

_REQUIRED = object()
_loaded: dict[tuple[Any, ...], Loaded[Any]] = {}  # environments of one process share their tasks
_warned: set[str] = set()


class BadField(ValueError):
    """A record's field is missing or of the wrong kind; :func:`load` adds where the record stands."""

    def __init__(self, name: str, message: str):
        super().__init__(f"field {name!r} {message}")


@dataclass(frozen=True, slots=True)
class Loaded(Generic[T]):
    """Tasks and their ``source``: ``"hub"``, ``"sample"`` or a path. ``fallback``: the sample was
    taken because ``"auto"`` could not reach the hub."""

    tasks: tuple[T, ...]
    source: str
    fallback: bool = False


def load(
    source: str,
    *,
    hub_id: str,
    sample: Callable[[], Iterable[Record]],
    parse: Callable[[Record], T],
    hub_args: tuple[str, ...] = (),
    hub_splits: tuple[str, ...] | None = None,
    hub_records: Callable[[], Iterable[Record]] | None = None,
) -> Loaded[T]:
    """The tasks of a set, once per process and source.

    ``hub_args``: further positional arguments of ``load_dataset``, such as a configuration.
    ``hub_splits``: which of the hub's splits, all by default; llmzoo splits by content itself.
    ``hub_records``: reads the hub in the place of ``load_dataset``, for a set that it cannot read;
    raises ``ConfigError`` where the hub does not answer (see :func:`hub_in_reach`).
    ``sample``: the shipped records. ``parse`` makes a task of a record, with :func:`field`.

    Raises ``ConfigError`` for a source that cannot be read and for a malformed record, named by
    place and field, and ``MissingExtraError`` where ``datasets`` is needed and absent.
    """
    key: tuple[Any, ...] = (source, hub_id, hub_args, hub_splits, parse)
    if source not in ("auto", "hub", "sample"):
        key = (*key, _stamp(source))
    if key not in _loaded:

        def hub() -> Iterator[tuple[str, Any]]:
            if hub_records is not None:
                return _numbered(hub_id, hub_records())
            return _from_hub(hub_id, hub_args, hub_splits)

        _loaded[key] = _load(source, hub_id, hub, sample, parse)
    return _loaded[key]


def field(record: Record, name: str, kind: type[T], default: Any = _REQUIRED) -> T:
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


def parsed(found: Iterable[tuple[str, Any]], parse: Callable[[Record], T]) -> tuple[T, ...]:
    """A task of each record. ``found``: the records, each behind the name of its place.

    Raises ``ConfigError``, which names the place, for what is no record and for a :class:`BadField`.
    """
    tasks = []
    for where, record in found:
        if not isinstance(record, Mapping):
            raise ConfigError(f"{where}: not a record but {type(record).__name__}")
        try:
            tasks.append(parse(record))
        except BadField as error:
            raise ConfigError(f"{where}: {error}") from error
    return tuple(tasks)


def _load(
    source: str,
    hub_id: str,
    hub: Callable[[], Iterator[tuple[str, Any]]],
    sample: Callable[[], Iterable[Record]],
    parse: Callable[[Record], T],
) -> Loaded[T]:
    if source == "sample":
        return Loaded(parsed(_numbered(f"sample of {hub_id}", sample()), parse), "sample")
    if source == "hub":
        return Loaded(parsed(hub(), parse), "hub")
    if source != "auto":
        return Loaded(parsed(_from_file(source), parse), source)
    try:
        found = list(hub())
    except LlmzooError as error:
        _warn_once(hub_id, error)
        tasks = parsed(_numbered(f"sample of {hub_id}", sample()), parse)
        return Loaded(tasks, "sample", fallback=True)
    return Loaded(parsed(found, parse), "hub")


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


def _numbered(name: str, records: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for number, record in enumerate(records, start=1):
        yield f"{name}:{number}", record


def _stamp(path: str) -> tuple[int, int]:
    if not path.endswith((".jsonl", ".json")):
        raise ConfigError(
            f"source must be 'auto', 'hub', 'sample' or a .jsonl or .json file; got {path!r}"
        )
    try:
        found = Path(path).stat()
    except OSError as error:
        raise ConfigError(f"source {path!r} cannot be read: {error.strerror}") from error
    return found.st_mtime_ns, found.st_size


def _from_file(path: str) -> Iterator[tuple[str, Any]]:
    """The records of a file, each with its ``file:line`` (``file:number`` in a JSON list)."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"source {path!r} cannot be read: {error}") from error
    if path.endswith(".json"):
        try:
            records = json.loads(text)
        except ValueError as error:
            raise ConfigError(f"{path}: not JSON ({error})") from error
        if not isinstance(records, list):
            raise ConfigError(f"{path}: must be a list of records")
        yield from _numbered(path, records)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield f"{path}:{number}", json.loads(line)
            except ValueError as error:
                raise ConfigError(f"{path}:{number}: not JSON ({error})") from error


def _from_hub(
    hub_id: str, hub_args: tuple[str, ...], hub_splits: tuple[str, ...] | None
) -> Iterator[tuple[str, Any]]:
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the data set {hub_id}", "train", error.name) from error
    try:
        with _quick_failure():
            found = datasets.load_dataset(hub_id, *hub_args)
    except Exception as error:  # network, cache, schema: the library raises of every kind
        raise ConfigError(
            f"{hub_id} cannot be loaded from the hub ({type(error).__name__}: {error}); give "
            "source='sample' or a file"
        ) from error
    for split in hub_splits or sorted(found):
        yield from _numbered(f"{hub_id}[{split}]", found[split])


def hub_in_reach() -> bool:
    """Whether the hub can be asked; where not, its library should be told to read its cache only."""
    import huggingface_hub.constants as hub

    return not hub.HF_HUB_OFFLINE and _hub_answers(hub.ENDPOINT)


@contextlib.contextmanager
def _quick_failure() -> Iterator[None]:
    """Where the hub does not answer, ask its cache only; left alone it retries for half a minute."""
    import datasets
    import huggingface_hub.constants as hub

    if datasets.config.HF_HUB_OFFLINE or _hub_answers(hub.ENDPOINT):
        yield
        return
    kept = datasets.config.HF_HUB_OFFLINE, hub.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = hub.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE, hub.HF_HUB_OFFLINE = kept


def _hub_answers(endpoint: str) -> bool:
    """Whether a connection to the hub can be opened; taken for granted behind a proxy."""
    if any(name.lower() in ("https_proxy", "http_proxy", "all_proxy") for name in os.environ):
        return True
    address = urlsplit(endpoint)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=CONNECT_S).close()
    except OSError:
        return False
    return True
