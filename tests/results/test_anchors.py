"""The comparison with other trainers: equal tasks, equal updates, and tables that say what the log says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"steps": 1, "prompts": 2, "k": 2, "new_tokens": 24}


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))


@pytest.mark.slow
@pytest.mark.parametrize("agents", [1, 2])
def test_ours_is_what_fit_trains(agents, tmp_path):
    """The same weights and returns after two iterations."""
    from anchor_trainers import ENV, Task, train_ours

    from llmzoo import fit
    from llmzoo.runs.run_folder import read_metrics

    task = Task(agents=agents, **{**SMALL, "steps": 2}, seed=3)
    mine = train_ours(task)
    fitted = fit(
        {1: "grpo", 2: "magrpo"}[agents],
        ENV,
        out=tmp_path / "run",
        env_args=task.env_args,
        model="tiny",
        policies="separate",
        precision="float32",
        device="cpu",
        steps=2,
        episodes_per_step=2,
        learner_args={"group_size": 2, "learning_rate": task.rate},
        max_new_tokens=24,
        seed=3,
        eval_tasks=1,
        trackers=(),
        quiet=True,
    )
    rows = read_metrics(tmp_path / "run", "train")
    assert [row["tokens"] for row in rows] == [point["tokens"] for point in mine.curve]
    assert set(mine.policies) == set(fitted.policies)
    for agent, policy in mine.policies.items():
        theirs = fitted.policies[agent].model.state_dict()
        for name, weight in policy.model.state_dict().items():
            assert torch.equal(weight, theirs[name]), name


@pytest.mark.slow
def test_trl_with_all_switches_takes_our_step(monkeypatch, tmp_path):
    """In float64, on the same completions; by default it does not."""
    import anchor_updates
    from anchors import TRL_SWITCHES

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(anchor_updates, "STEPS", 2)
    monkeypatch.setattr(anchor_updates, "PROMPTS", 2)
    same = anchor_updates.measure("trl", tuple(TRL_SWITCHES), {})
    assert 1 - same["cosine"] < 1e-9
    assert same["ratio"] == pytest.approx(1, abs=1e-5)
    assert same["weights"] < 1e-3  # advantages are float32
    other = anchor_updates.measure("trl", (), {})
    assert 1 - other["cosine"] > 1e-6
    assert other["weights"] > 0.01


def test_what_was_sampled_ends_with_the_first_end_token():
    from anchor_trainers import sampled

    class Policy:
        eos_ids = (7, 8)

    assert sampled([3, 4, 8, 1, 1], Policy()) == [3, 4, 8]
    assert sampled([3, 7, 7], Policy()) == [3, 7]
    assert sampled([3, 4], Policy()) == [3, 4]


def test_the_switch_of_the_deviation_gives_our_denominator():
    """Returns 0, 0, 1, 1: the biased deviation is 0.5; TRL adds 1e-4 to what it is given."""
    from anchor_trainers import biased_std

    from llmzoo.learners.advantages import mean_baseline, normalize_by_std

    rewards = torch.tensor([[0.0, 0.0, 1.0, 1.0]], dtype=torch.float64)
    denominator = biased_std(rewards, dim=1) + 1e-4
    assert denominator.item() == pytest.approx(0.500001, abs=1e-12)
    theirs = (rewards[0] - 0.5) / denominator
    ours = normalize_by_std(mean_baseline(rewards[0]), rewards[0])
    assert torch.allclose(theirs, ours, rtol=0, atol=1e-12)


def test_a_padded_group_is_what_comlrl_would_get():
    from anchor_trainers import Task, replayed

    policy = Task(agents=1).load()
    (first, second) = (policy.tokenizer("def f").input_ids, policy.tokenizer("x").input_ids)
    rows = replayed(policy.tokenizer, "aux", [[*first, 0], [*second, 0]])
    assert rows["completions"] == [["def f", "x"]]
    lengths = {len(row) for row in rows["completion_input_ids"][0]}
    assert lengths == {len(first) + 1}
    assert rows["completion_input_ids"][0][1].tolist()[len(second) + 1 :] == [policy.pad_id] * (
        len(first) - len(second)
    )


def _run_row(arm, seed, sampled, rate=3e-4):
    measured = {"sampled": sampled, "greedy": "1" * len(sampled)}
    found = {
        decoding: {"success": marks.count("1") / len(marks), "solved": marks}
        for decoding, marks in measured.items()
    }
    return {"kind": "run", "arm": arm, "seed": seed, "task": {"rate": rate}, **found}


def test_differences_are_of_runs_with_equal_seeds():
    """Worked out: +25 and +75 points with seeds 0 and 1, +50 on average; seed 2 and the other
    rate have no partner."""
    from anchor_tables import differences_table, percent, runs_of

    rows = [
        _run_row("ours_2", 1, "0000"),
        _run_row("ours_2", 0, "1000"),
        _run_row("comlrl", 0, "1001"),
        _run_row("comlrl", 1, "0111"),
        _run_row("comlrl", 2, "1111"),
        _run_row("comlrl", 0, "1111", rate=1e-3),
        _run_row("comlrl", 1, "1111", rate=1e-3),
    ]
    (line,) = differences_table(rows).splitlines()[2:]
    assert line.startswith("| comlrl | 2 | 0.0003 | 2 | +50.0 [")
    assert line.endswith("| +0.0 [+0.0, +0.0] |")
    assert percent(runs_of(rows, "ours_2", 3e-4), "sampled").endswith("]: 25.0, 0.0")
    assert percent(runs_of(rows, "ours_2", 3e-4)[:1], "sampled") == "25.0"


def test_curves_are_over_all_tokens_so_far():
    from anchor_tables import over

    curve = [
        {"tokens": 2000, "cpu_seconds": 1.5, "return": 0.1},
        {"tokens": 1000, "cpu_seconds": 4.0, "return": 0.2},
    ]
    assert over({"curve": curve}, "tokens") == ([2.0, 3.0], [0.1, 0.2])
    assert over({"curve": curve}, "seconds") == ([1.5, 4.0], [0.1, 0.2])


def test_the_log_holds_every_run_once_with_its_budget():
    from anchors import ARMS, LOG, TEST_TASKS, run_names
    from logs import read_rows

    rows = read_rows(LOG)
    names = [row["name"] for row in rows]
    assert sorted(names) == sorted(run_names())
    for row in rows:
        if row["kind"] == "run":
            task = row["task"]
            assert row["name"] == f"{row['arm']}-{task['rate']:g}-{row['seed']}"
            assert len(row["curve"]) == task["steps"]
            assert row["tokens"] == sum(point["tokens"] for point in row["curve"])
            assert len(row["sampled"]["solved"]) == len(row["greedy"]["solved"]) == TEST_TASKS
            assert task["agents"] == ARMS[row["arm"]].agents
    budgets = {
        json.dumps({**r["task"], "rate": 0, "seed": 0, "agents": 0}) for r in rows if "task" in r
    }
    assert len(budgets) == 1  # equal steps, prompts, completions and limits
