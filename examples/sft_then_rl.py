"""Imitate first, improve by reward afterwards: two chained stages.

Shows ``fit_stages``: SFT on the scripted expert's answers, then AT-GRPO on the rewards. A model that
never succeeds earns no reward to learn from, so imitation comes first. Expect the success at the
start and after each stage. The default settings only show that it runs;
``configs/recipes/sft_then_magrpo.yaml`` trains for longer.

    python examples/sft_then_rl.py --model Qwen/Qwen2.5-0.5B-Instruct --steps 100 --episodes_per_step 32

Left out: demonstrations of your own, which are a file of trajectories: ``source: FILE.jsonl``.
"""

from __future__ import annotations

import argparse

import llmzoo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="sudoku_v0", choices=llmzoo.list_envs())
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--steps", type=int, default=2, help="iterations of each stage")
    parser.add_argument(
        "--episodes_per_step", type=int, default=4, help="episodes in each iteration"
    )
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--out", default="runs/sft_then_rl")
    args = parser.parse_args()

    imitate, improve = llmzoo.fit_stages(
        [
            {"learner": "sft", "learner_args": {"source": "expert", "success_only": True}},
            {"learner": "at_grpo", "learner_args": {"select": "random"}},
        ],
        args.env,
        env_args={"max_turns": 1},
        model=args.model,
        steps=args.steps,
        episodes_per_step=args.episodes_per_step,
        eval_tasks=args.tasks,
        out=args.out,
    )
    for name, found in (
        ("at the start", imitate.before),
        ("after SFT", imitate.after),
        ("after AT-GRPO", improve.after),
    ):
        low, high = found["success_ci95"]
        print(f"{name}: success {found['success']:.1%} [{low:.1%}, {high:.1%}]")


if __name__ == "__main__":
    main()
