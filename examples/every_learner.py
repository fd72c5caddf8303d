"""Any of the fourteen learners, by name: only the learner changes.

Shows that the loop, the model, the environment and the evaluation are the same for all of them:
policy gradients on groups, actor-critics, preferences and imitation. Expect one line per iteration
and the success before and after. Two iterations show that it runs but teach almost nothing;
``configs/learners`` has settings for longer runs.

    python examples/every_learner.py --learner mappo --steps 40 --episodes_per_step 32
    python examples/every_learner.py --learner dpo --model Qwen/Qwen2.5-0.5B-Instruct

Left out: how the learners differ (credit_rules.py, critics.py), and a fair comparison, which needs
several seeds and equal amounts of play (``llmzoo bench``).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import llmzoo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learner", default="magrpo", choices=llmzoo.list_learners())
    parser.add_argument("--env", default="sudoku_v0", choices=llmzoo.list_envs())
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument(
        "--episodes_per_step", type=int, default=2, help="episodes in each iteration"
    )
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--out", default="runs/every_learner")
    args = parser.parse_args()

    result = llmzoo.fit(
        args.learner,
        args.env,
        env_args={"max_turns": 1},
        model=args.model,
        steps=args.steps,
        episodes_per_step=args.episodes_per_step,
        eval_tasks=args.tasks,
        out=f"{args.out}/{args.learner}",
    )
    rows = map(json.loads, (Path(result.run) / "metrics.jsonl").read_text().splitlines())
    for row in (row for row in rows if row["kind"] == "train"):
        print(f"iteration {row['step']}: success in play {row['success']:.1%}")
    before, after = result.before, result.after
    print(f"{args.learner}: {before['success']:.1%} before, {after['success']:.1%} after")


if __name__ == "__main__":
    main()
