"""``llmzoo collect``"""

import json

import pytest

from llmzoo.records import trajectories


def test_a_row_for_each_decision_and_where_they_come_from(llmzoo, tmp_path):
    out = tmp_path / "deep" / "expert.jsonl"
    said = llmzoo(
        *("collect", "--env", "sudoku_v0", "--policy", "expert", "--tasks", 5, "--out", out),
        *("--env.size", 4, "--seed", 7, "--quiet", "--json"),
    )
    result = json.loads(said.out)
    assert said.code == 0
    rows = trajectories.load(out)
    assert [row["agent"] for row in rows] == ["proposer_0", "planner_1"] * 5
    assert {row["policy"] for row in rows} == {"expert"}
    assert all(row["success"] for row in rows)
    assert result == json.loads(out.with_suffix(".provenance.json").read_text())
    assert result["command"].startswith("llmzoo collect --env sudoku_v0 --policy expert")
    assert (result["env_args"], result["source"], result["split"]) == (
        {"size": 4},
        "generator",
        "train",
    )
    assert (result["episodes"], result["success"], result["rows"]) == (5, 1.0, 10)


def test_the_same_command_gives_the_same_rows(llmzoo, tmp_path):
    files = [tmp_path / f"{name}.jsonl" for name in "ab"]
    for file in files:
        llmzoo(
            *("collect", "--env", "plan_path_v0", "--policy", "noisy_expert", "--tasks", 6),
            *("--out", file, "--quiet"),
        )
    assert files[0].read_text() == files[1].read_text()


def test_filters(llmzoo, tmp_path):
    """A noisy expert solves some; what is kept is those, and then the best half of each agent's."""

    def kept(name, *filters):
        said = llmzoo(
            *("collect", "--env", "sudoku_v0", "--policy", "noisy_expert", "--tasks", 20),
            *("--out", tmp_path / name, "--quiet", "--json", *filters),
        )
        return json.loads(said.out), trajectories.load(tmp_path / name)

    told, everything = kept("all.jsonl")
    _, solved = kept("solved.jsonl", "--success")
    _, best = kept("best.parquet", "--top", "0.5")
    assert 0 < told["success"] < 1
    assert solved == [row for row in everything if row["success"]]
    assert len(trajectories.split_by_episode(best)) < len(trajectories.split_by_episode(everything))
    for agent in ("proposer_0", "planner_1"):
        paid = sorted(
            {(row["seed"], row["episode_return"]) for row in everything if row["agent"] == agent}
        )
        chosen = {(row["seed"], row["episode_return"]) for row in best if row["agent"] == agent}
        assert len(chosen) == 10
        left = [returned for seed, returned in paid if (seed, returned) not in chosen]
        assert min(returned for _, returned in chosen) >= max(left)


def test_repeats_are_other_answers_to_the_same_task(llmzoo, tmp_path, model_folder):
    out = tmp_path / "rows.jsonl"
    llmzoo(
        *("collect", "--env", "sudoku_v0", "--policy", model_folder, "--tasks", 2, "--repeats", 3),
        *("--max_new_tokens", 4, "--env.max_turns", 1, "--out", out, "--quiet"),
    )
    rows = [row for row in trajectories.load(out) if row["agent"] == "proposer_0"]
    prompts = [row["prompt"] for row in rows]
    assert prompts == [prompts[0]] * 3 + [prompts[3]] * 3
    assert prompts[0] != prompts[3]
    assert len({row["completion"] for row in rows[:3]}) > 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--out rows.csv", "must end in .jsonl or .parquet"),
        ("--out rows.jsonl --top 1.5", "--top must be above 0 and at most 1"),
        ("--out rows.jsonl --repeats 0", "repeats must be at least 1"),
        ("--out rows.jsonl --policy human", "llmzoo play"),
        ("--out rows.jsonl --policy random --success", "none of 3 episodes"),
        ("--policy expert", "required: out"),
    ],
)
def test_what_cannot_be_collected(llmzoo, tmp_path, monkeypatch, options, reason):
    monkeypatch.chdir(tmp_path)
    said = llmzoo("collect", "--env", "sudoku_v0", "--tasks", 3, "--quiet", *options.split())
    assert (said.code, said.out) == (2, "")
    assert reason in said.err
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_what_has_been_played(llmzoo, tmp_path, monkeypatch):
    """Parts of two tasks; the person gives up in the third."""
    from llmzoo.evaluation import collect as collecting

    whole = collecting.play_episodes
    calls = []

    def played(*args, **kwargs):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(*args, **kwargs)

    monkeypatch.setattr(collecting, "play_episodes", played)
    out = tmp_path / "rows.jsonl"
    asked = ("collect", "--env", "sudoku_v0", "--tasks", 9, "--concurrency", 2, "--out", out)
    said = llmzoo(*asked, "--json", "--quiet")
    assert said.code == 130
    result = json.loads(said.out)
    assert (result["episodes"], result["stopped"]) == (4, True)
    assert len(trajectories.split_by_episode(trajectories.load(out))) == 4


def test_nothing_is_overwritten(llmzoo, tmp_path):
    out = tmp_path / "rows.jsonl"
    asked = ("collect", "--env", "sudoku_v0", "--tasks", 1, "--out", out, "--quiet")
    assert llmzoo(*asked).code == 0
    before = out.read_text()
    assert llmzoo(*asked).code == 2
    assert out.read_text() == before
