"""An environment behind rLLM's interface, driven as its engine drives it; needs no rLLM.

python examples/adapters/rllm_env.py [MODEL]
"""

from __future__ import annotations

import sys

from llmzoo.adapters.rllm import RllmEnv, make_rows
from llmzoo.policies import PolicyRequest, load

model = load(sys.argv[1] if len(sys.argv) > 1 else "tiny")
table = make_rows(
    "sudoku_v0",
    4,
    agent="planner_1",
    others="noisy_expert",
    split="test",
    args={"prompt": model.prompt_style or "full"},
)
for row in table:
    env = RllmEnv.from_dict(row)
    observation, info = env.reset()
    total, done = 0.0, False
    while not done:
        request = PolicyRequest(agent="planner_1", observation=observation, env=env.aec)
        observation, reward, done, info = env.step(model.respond([request])[0][0].text)
        total += reward
    env.close()
    print(f"{row['uid']}: paid {total:.2f}, success {info['success']}")
