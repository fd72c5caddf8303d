"""``llmzoo train --dry_run``"""

import json

import pytest

from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.training import estimate


@pytest.fixture
def dry(llmzoo, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*argv):
        return llmzoo("train", "sudoku_v0", *small, *argv, "--dry_run")

    return call


def test_answers_and_tokens_are_counted_and_nothing_is_left(dry, tmp_path):
    said = dry("--learner", "at_grpo", "--learner.group_size", 3, "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    # one turn, two agents with 3 answers each of up to 8 tokens, two episodes
    assert (found["answers_per_episode"], found["answers"]) == (6, 12)
    assert found["tokens"] == 12 * 8
    assert found["tokens_read"] > 0
    assert found["memory"] > 0.4e9
    assert found["minutes"] > 0
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_a_limit_on_a_pass_lowers_the_memory(dry):
    argv = ["--learner", "magrpo", "--json"]
    whole = json.loads(dry(*argv).out)
    limited = json.loads(dry(*argv, "--learner.microbatch_tokens", 20).out)
    assert limited["microbatch_tokens"] == 20 < whole["microbatch_tokens"]
    assert limited["memory"] < whole["memory"]


@pytest.mark.slow
def test_the_copy_that_kl_compares_with_is_counted(dry, monkeypatch):
    cost = estimate._Cost(sampling=0.0, update=0.0, activations=0.0)
    monkeypatch.setattr(estimate, "_measure", lambda *_: cost)
    argv = ["--learner", "magrpo", "--model", "tiny", "--json"]
    free, held = (json.loads(dry(*argv, "--learner.kl", kl).out) for kl in (0, 0.1))
    weights = sum(p.numel() for p in TransformersPolicy.load("tiny").parameters()) * 4
    assert held["memory"] - free["memory"] == pytest.approx(weights)


@pytest.mark.slow
def test_the_answers_of_a_deep_joint_tree(dry):
    # 2 completions a node: the tree of 3 turns
    said = dry("--learner", "magrpo", "--learner.group_size", 2, "--env.max_turns", 3, "--json")
    one = json.loads(dry("--learner", "magrpo", "--learner.group_size", 2, "--json").out)
    assert json.loads(said.out)["answers_per_episode"] > 3 * one["answers_per_episode"]


def test_the_text_says_estimate(dry):
    said = dry("--learner", "grpo")
    assert said.out.startswith("one iteration: up to ")
    assert said.out.count("(estimate)") == 2
    assert "per episode)" in said.out


def test_what_has_no_dry_run(llmzoo):
    said = llmzoo("train", "--resume", "runs/a", "--dry_run")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "--dry_run is for a single new run" in said.err
    said = llmzoo("train", "--engine", "ray", "--dry_run", "--model", "tiny")
    assert "a dry run needs a single process and engine='local'" in said.err


def test_it_samples_and_updates_as_many_different_prompts_as_the_run(dry, monkeypatch):
    sampled, passed = [], []
    respond, likelihood = TransformersPolicy.respond, TransformersPolicy.likelihood

    def responding(self, requests, group_size=1, **named):
        sampled.append((len({request.observation for request in requests}), group_size))
        return respond(self, requests, group_size, **named)

    def passing(self, groups):
        passed.append(len({group.prompt_ids for group in groups}))
        return likelihood(self, groups)

    monkeypatch.setattr(TransformersPolicy, "respond", responding)
    monkeypatch.setattr(TransformersPolicy, "likelihood", passing)
    dry("--learner", "grpo", "--learner.group_size", 4, "--episodes_per_step", 24)
    # 24 prompts with 4 answers each are cut to 64 answers, all of which fit into 2,048 tokens
    assert sampled == [(16, 4)] * 2
    assert passed == [16, 16]
