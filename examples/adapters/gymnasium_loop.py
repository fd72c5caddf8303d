"""One agent of an environment in Gymnasium's own loop, the other played by a policy.

    python examples/adapters/gymnasium_loop.py --model Qwen/Qwen2.5-0.5B-Instruct --others noisy_expert

Whatever makes a text of a text can stand where the model answers.
"""

from __future__ import annotations

import argparse

import gymnasium

from llmzoo import policies

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--model", default="tiny")
parser.add_argument("--others", default="expert", help="who plays the proposer")
args = parser.parse_args()

env = gymnasium.make(
    "llmzoo.adapters.gymnasium:llmzoo/sudoku-v0",
    agent="planner_1",
    others=args.others,
    prompt="terse",
    render_mode="ansi",
)
model = policies.load(args.model)
aec = env.unwrapped.agent.env
for seed in range(3):
    observation, info = env.reset(seed=seed)
    terminated = truncated = False
    total = 0.0
    while not (terminated or truncated):
        asked = policies.PolicyRequest(agent="planner_1", observation=observation, env=aec)
        [[answer]] = model.respond([asked])
        observation, reward, terminated, truncated, info = env.step(answer.text)
        total += reward
    print(f"{env.render()}\nseed {seed}: paid {total:.2f}, success {info['success']}\n")
