"""Files of records are read whatever their form; what cannot be read is named by its line."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import pytest

from llmzoo.envs import record_files
from llmzoo.envs.record_files import BadRecord, read_records
from llmzoo.errors import ConfigError, MissingExtraError

RECORDS = [{"id": 7, "text": "one\u2028two"}, {"id": 8, "text": "é", "calls": [{"a": [1, 2]}]}]
LINES = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in RECORDS).encode()
GZIPPED = gzip.compress(LINES, mtime=0)  # the ids of tests hold no time


def of(path, content):
    path.write_bytes(content)
    return list(read_records(str(path)))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", LINES),
        ("a.json", LINES),  # as BFCL ships
        ("a.json", json.dumps(RECORDS).encode()),
        ("a.json", b"\n" + json.dumps(RECORDS, indent=2).encode()),
        ("a.jsonl", b"\xef\xbb\xbf" + LINES),
        ("a.json", b"\xef\xbb\xbf" + json.dumps(RECORDS).encode()),
        ("a.jsonl", LINES.replace(b"\n", b"\r\n")),
        ("a.jsonl", LINES.rstrip()),
        ("a.jsonl.gz", GZIPPED),
        ("A.JSONL.GZ", gzip.compress(b"\xef\xbb\xbf" + LINES, mtime=0)),
        ("a.json.gz", gzip.compress(json.dumps(RECORDS).encode(), mtime=0)),
    ],
)
def test_the_same_records_from_every_form(tmp_path, name, content):
    path = tmp_path / name
    assert of(path, content) == [(f"{path}:1", RECORDS[0]), (f"{path}:2", RECORDS[1])]


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    rows = [{"id": n, "tests": {"input": ["1", "2"], "output": [str(n)]}} for n in range(600)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    result = list(read_records(str(path)))
    assert [record for _, record in result] == rows
    assert result[599][0] == f"{path}:600"
    with pytest.raises(ConfigError, match=r"b\.parquet is not a Parquet file"):
        of(tmp_path / "b.parquet", LINES)


def test_parquet_loads_no_torch(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([{"id": 1}]), path)
    program = (
        "import sys; from llmzoo.envs import record_files; "
        f"assert len(list(record_files.read_records({str(path)!r}))) == 1; "
        "print([n for n in ('torch', 'datasets', 'transformers') if n in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stdout.strip() == "[]", said.stderr


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"the Parquet file .*llmzoo-marl\[train\]"):
        of(tmp_path / "a.parquet", b"")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"id"', "not JSON"),
        (b"\xff\xfe", r"not UTF-8 text \(invalid start byte at byte 0\)"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"n": ' + b"1" * 10_000 + b"}", "not JSON"),
        (b'"' + b"x" * 1_000 + b'"', "the line is longer than 999 bytes"),
    ],
)
def test_a_bad_line_stands_in_its_place(tmp_path, monkeypatch, line, why):
    monkeypatch.setattr(
        record_files, "MAX_LINE_BYTES", 999 if b"x" in line else record_files.MAX_LINE_BYTES
    )
    path = tmp_path / "a.jsonl"
    first, bad, last = of(path, b'{"id": 1}\n' + line + b'\n{"id": 3}\n')
    assert (first[1], last) == ({"id": 1}, (f"{path}:3", {"id": 3}))
    assert bad[0] == f"{path}:2"
    assert isinstance(bad[1], BadRecord)
    with pytest.raises(BadRecord, match=why):
        raise bad[1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl.gz", LINES, "is not a gzip file"),
        ("a.jsonl.gz", GZIPPED[:-12], r"damaged or cut off after line \d"),
        ("a.jsonl", GZIPPED, "is gzip data; let the file's name end in .gz"),
        ("a.jsonl", b"PAR1\x00\xff\n", "is Parquet; let the file's name end in .parquet"),
        ("a.json", b"[{", r"a\.json: not JSON .*A \.json file is a list of records, or has"),
    ],
)
def test_a_file_of_another_type_is_named(tmp_path, name, content, message):
    with pytest.raises(ConfigError, match=message):
        of(tmp_path / name, content)


def test_a_folder_is_no_file(tmp_path):
    path = tmp_path / "a.jsonl"
    path.mkdir()
    with pytest.raises(ConfigError, match=r"a\.jsonl cannot be read: Is a directory"):
        list(read_records(str(path)))
