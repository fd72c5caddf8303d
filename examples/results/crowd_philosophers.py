"""Do philosophers learn not to deadlock? Trains models on philosophers_v0 and measures how dinners end.

    python examples/results/crowd_philosophers.py --out runs/philosophers
    python examples/results/crowd_philosophers.py --out runs/philosophers --only magrpo_5-1

Everyone is hungry from the start, and a dinner lasts as many rounds as the shortest one needs. So the share of the
wanted meals that are had is the number of meals per round, relative to the best schedule.

All runs begin with one of three models of 103,000 weights. By imitation it knows the words and the rules, at every
number of philosophers. ``left`` and ``either`` know nothing about coordination (:class:`crowd_tables.LeftFirst`,
:class:`crowd_tables.EitherFirst`). A run is a line of ``docs/results/logs/crowd_philosophers.jsonl``; runs that are
there are not repeated.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from logs import read_rows
from words import build_model

LOG = Path(__file__).resolve().parents[2] / "docs" / "results" / "logs" / "crowd_philosophers.jsonl"
ENV, FOUR_TERMS = "philosophers_v0", "crowd_tables:FourTerms"
IMITATED_TABLES = {"left": "crowd_tables:LeftFirst", "either": "crowd_tables:EitherFirst"}
TABLE = {"hungry_by": 1, "slack": 0, "prompt": "terse"}
GUESTS = [f"{h}.{m}.{e}" for h in range(1, 5) for m in (1, 2) for e in (1, 2, 3)]
WORDS = [
    *("philosophers ", " round ", "\nguests ", "\nmeals ", " left ", " right ", " eating"),
    *("\naction\n", *GUESTS, *"0123456789./ \n", "free", "held", "taken", "malformed", "no"),
    *("action", "left", "right", "release", "wait"),
]
IMITATED = (8, 2, 3, 5)  # numbers of philosophers, one after another
TASKS = 100  # at most
TEMPERATURES = (2.0, 1.5, 0.7, 0.5, 0.3)
GROUPS: dict[str, Any] = {"group_size": 2, "learning_rate": 3e-3}
LONG: dict[str, Any] = {**GROUPS, "schedule": "linear"}
BOUNDED: dict[str, Any] = {**LONG, "max_update_kl": 0.01}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """What is compared. ``transfer``: numbers of philosophers at which the trained model is measured as well.
    ``first_seed``: 1 where the settings were chosen by a run with seed 0."""

    name: str
    agents: int
    seeds: int
    first_seed: int = 0
    env: str = ENV
    start: str = "left"
    learner: str = "magrpo"
    learner_args: Mapping[str, Any] = field(default_factory=lambda: GROUPS)
    policies: str = "shared"
    steps: int = 70
    episodes: int = 8
    transfer: tuple[int, ...] = ()


_EITHER: dict[str, Any] = {"agents": 5, "first_seed": 1, "start": "either", "steps": 250}
_APART: dict[str, Any] = {**_EITHER, "policies": "separate"}
ARMS = (
    Arm(name="magrpo_5", agents=5, seeds=5, transfer=(2, 3, 8)),
    Arm(name="four_terms_5", agents=5, seeds=5, env=FOUR_TERMS),
    Arm(name="magrpo_2", agents=2, seeds=3),
    Arm(name="magrpo_3", agents=3, seeds=3),
    Arm(name="separate_5", agents=5, seeds=5, policies="separate"),
    Arm(
        name="expert_5",
        agents=5,
        seeds=3,
        start="expert",
        learner_args={**GROUPS, "learning_rate": 1e-3},
    ),
    Arm(
        name="ippo_5",
        agents=5,
        seeds=3,
        learner="ippo",
        learner_args={"learning_rate": 1e-3},
        episodes=32,
    ),
    Arm(
        name="at_grpo_5",
        agents=5,
        seeds=3,
        learner="at_grpo",
        learner_args={**GROUPS, "group_size": 4},
    ),
    Arm(name="magrpo_8", agents=8, seeds=3),
    Arm(name="unbounded_5", seeds=4, learner_args=LONG, **_APART),
    Arm(name="bounded_5", seeds=5, learner_args=BOUNDED, **_APART),
    Arm(name="bounded_shared_5", seeds=3, learner_args=BOUNDED, **_EITHER),
    Arm(name="bounded_four_terms_5", seeds=3, learner_args=BOUNDED, env=FOUR_TERMS, **_APART),
)


def build_start(out: Path) -> dict[str, Path]:
    """The models that runs start from, by name: ``left`` imitates LeftFirst, ``either`` EitherFirst, ``expert`` is
    ``left`` that then imitates the expert."""
    starts = {name: out / name for name in (*IMITATED_TABLES, "expert")}
    for name, table in IMITATED_TABLES.items():
        if starts[name].exists():
            continue
        model = out / f"random-{name}"
        build_model(model, words=WORDS, hidden=64, layers=2, seed=0)
        for agents in IMITATED:
            model = _imitate(model, out / f"{name}-{agents}", table, agents, "noisy_expert", 40)
        model.rename(starts[name])
    if not starts["expert"].exists():
        _imitate(starts["left"], out / "expert-5", ENV, 5, "expert", 80).rename(starts["expert"])
    return starts


def _imitate(model: Path, out: Path, env: str, agents: int, source: str, steps: int) -> Path:
    from llmzoo import fit

    result = fit(
        "sft",
        env,
        env_args={**TABLE, "num_agents": agents},
        model=str(model),
        steps=steps,
        episodes_per_step=8,
        learner_args={"learning_rate": 2e-3, "source": source},
        seed=11,
        out=out / "run",
        **_plain(),
    )
    (policy,) = {id(policy): policy for policy in result.policies.values()}.values()
    policy.save(out / "model")
    return out / "model"


def _plain() -> dict[str, Any]:
    """Settings of all runs. Measurements are made here, so that fit makes none that count."""
    return {
        "max_new_tokens": 1,
        "eval_tasks": 2,
        "control_tasks": 0,
        "record_every": 0,
        "trackers": (),
        "quiet": True,
    }


def measure(policies: Any, agents: int, *, seed: int, greedy: bool = False, **more: Any) -> Any:
    """How the dinners of held-out tables end, one letter or number a dinner, in the order of the tasks.

    ``meals`` is had, ``wanted`` what the table wants. Two and three philosophers have 1 and 8 test tables, so that
    all their 21 and 56 tables are played.
    """
    from llmzoo import collect, make

    split = "all" if agents < 5 else "test"
    env_args = {**TABLE, "num_agents": agents, **more}
    tables = make(ENV, split=split, **env_args).unwrapped.tasks
    count = {2: 21, 3: 56}.get(agents, TASKS)
    found: dict[str, Any] = {"agents": agents, "split": split, "seed": seed, "greedy": greedy}
    found |= {"more": more, "deadlock": "", "meals": [], "wanted": [], "fairness": []}
    found |= {"starved": [], "malformed": 0, "answers": 0}
    for number, episode in enumerate(
        collect(
            ENV,
            policies,
            tasks=count,
            split=split,
            seed=seed,
            greedy=greedy,
            env_args=env_args,
        )
    ):
        found["deadlock"] += str(int(episode.info["deadlock"]))
        found["meals"].append(sum(episode.info["meals"].values()))
        found["wanted"].append(sum(guest.meals for guest in tables[number]))
        found["fairness"].append(round(episode.info["fairness"], 3))
        found["starved"].append(episode.info["starved"])
        found["malformed"] += sum(bool(d.info.get("error")) for d in episode.decisions)
        found["answers"] += len(episode.decisions)
    return found


def measure_start(name: str, path: Path, seed: int) -> dict[str, Any]:
    """A line for a model before RL: sampled, greedy and at lower temperatures."""
    from llmzoo.policies import load

    policy = load(str(path)).with_sampling(max_new_tokens=1)
    row: dict[str, Any] = {"arm": f"start_{name}", "seed": seed, "measured": []}
    for agents in (5, 2, 3, 8) if name == "left" else (5,):
        row["measured"] += [
            {"temperature": 1.0, **measure(policy, agents, seed=seed, greedy=greedy)}
            for greedy in (False, True)
        ]
    for temperature in TEMPERATURES:
        cooler = policy.with_sampling(temperature=temperature)
        row["measured"].append({"temperature": temperature, **measure(cooler, 5, seed=seed)})
    return row


def run_arm(arm: Arm, seed: int, starts: Mapping[str, Path], out: Path) -> dict[str, Any]:
    """Train, and measure the trained model sampled and greedy."""
    from llmzoo import fit

    folder = out / f"{arm.name}-{seed}"
    result = fit(
        arm.learner,
        arm.env,
        env_args={**TABLE, "num_agents": arm.agents},
        model=str(starts[arm.start]),
        policies=arm.policies,
        steps=arm.steps,
        episodes_per_step=arm.episodes,
        learner_args=dict(arm.learner_args),
        seed=seed,
        out=folder,
        resume=(folder / "config.json").exists(),
        **_plain(),
    )
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    train = [line for line in lines if line["kind"] == "train"]
    policies: Any = result.policies
    if arm.policies == "shared":
        (policies,) = {id(policy): policy for policy in policies.values()}.values()
    measured = [measure(policies, arm.agents, seed=seed, greedy=g) for g in (False, True)]
    for agents in arm.transfer:
        measured += [measure(policies, agents, seed=seed, greedy=g) for g in (False, True)]
    if arm.transfer:
        measured += [measure(policies, arm.agents, seed=seed, hungry_by=4)]
    return {
        "arm": arm.name,
        "seed": seed,
        "settings": json.loads(json.dumps(asdict(arm))),
        "curve": [round(sum(p["return"].values()) / len(p["return"]), 4) for p in train],
        "tokens": sum(point["tokens"] for point in train),
        "seconds": round(sum(p["rollout_seconds"] + p["update_seconds"] for p in train), 1),
        "measured": measured,
    }


def planned() -> Iterator[tuple[str, int, Arm | None]]:
    """The lines of the log, by name and seed; None: of a model before RL."""
    for name in ("left", "expert", "either"):
        yield from ((f"start_{name}", seed, None) for seed in range(3))
    for arm in ARMS:
        yield from ((arm.name, arm.first_seed + i, arm) for i in range(arm.seeds))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/philosophers"))
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument(
        "--only", nargs="*", default=[""], help="parts of names (ARM-SEED), in this order"
    )
    args = parser.parse_args(arguments)
    known = {f"{row['arm']}-{row['seed']}" for row in read_rows(args.log)}
    starts = build_start(args.out)
    lines = [(part, line) for part in args.only for line in planned()]
    for part, (name, seed, arm) in lines:
        if f"{name}-{seed}" in known or part not in f"{name}-{seed}":
            continue
        known.add(f"{name}-{seed}")
        if arm is None:
            start = name.removeprefix("start_")
            row = measure_start(start, starts[start], seed)
        else:
            row = run_arm(arm, seed, starts, args.out)
        with args.log.open("a") as log:
            log.write(json.dumps(row) + "\n")
        print(f"{name}-{seed}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
