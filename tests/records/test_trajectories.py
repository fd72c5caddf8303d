"""Trajectories: rows by hand, filters, and files that come back exactly or are refused."""

import json

import pytest
from tiny_models import FakePolicy
from toy_envs import Adder

from llmzoo.errors import ConfigError
from llmzoo.records import trajectories
from llmzoo.rollout.episodes import play_episodes


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """What ``datasets`` converts goes into the test's folder."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def played(seeds=(7,), turns=2):
    """Adder: a_0 writes 1 in its first turn and 3 in its second, b_1 writes 2 and 4."""
    player = FakePolicy(
        lambda request, i: str(int(request.observation.split()[1]) * 2 + 1 + (request.agent > "b"))
    )
    return play_episodes(lambda: Adder(max_turns=turns), player, list(seeds), env_id="adder_v0")


def a_row(episode, agent="a_0", turn=0, returned=0.0, success=False, **changes):
    row = {
        "env": "toy",
        "seed": episode,
        "agent": agent,
        "turn": turn,
        "prompt": f"p{episode}",
        "completion": f"c{turn}",
        "next_observation": "n",
        "reward": returned,
        "return": returned,
        "episode_return": returned,
        "success": success,
        "policy": "test",
    }
    return {**row, **changes}


def test_rows_of_an_episode_worked_out():
    rows = trajectories.to_rows(played(), policy="expert")
    assert [set(row) for row in rows] == [set(trajectories.FIELDS)] * 4
    assert [(r["agent"], r["turn"], r["completion"]) for r in rows] == [
        *(("a_0", 0, "1"), ("b_1", 0, "2"), ("a_0", 1, "3"), ("b_1", 1, "4"))
    ]
    # each is paid its own number, and at the end both a tenth of 1 + 2 + 3 + 4
    assert [r["reward"] for r in rows] == pytest.approx([1.0, 2.0, 4.0, 5.0])
    # what an agent is paid from then on: 1 + 4 and 4, 2 + 5 and 5
    assert [r["return"] for r in rows] == pytest.approx([5.0, 7.0, 4.0, 5.0])
    assert [r["episode_return"] for r in rows] == pytest.approx([5.0, 7.0, 5.0, 7.0])
    assert {(r["env"], r["seed"], r["success"], r["policy"]) for r in rows} == {
        ("adder_v0", 7, True, "expert")
    }


def test_the_next_observation_is_the_agents_own_and_at_the_end_the_final_one():
    (episode,) = played()
    rows = trajectories.to_rows([episode])
    assert [r["prompt"] for r in rows] == [
        "a_0 0 ",
        "b_1 0 1.0",
        "a_0 1 1.0 2.0",
        "b_1 1 1.0 2.0 3.0",
    ]
    assert rows[0]["next_observation"] == "a_0 1 1.0 2.0"  # not what b_1 reads in between
    assert rows[1]["next_observation"] == "b_1 1 1.0 2.0 3.0"
    assert rows[2]["next_observation"] == episode.final["a_0"] != ""
    assert rows[3]["next_observation"] == episode.final["b_1"] != ""


def test_rows_tell_their_episodes_apart_and_give_them_back():
    rows = trajectories.to_rows(played(seeds=(7, 7, 8)))
    assert [len(part) for part in trajectories.split_by_episode(rows)] == [4, 4, 4]
    again = trajectories.to_episodes(rows)
    assert trajectories.to_rows(again) == rows
    assert again[0].totals == {"a_0": pytest.approx(5.0), "b_1": pytest.approx(7.0)}
    assert again[0].success


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_file_comes_back_exactly(suffix, tmp_path):
    rows = [
        a_row(1, returned=0.1 + 0.2, completion='é\n"\u2028<|end|>\t', prompt="", success=True),
        a_row(2**40, agent="b_1", turn=3, returned=-1e-17),
    ]
    path = tmp_path / f"file.{suffix}"
    trajectories.save(path, rows)
    assert trajectories.load(path) == rows
    assert [type(v) for v in trajectories.load(path)[0].values()] == [*trajectories.FIELDS.values()]


def test_a_foreign_file_may_have_whole_numbers_and_further_columns(tmp_path):
    path = tmp_path / "file.jsonl"
    row = a_row(1, returned=2.0)
    path.write_text(json.dumps({**row, "reward": 2, "return": 2, "note": "x"}) + "\n")
    assert trajectories.load(str(path)) == [row]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"completion": None}, "row 2: 'completion' must be a str, got None"),
        ({"completion": 3}, "row 2: 'completion' must be a str, got 3"),
        ({"turn": 0.5}, "row 2: 'turn' must be an int, got 0.5"),
        ({"turn": True}, "row 2: 'turn' must be an int, got True"),
        ({"success": 1}, "row 2: 'success' must be a bool, got 1"),
        ({"reward": "high"}, "row 2: 'reward' must be a float, got 'high'"),
        ({"return": float("nan")}, "row 2: 'return' must be a float, got nan"),
    ],
)
def test_a_wrong_field_is_named(changes, complaint, tmp_path):
    with pytest.raises(ConfigError, match=complaint):
        trajectories.save(tmp_path / "file.jsonl", [a_row(1), {**a_row(2), **changes}])
    assert not (tmp_path / "file.jsonl").exists()


def test_what_cannot_be_read_is_refused(tmp_path):
    path = tmp_path / "file.jsonl"
    path.write_text(json.dumps({k: v for k, v in a_row(1).items() if k != "return"}) + "\n")
    with pytest.raises(ConfigError, match=r"file.jsonl, row 1: no field 'return'; .* prompt"):
        trajectories.load(path)
    path.write_text(json.dumps(a_row(1) | {"turn": None}) + "\n")
    with pytest.raises(ConfigError, match="row 1: 'turn' must be an int, got None"):
        trajectories.load(path)
    path.write_text("no json\n")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        trajectories.load(path)
    with pytest.raises(ConfigError, match=r"there is no file absent\.parquet"):
        trajectories.load("absent.parquet")
    with pytest.raises(ConfigError, match=r"nobody/nothing cannot be loaded .* hub id"):
        trajectories.load("nobody/nothing")
    with pytest.raises(ConfigError, match=r"saved as .jsonl or .parquet, not as file.csv"):
        trajectories.save(tmp_path / "file.csv", [])


RETURNS = [0.0, 3.0, 1.0, 3.0, 2.0]  # of episodes 0 to 4


def seeds(rows):
    return [row["seed"] for row in rows]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"min_return": 2.0}, [1, 3, 4]),
        ({"success": True}, [0, 4]),
        ({"top": 0.2}, [1]),  # one of five; of the two best the earlier
        ({"top": 0.4}, [1, 3]),
        ({"top": 0.41}, [1, 3, 4]),  # 2.05, rounded up
        ({"top": 1.0}, [0, 1, 2, 3, 4]),
        ({"min_return": 2.0, "top": 0.5}, [1, 3]),  # 1.5 of the three that pass, rounded up
        ({"min_return": 1.0, "success": True}, [4]),
        ({"min_return": 9.0, "top": 0.5}, []),
    ],
)
def test_filters_worked_out(options, expected):
    rows = [a_row(e, returned=r, success=e in (0, 4)) for e, r in enumerate(RETURNS)]
    assert seeds(trajectories.filter_rows(rows, **options)) == expected


def test_a_share_is_exact_in_decimal():
    rows = [a_row(e, returned=float(-e)) for e in range(100)]
    assert 0.07 * 100 > 7  # in binary
    assert len(trajectories.filter_rows(rows, top=0.07)) == 7


def test_agents_are_ranked_apart_and_all_their_turns_pass():
    """a_0 is paid 0, 1, 2 and b_1 is paid 200, 100, 0 in episodes 0, 1, 2."""
    rows = [
        a_row(e, agent=agent, turn=turn, returned=paid)
        for e in range(3)
        for turn in range(2)
        for agent, paid in (("a_0", float(e)), ("b_1", 200.0 - 100 * e))
    ]
    result = trajectories.filter_rows(rows, top=1 / 3)
    assert [(r["seed"], r["agent"], r["turn"]) for r in result] == [
        *((0, "b_1", 0), (0, "b_1", 1), (2, "a_0", 0), (2, "a_0", 1))
    ]
    assert [(r["seed"], r["agent"]) for r in trajectories.filter_rows(rows, min_return=100.0)] == [
        *((0, "b_1"), (0, "b_1"), (1, "b_1"), (1, "b_1"))
    ]
