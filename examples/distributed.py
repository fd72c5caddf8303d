"""The same run on one process and on several: only the command differs.

Shows that ``fit`` detects the processes of ``torchrun`` or ``accelerate launch``. They share the
episodes and the passes over each batch. So N processes reproduce the single-process run, up to the
order of floating-point sums. Expect the same numbers from each command, to five places:

    python examples/distributed.py --out runs/one
    torchrun --nproc-per-node 2 examples/distributed.py --out runs/two
    torchrun --nproc-per-node 8 examples/distributed.py --model Qwen/Qwen2.5-7B-Instruct \\
        --parallel fsdp --out runs/eight

Left out: several machines, vLLM servers and Ray: docs/distributed.md.
"""

from __future__ import annotations

import argparse

import llmzoo
from llmzoo.distributed import ranks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--parallel", default="auto", choices=["auto", "ddp", "fsdp"])
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument(
        "--episodes_per_step", type=int, default=4, help="episodes of all processes together"
    )
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--out", default="runs/distributed")
    args = parser.parse_args()

    result = llmzoo.fit(
        "at_grpo",
        "sudoku_v0",
        env_args={"max_turns": 1},
        model=args.model,
        parallel=args.parallel,
        steps=args.steps,
        episodes_per_step=args.episodes_per_step,
        eval_tasks=args.tasks,
        out=args.out,
    )
    with ranks.process_group():
        if ranks.is_first_process():
            returns = result.after["mean_return"]
            said = ", ".join(f"{agent} {value:.5f}" for agent, value in returns.items())
            print(f"success {result.after['success']:.1%}, returns {said}")


if __name__ == "__main__":
    main()
