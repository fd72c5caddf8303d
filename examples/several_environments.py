"""One model trained on several environments at once.

Shows that a mixture of environments is an environment: a PettingZoo wrapper whose reset draws one
of three games by the seed. The games have the same two agents, and each prompt explains its game, so
no other code changes. Expect the success in each game, before and after. The default settings only
show that it runs; three games need at least three times as many episodes as one.

    python examples/several_environments.py --model Qwen/Qwen2.5-0.5B-Instruct --steps 200 --episodes_per_step 48

Left out: weights for the games, and games whose rewards have different scales.
"""

from __future__ import annotations

import argparse
import random

from pettingzoo.utils import BaseWrapper

import llmzoo

GAMES = ("sudoku_v0", "sokoban_v0", "plan_path_v0")


class AnyGame(BaseWrapper):
    """Task i of the mixture is task i // 3 of game i % 3; a seed alone draws one of the games."""

    def __init__(self, *, split="train", **kwargs):
        self.arguments = {"split": split, "max_turns": 1, **kwargs}
        super().__init__(llmzoo.make(GAMES[0], **self.arguments))

    def reset(self, seed=None, options=None):
        task = (options or {}).get("task")
        turn = random.Random(seed).randrange(len(GAMES)) if task is None else task % len(GAMES)
        self.env = llmzoo.make(GAMES[turn], **self.arguments)
        self.env.reset(seed, options if task is None else {"task": task // len(GAMES)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--episodes_per_step", type=int, default=6)
    parser.add_argument("--tasks", type=int, default=10, help="of each game")
    parser.add_argument("--out", default="runs/several_environments")
    args = parser.parse_args()
    llmzoo.register("any_game_v0", AnyGame, terse={"prompt": "terse"})
    size = {"episodes_per_step": args.episodes_per_step, "eval_tasks": 3 * args.tasks}
    run = {"model": args.model, "steps": args.steps, "out": args.out, **size}
    result = llmzoo.fit("at_grpo", "any_game_v0", **run)
    print(f"all: {result.before['success']:.1%} before, {result.after['success']:.1%} after")
    for game in GAMES:
        for name, players in (("before", args.model), ("after", result.policies)):
            measured = llmzoo.evaluate(game, players, tasks=args.tasks, env_args={"max_turns": 1})
            print(f"{game}: {measured.success:.1%} {name}")


if __name__ == "__main__":
    main()
