"""Tasks of a public set come from the hub, a file or the sample, and say which."""

from __future__ import annotations

import json
import sys
import types
import warnings
from pathlib import Path

import pytest

from llmzoo.envs import hub as hub_sets
from llmzoo.envs import sources
from llmzoo.envs.sources import (
    PublicSet,
    get_field,
    get_strings,
    load_file,
    parse_records,
    read_shipped_records,
)
from llmzoo.errors import ConfigError, MissingExtraError, SkippedRecordsWarning

SAMPLE = Path(__file__).parent / "numbers.jsonl"  # {"n": 7}
RECORDS = [{"n": 1}, {"n": 2}]


def parse(record):
    return get_field(record, "n", int) * 10


def get(source, on_bad_record="error", **kwargs):
    numbers = PublicSet(hub_id="someone/numbers", read=parse, sample=SAMPLE, **kwargs)
    return numbers.load(source, on_bad_record)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(sources, "_loaded", {})
    monkeypatch.setattr(sources, "_warned", set())


@pytest.fixture
def hub(monkeypatch):
    """A stand-in for ``datasets``; ``hub.calls`` are the arguments of ``load_dataset``."""
    fake = types.ModuleType("datasets")
    fake.calls = []
    fake.result = {"train": RECORDS[:1], "test": RECORDS[1:]}
    fake.config = types.SimpleNamespace(HF_HUB_OFFLINE=True)

    def load_dataset(*args):
        fake.calls.append(args)
        if isinstance(fake.result, Exception):
            raise fake.result
        return fake.result

    fake.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", fake)
    return fake


def test_the_hub_gives_all_its_splits(hub):
    result = get("hub", hub_args=("small",))
    assert (result.tasks, result.source, result.fallback) == ((20, 10), "hub", False)
    assert hub.calls == [("someone/numbers", "small")]
    assert get("hub", hub_splits=("train",)).tasks == (10,)


def test_auto_takes_the_hub_where_it_answers(hub):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = get("auto")
    assert (result.source, result.fallback) == ("hub", False)


def test_auto_falls_back_with_one_warning_for_a_set(hub):
    hub.result = ConnectionError("no network")
    with pytest.warns(
        UserWarning, match=r"someone/numbers cannot be reached: make and play take.*no network"
    ):
        result = get("auto")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        get("auto")
        get("auto", hub_args=("other",))
    assert (result.tasks, result.source, result.fallback) == ((70,), "sample", True)


def test_the_hub_asked_for_by_name_raises(hub):
    hub.result = ConnectionError("no network")
    with pytest.raises(ConfigError, match=r"cannot be loaded from the hub.*no network"):
        get("hub")


def test_a_malformed_record_of_the_hub_is_no_reason_to_fall_back(hub):
    hub.result = {"train": [{"n": 1}, {"n": "two"}]}
    with pytest.raises(ConfigError, match=r"someone/numbers\[train\]:2: field 'n' must be int"):
        get("auto")


def test_without_datasets(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[train\]"):
        get("hub")
    with pytest.warns(UserWarning, match="cannot be reached"):
        assert get("auto").fallback


def test_the_sample_asked_for_is_no_fallback():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = get("sample")
    assert (result.tasks, result.source, result.fallback) == ((70,), "sample", False)


def test_files(tmp_path):
    lines, whole = tmp_path / "numbers.jsonl", tmp_path / "numbers.json"
    lines.write_text("\n".join(map(json.dumps, RECORDS)) + "\n\n")
    whole.write_text(json.dumps(RECORDS))
    for path in (str(lines), str(whole)):
        result = get(path)
        assert (result.tasks, result.source, result.fallback) == ((10, 20), path, False)
    lines.write_text('{"n": 3}\n')
    assert get(str(lines)).tasks == (30,)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"n": 1}\n{"m": 2}', r"a\.jsonl:2: field 'n' is missing"),
        ("a.jsonl", '{"n": 1}\n\n{"n": "2"}', r"a\.jsonl:3: field 'n' must be int, got str"),
        ("a.jsonl", '{"n": 1}\n{"n"', r"a\.jsonl:2: not JSON"),
        ("a.jsonl", "[1]", r"a\.jsonl:1: not a record but list"),
        ("a.json", '[{"n": 1}, {"n": []}]', r"a\.json:2: field 'n' must be int, got list"),
        ("a.json", '{"n": 1}\n{"n": "2"}', r"a\.json:2: field 'n' must be int, got str"),
        ("a.json", "{", r"a\.json:1: not JSON"),
        ("a.json", '[{"n": 1},\n', r"a\.json: not JSON .*A \.json file is a list of records, or"),
        ("a.jsonl", "", r"a\.jsonl holds no records"),
        ("a.jsonl", "\n\n", r"a\.jsonl holds no records"),
        ("a.jsonl", "[" * 100_000, r"a\.jsonl:1: not JSON that can be read \(nested too deeply\)"),
        ("a.jsonl", '{"n": 1, "id": 1.5}', r"a\.jsonl:1: field 'id' must be a text or a whole"),
    ],
)
def test_malformed_files_are_named_by_line_and_field(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        get(str(path))


def test_sources_that_are_none():
    with pytest.raises(ConfigError, match=r"'auto', 'hub', 'sample' or a file whose name ends"):
        get("hup")
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        get("/nowhere/at/all.jsonl")


def test_fields():
    record = {"a": "x", "b": ["x", "y"], "c": None}
    assert get_field(record, "a", str) == "x"
    assert get_field(record, "c", str, "default") == "default"
    assert get_strings(record, "b") == ("x", "y")
    assert get_strings(record, "d", []) == ()
    with pytest.raises(ValueError, match="field 'b' must be a list of strings"):
        get_strings({"b": [1]}, "b")


def test_only_a_line_feed_ends_a_record(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text('{"a": "one\u2028two\x85three"}\n\n{"a": "four"}\n', encoding="utf-8")
    assert list(read_shipped_records(path)) == [{"a": "one\u2028two\x85three"}, {"a": "four"}]


def test_what_is_parsed_is_named_by_its_place():
    assert parse_records([("first", {"n": 1}), ("second", {"n": 2})], parse, "mine").tasks == (
        10,
        20,
    )
    with pytest.raises(ConfigError, match=r"^second: field 'n' is missing$"):
        parse_records([("first", {"n": 1}), ("second", {})], parse, "mine")
    with pytest.raises(ConfigError, match=r"^first: not a record but list$"):
        parse_records([("first", [1])], parse, "mine")


def test_an_unreachable_hub_fails_at_once(monkeypatch):
    """Asked without a network, the library itself would retry for half a minute."""
    datasets = pytest.importorskip("datasets")
    seen = []

    def load_dataset(*args):
        seen.append(datasets.config.HF_HUB_OFFLINE)
        raise ConnectionError("offline")

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(hub_sets, "_can_connect", lambda endpoint: False)
    with pytest.raises(ConfigError):
        get("hub")
    assert seen == [True]
    assert datasets.config.HF_HUB_OFFLINE is False


def test_records_alike_are_all_kept_in_their_order(tmp_path):
    path = tmp_path / "numbers.jsonl"
    path.write_text('{"n": 2}\n{"n": 1}\n{"n": 2}\n')
    assert get(str(path)).tasks == (20, 10, 20)


def test_a_records_id_is_a_text_whatever_it_was(tmp_path):
    path = tmp_path / "numbers.jsonl"
    path.write_text(
        '{"n": 1, "task_id": 76}\n{"n": 2, "id": "b"}\n{"n": 3}\n{"n": 4, "id": null}\n'
    )
    assert get(str(path)).names == ("76", "b", "", "")


def test_two_records_with_one_id_are_both_named(tmp_path):
    path = tmp_path / "numbers.jsonl"
    path.write_text('{"n": 1, "id": 7}\n\n{"n": 2, "id": "7"}\n{"n": 3, "id": 8}\n')
    message = rf"numbers\.jsonl:3: the id '7' is taken by {path}:1"
    with pytest.raises(ConfigError, match=message):
        get(str(path))
    with pytest.warns(SkippedRecordsWarning, match=f"1 of 3 records were skipped: .*{message}"):
        result = get(str(path), on_bad_record="skip")
    assert (result.tasks, result.names, result.skipped) == ((10, 30), ("7", "8"), 1)


def test_the_hubs_splits_may_count_anew(hub):
    hub.result = {"train": [{"n": 1, "id": 0}], "test": [{"n": 2, "id": 0}]}
    assert get("hub").names == ("0", "0")


def test_bad_records_are_skipped_where_that_is_asked_for(tmp_path):
    path = tmp_path / "numbers.jsonl"
    path.write_text('{"n": 1}\n{"n"\n[3]\n{"n": "four"}\n{"n": 5}\n')
    with pytest.warns(SkippedRecordsWarning) as told:
        result = get(str(path), on_bad_record="skip")
    assert (result.tasks, result.skipped) == ((10, 50), 3)
    (warning,) = told
    assert str(warning.message).startswith(
        f"{path}: 3 of 5 records were skipped: {path}:2: not JSON"
    )
    assert f"{path}:3: not a record but list; {path}:4: field 'n' must be int, got str" in str(
        warning.message
    )
    with pytest.raises(ConfigError, match=r"numbers\.jsonl:2: not JSON"):
        get(str(path))
    with pytest.raises(ConfigError, match="on_bad_record must be one of error, skip; got 'drop'"):
        get(str(path), on_bad_record="drop")


def test_a_file_of_bad_records_only_is_no_source(tmp_path):
    path = tmp_path / "numbers.jsonl"
    path.write_text("{\n{\n")
    with pytest.raises(ConfigError, match=r"all of its 2 records are bad .*numbers\.jsonl:1: not"):
        get(str(path), on_bad_record="skip")


def test_records_that_are_not_played_are_counted(tmp_path):
    path = tmp_path / "numbers.jsonl"
    path.write_text('{"n": 1}\n{"n": 2}\n{"n": 3}\n')
    result = load_file(str(path), lambda r: r["n"] if r["n"] != 2 else None)
    assert (result.tasks, result.left_out) == ((1, 3), 1)
    assert (result.filter_tasks(lambda n: n > 1, asked=True).left_out) == 1
    assert (result.filter_tasks(lambda n: n > 1, asked=False).left_out) == 2


def test_the_tasks_of_a_split_are_made_once():
    """The canonical form of a task can take long."""
    asked = []

    def canonical(task):
        asked.append(task)
        return str(task)

    result = parse_records([("a", {"n": 1}), ("b", {"n": 2})], parse, "mine")
    assert result.task_list(canonical, "all") is result.task_list(canonical, "all")
    assert asked == [10, 20]
