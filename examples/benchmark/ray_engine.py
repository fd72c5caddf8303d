"""Iterations per second of the engine ray beside the local engine, on this machine.

    python examples/benchmark/ray_engine.py --out ray.json

AT-GRPO on plan_path_v0 with the embedded model, a policy for each of the two agents: 16 episodes an
iteration, four answers to each question. The local engine plays and learns in one process; the
rows differ in what Ray is given:

* ``ray_one``: one worker that plays, one that learns for each policy. Nothing goes on at the same
  time but the two updates, so this row shows what the processes cost: batches and weights as bytes,
  the state of every update kept.
* ``ray_one_state_every_10``: the same, with the state kept every tenth update.
* ``ray_two``: two that play, in four shares.
* ``ray_ahead``: one that plays, and the next batch is played while this one is learned from; beside
  the local engine that does so too.

Both sides of a row stay and take turns, an iteration each, so that a busy machine hits them alike;
each computes with OMP_NUM_THREADS threads a process. Medians are compared. Start-up is not in them:
``ray_start`` is its seconds, from a cluster that is there to all workers of ``ray_one`` being ready.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from timing import Row, row

from llmzoo.engine.base import Engine, iteration_seeds
from llmzoo.engine.local import LocalEngine
from llmzoo.engine.off_policy import OffPolicyEngine
from llmzoo.engine.ray import RayArgs
from llmzoo.engine.ray.cluster import import_ray, start_local_cluster

import_ray()
from llmzoo.engine.ray.engine import ray_engine  # noqa: E402
from llmzoo.engine.ray.run_spec import RunSpec  # noqa: E402

ENVS = 16
STEPS = 10_000  # of the run that these are iterations of
PLAN = RunSpec(
    learner="at_grpo",
    learner_args={},
    env="plan_path_v0",
    env_args={"split": "train", "max_turns": 4, "prompt": "terse"},
    agents=["proposer_0", "planner_1"],
    policies="separate",
    model="tiny",
    others="expert",
    sampling={"max_new_tokens": 64, "stop": []},
    agent_args={},
    precision="float32",
    gradient_checkpointing=False,
    lora_args={},
    cohorts=1,
    workers=8,
    parallel="auto",
    cpu_offload=False,
    total_steps=STEPS,
    folder=os.getcwd(),
)
FEW = {"rollout_cpus": 0.1, "update_cpus": 0.1}  # so that the workers of all engines have room
ROWS: dict[
    str, tuple[str, RayArgs, int]
] = {  # of each the local engine, ray's options, and max_off_policy_steps
    "ray_one": ("local", RayArgs(**FEW), 0),
    "ray_one_state_every_10": ("local", RayArgs(**FEW, state_every=10), 0),
    "ray_two": ("local", RayArgs(**FEW, rollout_workers=2), 0),
    "ray_ahead": ("local_ahead", RayArgs(**FEW), 1),
}


def local(engine_class: type[LocalEngine]) -> Engine:
    agent_policies, learning = PLAN.load_policies()
    return engine_class(PLAN.make_learner(), learning, agent_policies, total_steps=STEPS)


def measured(engines: Mapping[str, Engine], repeats: int) -> dict[str, list[float]]:
    """Seconds of each iteration of each engine, taken in turn; the first are not counted."""
    draw = partial(iteration_seeds, 0, models=2, envs=ENVS)
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for step in range(repeats + 2):
        for name, engine in engines.items():
            began = time.perf_counter()
            engine.iterate(PLAN.make_env, draw, step, last=False)
            seconds[name].append(time.perf_counter() - began)
    return {name: found[2:] for name, found in seconds.items()}


def compare(repeats: int, rows: Mapping[str, tuple[str, RayArgs, int]] = ROWS) -> list[Row]:
    """Two engines at a time, so that no more processes than these wait for the machine."""
    found = []
    start_local_cluster(cpus=2)
    for name, (beside, args, max_off_policy_steps) in rows.items():
        with ExitStack() as stack:
            agent_policies, learning = PLAN.load_policies()
            began = time.perf_counter()
            engine = stack.enter_context(
                ray_engine(
                    PLAN,
                    args,
                    PLAN.make_learner(),
                    learning,
                    agent_policies,
                    max_off_policy_steps=max_off_policy_steps,
                )
            )
            started = time.perf_counter() - began
            make: Callable[[], Engine] = partial(
                local, OffPolicyEngine if beside == "local_ahead" else LocalEngine
            )
            seconds = measured({"ray": engine, "local": make()}, repeats)
        if name == "ray_one":
            found.append(row("ray_start", started, "s", higher_is_better=False))
        ours, theirs = (1 / statistics.median(seconds[side]) for side in ("ray", "local"))
        found.append(row(name, ours, "iterations/s", theirs=theirs))
        print(name, {side: [round(s, 2) for s in sorted(seconds[side])] for side in seconds})
    import_ray().shutdown()
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", nargs="*", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    table = compare(given.repeats, {name: ROWS[name] for name in given.only})
    text = json.dumps(table, indent=2)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n")
