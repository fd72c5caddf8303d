"""Your own learner: it makes only the best answers of a group more likely.

Shows that a learner is a credit rule over groups: this one fine-tunes on the samples with the
highest reward (RAFT, arXiv 2304.06767). Expect the success before and after; the default settings
only show that it runs. Left out: your own rollouts and updates (docs/writing_learners.md).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch

import llmzoo
from llmzoo.learners.groups import JointConfig, JointLearner


@dataclass(frozen=True, slots=True, kw_only=True)
class BestConfig(JointConfig):
    margin: float = 0.01  # returns this near the best count as best


class Best(JointLearner):
    """Credit: 1 for the best answers of a group, 0 for the others; without a best, 0 for all."""

    Config = BestConfig

    def credit(self, group):
        returns = torch.tensor(group.returns)
        best = returns >= returns.max() - self.config.margin
        return torch.zeros_like(returns) if best.all() else best.float()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="sudoku_v0", choices=llmzoo.list_envs())
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--episodes_per_step", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--out", default="runs/own_learner")
    args = parser.parse_args()

    result = llmzoo.fit(
        Best(BestConfig(group_size=4)),
        args.env,
        env_args={"max_turns": 1},
        model=args.model,
        steps=args.steps,
        episodes_per_step=args.episodes_per_step,
        eval_tasks=args.tasks,
        out=args.out,
    )
    print(f"success {result.before['success']:.1%} before, {result.after['success']:.1%} after")


if __name__ == "__main__":
    main()
