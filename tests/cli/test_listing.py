"""``llmzoo info``: the lists of environments and learners."""

import json
import subprocess
import sys


def test_json_is_the_contract(llmzoo):
    said = llmzoo("info", "--json")
    result = json.loads(said.out)
    assert said.code == 0
    assert said.err == ""
    assert [entry["id"] for entry in result] == sorted(entry["id"] for entry in result)
    sudoku = next(entry for entry in result if entry["id"] == "sudoku_v0")
    assert list(sudoku) == ["id", "family", "agents", "summary"]
    assert sudoku["family"] == "games"
    assert sudoku["agents"] == ["proposer_0", "planner_1"]


def test_a_family(llmzoo):
    result = json.loads(llmzoo("info", "--family", "games", "--json").out)
    assert {entry["family"] for entry in result} == {"games"}
    said = llmzoo("info", "--family", "gaems")
    assert said.code == 2
    assert "Did you mean 'games'?" in said.err


def test_learners(llmzoo):
    result = {
        row["name"]: row["summary"]
        for row in json.loads(llmzoo("info", "--learners", "--json").out)
    }
    assert result["magrpo"] == "Credit: the return minus the group's mean return."
    assert set(result) >= {"at_grpo", "ippo", "sft", "dpo"}
    assert "group's mean return" in llmzoo("info", "--learners").out
    assert llmzoo("info", "--learners", "--family", "games").code == 2


def test_a_table_for_people(llmzoo):
    said = llmzoo("info").out
    assert "plan_path_v0" in said
    assert "at_grpo" in said


def test_families_stand_together(llmzoo):
    rows = [line.split("│")[1:3] for line in llmzoo("info").out.splitlines() if "_v0" in line]
    named = [family.strip() for family, _ in rows if family.strip()]
    families = [
        "building",
        "coding",
        "crowd",
        "debate",
        "duels",
        "games",
        "math",
        "planning",
        "proposing",
        "signals",
        "tools",
        "writing",
    ]
    assert named == sorted(set(named)) == families


def test_a_reader_who_stops_reading_is_no_error():
    command = [sys.executable, "-m", "llmzoo", "info"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1
