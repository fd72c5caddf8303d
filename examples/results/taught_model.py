"""How much of tic-tac-toe a small model can hold: it is taught the perfect moves of all 4,520 states.

    python examples/results/taught_model.py --log docs/results/logs/taught_model.jsonl
    python examples/results/taught_model.py --hidden 128 --layers 3

Each state is as likely in a batch as any other, and each perfect move in it; the loss is the
cross-entropy of a move drawn from those. What is measured is what a run with ``tic_tac_toe.yaml`` is
measured by: the share of draws as each player against a perfect player.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import words
from logs import Row
from readings import markdown
from torch.nn.functional import cross_entropy

from llmzoo import make
from llmzoo.envs.duels import exact
from llmzoo.envs.duels.env import PLAYERS
from llmzoo.evaluation.exploit import exploit
from llmzoo.models.sampling import Sampling
from llmzoo.policies import load
from llmzoo.policies.transformers import TransformersPolicy

BATCH, RATE, WARMUP = 256, 2e-3, 100


def untaught(out: Path, *, hidden: int, layers: int, seed: int) -> TransformersPolicy:
    words.build_model(out, words="tic_tac_toe_v0", hidden=hidden, layers=layers, seed=seed)
    return load(str(out), sampling=Sampling(max_new_tokens=1), device="cpu")


def taught(
    policy: TransformersPolicy, env: Any, updates: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Teaches; a row after every 500 updates and at the end. The rate falls to a fiftieth on the way."""
    ids, moves = examples(env, policy)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=RATE, betas=(0.9, 0.99))
    rng = random.Random(seed)
    begun = time.process_time()
    for step in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / WARMUP) * max(0.02, 1 - step / updates)
        rows = rng.choices(range(len(ids)), k=BATCH)
        targets = torch.tensor([rng.choice(moves[row]) for row in rows])
        logits = policy.model(input_ids=ids[rows]).logits[:, -1]
        loss = cross_entropy(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 500 == 0 or step + 1 == updates:
            minutes = round((time.process_time() - begun) / 60, 1)
            yield {"updates": step + 1, "minutes": minutes, "loss": round(loss.item(), 3)}


def build_model(out: Path, *, hidden: int, layers: int, seed: int, updates: int) -> None:
    """Write a taught model with its tokenizer."""
    policy = untaught(out, hidden=hidden, layers=layers, seed=seed)
    for _ in taught(policy, game(), updates, seed):
        pass
    policy.save(out)


def game() -> Any:
    return make("tic_tac_toe_v0", prompt="terse", tries=1)


def examples(env: Any, policy: Any) -> tuple[torch.Tensor, list[list[int]]]:
    """The prompt of every state [S, T], all of one length, and the tokens of its perfect moves."""
    game = env.unwrapped
    prompts, moves = [], []
    for node in exact.decision_nodes(game.rules).values():
        agent = PLAYERS[node.player]
        prompts.append(policy.encode(game.with_state(node.state).observe(agent), agent))
        best = exact.best_moves(game.rules, node.state)
        moves.append([policy.tokenizer.encode(move, add_special_tokens=False)[0] for move in best])
    return torch.tensor(prompts), moves


def table_of(rows: list[Row]) -> str:
    """The last row of each model."""
    last = {(row["hidden"], row["layers"], row["seed"]): row for row in rows}
    lines = []
    for row in last.values():
        draws = [f"{share:.1%}" for share in row["draws"]]
        sizes = [row["hidden"], row["layers"], f"{row['weights']:,}", f"{row['updates']:,}"]
        lines.append([*sizes, *draws, f"{row['legal']:.1%}"])
    head = ["width", "layers", "weights", "updates", "draws as X", "as O", "legal"]
    return markdown(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--updates", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="rows are added to it")
    args = parser.parse_args()
    sizes = {"hidden": args.hidden, "layers": args.layers, "seed": args.seed}
    env = game()
    with tempfile.TemporaryDirectory() as folder:
        policy = untaught(Path(folder), **sizes)
        weights = sum(each.numel() for each in policy.model.parameters())
        for row in taught(policy, env, args.updates, args.seed):
            found = exploit(env, policy)
            row |= {**sizes, "weights": weights, "draws": found.draws, "legal": found.legal}
            print(json.dumps(row), file=sys.stderr, flush=True)
            if args.log:
                with args.log.open("a") as log:
                    log.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
