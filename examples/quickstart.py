"""Make an environment, play it with the scripted expert, and evaluate a policy.

Shows PettingZoo's own loop, with text as observations and actions, and ``llmzoo.evaluate``, which
plays each held-out task once. Expect an episode of sudoku with its answers, then a success
of 100% for the expert and about half for the embedded model, with 95% intervals.

    python examples/quickstart.py --env sokoban_v0 --model noisy_expert --tasks 200
    python examples/quickstart.py --model Qwen/Qwen2.5-0.5B-Instruct

Left out: training, which is every_learner.py.
"""

from __future__ import annotations

import argparse

import llmzoo


def play_one_episode(env_id: str, seed: int) -> None:
    env = llmzoo.make(env_id)
    player = llmzoo.scripted_expert(env)
    env.reset(seed=seed)
    print(env.observe(env.agent_selection))
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        if terminated or truncated:
            print(f"{agent}: success {info['success']}, last paid {reward:.2f}")
            env.step(None)
            continue
        answer = player(observation, agent)
        print(f"\n{agent} answers:\n{answer}\n")
        env.step(answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="sudoku_v0", choices=llmzoo.list_envs())
    parser.add_argument("--model", default="tiny", help="or expert, noisy expert, random, a hub id")
    parser.add_argument("--tasks", type=int, default=20, help="held-out tasks, each played once")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    play_one_episode(args.env, args.seed)
    for policy in ("expert", args.model):
        found = llmzoo.evaluate(args.env, policy, tasks=args.tasks, seed=args.seed)
        low, high = found.success_ci95
        print(
            f"{policy}: success {found.success:.1%} [{low:.1%}, {high:.1%}] on {found.tasks} tasks"
        )


if __name__ == "__main__":
    main()
