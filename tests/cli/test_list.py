"""``llmzoo list``"""

import json


def test_json_is_the_contract(llmzoo):
    said = llmzoo("list", "--json")
    found = json.loads(said.out)
    assert said.code == 0
    assert said.err == ""
    assert [entry["id"] for entry in found] == sorted(entry["id"] for entry in found)
    sudoku = next(entry for entry in found if entry["id"] == "sudoku_v0")
    assert list(sudoku) == ["id", "family", "agents", "summary"]
    assert sudoku["family"] == "games"
    assert sudoku["agents"] == ["proposer_0", "planner_1"]


def test_a_family(llmzoo):
    found = json.loads(llmzoo("list", "--family", "games", "--json").out)
    assert {entry["family"] for entry in found} == {"games"}
    assert json.loads(llmzoo("list", "--family", "nothing", "--json").out) == []


def test_a_table_for_people(llmzoo):
    said = llmzoo("list").out
    assert "plan_path_v0" in said
    assert "at_grpo" in said
