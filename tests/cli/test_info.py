"""``llmzoo info``"""

import json


def test_json_is_the_contract(llmzoo):
    said = llmzoo("info", "--json")
    found = json.loads(said.out)
    assert said.code == 0
    assert list(found) == [
        *("llmzoo", "python", "machine", "packages", "environments", "learners", "sandbox")
    ]
    assert found["packages"]["pettingzoo"].startswith("1.")
    assert list(found["sandbox"]) == ["level", "layers", "missing"]
    assert found["sandbox"]["level"] in (0, 1, 2, 3)
    assert ("seccomp" in found["sandbox"]["layers"]) == (found["sandbox"]["level"] > 0)


def test_a_table_for_people(llmzoo):
    said = llmzoo("info").out
    assert "sandbox: level" in said
    assert "packages: torch" in said
