"""Runs the comparison with comlrl's MAGRPO trainer and TRL's GRPO trainer: docs/results/anchors.md.

    pip install comlrl==1.4.3 trl==1.16.0 torch==2.13.0 transformers -c constraints.txt
    python examples/results/anchors.py             # updates, learning rates, runs: half an hour of a core
    python examples/results/anchors.py --list
    python examples/results/anchors.py --model smollm2 --steps 2 --only trl-0.0003-0 --log FILE

Each run is a process of its own, and a line of docs/results/logs/anchors.jsonl when it ends. Runs that
are in the log are not repeated. Kinds of lines: ``update`` (:mod:`anchor_updates`), ``rate`` (a short
run at a learning rate, with a seed of its own and without a test), ``start`` (the initial model) and
``run``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from logs import Row, read_rows

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "docs" / "results" / "logs" / "anchors.jsonl"
RATES = (1e-4, 3e-4, 1e-3)  # of the short runs
RATE_SEED, RATE_STEPS, LAST_STEPS = 100, 10, 4
RATE, HIGH = 3e-4, 1e-3  # of the runs
SEEDS = (0, 1, 2)
MORE_SEEDS = (0, 1, 2, 3)
TEST_TASKS = 200
PACKAGES = ("llmzoo-marl", "comlrl", "trl", "torch", "transformers")
UNLIMITED = 1e9  # a gradient norm


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A trainer with its changes. ``rates``: ``HIGH`` has one run only."""

    trainer: str  # ours, comlrl, trl
    agents: int
    switches: tuple[str, ...] = ()  # of a peer
    learner_args: Mapping[str, Any] = field(default_factory=dict)  # of ours
    rates: tuple[float, ...] = (RATE,)
    seeds: tuple[int, ...] = SEEDS


AS_COMLRL = {"normalize": True, "max_grad_norm": UNLIMITED, "weight_decay": 0.01}
AS_TRL = {"reduction": "token_mean", "schedule": "linear"}
ARMS = {
    "ours_2": Arm(trainer="ours", agents=2, seeds=MORE_SEEDS),
    "comlrl": Arm(trainer="comlrl", agents=2, rates=(RATE, HIGH), seeds=MORE_SEEDS),
    "comlrl_mask": Arm(trainer="comlrl", agents=2, switches=("mask",), seeds=MORE_SEEDS),
    "ours_as_comlrl": Arm(trainer="ours", agents=2, learner_args=AS_COMLRL, seeds=MORE_SEEDS),
    "ours_1": Arm(trainer="ours", agents=1),
    "trl": Arm(trainer="trl", agents=1, rates=(RATE, HIGH)),
    "trl_schedule": Arm(trainer="trl", agents=1, switches=("schedule",)),
    "ours_as_trl": Arm(trainer="ours", agents=1, learner_args=AS_TRL),
    "ours_token_mean": Arm(trainer="ours", agents=1, learner_args={"reduction": "token_mean"}),
    "ours_linear": Arm(trainer="ours", agents=1, learner_args={"schedule": "linear"}),
}
# rules of a peer that can be replaced by ours
COMLRL_SWITCHES = {
    "mask": "padding out of the loss, the last token in it",
    "std": "no division by the group's standard deviation",
    "clip": "gradient norm clipped to 1",
    "adam": "beta2 0.99 in place of 0.999, no weight decay in place of 0.01",
}
TRL_SWITCHES = {
    "loss": "mean over each completion in place of all tokens",
    "std": "biased standard deviation + 1e-6 in place of unbiased + 1e-4",
    "schedule": "constant learning rate in place of a linear decay to 0",
    "adam": "beta2 0.99 in place of 0.999",
}
# a peer, its switches and our options, from what comes to what is equal
UPDATES: Sequence[tuple[str, tuple[str, ...], Mapping[str, Any]]] = (
    ("comlrl", (), {}),
    ("comlrl", ("mask",), {}),
    ("comlrl", ("std",), {}),
    ("comlrl", ("clip",), {}),
    ("comlrl", ("adam",), {}),
    ("comlrl", ("mask", "std"), {}),
    ("comlrl", tuple(COMLRL_SWITCHES), {}),
    ("comlrl", ("mask", "adam"), {"normalize": True, "max_grad_norm": UNLIMITED}),
    ("trl", (), {}),
    ("trl", ("loss",), {}),
    ("trl", ("std",), {}),
    ("trl", ("schedule",), {}),
    ("trl", ("adam",), {}),
    ("trl", tuple(TRL_SWITCHES), {}),
    ("trl", ("std", "adam"), AS_TRL),
)


def plain_arms() -> list[str]:
    """The arms without changes."""
    return [arm for arm, one in ARMS.items() if not one.switches and not one.learner_args]


def run_names() -> Iterator[str]:
    """The names of all lines, in the order in which they are made."""
    yield from (f"update-{number}" for number in range(len(UPDATES)))
    yield from (f"rate-{arm}-{rate:g}" for arm in plain_arms() for rate in RATES)
    yield from ("start_2", "start_1")
    for arm, one in ARMS.items():
        yield from (f"{arm}-{RATE:g}-{seed}" for seed in one.seeds)
        yield from (f"{arm}-{rate:g}-{SEEDS[0]}" for rate in one.rates if rate != RATE)


def compute(name: str, model: str, steps: int | None, weights: Path) -> Row:
    """The line ``name``."""
    import torch
    from anchor_trainers import Task

    torch.set_num_threads(1)
    if name.startswith("update-"):
        from anchor_updates import measure

        peer, switches, ours = UPDATES[int(name.removeprefix("update-"))]
        row = {"kind": "update", "peer": peer, "switches": switches, "ours": ours}
        return row | measure(peer, switches, dict(ours))
    if name.startswith("start_"):
        task = Task(agents=int(name[-1]), model=model)
        return {"kind": "start", "agents": task.agents} | evaluate_weights(task, None)
    if name.startswith("rate-"):
        arm, rate = name.removeprefix("rate-").split("-")
        task = Task(
            agents=ARMS[arm].agents, steps=RATE_STEPS, rate=float(rate), seed=RATE_SEED, model=model
        )
        return {"kind": "rate", "arm": arm, "rate": task.rate} | train(arm, task, None)
    arm, rate, seed = name.split("-")
    task = Task(agents=ARMS[arm].agents, rate=float(rate), seed=int(seed), model=model)
    if steps is not None:
        task = replace(task, steps=steps)
    row = {"kind": "run", "arm": arm, "seed": task.seed, "task": asdict(task)}
    row |= train(arm, task, weights / name)
    return row | evaluate_weights(task, weights / name)


def train(arm: str, task: Any, weights: Path | None) -> dict[str, Any]:
    """Train an arm, and save its weights if a folder is given; the curve."""
    from anchor_trainers import train_comlrl, train_ours, train_trl

    one = ARMS[arm]
    if one.trainer == "ours":
        trained = train_ours(task, **one.learner_args)
    elif one.trainer == "comlrl":
        trained = train_comlrl(task, switches=one.switches)
    else:
        with tempfile.TemporaryDirectory() as out:
            trained = train_trl(task, Path(out), switches=one.switches)
    if weights is not None:
        trained.save(weights)
    return {"tokens": sum(point["tokens"] for point in trained.curve), "curve": trained.curve}


def evaluate_weights(task: Any, weights: Path | None) -> dict[str, Any]:
    """Success on held-out tasks, sampled and greedy, of saved weights; None: of the initial model."""
    from anchor_trainers import ENV

    import llmzoo
    from llmzoo.policies import load
    from llmzoo.policies.settings import Sampling

    agents = llmzoo.make(ENV, **task.env_args).possible_agents
    names = {agent: task.model if weights is None else str(weights / agent) for agent in agents}
    sampling = Sampling(max_new_tokens=task.new_tokens)
    policies = {
        agent: load(name, sampling=sampling, seed=n)
        for n, (agent, name) in enumerate(names.items())
    }
    found = {}
    for decoding in ("sampled", "greedy"):
        measured = llmzoo.evaluate(
            ENV,
            policies,
            tasks=TEST_TASKS,
            env_args=task.env_args,
            greedy=decoding == "greedy",
        ).to_dict()
        found[decoding] = {key: measured[key] for key in ("success", "success_ci95", "solved")}
    return found


def versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "source"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--weights", type=Path, default=Path("runs/anchors"))
    parser.add_argument("--model", default="tiny", help="tiny or smollm2")
    parser.add_argument("--steps", type=int, help="of a run, 20 by default")
    parser.add_argument("--only", help="the name of one line")
    parser.add_argument("--list", action="store_true", help="names of the lines to be made")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    rows = read_rows(args.log)
    if args.child:
        row = compute(args.only, args.model, args.steps, args.weights)
        args.child.write_text(json.dumps({"name": args.only, **row, "versions": versions()}) + "\n")
        return
    known = {row["name"] for row in rows}
    for name in [args.only] if args.only else run_names():
        if name in known:
            continue
        if args.list:
            print(name)
            continue
        with tempfile.TemporaryDirectory() as folder:
            line = Path(folder) / "line"
            command = [sys.executable, __file__, f"--only={name}", f"--child={line}"]
            command += [f"--log={args.log}", f"--weights={args.weights}", f"--model={args.model}"]
            command += [f"--steps={args.steps}"] if args.steps else []
            env = {**os.environ, "WANDB_MODE": "disabled", "OMP_NUM_THREADS": "1"}
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)
            args.log.parent.mkdir(parents=True, exist_ok=True)
            with args.log.open("a") as log:
                log.write(line.read_text())
        print(name, flush=True)


if __name__ == "__main__":
    main()
