"""Runs on delegate_v0: a model for the lead and one for all workers, however many there are."""

from __future__ import annotations

import json

import pytest
import torch

import llmzoo
from llmzoo.cli import main

ROLES = {"lead_0": "lead", "worker_*": "workers"}
SMALL = {
    "model": "tiny",
    "policies": ROLES,
    "steps": 2,
    "episodes_per_step": 2,
    "eval_tasks": 2,
    "max_new_tokens": 6,
    "trackers": [],
    "quiet": True,
    "seed": 0,
}
BOOK = {"max_workers": 2, "documents": 3, "rows": 4, "prompt": "terse"}


def weights(policy):
    return torch.cat([parameter.detach().flatten() for parameter in policy.model.parameters()])


@pytest.mark.parametrize("learner", ["magrpo", "at_grpo"])
def test_a_run_with_two_workers_is_evaluated_with_four(learner, tmp_path, capsys):
    """The scripted lead brings in as many workers as a question needs, and the workers learn."""
    out = tmp_path / "run"
    result = llmzoo.fit(
        learner,
        "delegate_v0",
        out=out,
        env_args=BOOK,
        agent_args={"lead_0": {"policy": "expert"}},
        **{**SMALL, "policies": {"worker_*": "workers"}},
    )
    assert sorted(result.policies) == ["lead_0", "worker_1", "worker_2"]
    first, second = result.policies["worker_1"], result.policies["worker_2"]
    assert first.model is second.model
    untrained = llmzoo.policies.load("tiny")
    assert not torch.equal(weights(first), weights(untrained))
    more = [
        "--env",
        "delegate_v0",
        "--env.max_workers",
        "4",
        "--env.documents",
        "6",
        "--tasks",
        "4",
    ]
    capsys.readouterr()
    assert main(["eval", str(out), *more, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(found["mean_return"]) == ["lead_0", *(f"worker_{i}" for i in range(1, 5))]


@pytest.mark.parametrize("learner", ["magrpo", "at_grpo"])
def test_lead_and_workers_learn(learner, tmp_path):
    out = tmp_path / "run"
    result = llmzoo.fit(learner, "delegate_v0", out=out, env_args=BOOK, **SMALL)
    lead, worker = result.policies["lead_0"], result.policies["worker_1"]
    assert lead.model is not worker.model
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if row["kind"] == "train"] == [1, 2]
