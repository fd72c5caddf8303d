"""Dialogues of bfcl_multi_turn_v0: records, folders, splits, the sample, and what a long context adds."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

import llmzoo
from llmzoo.envs.sources import BadField
from llmzoo.envs.tasks import assign_split
from llmzoo.envs.tools.bfcl_multi_turn import execution, tasks
from llmzoo.envs.tools.bfcl_multi_turn.apis import APIS, padding
from llmzoo.envs.tools.bfcl_multi_turn.tools import api_tools, describe_tool
from llmzoo.errors import ConfigError, SkippedRecordsWarning

ROOT = Path(__file__).parents[3]
SAMPLE = tasks.PUBLIC_SET.sample_records()
FIRST = SAMPLE[0]


def folder(path: Path, records, *, category="base"):
    """A folder as BFCL has it: records in one file, their ground truths in another."""
    name = f"BFCL_v4_multi_turn_{category}.json"
    (path / "possible_answer").mkdir(exist_ok=True)
    asked = [{k: v for k, v in r.items() if k != "ground_truth"} for r in records]
    truths = [{"id": r["id"], "ground_truth": r["ground_truth"]} for r in records]
    (path / name).write_text("".join(json.dumps(r) + "\n" for r in asked))
    (path / "possible_answer" / name).write_text("".join(json.dumps(r) + "\n" for r in truths))
    return str(path)


def make(**kwargs):
    return llmzoo.make("bfcl_multi_turn_v0", **{"split": "all", **kwargs}).unwrapped


def test_the_sample_is_what_its_script_writes():
    spec = importlib.util.spec_from_file_location(
        "bfcl_dialogues", ROOT / "scripts/samples/bfcl_dialogues.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["bfcl_dialogues"] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
        assert module.records() == SAMPLE
    finally:
        del sys.modules["bfcl_dialogues"]


def test_the_sample_has_every_category_api_and_no_failing_call():
    dialogues = [tasks.parse_record(each) for each in SAMPLE]
    assert {each.category for each in dialogues} == set(tasks.CATEGORIES)
    assert {api for each in dialogues for api in each.apis} == set(APIS)
    for dialogue in dialogues:
        world = dialogue.start(padding.make_sample_padding())
        responses = [r for calls in dialogue.truths for r in execution.execute(calls, world)]
        assert not [r for r in responses if '"error"' in r or r.startswith("Error")]
    for split in ("train", "test"):
        assert make(source="sample", split=split).tasks.count > 0


def test_the_variants_of_a_dialogue_are_in_one_split():
    splits: dict[str, set[str]] = {}
    for each in map(tasks.parse_record, SAMPLE):
        number = each.name.rpartition("_")[2]
        splits.setdefault(number, set()).add(assign_split(tasks.canonical(each)))
    assert len(splits) == 10
    assert all(len(found) == 1 for found in splits.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"involved_classes": ["MemoryAPI_kv"]},
            "has 'MemoryAPI_kv'; the APIs that are played are",
        ),
        ({"ground_truth": None}, "'ground_truth' is missing. BFCL keeps it in the folder"),
        ({"ground_truth": [[]]}, "has 1 turns, and question 4"),
        ({"ground_truth": [["fly()"], [], [], []]}, "names 'fly', which no API of the record has"),
        ({"ground_truth": [["cd(folder=x)"], [], [], []]}, "is no call of literals"),
        ({"ground_truth": [["cd("], [], [], []]}, "is no call of literals"),
        ({"ground_truth": [["__import__('os').abort()"], [], [], []]}, "is no call of literals"),
        ({"ground_truth": ["ls()", [], [], []]}, "must hold a list of calls, as text"),
        ({"initial_config": {"GorillaFileSystem": {"root": 3}}}, "is none of the APIs' "),
        ({"missed_function": {"9": ["ls"]}}, "has '9', which is no turn of the record"),
        ({"question": ["hello"] * 4}, "must hold a list of messages"),
    ],
)
def test_bad_records(tmp_path, change, message):
    with pytest.raises(BadField, match=message):
        tasks.parse_record({**FIRST, **change})
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in (FIRST, {**FIRST, "id": "x", **change})))
    with pytest.raises(ConfigError, match=r"set\.jsonl:2: field"):
        make(source=str(path))
    with pytest.warns(SkippedRecordsWarning, match="1 of 2 records were skipped"):
        assert make(source=str(path), on_bad_record="skip").tasks.count == 1


def test_a_folder_of_bfcls_files(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    folder(data, [r for r in SAMPLE if "_base_" in r["id"]])
    folder(data, [r for r in SAMPLE if "_func_" in r["id"]], category="miss_func")
    for source in (data, tmp_path):
        assert make(source=str(source)).tasks.count == 20
    assert make(source=str(data / "BFCL_v4_multi_turn_base.json")).tasks.count == 10
    assert make(source=str(tmp_path), category="miss_func").tasks.count == 10
    with pytest.raises(ConfigError, match="has no dialogue of category 'miss_param'"):
        make(source=str(tmp_path), category="miss_param")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ConfigError, match="has no file"):
        make(source=str(empty))


def test_a_long_context_needs_bfcls_file(tmp_path):
    folder(tmp_path, SAMPLE[:2])
    long = [r for r in SAMPLE if "long_context" in r["id"]]
    folder(tmp_path, long, category="long_context")
    env = make(source=str(tmp_path))
    assert (env.tasks.count, env.tasks.left_out) == (2, len(long))
    with pytest.raises(ConfigError, match=r"needs BFCL's file long_context\.py; give its path"):
        make(source=str(tmp_path), category="long_context")
    lines = [
        f"{name} = {value!r}\n" for name, value in padding.make_sample_padding().values.items()
    ]
    (tmp_path / "long_context.py").write_text("".join(lines))
    env = make(source=str(tmp_path), category="long_context")
    assert env.tasks.count == len(long)
    assert env.padding.values == padding.make_sample_padding().values
    given = make(source=str(tmp_path), padding=str(tmp_path / "long_context.py"))
    assert given.tasks.count == 2 + len(long)


def test_a_padding_is_read_and_not_run(tmp_path):
    path = tmp_path / "long_context.py"
    lines = [
        f"{name} = {value!r}\n" for name, value in padding.make_sample_padding().values.items()
    ]
    ran = tmp_path / "ran"
    path.write_text(f"open({str(ran)!r}, 'w')\nOTHER = open({str(ran)!r}, 'w')\n{''.join(lines)}")
    assert padding.load(str(path)).values == padding.make_sample_padding().values
    assert not ran.exists()
    other = tmp_path / "other.py"
    other.write_text(f"{''.join(lines)}FILES_TAIL_USED = open({str(ran)!r}, 'w')\n")
    with pytest.raises(ConfigError, match="FILES_TAIL_USED is no literal"):
        padding.load(str(other))
    other.write_text("".join(lines[1:]))
    with pytest.raises(ConfigError, match="has no list AUTOMOBILE_EXTENSION"):
        padding.load(str(other))
    assert not ran.exists()


def test_a_long_context_is_long():
    """The same dialogue with and without: 30 more files, and longer responses."""
    short = next(tasks.parse_record(r) for r in SAMPLE if r["id"] == "multi_turn_base_0")
    long = next(tasks.parse_record(r) for r in SAMPLE if r["id"] == "multi_turn_long_context_0")
    listed = []
    for dialogue in (short, long):
        world = dialogue.start(padding.make_sample_padding())
        execution.execute(map(execution.parse_call, ["cd('lab')", "cd('results')"]), world)
        (response,) = execution.execute([execution.parse_call("ls()")], world)
        listed.append(len(json.loads(response)["current_directory_content"]))
    assert listed == [0, 30]


@pytest.mark.parametrize("api", APIS)
def test_every_function_and_parameter_is_described(api):
    for name, tool in api_tools(api).items():
        told = json.loads(describe_tool(tool))
        assert told["name"] == name
        assert told["description"].endswith(".")
        assert all(each["description"] for each in told["parameters"]["properties"].values())
        assert set(told["parameters"]["required"]) <= set(told["parameters"]["properties"])
