"""What validate says about files that are broken in one way each."""

from __future__ import annotations

import json

import pytest

from llmzoo.envs.coding.functions.tasks import SAMPLES
from llmzoo.evaluation.validation import KINDS, validate

GOOD = [json.loads(line) for line in (SAMPLES / "mbpp.jsonl").read_text().splitlines()][:6]


def changed(number=0, **fields):
    """The good records with some fields of one changed; None takes a field away."""
    rows = [dict(row) for row in GOOD]
    rows[number] |= fields
    rows[number] = {name: value for name, value in rows[number].items() if value is not None}
    return rows


def faults(tmp_path, rows):
    path = tmp_path / "tasks.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = validate("mbpp_v0", env_args={"source": str(path)})
    return {(fault.kind, fault.where): fault.what for fault in found.faults}


def id_of(number):
    return str(GOOD[number]["task_id"])


def wrong(row):
    """Its program, and a function of the same name after it that returns 0."""
    name = row["test_list"][0].removeprefix("assert ").partition("(")[0]
    return f"{row['code']}\n\ndef {name}(*args):\n    return 0\n"


def test_a_good_file_has_no_fault(tmp_path):
    assert faults(tmp_path, GOOD) == {}


BROKEN = {
    "a line that is no JSON": (
        [*GOOD, '{"task_id": 5, '],
        "bad record",
        "tasks.jsonl:7",
        "JSON",
    ),
    "a line that is no record": ([*GOOD, "[1, 2]"], "bad record", "tasks.jsonl:7", ""),
    "a field is missing": (changed(2, test_list=None), "bad record", "tasks.jsonl:3", "test_list"),
    "a field has another type": (changed(1, code=7), "bad record", "tasks.jsonl:2", "code"),
    "tests that do not parse": (
        changed(1, test_list=["assert f(", "assert g("]),
        "bad record",
        "tasks.jsonl:2",
        "",
    ),
    "an id stands twice": (
        changed(3, task_id=GOOD[0]["task_id"]),
        "bad record",
        "tasks.jsonl:4",
        "is taken by",
    ),
    "a reference that fails": (changed(4, code=wrong(GOOD[4])), "reference fails", 4, ""),
    "a reference that does not parse": (
        changed(4, code="def f(:"),
        "bad record",
        "tasks.jsonl:5",
        "syntax error",
    ),
    "the same task twice": (
        [*GOOD, {**GOOD[1], "task_id": 99_999}],
        "duplicate",
        "99999",
        f"the same as {id_of(1)}",
    ),
    "tests that everything passes": (
        changed(0, test_list=[f"assert count_palindromes(['{n}']) != 77" for n in range(8)]),
        "wrong answer passes",
        0,
        "the reference, spoiled",
    ),
    "a test task that all but stands in the training split": (
        [
            *GOOD,
            *(
                dict(GOOD[2], task_id=f"again {n}", prompt=GOOD[2]["prompt"].replace(" ", " - ", n))
                for n in range(1, 9)
            ),
        ],
        "leak",
        None,
        "nearly identical to ",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_with_its_fault(name, tmp_path):
    rows, kind, where, what = BROKEN[name]
    found = faults(tmp_path, rows)
    print(name, found)
    assert found
    place = id_of(where) if isinstance(where, int) else where or ""
    named = {key: said for key, said in found.items() if key[1].endswith(place)}
    assert named == found, found
    assert {found_kind for found_kind, _ in named} == {kind}
    assert all(what in said for said in named.values())
    assert len(found) == 1 or where is None


def test_kinds_are_known():
    assert {kind for _, kind, _, _ in BROKEN.values()} == {*KINDS} - {"no reference"}
