"""Actor and critic: a critic that reads one agent's text, and a critic that reads the global state.

Shows ``ippo``, whose critic reads what the agent reads, and ``mappo``, whose single critic reads the
global state, which no agent may read. Explained variance says how well a critic predicts the
returns: 1 is perfect, 0 is no better than a constant, and an untrained critic is often far below 0.
Expect one line per iteration. The numbers become meaningful with ``--steps 40 --episodes_per_step 32``.

    python examples/critics.py --model Qwen/Qwen2.5-0.5B-Instruct --critic value_head

Left out: several seeds, without which neither critic can be called better.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import llmzoo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="sudoku_v0", choices=llmzoo.list_envs())
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--critic", default="separate", choices=["separate", "value_head"])
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument(
        "--episodes_per_step", type=int, default=8, help="episodes in each iteration"
    )
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--out", default="runs/critics")
    args = parser.parse_args()

    for learner in ("ippo", "mappo"):
        result = llmzoo.fit(
            learner,
            args.env,
            env_args={"max_turns": 1},
            learner_args={"critic": args.critic if learner == "ippo" else "separate"},
            model=args.model,
            steps=args.steps,
            episodes_per_step=args.episodes_per_step,
            eval_tasks=args.tasks,
            out=f"{args.out}/{learner}",
        )
        for line in (Path(result.run) / "metrics.jsonl").read_text().splitlines():
            row = json.loads(line)
            if row["kind"] == "train":
                print(f"{learner} {row['step']}: foresaw {row['explained_variance']:+.2f}")
        print(f"{learner}: success {result.after['success']:.1%} on {args.tasks} held-out tasks")


if __name__ == "__main__":
    main()
