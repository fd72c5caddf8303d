"""One group of answers, judged by every learner that needs no critic.

Shows how these learners differ: in the advantage that weighs the log-probability of an answer. A
model answers one position of a game several times (a group: one prompt, K answers). Each answer is
played on in a copy of the game, and its return is what its agent is paid. Expect a table with one
row per answer. If all returns are equal, there is nothing to learn, and most columns are 0: try
another --seed.

    python examples/credit_rules.py --model Qwen/Qwen2.5-0.5B-Instruct --group-size 8

Left out: the update, in which the advantage weighs every token of its answer.
"""

from __future__ import annotations

import argparse

import llmzoo
from llmzoo.learners import learner_class
from llmzoo.policies import load
from llmzoo.rollout import joint_tree, run_rollouts

LEARNERS = ("mareinforce", "magrpo", "marloo", "maremax", "at_grpo", "grpo")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="sudoku_v0", choices=llmzoo.list_envs())
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--group-size", type=int, default=6, help="K, answers to one prompt")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    model = load(args.model, seed=args.seed)
    # the embedded model reads short prompts only
    style = llmzoo.spec(args.env).terse if model.prompt_style == "terse" else {}
    env = llmzoo.make(args.env, max_turns=1, **style)
    env.reset(seed=args.seed)
    agents = env.possible_agents
    # maremax compares with the greedy answer, so that one is asked for as well
    tree = joint_tree(env, args.seed, group_size=args.group_size, trained=agents, with_greedy=True)
    (batch,) = run_rollouts([tree], dict.fromkeys(agents, model))
    group = batch.groups[-1]

    print(f"{group.agent}, {len(group.returns)} answers to one prompt; greedy: {group.greedy:.2f}")
    print("return  " + "".join(f"{name:>12}" for name in LEARNERS) + "  answer")
    credited = [
        learner_class(name)().compute_advantages([group])[0].advantages for name in LEARNERS
    ]
    for k, completion in enumerate(group.completions):
        numbers = "".join(f"{float(advantages[k]):12.2f}" for advantages in credited)
        print(f"{group.returns[k]:6.2f}  {numbers}  {completion.text[:30]!r}")


if __name__ == "__main__":
    main()
