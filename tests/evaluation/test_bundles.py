"""Bundles of every kind of environment are verified, and say what was not checked."""

from __future__ import annotations

import json
import time

import pytest
from bundle_files import edit_manifest, failed_checks, forge, statuses

import llmzoo
from llmzoo.envs.tasks import generate_tasks
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.evaluation.bundles.layout import read_bundle
from llmzoo.evaluation.bundles.verify import verify_bundle
from llmzoo.evaluation.bundles.write import write_bundle
from llmzoo.evaluation.run_statistics import crossed_bootstrap_interval

KINDS = {
    "one agent": ("sudoku_v0", "noisy_expert", {"num_agents": 1}, {}),
    "two agents in turns, twice each": ("plan_path_v0", "noisy_expert", {}, {"samples": 2}),
    "simultaneous": ("commons_v0", "random", {}, {}),
    "programs in the sandbox": ("mbpp_v0", "noisy_expert", {"source": "sample"}, {}),
    "a tool and a model": ("math_v0", "tiny", {"family": "arithmetic", "level": "easy"}, {}),
    "a game against an opponent": (
        *("tic_tac_toe_v0", {"player_0": "tiny", "player_1": "random"}, {}, {}),
    ),
    "greedy": ("sudoku_v0", "tiny", {"max_turns": 1}, {"greedy": True}),
}


def make_bundle(folder, env, policy, env_args, **options):
    options = {"tasks": 5, "seed": 3, **options}
    llmzoo.evaluate(env, policy, env_args=env_args, out=folder / "evaluation", **options)
    return write_bundle(folder / "bundle", {"only": folder / "evaluation"}, title="a test")


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_of_each_kind_is_right(tmp_path, kind):
    env, policy, env_args, options = KINDS[kind]
    verification = verify_bundle(make_bundle(tmp_path, env, policy, env_args, **options))
    assert verification.wrong == ()
    found = statuses(verification)
    assert found["episodes"] == found["replay"] == found["policies"] == found["source"] == "ok"
    assert [check.name for check in verification.not_checked] == ["reported"]
    assert found.get("log-probabilities") == ("ok" if "tiny" in str(policy) else None)


def test_the_end_of_a_generator_s_split_may_be_found_before_or_after_a_bundle(tmp_path):
    """The infos have the number of tasks once a process has found it."""
    few = {"length": 1, "symbols": 3}
    short = make_bundle(tmp_path / "short", "relay_v0", "noisy_expert", few)
    long = make_bundle(tmp_path / "long", "relay_v0", "noisy_expert", few, tasks=100)
    generate_tasks.cache_clear()
    assert verify_bundle(long).wrong == ()
    assert verify_bundle(short).wrong == ()


def test_an_evaluation_that_is_cut_off_and_resumed_is_right(tmp_path):
    asked = {"tasks": 6, "concurrency": 2, "out": tmp_path / "evaluation"}

    def stop(episode):
        if episode.seed == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        llmzoo.evaluate("sudoku_v0", "noisy_expert", **asked, on_episode_end=stop)
    with pytest.raises(ConfigError, match="whose evaluations have ended"):
        write_bundle(tmp_path / "early", {"only": tmp_path / "evaluation"}, title="early")
    assert not (tmp_path / "early").exists()
    llmzoo.evaluate("sudoku_v0", "noisy_expert", **asked, resume=True)
    bundle = write_bundle(tmp_path / "bundle", {"only": tmp_path / "evaluation"}, title="resumed")
    assert len(read_bundle(bundle).evaluations[0].starts) == 2
    assert failed_checks(bundle) == set()


def test_the_same_evaluation_gives_the_same_bytes(tmp_path):
    llmzoo.evaluate("sudoku_v0", "random", tasks=2, out=tmp_path / "evaluation")
    for name in ("one", "two"):
        write_bundle(tmp_path / name, {"only": tmp_path / "evaluation"}, title="a test")
    episodes = "only/episodes.jsonl.gz"
    assert (tmp_path / "one" / episodes).read_bytes() == (tmp_path / "two" / episodes).read_bytes()


def test_a_claim_of_several_runs_has_an_interval_over_runs_and_tasks(tmp_path):
    for seed in (0, 1):
        llmzoo.evaluate("sudoku_v0", "tiny", tasks=8, seed=seed, out=tmp_path / f"seed_{seed}")
    folders = {f"seed_{seed}": tmp_path / f"seed_{seed}" for seed in (0, 1)}
    bundle = write_bundle(tmp_path / "bundle", folders, title="two runs")
    (claim,) = read_bundle(bundle).claims
    runs = [[float(mark) for mark in e.result["solved"]] for e in read_bundle(bundle).evaluations]
    assert (claim["name"], claim["runs"]) == ("seed", 2)
    assert claim["interval_over"] == "runs and tasks"
    assert claim["success"] == pytest.approx(sum(map(sum, runs)) / 16)
    assert claim["success_ci95"] == pytest.approx(crossed_bootstrap_interval(runs))


def test_the_cost_of_a_claim_is_that_of_the_endpoint_tokens(tmp_path):
    llmzoo.evaluate("sudoku_v0", "random", tasks=2, out=tmp_path / "evaluation")
    path = tmp_path / "evaluation" / "result.json"
    result = json.loads(path.read_text()) | {"usage": {"read": 2_000_000, "written": 500_000}}
    path.write_text(json.dumps(result))
    bundle = write_bundle(
        tmp_path / "bundle", {"a": tmp_path / "evaluation"}, title="billed", price=(0.15, 0.6)
    )
    (claim,) = read_bundle(bundle).claims
    assert claim["cost"] == pytest.approx(2 * 0.15 + 0.5 * 0.6)
    reported = next(c for c in verify_bundle(bundle).checks if c.name == "reported")
    assert "the tokens that an endpoint counted" in reported.reason
    cheaper = edit_manifest(bundle, tmp_path / "cheap", lambda m: m.update(price=[0.1, 0.6]))
    assert failed_checks(cheaper) == {"claims"}


def test_episodes_of_another_version_are_judged_and_compared(tmp_path, monkeypatch):
    bundle = make_bundle(tmp_path, "sudoku_v0", "noisy_expert", {})

    def age(content):
        content.provenance["starts"][0] |= {"source": "older", "commit": None, "llmzoo": "0.0.9"}

    old = forge(bundle, tmp_path / "old", age)
    found = {check.name: check for check in verify_bundle(old).checks}
    assert found["source"].status == "not checked"
    assert "another version: llmzoo 0.0.9" in found["source"].reason
    assert found["episodes"].status == found["replay"].status == "ok"


def test_what_another_machine_plays_differently_is_not_called_wrong(tmp_path):
    bundle = make_bundle(tmp_path, "sudoku_v0", "tiny", {"max_turns": 1}, seed=3)

    def other_seed_of_the_noise(content):  # stands for rounding
        content.config["seed"] += 1
        for row in content.rows:
            row["seed"] += 1
        content.result["seed"] += 1
        content.provenance["starts"][0]["machine"]["model"] = "another processor"

    moved = forge(bundle, tmp_path / "moved", other_seed_of_the_noise)
    found = {check.name: check for check in verify_bundle(moved).checks}
    assert found["replay"].status == "not checked"
    assert "not comparable" in found["replay"].reason
    assert "another processor" in found["replay"].reason
    assert found["log-probabilities"].status == "ok"


def test_policies_and_environments_that_a_bundle_names_are_not_loaded(tmp_path):
    bundle = make_bundle(tmp_path, "sudoku_v0", "noisy_expert", {})

    def name_a_model(content):
        for settings in content.config["policies"].values():
            settings["policy"] = "/somewhere/a_model"

    found = statuses(verify_bundle(forge(bundle, tmp_path / "model", name_a_model)))
    assert found["policies"] == found["replay"] == "not checked"
    assert found["episodes"] == "ok"
    for number, env in enumerate(("os:system", "grpc://127.0.0.1:1/sudoku_v0", "no_such_v0")):
        named = forge(
            bundle, tmp_path / f"env_{number}", lambda c, env=env: c.config.update(env=env)
        )
        found = statuses(verify_bundle(named))
        assert found["episodes"] == found["replay"] == "not checked"


def test_a_failure_of_the_judge_is_judged_twice(tmp_path, monkeypatch):
    from llmzoo.evaluation.bundles import judging

    bundle = make_bundle(tmp_path, "sudoku_v0", "noisy_expert", {}, tasks=2)
    calls = []

    def flaky(make, row):
        calls.append(row["task"])
        return "" if calls.count(row["task"]) == 2 else "stopped by a time limit"

    monkeypatch.setattr(judging, "judge_row", flaky)
    assert statuses(verify_bundle(bundle))["episodes"] == "ok"
    assert calls == [0, 0, 1, 1]


def test_500_episodes_take_less_than_two_minutes_of_a_processor(tmp_path):
    bundle = make_bundle(
        tmp_path, "math_v0", "tiny", {"family": "arithmetic", "level": "easy"}, tasks=500
    )
    before = time.process_time()
    assert failed_checks(bundle) == set()
    assert time.process_time() - before < 60


def test_a_new_folder_and_a_name_are_needed(tmp_path):
    llmzoo.evaluate("sudoku_v0", "random", tasks=1, out=tmp_path / "evaluation")
    with pytest.raises(ConfigError, match="choose a new folder"):
        write_bundle(tmp_path, {"only": tmp_path / "evaluation"}, title="taken")
    with pytest.raises(CheckpointError, match="is no path"):
        write_bundle(tmp_path / "b", {"../only": tmp_path / "evaluation"}, title="outside")
    with pytest.raises(ConfigError, match="at least one evaluation"):
        write_bundle(tmp_path / "b", {}, title="empty")
