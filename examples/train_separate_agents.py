"""Train a separate model for each agent, and find out which agent made the difference.

Shows ``policies="separate"``, and teams of trained and untrained players in ``evaluate``. Expect the
success of four teams. The default settings only show that it runs; scale with --steps,
--episodes_per_step, --max_turns and --tasks. Left out: one base with an adapter per agent,
``policies="lora"``.
"""

from __future__ import annotations

import argparse

import llmzoo
from llmzoo.policies import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="plan_path_v0", choices=llmzoo.list_envs())
    parser.add_argument("--learner", default="at_grpo", choices=llmzoo.list_learners())
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument(
        "--episodes_per_step", type=int, default=2, help="episodes in each iteration"
    )
    parser.add_argument("--max_turns", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--out", default="runs/separate_agents")
    args = parser.parse_args()

    env_args = {"max_turns": args.max_turns}
    result = llmzoo.fit(
        args.learner,
        args.env,
        env_args=env_args,
        model=args.model,
        policies="separate",
        steps=args.steps,
        episodes_per_step=args.episodes_per_step,
        eval_tasks=args.tasks,
        out=args.out,
    )

    untrained = load(args.model)
    teams = {"nobody trained": dict.fromkeys(result.policies, untrained)}
    for agent, trained in result.policies.items():
        teams[f"only {agent} trained"] = {**teams["nobody trained"], agent: trained}
    teams["all trained"] = dict(result.policies)
    for name, team in teams.items():
        found = llmzoo.evaluate(args.env, team, tasks=args.tasks, env_args=env_args)
        low, high = found.success_ci95
        print(f"{name}: success {found.success:.1%} [{low:.1%}, {high:.1%}]")


if __name__ == "__main__":
    main()
