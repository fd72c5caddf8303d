"""A small model with random weights, to which each cell of a 10x10 grid is one token.

    python examples/results/cell_model.py --out runs/cells

It has the shape of the embedded model and a tokenizer of its own: bytes and the lowercase words of the
``cells`` prompts of plan-path and sokoban, to which the names of the cells are added, each with and
without the space before it. Studies train it first (``cells_random`` in ``models.yaml``).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llmzoo
from llmzoo.envs.games import cells

GAMES = ("plan_path_v0", "sokoban_v0")
SIDE = 10  # rows and columns


def texts(episodes: int = 60) -> Iterator[str]:
    """What agents read in episodes of sloppy players, of the training split."""
    for game in GAMES:
        for agents in (1, 2):
            env = llmzoo.make(game, num_agents=agents, prompt="cells").unwrapped
            for seed in range(episodes):
                env.reset(seed=seed)
                rng = random.Random(seed)
                while env.agents and not (
                    any(env.terminations.values()) or any(env.truncations.values())
                ):
                    agent = env.agent_selection
                    yield env.observe(agent)
                    env.step(env.noisy_expert(agent, rng))


def tokenizer() -> Any:
    """The tokenizer, of transformers."""
    from llmzoo.models.tiny.tokenizer import build_tokenizer

    built = build_tokenizer(texts())
    names = [cells.cell_name(row, column) for row in range(SIDE) for column in range(SIDE)]
    built.add_tokens([*names, *(f" {name}" for name in names)])
    return built


def build_model(
    out: Path, *, layers: int = 4, hidden: int = 128, heads: int = 4, seed: int = 0
) -> None:
    """Write a transformers folder; ``hidden``: the width of a layer, of whose inner layer three times."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    words = tokenizer()
    torch.manual_seed(seed)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(words),
            hidden_size=hidden,
            intermediate_size=3 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=heads // 2,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=words.eos_token_id,
            pad_token_id=words.pad_token_id,
        )
    )
    words.save_pretrained(out)
    model.save_pretrained(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    args = parser.parse_args()
    build_model(args.out, layers=args.layers, hidden=args.hidden, heads=args.heads)


if __name__ == "__main__":
    main()
