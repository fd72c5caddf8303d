"""The comparison of four hosts, ``examples/benchmark/exported_hosts.py``."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "examples" / "benchmark"


@pytest.fixture
def hosts(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARK))
    import exported_hosts

    return exported_hosts


def episode(observation="a", total=1.0, success=True):
    return {"agent_0": {"observations": [observation], "return": total, "success": success}}


def test_a_difference_is_counted(hosts):
    expected = [episode() for _ in range(5)]
    played = copy.deepcopy(expected)
    assert set(hosts.count_equal(expected, played).values()) == {5}
    played[0] = episode(observation="a ")
    played[1] = episode(total=1.0 + 1e-6)
    played[2] = episode(success=False)
    played[3] = {"agent_1": episode()["agent_0"], **episode()}
    equal = hosts.count_equal(expected, played)
    assert equal == {"observations": 3, "return": 3, "success": 3, "all": 1}
    with pytest.raises(ValueError, match="shorter"):
        hosts.count_equal(expected, played[:4])


def test_the_reference_mixes_right_and_wrong_answers(hosts):
    case = hosts.cases()[0]
    answers, episodes = hosts.play_reference(case, case.env, ["planner_1"], 30)
    assert set(hosts.HOSTILE) & set(answers.values())
    assert 0 < sum(e["planner_1"]["success"] for e in episodes) < 30
    read = {text for e in episodes for text in e["planner_1"]["observations"]}
    assert read == set(answers)


@pytest.mark.long("installs TRL, verifiers and OpenEnv from the network")
def test_four_hosts_play_the_same_episodes(tmp_path):
    out = tmp_path / "hosts.json"
    command = [sys.executable, str(BENCHMARK / "exported_hosts.py"), "--seeds", "100"]
    subprocess.run([*command, "--out", str(out)], check=True)
    rows = json.loads(out.read_text())
    assert [row["env"] for row in rows] == [case.env for case in _cases()]
    for row in rows:
        both = "," in row["agents"]
        assert set(row["equal"]) == {"pettingzoo", "verifiers"} | (
            set() if both else {"trl", "openenv"}
        )
        assert {counts["all"] for counts in row["equal"].values()} == {100}


def _cases():
    sys.path.insert(0, str(BENCHMARK))
    try:
        import exported_hosts
    finally:
        sys.path.remove(str(BENCHMARK))
    return exported_hosts.cases()
