"""Mathematics: a reasoner who cannot add learns to rely on a partner who writes programs.

Shows ``math_v0``: a reasoner and a tool answer at the same time, the tool's program runs in the
sandbox, and in the second round each reads the other's result. Expect the success before and after,
and one episode. With ``--steps 30`` (a minute or two on a CPU) the embedded model goes from about
12% to about 76%; docs/results/archive/learners_by_environments.md has the intervals. The default two
iterations only show that it runs.

    python examples/math_partners.py --model Qwen/Qwen2.5-0.5B-Instruct --level hard --steps 100

Left out: the public sets; gsm8k_v0, math500_v0 and others have the same agents.
"""

from __future__ import annotations

import argparse

import llmzoo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--level", default="easy", choices=["easy", "medium", "hard"])
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument(
        "--episodes_per_step", type=int, default=4, help="episodes in each iteration"
    )
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--out", default="runs/math_partners")
    args = parser.parse_args()

    env_args = {"family": "arithmetic", "level": args.level, "max_turns": 2}
    result = llmzoo.fit(
        "at_grpo",
        "math_v0",
        env_args=env_args,
        learner_args={"group_size": 8},
        model=args.model,
        steps=args.steps,
        episodes_per_step=args.episodes_per_step,
        eval_tasks=args.tasks,
        out=args.out,
    )
    print(f"success {result.before['success']:.1%} before, {result.after['success']:.1%} after")
    (episode,) = llmzoo.collect(
        "math_v0", result.policies, tasks=1, split="test", env_args=env_args
    )
    for decision in episode.decisions:
        print(f"--- {decision.agent} reads\n{decision.observation}")
        print(f"--- and answers, for {decision.reward:+.2f}\n{decision.completion.text}")


if __name__ == "__main__":
    main()
