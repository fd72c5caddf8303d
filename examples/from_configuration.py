"""A run from a file, and the same run again from the configuration that it saved.

Shows that a configuration holds the arguments of ``fit``, that explicit arguments override it, and
that the ``config.json`` in a run folder is a configuration too, which reproduces the weights bit
for bit. On the command line these are ``llmzoo train --config FILE --steps 2`` and
``llmzoo train --config RUN/config.json --out AGAIN``. Expect the success of both, and True.

    python examples/from_configuration.py --config configs/learners/ippo.yaml --steps 40 --episodes_per_step 32
    python examples/from_configuration.py --model Qwen/Qwen2.5-0.5B-Instruct

Left out: files with stages, which are the arguments of ``fit_stages``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
import yaml

import llmzoo

CONFIGS = Path(__file__).resolve().parents[1] / "configs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", default=CONFIGS / "learners" / "magrpo.yaml", type=Path)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--episodes_per_step", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--out", default="runs/from_configuration")
    args = parser.parse_args()

    settings = yaml.safe_load(args.config.read_text())
    settings |= {
        "model": args.model,
        "steps": args.steps,
        "episodes_per_step": args.episodes_per_step,
    }
    settings |= {"eval_tasks": args.tasks, "out": f"{args.out}/first"}
    first = llmzoo.fit(**settings)
    saved = json.loads((Path(first.run) / "config.json").read_text())
    again = llmzoo.fit(**saved, out=f"{args.out}/again")

    same = True
    for agent, policy in first.policies.items():
        weights = again.policies[agent].model.state_dict()
        for name, value in policy.model.state_dict().items():
            same = same and torch.equal(value, weights[name])
    print(f"success {first.after['success']:.1%} and {again.after['success']:.1%}")
    print(f"the same weights, bit for bit: {same}")


if __name__ == "__main__":
    main()
