"""Runs that a test starts on one process and on two: ``torchrun rank_runs.py FOLDER KIND...``."""

from __future__ import annotations

import atexit
import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent.parent))  # where torchrun does not look

import torch
from float64 import in_float64
from tiny_models import model, needed, teacher, tokenizer
from toy_envs import Mixed, Parities, Parity

from llmzoo.learners.magrpo import MAGRPO
from llmzoo.learners.marloo import MARLOO
from llmzoo.learners.per_agent import PerAgentLearner
from llmzoo.models import precision
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.training import fit

AGENTS = ("writer_0", "writer_1")
STEPS = 2  # the second has moments of the first

BOUND = {"max_update_kl": 1e-4}  # which the steps of these runs exceed
# learner, its options, who sits where; options that make batches uneven and keep much state
RUNS: dict[str, tuple[str, dict[str, Any], str]] = {
    "magrpo": (
        "magrpo",
        {"clip": 0.2, "epochs": 2, "minibatches": 3, "kl": 0.1, **BOUND},
        "shared",
    ),
    "at_grpo": ("at_grpo", {"role_baseline": 0.9, "normalize": False, **BOUND}, "lora"),
    "ippo": ("ippo", {"minibatches": 2}, "separate"),
    "ippo_head": ("ippo", {"critic": "value_head", "values": "token"}, "shared"),
    "mappo": ("mappo", {}, "lora"),
    "sft": ("sft", {"batch_size": 3, "epochs": 2, "mode": "mix"}, "separate"),
    "dpo": ("dpo", {"rounds": 2, "batch_size": 4, **BOUND}, "separate"),
    "madpo": ("madpo", {"rounds": 0}, "separate"),
    "gdpo": ("magrpo", {"normalize": "components", "whiten": True}, "separate"),
    "opd": ("opd", {"reward_weight": 0.5, "group_size": 2}, "shared"),
    "opd_jsd": ("opd", {"loss": "jsd", "group_size": 2}, "separate"),
    "opd_lora": ("opd", {"loss": "jsd", "beta": 1.0}, "lora"),
    "per_agent": ("per_agent", {"clip": 0.2, "minibatches": 2}, "shared"),
    "few": ("at_grpo", {}, "shared"),
    **{
        name: (name, {}, "shared")
        for name in ("ccpo", "mareinforce", "marloo", "maremax", "maxrl", "iac", "maac")
    },
    **{name: (name, {}, "alone") for name in ("grpo", "ppo")},
    "curriculum": ("marloo", {}, "alone"),
    "named": ("magrpo", {"role_baseline": 0.9}, "named"),
    "named_mixed": ("magrpo", {"kl": 0.1}, "named"),
    "named_per_agent": ("magrpo", {"clip": 0.2, "minibatches": 2}, "named"),
}
# an agent's learner that has a state and a loss of its own
OWN = {"role_baseline": 0.9, "entropy": 0.01}
# settings of single runs; with fewer episodes than processes one of these answers nothing
SMALL: dict[str, dict[str, Any]] = {
    "few": {"episodes_per_step": 1, "eval_tasks": 1},
    "curriculum": {"curriculum": "learnability", "curriculum_args": {"first": 1}},
    "named_mixed": {"model_args": {"pair": {"form": "lora"}}},
    "named_per_agent": {"agent_args": {AGENTS[1]: {"learner": "marloo", "learner_args": OWN}}},
}
ENVS = {"curriculum": partial(Mixed, "UD")}
TASKS = {"alone": Parity, "named": partial(Parities, 3)}


def players(arrangement: str) -> dict[str, TransformersPolicy]:
    def policy(seed: int) -> TransformersPolicy:
        body = model(seed=seed, max_position_embeddings=1024)
        return TransformersPolicy(body, tokenizer(), sampling=Sampling(max_new_tokens=3))

    if arrangement == "lora":
        return dict(policy(0).with_adapters(list(AGENTS), r=4))
    if arrangement == "alone":
        return {AGENTS[0]: policy(0)}
    if arrangement == "shared":
        return dict.fromkeys(AGENTS, policy(0))
    return {agent: policy(seed) for seed, agent in enumerate(AGENTS)}


def arranged(arrangement: str) -> dict[str, Any]:
    """The settings that say who plays: policies, or models by names, of which two agents share one."""
    if arrangement != "named":
        return {"policies": players(arrangement)}
    agents = {**dict.fromkeys(AGENTS, "pair"), "writer_2": "single"}
    return {"model": teacher(), "policies": agents, "max_new_tokens": 3}


def per_agent(options: dict[str, Any]) -> PerAgentLearner:
    """One agent of two with shared weights by another learner."""
    own = MARLOO(MARLOO.Config(**options, **OWN))
    return PerAgentLearner(MAGRPO(MAGRPO.Config(**options)), {AGENTS[1]: own})


@in_float64()
@mock.patch.dict(precision.WEIGHT_DTYPES, float32=torch.float64)
def play(name: str, out: Path, **settings: Any) -> None:
    """A run in float64: in float32 AdamW makes a whole step of a rounded gradient that should be 0."""
    learner, options, arrangement = RUNS[name]
    options = {"learning_rate": 1e-4, **needed(learner), **options}
    named = {"learner_args": options} if name != "per_agent" else {}
    fit(
        learner if named else per_agent(options),
        ENVS.get(name) or TASKS.get(arrangement, Parities),
        out=out,
        **{
            **named,
            **arranged(arrangement),
            **{"steps": STEPS, "episodes_per_step": 5, "eval_tasks": 3, "checkpoint_every": 1},
            **{"quiet": True, "trackers": (), **SMALL.get(name, {}), **settings},
        },
    )


def left_over(sharded: bool) -> None:
    """Say on stderr when threads of the ranks' own group outlive it; PyTorch keeps the sharded's."""
    names = [task.read_text().strip() for task in Path("/proc/self/task").glob("*/comm")]
    if names.count("pt_gloo_runloop") > (2 if sharded else 0):
        print("threads of a process group are left", file=sys.stderr)


def main(folder: str, parallel: str, *names: str) -> None:
    """The named runs, each in a folder of its own.

    ``NAME:resume`` continues the run in ``resumed/NAME`` for a step, ``NAME:http://...`` samples there and
    leaves its run in ``served/NAME``.
    """
    atexit.register(left_over, parallel == "fsdp")  # before the group's end is, so it comes after
    with in_float64():
        teacher()  # later only the first rank would save it, and each rank has a folder of its own
    for name in names:
        name, _, how = name.partition(":")
        out, settings = Path(folder), {}
        if how == "resume":
            out, settings = out / "resumed", {"resume": True, "steps": STEPS + 1}
        elif how:
            out, settings = out / "served", {"sampler": how}
        play(name, out / name, parallel=parallel, **settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
