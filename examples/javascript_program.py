"""A program in JavaScript as an environment: agents.mjs, which this process starts for every episode.

Expect a success of 1 after 30 iterations. Left out: how the endpoint works, see docs/programs.md.
"""

import argparse
from functools import partial
from pathlib import Path

import llmzoo
from llmzoo.testing import check_env, check_fork

COMMAND = ["node", str(Path(__file__).with_name("agents.mjs"))]
TASKS = [f"{a}{b}" for a in "abcdefgh" for b in "klmnopqr"]

make = partial(llmzoo.from_command, COMMAND, agents=["caller_0", "echo_1"], tasks=TASKS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--learner", default="ippo", help="or magrpo, at_grpo, ...")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--out", default="runs/javascript_program")
    args = parser.parse_args()
    check_env(make, cycles=3)
    check_fork(make)
    result = llmzoo.fit(
        args.learner,
        make,
        model=args.model,
        policies="shared" if args.learner == "ippo" else "separate",
        learner_args={"learning_rate": 3e-4},
        max_new_tokens=4,
        steps=args.steps,
        episodes_per_step=16,
        eval_tasks=args.tasks,
        out=args.out,
    )
    print(f"success {result.before['success']:.0%} before, {result.after['success']:.0%} after")
