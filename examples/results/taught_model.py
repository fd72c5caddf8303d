"""How much of tic-tac-toe a small model can hold: it is taught the perfect moves of all 4,520 states.

    python examples/results/taught_model.py --out docs/results/logs/taught_model.jsonl
    python examples/results/taught_model.py --hidden 128 --layers 3 --minutes 10

Each state is as likely in a batch as any other, and each perfect move in it; the loss is the
cross-entropy of a move drawn from those. What is measured is what a run with ``tic_tac_toe.yaml`` is
measured by: the share of draws in each seat against a perfect player.
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
from readings import markdown
from torch.nn.functional import cross_entropy

from llmzoo import make
from llmzoo.envs.duels import exact
from llmzoo.envs.duels.env import PLAYERS
from llmzoo.policies import load
from llmzoo.policies.sampling import Sampling
from llmzoo.training.exploiting import exploit

BATCH, RATE, WARMUP = 256, 2e-3, 100


def taught(hidden: int, layers: int, minutes: float, seed: int) -> Iterator[dict[str, Any]]:
    """A row after every 500 updates and at the end; the rate falls to 0 over the time that is given."""
    env = make("tic_tac_toe_v0", prompt="terse", tries=1)
    with tempfile.TemporaryDirectory() as folder:
        words.build_model(
            Path(folder), words="tic_tac_toe_v0", hidden=hidden, layers=layers, seed=seed
        )
        policy = load(folder, sampling=Sampling(max_new_tokens=1), device="cpu")
    ids, moves = examples(env, policy)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=RATE, betas=(0.9, 0.99))
    rng = random.Random(seed)
    size = sum(weights.numel() for weights in policy.model.parameters())
    begun = time.process_time()
    step, over = 0, False
    while not over:
        done = (time.process_time() - begun) / (60 * minutes)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / WARMUP) * max(0.02, 1 - done)
        rows = rng.choices(range(len(ids)), k=BATCH)
        targets = torch.tensor([rng.choice(moves[row]) for row in rows])
        logits = policy.model(input_ids=ids[rows]).logits[:, -1]
        loss = cross_entropy(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        over = done >= 1
        if over or step % 500 == 0:
            found = exploit(env, policy)
            yield {
                "hidden": hidden,
                "layers": layers,
                "weights": size,
                "seed": seed,
                "updates": step,
                "minutes": round((time.process_time() - begun) / 60, 1),
                "loss": round(loss.item(), 3),
                "draws": found.draws,
                "legal": found.legal,
            }


def examples(env: Any, policy: Any) -> tuple[torch.Tensor, list[list[int]]]:
    """The prompt of every state [S, T], all of one length, and the tokens of its perfect moves."""
    game = env.unwrapped
    prompts, moves = [], []
    for node in exact.decisions(game.rules).values():
        agent = PLAYERS[node.player]
        prompts.append(policy.encode(game.shown(node.state).prompt(agent), agent))
        best = exact.best_moves(game.rules, node.state)
        moves.append([policy.tokenizer.encode(move, add_special_tokens=False)[0] for move in best])
    return torch.tensor(prompts), moves


def table_of(rows: list[dict[str, Any]]) -> str:
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
    parser.add_argument("--minutes", type=float, default=5, help="of CPU time, without measuring")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="rows are added to it")
    args = parser.parse_args()
    for row in taught(args.hidden, args.layers, args.minutes, args.seed):
        line = json.dumps(row)
        print(line, file=sys.stderr, flush=True)
        if args.out:
            with args.out.open("a") as log:
                log.write(line + "\n")


if __name__ == "__main__":
    main()
