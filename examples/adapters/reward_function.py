"""A reward function and its formatters, as CoMLRL takes them, trained with a learner of ours.

Three steps show that it runs; they teach nothing yet.

python examples/adapters/reward_function.py --model Qwen/Qwen2.5-0.5B-Instruct --steps 100
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial

import llmzoo


def shorter(first: list[str], second: list[str], batch_items: list[dict]) -> list[float]:
    """1 where the first agent writes less than the second, and 0 otherwise."""
    return [float(0 < len(a) < len(b)) for a, b in zip(first, second, strict=True)]


formatters = [
    lambda item: f"{item['prompt']} In one word.\n",
    lambda item: f"{item['prompt']} In a sentence.\n",
]
tasks = [{"prompt": f"What comes after {n}?"} for n in range(50)]

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--model", default="tiny")
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--out", default=None, help="the run's folder; a temporary one by default")
args = parser.parse_args()

env = partial(llmzoo.from_reward_function, shorter, tasks=tasks, formatters=formatters)
result = llmzoo.fit(
    "magrpo",
    env,
    out=args.out or tempfile.mkdtemp(),
    model=args.model,
    steps=args.steps,
    episodes_per_step=2,
    eval_tasks=8,
    max_new_tokens=16,
    quiet=True,
)
print(f"success before {result.before['success']:.2f}, after {result.after['success']:.2f}")
