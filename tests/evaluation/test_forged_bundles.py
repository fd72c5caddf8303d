"""Forged bundles are found, although the forger writes every hash, and every claim, so that it fits."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess

import pytest
from bundle_files import edit_manifest, failed_checks, forge, read_content, write_content

import llmzoo
from llmzoo.evaluation.bundles.layout import read_bundle
from llmzoo.evaluation.bundles.write import write_bundle, write_manifest
from llmzoo.evaluation.statistics import clustered_wilson_interval
from llmzoo.runs import provenance

ENV = ("math_v0", "tiny")
ARGS = {"family": "arithmetic", "level": "easy", "max_turns": 2}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The embedded model on 12 tasks; it solves some of them."""
    folder = tmp_path_factory.mktemp("bundle")
    llmzoo.evaluate(*ENV, tasks=12, env_args=ARGS, greedy=True, out=folder / "evaluation")
    made = write_bundle(folder / "bundle", {"only": folder / "evaluation"}, title="honest")
    solved = read_content(made / "only").result["solved"]
    assert "0" in solved
    assert "1" in solved
    return made


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """The embedded model with two seeds, sampled: one claim of two runs."""
    folder = tmp_path_factory.mktemp("sampled")
    for seed in (0, 1):
        llmzoo.evaluate(*ENV, tasks=12, env_args=ARGS, seed=seed, out=folder / f"seed_{seed}")
    names = {f"seed_{seed}": folder / f"seed_{seed}" for seed in (0, 1)}
    return write_bundle(folder / "bundle", names, title="two runs")


def first(content, *, success):
    return next(row for row in content.rows if row["success"] is success)


def raise_a_number(content):
    content.result["success"] += 0.1


def flip_an_episode(content):
    first(content, success=False)["success"] = True


def make_up_an_episode(content):
    """A failure becomes a copy of a success, under its own number, name and seed."""
    lost, won = first(content, success=False), first(content, success=True)
    kept = {name: lost[name] for name in ("task", "seed")}
    lost |= copy.deepcopy(won) | kept


def declare_another_seed(content):
    content.config["seed"] += 100


def play_another_seed(content):
    """The seed is another one everywhere."""
    declare_another_seed(content)
    content.result["seed"] += 100
    for row in content.rows:
        row["seed"] += 100


def count_a_task_twice(content):
    lost = first(content, success=False)
    content.rows.remove(lost)
    content.rows.append(copy.deepcopy(first(content, success=True)))


def declare_another_split(content):
    content.config["split"] = content.result["split"] = "train"


def drop_a_failure(content):
    content.rows.remove(first(content, success=False))


def drop_a_failure_and_number_again(content):
    drop_a_failure(content)
    content.config["tasks"] = len(content.rows)
    for number, row in enumerate(content.rows):
        row["task"] = row["seed"] = number


def raise_a_reward(content):
    row = first(content, success=False)
    decision = next(decision for decision in row["decisions"] if decision["paid_after"])
    agent = decision["agent"]
    decision["reward"] += 1.0
    index, amount = decision["paid_after"][-1]
    decision["paid_after"][-1] = [index, amount + 1.0]
    row["totals"][agent] += 1.0


def edit_an_action(content):
    """An answer that earns the same, so that judging alone cannot see it."""
    for row in content.rows:
        completion = row["decisions"][-1]["completion"]
        if row["success"] is False and completion["text"]:
            completion["text"] += " "
            return


def swap_the_text_and_keep_the_tokens(content):
    """On another machine, so that the replay cannot decide."""
    for start in content.provenance["starts"]:
        start["machine"]["model"] = "another processor"
    for row in content.rows:
        row["decisions"][-1]["completion"]["text"] += " "


def call_it_another_policy(content):
    content.config["policy"] = content.result["policy"] = "a model of 400 billion parameters"


def edit_an_observation(content):
    content.rows[0]["decisions"][0]["observation"] += " the answer is 4"


def understate_tokens(content):
    content.result["tokens"] //= 2


def drop_the_tokens_of_a_completion(content):
    completion = content.rows[0]["decisions"][0]["completion"]
    completion["ids"] = completion["logprobs"] = []


def shorten_the_tokens_of_a_completion(content):
    completion = next(
        d["completion"]
        for r in content.rows
        for d in r["decisions"]
        if len(d["completion"]["ids"]) > 2
    )
    completion["ids"], completion["logprobs"] = completion["ids"][1:], completion["logprobs"][1:]


def narrow_an_interval(content):
    low, high = content.result["success_ci95"]
    content.result["success_ci95"] = [low + 0.05, high - 0.05]


def name_other_weights(content):
    for settings in content.config["policies"].values():
        settings["weights"] = "0" * 32


def loosen_the_sampling(content):
    """What was sampled is called greedy, and the other way round."""
    content.config["greedy"] = False
    content.result["decoding"] = "sampled"


def raise_the_likelihoods(content):
    for row in content.rows:
        for decision in row["decisions"]:
            values = decision["completion"]["logprobs"]
            decision["completion"]["logprobs"] = [value / 2 for value in values]


def change_the_environment(content):
    content.config["env_args"]["level"] = "medium"


def invent_a_number(content):
    content.result["accuracy"] = 0.99


# what is forged -> whether the numbers are computed again, and the check that finds it
FORGERIES = {
    raise_a_number: (False, "numbers"),
    swap_the_text_and_keep_the_tokens: (True, "log-probabilities"),
    call_it_another_policy: (True, "numbers"),
    flip_an_episode: (True, "episodes"),
    make_up_an_episode: (True, "episodes"),
    declare_another_seed: (True, "tasks"),
    play_another_seed: (True, "replay"),
    count_a_task_twice: (True, "tasks"),
    declare_another_split: (True, "episodes"),
    drop_a_failure: (True, "tasks"),
    drop_a_failure_and_number_again: (True, "episodes"),
    raise_a_reward: (True, "episodes"),
    edit_an_action: (True, "replay"),
    edit_an_observation: (True, "episodes"),
    understate_tokens: (False, "numbers"),
    drop_the_tokens_of_a_completion: (True, "tokens"),
    shorten_the_tokens_of_a_completion: (True, "log-probabilities"),
    narrow_an_interval: (False, "numbers"),
    name_other_weights: (True, "policies"),
    loosen_the_sampling: (True, "replay"),
    raise_the_likelihoods: (True, "log-probabilities"),
    change_the_environment: (True, "episodes"),
    invent_a_number: (False, "numbers"),
}


def test_the_honest_bundles_are_right(bundle, sampled):
    assert failed_checks(bundle) == failed_checks(sampled) == set()


@pytest.mark.parametrize("edit", [e for e in FORGERIES if e is not play_another_seed])
def test_a_forged_bundle_is_found(bundle, tmp_path, edit):
    recompute, check = FORGERIES[edit]
    forged = forge(bundle, tmp_path / "forged", edit, recompute=recompute)
    failed = failed_checks(forged)
    assert check in failed
    assert "files" not in failed  # the forger has written the hashes


def test_another_seed_of_sampled_episodes_is_found(sampled, tmp_path):
    recompute, check = FORGERIES[play_another_seed]
    forged = forge(sampled, tmp_path / "forged", play_another_seed, recompute=recompute)
    assert check in failed_checks(forged)


@pytest.mark.parametrize("file", ["episodes", "config"])
def test_a_changed_file_is_found(bundle, tmp_path, file):
    forged = shutil.copytree(bundle, tmp_path / "forged")
    content = read_content(forged / "only")
    if file == "episodes":
        content.rows[0]["info"]["note"] = "changed"
    else:
        content.config["concurrency"] += 1
    write_content(forged / "only", content)
    assert "files" in failed_checks(forged)


def test_a_file_beside_the_bundle_is_found(bundle, tmp_path):
    forged = shutil.copytree(bundle, tmp_path / "forged")
    (forged / "only" / "notes.txt").write_text("unsigned")
    assert failed_checks(forged) == {"files"}


def test_the_best_of_several_samples_is_found(tmp_path):
    """Each task is played eight times, and its best episode is called the only one."""
    llmzoo.evaluate(*ENV, tasks=8, samples=8, env_args=ARGS, out=tmp_path / "evaluation")
    honest = write_bundle(tmp_path / "bundle", {"only": tmp_path / "evaluation"}, title="eight")

    def choose(content):
        best = {}
        for row in content.rows:
            if row["task"] not in best or sum(row["totals"].values()) > sum(
                best[row["task"]]["totals"].values()
            ):
                best[row["task"]] = row
        content.rows[:] = [row | {"sample": 0} for row in best.values()]
        content.config["samples"] = 1

    failed = failed_checks(forge(honest, tmp_path / "forged", choose, recompute=True))
    assert failed == {"replay"}


def test_an_interval_over_tasks_instead_of_runs_is_found(sampled, tmp_path):
    runs = [evaluation.result["solved"] for evaluation in read_bundle(sampled).evaluations]
    pooled = [[mark == "1" for mark in marks] for marks in zip(*runs, strict=True)]
    interval = [*clustered_wilson_interval(pooled, 1.96)]

    def edit(manifest):
        manifest["claims"][0]["success_ci95"] = interval

    assert failed_checks(edit_manifest(sampled, tmp_path / "forged", edit)) == {"claims"}


@pytest.mark.parametrize(
    ("field", "value"), [("success", 0.99), ("runs", 5), ("tokens", 1), ("interval_over", "tasks")]
)
def test_a_changed_claim_is_found(sampled, tmp_path, field, value):
    def edit(manifest):
        manifest["claims"][0][field] = value

    assert failed_checks(edit_manifest(sampled, tmp_path / "forged", edit)) == {"claims"}


def test_a_run_that_is_left_out_of_its_claim_is_found(sampled, tmp_path):
    def edit(manifest):
        claim = manifest["claims"][0]
        claim |= {"evaluations": ["seed_0"], "runs": 1}

    assert "claims" in failed_checks(edit_manifest(sampled, tmp_path / "forged", edit))


def test_a_run_that_counts_twice_is_found(sampled, tmp_path):
    forged = shutil.copytree(sampled, tmp_path / "forged")
    content = read_content(forged / "seed_0")
    content.config["seed"] = content.result["seed"] = 1
    for row in content.rows:
        row["seed"] += 1
    write_content(forged / "seed_1", content)
    write_manifest(forged, ["seed_0", "seed_1"], title="two runs", price=None)
    assert {"runs", "replay"} <= failed_checks(forged)


def test_another_commit_is_found(bundle, tmp_path, monkeypatch):
    """In a clone that has the commit, its files are not those that played."""
    root = tmp_path / "clone"
    (root / "llmzoo").mkdir(parents=True)
    (root / "llmzoo" / "module.py").write_text("VERSION = 1\n")
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    monkeypatch.setattr(provenance, "_ROOT", root)

    def edit(content):
        content.provenance["starts"][0] |= {"commit": commit.stdout.strip(), "committed": True}

    assert failed_checks(forge(bundle, tmp_path / "forged", edit)) == {"source"}
    source = provenance.hash_source_of_commit("HEAD")
    fits = forge(
        bundle,
        tmp_path / "fits",
        lambda c: (edit(c), c.provenance["starts"][0].update(source=source)),
    )
    assert failed_checks(fits) == set()


def test_the_command_ends_with_1_and_names_what_is_wrong(bundle, tmp_path, capsys):
    from llmzoo.cli import main

    forged = forge(bundle, tmp_path / "forged", raise_a_number)
    assert main(["eval", "verify", str(forged), "--json", "--quiet"]) == 1
    found = json.loads(capsys.readouterr().out)
    wrong = [check for check in found["checks"] if check["status"] == "wrong"]
    assert [check["name"] for check in wrong] == ["numbers"]
    assert "success: " in wrong[0]["reason"]
    assert found["wrong"] == 1
    assert main(["eval", "verify", str(bundle), "--quiet"]) == 0
    assert "0 wrong" in capsys.readouterr().out
