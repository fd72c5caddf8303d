"""Tasks of a public set come from the hub, a file or the sample, and say which."""

from __future__ import annotations

import json
import sys
import types
import warnings

import pytest

from llmzoo.envs import sources
from llmzoo.envs.sources import field, load, parsed, records, texts
from llmzoo.errors import ConfigError, MissingExtraError

RECORDS = [{"n": 1}, {"n": 2}]


def parse(record):
    return field(record, "n", int) * 10


def get(source, **kwargs):
    return load(source, hub_id="someone/numbers", sample=lambda: [{"n": 7}], parse=parse, **kwargs)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(sources, "_loaded", {})
    monkeypatch.setattr(sources, "_warned", set())


@pytest.fixture
def hub(monkeypatch):
    """A stand-in for ``datasets``; ``hub.calls`` are the arguments of ``load_dataset``."""
    fake = types.ModuleType("datasets")
    fake.calls = []
    fake.found = {"train": RECORDS[:1], "test": RECORDS[1:]}
    fake.config = types.SimpleNamespace(HF_HUB_OFFLINE=True)

    def load_dataset(*args):
        fake.calls.append(args)
        if isinstance(fake.found, Exception):
            raise fake.found
        return fake.found

    fake.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", fake)
    return fake


def test_the_hub_gives_all_its_splits(hub):
    found = get("hub", hub_args=("small",))
    assert (found.tasks, found.source, found.fallback) == ((20, 10), "hub", False)
    assert hub.calls == [("someone/numbers", "small")]
    assert get("hub", hub_splits=("train",)).tasks == (10,)


def test_auto_takes_the_hub_where_it_answers(hub):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = get("auto")
    assert (found.source, found.fallback) == ("hub", False)


def test_auto_falls_back_with_one_warning_for_a_set(hub):
    hub.found = ConnectionError("no network")
    with pytest.warns(UserWarning, match=r"someone/numbers is out of reach.*no network"):
        found = get("auto")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        get("auto")
        get("auto", hub_args=("other",))
    assert (found.tasks, found.source, found.fallback) == ((70,), "sample", True)


def test_the_hub_asked_for_by_name_raises(hub):
    hub.found = ConnectionError("no network")
    with pytest.raises(ConfigError, match=r"cannot be loaded from the hub.*no network"):
        get("hub")


def test_a_malformed_record_of_the_hub_is_no_reason_to_fall_back(hub):
    hub.found = {"train": [{"n": 1}, {"n": "two"}]}
    with pytest.raises(ConfigError, match=r"someone/numbers\[train\]:2: field 'n' must be int"):
        get("auto")


def test_without_datasets(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[train\]"):
        get("hub")
    with pytest.warns(UserWarning, match="out of reach"):
        assert get("auto").fallback


def test_the_sample_asked_for_is_no_fallback():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = get("sample")
    assert (found.tasks, found.source, found.fallback) == ((70,), "sample", False)


def test_files(tmp_path):
    lines, whole = tmp_path / "numbers.jsonl", tmp_path / "numbers.json"
    lines.write_text("\n".join(map(json.dumps, RECORDS)) + "\n\n")
    whole.write_text(json.dumps(RECORDS))
    for path in (str(lines), str(whole)):
        found = get(path)
        assert (found.tasks, found.source, found.fallback) == ((10, 20), path, False)
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
        ("a.json", '{"n": 1}', r"a\.json: must be a list of records"),
        ("a.json", "{", r"a\.json: not JSON"),
    ],
)
def test_malformed_files_are_named_by_line_and_field(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        get(str(path))


def test_sources_that_are_none():
    with pytest.raises(ConfigError, match=r"'auto', 'hub', 'sample' or a \.jsonl or \.json file"):
        get("hup")
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        get("/nowhere/at/all.jsonl")


def test_fields():
    record = {"a": "x", "b": ["x", "y"], "c": None}
    assert field(record, "a", str) == "x"
    assert field(record, "c", str, "default") == "default"
    assert texts(record, "b") == ("x", "y")
    assert texts(record, "d", []) == ()
    with pytest.raises(ValueError, match="field 'b' must be a list of strings"):
        texts({"b": [1]}, "b")


def test_only_a_line_feed_ends_a_record(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text('{"a": "one\u2028two\x85three"}\n\n{"a": "four"}\n', encoding="utf-8")
    assert list(records(path)) == [{"a": "one\u2028two\x85three"}, {"a": "four"}]


def test_what_is_parsed_is_named_by_its_place():
    assert parsed([("first", {"n": 1}), ("second", {"n": 2})], parse) == (10, 20)
    with pytest.raises(ConfigError, match=r"^second: field 'n' is missing$"):
        parsed([("first", {"n": 1}), ("second", {})], parse)
    with pytest.raises(ConfigError, match=r"^first: not a record but list$"):
        parsed([("first", [1])], parse)


def test_an_unreachable_hub_fails_at_once(monkeypatch):
    """Asked without a network, the library itself would retry for half a minute."""
    datasets = pytest.importorskip("datasets")
    seen = []

    def load_dataset(*args):
        seen.append(datasets.config.HF_HUB_OFFLINE)
        raise ConnectionError("offline")

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(sources, "_hub_answers", lambda endpoint: False)
    with pytest.raises(ConfigError):
        get("hub")
    assert seen == [True]
    assert datasets.config.HF_HUB_OFFLINE is False
