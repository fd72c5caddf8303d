"""Files of records: JSON lines, a JSON list, or Parquet; the first two may be packed with gzip.

A record that cannot be read is yielded as a :class:`BadRecord`, so that the caller decides whether to
go on. A fault of the file as a whole raises ``ConfigError``.
"""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from llmzoo.errors import ConfigError, require_extra

SUFFIXES = (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".parquet")
MAX_LINE_BYTES = 256 * 2**20  # the longest record; one of the hub's longest has some 100 MiB

# file:line of a record (file:number in a list or in Parquet), and the record
NamedRecord = tuple[str, Any]

_OTHER_TYPES = {
    b"\x1f\x8b": "gzip data; let the file's name end in .gz",
    b"PAR1": "Parquet; let the file's name end in .parquet",
    b"PK\x03\x04": "a zip archive; unpack it first",
}


class BadRecord(ValueError):
    """What is wrong with a record, or with the line that should hold one."""


def is_record_file(path: str) -> bool:
    """Whether a file's name says that it holds records."""
    return path.lower().endswith(SUFFIXES)


def read_records(path: str) -> Iterator[NamedRecord]:
    """The records of a file in their order, each with its name."""
    name = path.lower()
    if name.endswith(".parquet"):
        yield from _read_parquet(path)
        return
    all_lines = nonblank_lines(path)
    if name.removesuffix(".gz").endswith(".json") and _starts_with_list(path):
        yield from _read_json_list(path, all_lines)
        return
    for where, line in all_lines:
        yield where, line if isinstance(line, BadRecord) else parse_json(line)


def nonblank_lines(path: str) -> Iterator[tuple[str, str | BadRecord]]:
    """The lines of a text file that are not blank, each with its name."""
    for number, line in numbered_lines(path):
        if isinstance(line, BadRecord) or line.strip():
            yield f"{path}:{number}", line


def numbered_lines(path: str) -> Iterator[tuple[int, str | BadRecord]]:
    """The lines of a text file, counted from 1, without a byte-order mark.

    Only a line feed ends a line: a text may hold the other characters at which Python splits lines.
    """
    for number, data in _raw_lines(path):
        if len(data) > MAX_LINE_BYTES:
            yield number, BadRecord(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
            continue
        try:
            yield number, data.decode("utf-8")
        except UnicodeDecodeError as error:
            other = [kind for magic, kind in _OTHER_TYPES.items() if data.startswith(magic)]
            if number == 1 and other:
                raise ConfigError(f"{path} is {other[0]}") from None
            yield number, BadRecord(f"not UTF-8 text ({error.reason} at byte {error.start})")


def _raw_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """The numbered lines of a file. A line that is too long is cut one byte after the limit."""
    number = 0
    try:
        with _open_binary(path) as file:
            while data := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if number == 1:
                    data = data.removeprefix(codecs.BOM_UTF8)
                yield number, data
                while len(data) > MAX_LINE_BYTES and not data.endswith(b"\n"):
                    data = file.readline(MAX_LINE_BYTES + 1) or b"\n"
    except gzip.BadGzipFile as error:
        raise ConfigError(f"{path} is not a gzip file, or damaged ({error})") from error
    except (EOFError, zlib.error) as error:
        raise ConfigError(
            f"{path}: the gzip data is damaged or cut off after line {number} ({error})"
        ) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error


def _open_binary(path: str) -> BinaryIO:
    if path.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return Path(path).open("rb")


def parse_json(text: str) -> Any:
    """The value of a JSON text, or a :class:`BadRecord` that says what is wrong."""
    try:
        return json.loads(text)
    except RecursionError:
        return BadRecord("not JSON that can be read (nested too deeply)")
    except ValueError as error:
        return BadRecord(f"not JSON ({error})")


def _starts_with_list(path: str) -> bool:
    first = next(nonblank_lines(path), ("", ""))[1]
    return isinstance(first, str) and first.lstrip().startswith("[")


def _read_json_list(
    path: str, named: Iterator[tuple[str, str | BadRecord]]
) -> Iterator[NamedRecord]:
    """The records of a file that is one JSON list."""
    text = []
    for where, line in named:
        if isinstance(line, BadRecord):
            raise ConfigError(f"{where}: {line}")
        text.append(line)
    value = parse_json("".join(text))
    if isinstance(value, BadRecord):
        raise ConfigError(
            f"{path}: {value}. A .json file is a list of records, or has a record on each line"
        )
    for number, record in enumerate(value, start=1):
        yield f"{path}:{number}", record


def _read_parquet(path: str) -> Iterator[NamedRecord]:
    with require_extra(f"the Parquet file {path}", "train"):
        import pyarrow
        from pyarrow import parquet
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                for record in batch.to_pylist():
                    number += 1
                    yield f"{path}:{number}", record
    except (pyarrow.ArrowException, OSError) as error:
        raise ConfigError(
            f"{path} is not a Parquet file, or damaged after record {number} ({error})"
        ) from error
