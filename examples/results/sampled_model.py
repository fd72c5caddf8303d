"""An arm of ``kuhn.yaml`` without the machinery of text: the same model, games, credit and optimiser, in seconds.

    python examples/results/sampled_model.py      # minutes; writes docs/results/logs/sampled_model.jsonl

In each iteration the model is asked once in all 12 information states. The answers of MAGRPO's full trees are then
drawn from what it said, and judged as the learner judges them; all that is no legal move counts as one answer. The arm
is run as it stands in the study, and with another momentum.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import study
import torch
from exact_credit import RULES, Pair, averaged
from exact_model import FORFEIT, asked, groups_of, start_in, strategies

from llmzoo.envs.duels import exact
from llmzoo.envs.duels.exact import Node
from llmzoo.learners.configs.optimizer import OptimizerConfig
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.policies import load
from llmzoo.policies.transformers import TransformersPolicy

LOG = Path(__file__).resolve().parents[2] / "docs" / "results" / "logs" / "sampled_model.jsonl"
ARM = "no_momentum"
MOMENTA = (0.0, 0.9)
SEEDS = (0, 1, 2)
EVERY = 4  # iterations between copies, as in the study
Array = np.ndarray[Any, Any]


def played(
    chances: Array, *, hands: int, group_size: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Full trees of that many hands: the sum of each answer's advantages [12, 3], and the answers [12].

    ``chances`` [12, 3]: of the two legal moves, and of anything else, which forfeits. An advantage is an answer's
    return minus the mean of its group.
    """
    numbers = {key: number for number, key in enumerate(exact.decision_nodes(RULES))}
    credit, answers = np.zeros_like(chances), np.zeros(len(chances))

    def returns(node: Node, copies: int) -> Array:
        """What both players are paid on average from each of these copies of a state [copies, 2]."""
        if node.returns is not None:
            return np.tile(node.returns, (copies, 1))
        assert node.player is not None
        number = numbers[node.player, node.information]
        drawn = rng.choice(3, size=(copies, group_size), p=chances[number])
        paid = np.zeros((copies, group_size, 2))
        paid[..., node.player] = FORFEIT
        for move, child in enumerate(node.children):
            hit = drawn == move
            paid[hit] = returns(child, int(hit.sum()))
        own = paid[..., node.player]
        np.add.at(credit[number], drawn, own - own.mean(axis=1, keepdims=True))
        answers[number] += drawn.size
        mean: Array = paid.mean(axis=1)
        return mean

    root = exact.build_tree(RULES)
    for deal, count in zip(root.children, rng.multinomial(hands, root.chances), strict=True):
        returns(deal, int(count))
    return credit, answers


def learned(
    folder: Path, arm: Mapping[str, Any], *, momentum: float, seed: int
) -> dict[str, float]:
    """The arm's stages: exploitability at the end, and of the copies of the last stage, averaged."""
    policy = load(str(folder))
    assert isinstance(policy, TransformersPolicy)
    groups = groups_of(policy)
    rng, copies, count = np.random.default_rng(seed), [], 0
    for stage in arm["stages"]:
        options, steps, copies = stage["learner_args"], stage["steps"], list[Pair]()
        config = OptimizerConfig(
            adam_beta1=momentum,
            learning_rate=options["learning_rate"],
            schedule=options.get("schedule", "constant"),
        )
        optimizer = Optimizer.for_policy(policy, config, total=steps, name=policy.name)
        for number in range(steps):
            legal, entropy = asked(policy, groups)
            chances = torch.cat([legal, 1 - legal.sum(dim=1, keepdim=True)], dim=1).clamp_min(1e-9)
            known = chances.detach().double()
            if number % EVERY == 0:
                copies.append(strategies(known[:, :2]))
            credit, answers = played(
                (known / known.sum(dim=1, keepdim=True)).numpy(),
                hands=arm["episodes_per_step"],
                group_size=options["group_size"],
                rng=rng,
            )
            count += int(answers.sum())
            gain = torch.from_numpy(credit).float() * chances.log()
            bonus = options["entropy"] * torch.from_numpy(answers).float() * entropy
            optimizer.zero_grad()
            (-(gain.sum() + bonus.sum()) / answers.sum()).backward()
            optimizer.step()
    with torch.no_grad():
        end = strategies(asked(policy, groups)[0])
    return {
        "end": exact.exploitability(RULES, end),
        "newest": averaged(copies[len(copies) // 2 :]),
        "all": averaged(copies),
        "answers": count,
    }


def table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table of docs/results/archive/duels.md: means over seeds, and each seed."""
    lines = ["| momentum | end | newest half of the copies | all copies | answers |"]
    lines += ["|---|---|---|---|---|"]
    for momentum in dict.fromkeys(row["momentum"] for row in rows):
        mine = [row for row in rows if row["momentum"] == momentum]
        cells = [
            f"{fmean(each):.3f} ({', '.join(f'{value:.3f}' for value in each)})"
            for each in ([row[name] for row in mine] for name in ("end", "newest", "all"))
        ]
        answers = fmean(row["answers"] for row in mine)
        lines.append(f"| {momentum} | {' | '.join(cells)} | {answers / 1000:,.0f}k |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, default=Path("runs/results/models"))
    parser.add_argument("--out", type=Path, default=LOG)
    args = parser.parse_args()
    arm = study.read("kuhn", quick=False)["arms"][ARM]
    folder = start_in(args.models)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("")
    for momentum in MOMENTA:
        for seed in SEEDS:
            found = learned(folder, arm, momentum=momentum, seed=seed)
            line = json.dumps({"arm": ARM, "momentum": momentum, "seed": seed, **found})
            print(line, flush=True)
            with args.out.open("a") as log:
                log.write(f"{line}\n")


if __name__ == "__main__":
    main()
