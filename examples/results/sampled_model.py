"""An arm of ``kuhn.yaml`` without the machinery of text: the same model, games, credit and optimiser, in seconds.

    python examples/results/sampled_model.py      # minutes; writes docs/results/logs/sampled_model.jsonl

In each iteration the model is asked once in all 12 information states. The answers of MAGRPO's full trees are then
drawn from what it said, and judged as the learner judges them. Each arm is run as it stands in the study, and with
the other momentum.
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
from exact_credit import RULES
from exact_model import FORFEIT, Pair, asked, groups_of, moves_of, start_in, strategies

from llmzoo.envs.duels import exact
from llmzoo.envs.duels.exact import Node
from llmzoo.learners.updates.optimizer import Optimizer, OptimizerConfig
from llmzoo.policies import load
from llmzoo.policies.transformers import TransformersPolicy

LOG = Path(__file__).resolve().parents[2] / "docs" / "results" / "logs" / "sampled_model.jsonl"
ARM = "no_momentum"
MOMENTA = (0.0, 0.9)
SEEDS = (0, 1, 2)
EVERY = 4  # iterations between copies, as in the study
Array = np.ndarray[Any, Any]


def played(
    chances: Array, moves: Array, *, hands: int, group_size: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Full trees of that many hands: the sum of each token's advantages [12, V], and the answers [12].

    ``chances`` [12, V]: of each token; ``moves`` [12, 2]: the tokens of the legal moves. An advantage is an answer's
    return minus the mean of its group; others than legal moves forfeit.
    """
    numbers = {key: number for number, key in enumerate(exact.decisions(RULES))}
    credit, answers = np.zeros_like(chances), np.zeros(len(chances))

    def returns(node: Node, copies: int) -> Array:
        """What both players are paid on average from each of these copies of a state [copies, 2]."""
        if node.returns is not None:
            return np.tile(node.returns, (copies, 1))
        assert node.player is not None
        number = numbers[node.player, node.information]
        drawn = rng.choice(chances.shape[1], size=(copies, group_size), p=chances[number])
        paid = np.zeros((copies, group_size, 2))
        paid[..., node.player] = FORFEIT
        for move, child in zip(moves[number], node.children, strict=True):
            hit = drawn == move
            paid[hit] = returns(child, int(hit.sum()))
        own = paid[..., node.player]
        np.add.at(credit[number], drawn, own - own.mean(axis=1, keepdims=True))
        answers[number] += drawn.size
        mean: Array = paid.mean(axis=1)
        return mean

    root = exact.tree(RULES)
    for deal, count in zip(root.children, rng.multinomial(hands, root.chances), strict=True):
        returns(deal, int(count))
    return credit, answers


def learned(
    folder: Path, arm: Mapping[str, Any], *, momentum: float, seed: int
) -> dict[str, float]:
    """The arm's stages: exploitability at the end, and of the copies of the last stage, averaged."""
    policy = load(str(folder))
    assert isinstance(policy, TransformersPolicy)
    groups, moves = groups_of(policy), moves_of(policy)
    rng, copies, count = np.random.default_rng(seed), [], 0
    for stage in arm["stages"]:
        options, steps, copies = stage["learner_args"], stage["steps"], list[Pair]()
        config = OptimizerConfig(
            momentum=momentum,
            learning_rate=options["learning_rate"],
            schedule=options.get("schedule", "constant"),
        )
        optimizer = Optimizer.of(policy, config, total=steps, name=policy.name)
        for number in range(steps):
            logprobs, entropy = asked(policy, groups)
            chances = logprobs.detach().double().exp()
            if number % EVERY == 0:
                copies.append(strategies(chances.gather(1, moves)))
            credit, answers = played(
                (chances / chances.sum(dim=1, keepdim=True)).numpy(),
                moves.numpy(),
                hands=arm["episodes_per_step"],
                group_size=options["group_size"],
                rng=rng,
            )
            count += int(answers.sum())
            gain = torch.from_numpy(credit).float() * logprobs
            bonus = options["entropy"] * torch.from_numpy(answers).float() * entropy
            optimizer.zero_grad()
            (-(gain.sum() + bonus.sum()) / answers.sum()).backward()
            optimizer.step()
    with torch.no_grad():
        chances = asked(policy, groups)[0].double().exp().gather(1, moves)
    newest = copies[len(copies) // 2 :]
    mixed = [exact.mixed(RULES, player, [one[player] for one in newest]) for player in (0, 1)]
    return {
        "end": exact.exploitability(RULES, strategies(chances)),
        "newest": exact.exploitability(RULES, (mixed[0], mixed[1])),
        "answers": count,
    }


def table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table of docs/results/duels.md: means over seeds, and each seed."""
    lines = ["| momentum | newest weights | average of the newest copies | answers |"]
    lines += ["|---|---|---|---|"]
    for momentum in dict.fromkeys(row["momentum"] for row in rows):
        mine = [row for row in rows if row["momentum"] == momentum]
        cells = [
            f"{fmean(each):.3f} ({', '.join(f'{value:.3f}' for value in each)})"
            for each in ([row[name] for row in mine] for name in ("end", "newest"))
        ]
        answers = fmean(row["answers"] for row in mine)
        lines.append(f"| {momentum} | {cells[0]} | {cells[1]} | {answers / 1000:,.0f}k |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, default=Path("runs/results/models"))
    parser.add_argument("--out", type=Path, default=LOG)
    args = parser.parse_args()
    arm = study.read("kuhn", quick=False)["arms"][ARM]
    folder = start_in(args.models)
    rows = []
    for momentum in MOMENTA:
        for seed in SEEDS:
            found = learned(folder, arm, momentum=momentum, seed=seed)
            rows.append({"arm": ARM, "momentum": momentum, "seed": seed, **found})
            print(json.dumps(rows[-1]), flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
