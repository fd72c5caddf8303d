"""What momentum does to self-play on a model, without any noise: exact policy gradients on the weights.

    python examples/results/exact_model.py        # a minute; writes docs/results/logs/exact_model.jsonl

The model is the one that the runs of ``kuhn.yaml`` start from, which is made where ``--models`` lacks it. In
each step it is asked in all information states; the gradient is that of what each agent earns against the
other, with an entropy bonus, and the optimiser is the learners' own. The game's mathematics is that of
:mod:`exact_credit`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import study
import torch
from exact_credit import RULES, Pair, averaged, met, worth

from llmzoo import make
from llmzoo.envs.duels import exact
from llmzoo.learners.configs.optimizer import OptimizerConfig
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.policies import load
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Completion, Group

LOG = Path(__file__).resolve().parents[2] / "docs" / "results" / "logs" / "exact_model.jsonl"
START = "kuhn_legal"
ENTROPY = 0.1
FORFEIT = -2.1  # of an answer that names no legal move
SETTINGS = ((0.9, 3e-4), (0.9, 3e-5), (0.0, 3e-4), (0.0, 3e-5))  # momentum and rate


def start_in(models: Path) -> Path:
    """The folder of the model that the runs start from, which is made where it is not there yet."""
    known = study.read("models", quick=False)
    start = known[START]
    study.train_model(known[start["model"]], models / start["model"])
    study.train_model({**start, "model": str(models / start["model"])}, models / START)
    return models / START


def groups_of(policy: TransformersPolicy) -> list[Group]:
    """The prompt of each information state, with its legal moves as answers of one token."""
    game = make("kuhn_poker_v0", prompt="terse", tries=1).unwrapped
    found = []
    for (player, _), node in exact.decision_nodes(RULES).items():
        agent = f"player_{player}"
        written = [policy.prompts_for(agent).encode_completion(move) for move in node.moves]
        found.append(
            Group(
                agent=agent,
                turn=0,
                key=(0, 0, agent),
                prompt_ids=policy.encode(game.with_state(node.state).observe(agent), agent),
                completions=tuple(Completion(text="", ids=tuple(ids)) for ids in written),
                returns=(0.0,) * len(written),
            )
        )
    return found


def asked(policy: TransformersPolicy, groups: Sequence[Group]) -> tuple[torch.Tensor, torch.Tensor]:
    """The probability of each legal move [12, 2], and the entropy of the whole distribution [12]."""
    now = policy.likelihood(groups)
    return now.logprobs.exp().view(len(groups), 2), now.entropy.view(len(groups), 2)[:, 0]


def strategies(chances: torch.Tensor) -> Pair:
    """The legal moves' chances [12, 2], scaled to 1, as strategies of both players."""
    scaled = (chances / chances.sum(dim=1, keepdim=True)).tolist()
    known = dict(zip(exact.decision_nodes(RULES), scaled, strict=True))
    return (lambda seen, moves: known[0, seen]), (lambda seen, moves: known[1, seen])


def gain(chances: torch.Tensor, entropy: torch.Tensor, pair: Pair) -> torch.Tensor:
    """What is climbed: its slope by ``chances`` [12, 2] is that of what each agent earns by itself.

    ``entropy`` [12]: of the whole distribution in each state.
    """
    numbers = {key: number for number, key in enumerate(exact.decision_nodes(RULES))}
    reaches: dict[int, float] = defaultdict(float)
    worths = torch.zeros(chances.shape, dtype=chances.dtype)
    for node, reach in met(pair, None):
        assert node.player is not None
        number = numbers[node.player, node.information]
        reaches[number] += reach
        for move, child in enumerate(node.children):
            worths[number, move] += reach * worth(child, node.player, pair, turn=False)
    reached = torch.tensor([reaches[n] for n in range(len(numbers))], dtype=chances.dtype)
    illegal = 1 - chances.sum(dim=1)
    return (worths * chances).sum() + (reached * (FORFEIT * illegal + ENTROPY * entropy)).sum()


def learned(folder: Path, *, momentum: float, rate: float, steps: int) -> dict[str, float]:
    """Exploitability after training, its extremes over the last half, and that of the average since then."""
    policy = load(str(folder))
    assert isinstance(policy, TransformersPolicy)
    groups = groups_of(policy)
    config = OptimizerConfig(adam_beta1=momentum, learning_rate=rate)
    optimizer = Optimizer.for_policy(policy, config, total=steps, name=policy.name)
    kept: list[Pair] = []
    for number in range(steps + 1):
        chances, entropy = asked(policy, groups)
        pair = strategies(chances.detach())
        if 2 * number >= steps and number % 5 == 0:
            kept.append(pair)
        optimizer.zero_grad()
        (-gain(chances, entropy, pair)).backward()
        if number < steps:
            optimizer.step()
    measured = [exact.exploitability(RULES, one) for one in kept]
    return {
        "end": measured[-1],
        "lowest": min(measured),
        "highest": max(measured),
        "average": averaged(kept),
    }


def table_of(rows: Sequence[dict[str, Any]]) -> str:
    """The table of docs/results/archive/duels.md."""
    lines = [
        "| momentum | learning rate | end | lowest and highest, second half | average of the second half |"
    ]
    lines += ["|---|---|---|---|---|"]
    for row in rows:
        between = f"{row['lowest']:.3f} to {row['highest']:.3f}"
        told = [
            row["momentum"],
            f"{row['rate']:.5f}",
            f"{row['end']:.3f}",
            between,
            f"{row['average']:.3f}",
        ]
        lines.append("| " + " | ".join(map(str, told)) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--models", type=Path, default=Path("runs/results/models"))
    parser.add_argument("--out", type=Path, default=LOG)
    args = parser.parse_args()
    folder = start_in(args.models)
    rows = []
    for momentum, rate in SETTINGS:
        found = learned(folder, momentum=momentum, rate=rate, steps=args.steps)
        rows.append({"momentum": momentum, "rate": rate, **found})
        print(json.dumps(rows[-1]), flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
