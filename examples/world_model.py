"""A world model: predict the next observation from the last observation and action.

Shows ``sft`` with ``mode="world_model"`` (the implicit world model of arXiv 2510.08558): scripted
noisy experts play, and the model learns how the environment replies. Mistakes teach this as well as good
play does. Expect the share of correctly predicted tokens in each iteration, which rises with
--steps, and a prediction beside the true observation: a poor one after the default three
iterations.

    python examples/world_model.py --model Qwen/Qwen2.5-0.5B-Instruct --steps 100 --episodes_per_step 32

Left out: its use. ``mode="mix"`` also learns to act, and another run can start from this one
(``model=RUN``) and learn by reward.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import llmzoo
from llmzoo.learners.updates.examples import WORLD_MODEL_TEMPLATE
from llmzoo.policies.base import PolicyRequest
from llmzoo.records.trajectories import to_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="sudoku_v0", choices=llmzoo.list_envs())
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument(
        "--episodes_per_step", type=int, default=4, help="episodes in each iteration"
    )
    parser.add_argument("--out", default="runs/world_model")
    args = parser.parse_args()

    settings = {"env_args": {"max_turns": 2}, "model": args.model, "steps": args.steps}
    settings |= {"episodes_per_step": args.episodes_per_step, "eval_tasks": 1, "out": args.out}
    how = {"source": "noisy_expert", "mode": "world_model"}
    result = llmzoo.fit("sft", args.env, learner_args=how, **settings)
    for line in (Path(result.run) / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["kind"] == "train":
            print(f"iteration {row['step']}: {row['mean_token_accuracy']:.1%} of tokens foretold")

    model = next(iter(result.policies.values()))
    style = llmzoo.spec(args.env).terse if model.prompt_style == "terse" else {}
    env_args = {"max_turns": 2, **style}
    played = llmzoo.collect(args.env, "noisy_expert", tasks=5, split="test", env_args=env_args)
    seen = next(row for row in to_rows(played) if row["next_observation"])
    asked = WORLD_MODEL_TEMPLATE.format(**seen)
    (answers,) = model.respond([PolicyRequest(agent=seen["agent"], observation=asked, env=None)])
    print(f"--- read and done\n{asked}\n--- predicted\n{answers[0].text}")
    print(f"--- what came\n{seen['next_observation']}")


if __name__ == "__main__":
    main()
