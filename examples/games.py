"""Games: forks show what each answer to a position earns.

Shows a position of a planning game in a form for people, and several answers of a model to it. Each
answer is played in a fork of the episode, with its reward components. The original episode does not
change. Rollout trees judge the answers of a group in the same way. Expect a board, and one
paragraph per answer; the last answer is the scripted expert's.

    python examples/games.py --env sokoban_v0 --model Qwen/Qwen2.5-0.5B-Instruct

Left out: the second agent, which reads the result of the answer that is carried out.
"""

from __future__ import annotations

import argparse

import llmzoo
from llmzoo.policies import load
from llmzoo.policies.base import PolicyRequest
from llmzoo.rollout import fork


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="plan_path_v0", choices=llmzoo.list_envs("games"))
    parser.add_argument("--model", default="tiny", help="or noisy expert, random, a hub id")
    parser.add_argument("--answers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    model = load(args.model)
    # the embedded model reads short prompts only
    style = llmzoo.spec(args.env).terse if model.prompt_style == "terse" else {}
    env = llmzoo.make(args.env, render_mode="ansi", **style)
    env.reset(seed=args.seed)
    agent = env.agent_selection
    before = env.render()
    print(before)

    asked = PolicyRequest(agent=agent, observation=env.observe(agent), env=env, seed=args.seed)
    (completions,) = model.respond([asked], group_size=args.answers)
    for text in [*(c.text for c in completions), env.unwrapped.expert(agent)]:
        branch = fork(env)
        branch.step(text)
        info = branch.infos[agent]
        print(f"\n{agent} answers {text!r}: paid {branch.rewards[agent]:+.2f}")
        print(f"by part {info['reward_components']}, wrong: {info['error']}")
    assert env.render() == before  # no fork has touched it


if __name__ == "__main__":
    main()
