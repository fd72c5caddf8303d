"""Eight agents at once in a vector environment of Gymnasium: one call of a model for all of them.

python examples/adapters/vector.py --model Qwen/Qwen2.5-0.5B-Instruct --episodes 200
"""

from __future__ import annotations

import argparse

import gymnasium

from llmzoo import policies

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--model", default="tiny")
parser.add_argument("--episodes", type=int, default=24)
args = parser.parse_args()

envs = gymnasium.make_vec(
    "llmzoo.adapters.gymnasium:llmzoo/sudoku-v0",
    num_envs=8,
    agent="planner_1",
    others="noisy_expert",
    autoreset_mode="SameStep",
    prompt="terse",
)
model = policies.load(args.model)
observations, infos = envs.reset(seed=0)
ended = solved = 0
while ended < args.episodes:
    asked = [
        policies.PolicyRequest(agent="planner_1", observation=text, env=env.agent.env)
        for text, env in zip(observations, envs.envs, strict=True)
    ]
    answers = [completion.text for [completion] in model.respond(asked)]
    observations, rewards, terminations, truncations, infos = envs.step(answers)
    for i in (terminations | truncations).nonzero()[0]:  # they end at different times
        ended += 1
        solved += infos["final_info"]["success"][i]
print(f"{solved} of {ended} episodes solved by {args.model}")
