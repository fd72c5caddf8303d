"""Whole runs with the engine ray: every kind of learner, arrangement and division of the work."""

import json

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_models import model, tokenizer
from toy_envs import Parities

from llmzoo import checkpoints, trajectories
from llmzoo.errors import WorkerError
from llmzoo.policies import expert
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.rollout.episodes import episodes
from llmzoo.training import fit, loop

pytestmark = pytest.mark.slow

SMALL = {"steps": 3, "envs": 4, "eval_tasks": 4, "checkpoint_every": 2, "max_new_tokens": 3}
# with two policies that are learned apart, and one worker that plays, three have room on 2 CPUs
APART = {"rollout_cpus": 1, "update_cpus": 0.5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    TransformersPolicy(model(initializer_range=0.1), tokenizer()).save(path)
    return str(path)


@pytest.fixture
def train(cluster, folder, tmp_path):
    """``train(name, learner, engine="ray")`` makes a run; gives its folder."""

    def run(name, learner, *, resume=False, **settings):
        learner_args = {"learning_rate": 1e-3, **settings.pop("learner_args", {})}
        given = {**SMALL, "env": "toy_envs:Parities", "model": folder, **settings}
        if given.get("engine") == "ray":
            given["engine_args"] = {**APART, "start_seconds": 120, **given.get("engine_args", {})}
        out = tmp_path / name
        fit(learner, out=out, resume=resume, learner_args=learner_args, quiet=True, **given)
        return out

    return run


def rows(run):
    """Metrics without what depends on the clock."""
    timed = ("seconds", "per_second")
    found = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in r.items() if not k.endswith(timed)} for r in found]


def kept(run):
    """The content of every file of the newest checkpoint, by its path."""
    newest = checkpoints.latest(run / "checkpoints")
    paths = [path for path in newest.rglob("*") if path.is_file()]
    return {str(path.relative_to(newest)): path.read_bytes() for path in paths}


def gap(one, other):
    """The largest difference of two checkpoints' weights, and how far training has moved them."""
    found = []
    for path in checkpoints.latest(one / "checkpoints").rglob("model.safetensors"):
        there = checkpoints.latest(other / "checkpoints") / path.parent.name / path.name
        ours, theirs = load_file(path), load_file(there)
        found += [(ours[name] - theirs[name]).abs().max().item() for name in ours]
    return max(found)


@pytest.fixture
def demonstrations(tmp_path):
    path = tmp_path / "demonstrations.jsonl"
    played = episodes(Parities, expert(), list(range(7)))
    trajectories.save(played, path)
    return str(path)


RUNS = {
    "groups": ("magrpo", {"seats": "separate"}),
    "one seat": ("magrpo", {"seats": "writer_1"}),
    "remembered": (
        "magrpo",
        {
            "seats": "separate",
            "learner_args": {
                **{"role_baseline": 0.9, "uninformative": "resample"},
                **{"replay": 2, "clip": 0.2, "kl": 0.1},
            },
        },
    ),
    "ahead": ("at_grpo", {"seats": "lora", "ahead": 1}),
    "critics": ("ippo", {"seats": "separate"}),
    "central critic": ("mappo", {"seats": "separate"}),
    "value heads": ("ippo", {"seats": "lora", "learner_args": {"critic": "value_head"}}),
    "preferences": ("dpo", {"seats": "lora", "learner_args": {"rounds": 2}}),
    "references": ("dpo", {"seats": "separate", "learner_args": {"rounds": 0}}),
    "joint preferences": ("madpo", {"seats": "lora", "learner_args": {"rounds": 3}}),
    "demonstrations": ("sft", {"seats": "separate"}),
}


@pytest.mark.parametrize("name", RUNS)
def test_it_is_the_run_of_the_local_engine(name, train):
    learner, settings = RUNS[name]
    local = train("local", learner, **settings)
    ray = train("ray", learner, engine="ray", **settings)
    assert rows(ray) == rows(local)
    assert kept(ray) == kept(local)
