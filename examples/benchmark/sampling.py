"""Sampled tokens per second: our sampler against ``model.generate(num_return_sequences=K)``.

    python examples/benchmark/sampling.py

The same model (Qwen2, 0.86 million parameters, random weights, float32), the same 16 prompts of 128
tokens, K=8 answers to each of exactly 32 tokens: nothing ends an answer early, on either side. Both
sample from the full distribution at temperature 1. Ours also returns the log-probability of every
token. The two take turns in one process; medians are compared. ``memory_sampling`` compares the
most memory that a process held that did one of them, libraries included. ``_135m``: a model of the
shape of SmolLM2-135M, with its 49,152 words, and 4 prompts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from timing import Row, alternating, peak_memory, row
from transformers import PreTrainedModel
from workers import step_task
from workers.step_task import SMALL, SMOLLM2, SMOLLM2_WORDS

from llmzoo.models.decode import sample
from llmzoo.models.sampling import Sampling

PROMPT_TOKENS, K, NEW_TOKENS, VOCABULARY = 128, 8, 32, 512
SIZES = {"": (SMALL, VOCABULARY, 16), "_135m": (SMOLLM2, SMOLLM2_WORDS, 4)}  # model, words, prompts


def build_model(size: str = "") -> PreTrainedModel:
    millions, vocabulary, _ = SIZES[size]
    return step_task.build_model(vocabulary, millions).eval()


def sides(size: str = "") -> dict[str, Callable[[], int]]:
    """Ours and theirs; each returns the tokens that it has sampled."""
    model = build_model(size)
    _, vocabulary, prompts = SIZES[size]
    noise = torch.Generator().manual_seed(0)
    prompts_BP = torch.randint(vocabulary, (prompts, PROMPT_TOKENS), generator=noise)
    tokens = prompts * K * NEW_TOKENS

    def ours() -> int:
        rows = sample(
            model,
            prompts_BP.tolist(),
            K,
            Sampling(max_new_tokens=NEW_TOKENS),
            eos_ids=(),
            pad_id=0,
            keys=range(prompts),
        )
        assert sum(len(answer.ids) for answers in rows for answer in answers) == tokens
        return tokens

    def theirs() -> int:
        found = model.generate(
            prompts_BP,
            attention_mask=torch.ones_like(prompts_BP),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            num_return_sequences=K,
            min_new_tokens=NEW_TOKENS,
            max_new_tokens=NEW_TOKENS,
            eos_token_id=None,
            pad_token_id=0,
        )
        assert found.shape == (prompts * K, PROMPT_TOKENS + NEW_TOKENS)
        return tokens

    return {"ours": ours, "theirs": theirs}


def compare(repeats: int = 7, *, large: bool = True) -> list[Row]:
    """``large``: also with the larger model, minutes."""
    rows = []
    for size in [*SIZES][: 1 + large]:
        times = max(1, repeats // 3) if size else repeats
        fast, usual = alternating(list(sides(size).values()), times)
        held = [
            peak_memory(__file__, "--side", side, "--size", size) for side in ("ours", "theirs")
        ]
        rows += [
            row(f"sampling_vs_generate{size}", fast, "tokens/s", theirs=usual),
            row(f"memory_sampling{size}", held[0], "MB", theirs=held[1], higher_is_better=False),
        ]
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", choices=["ours", "theirs"], help="do it once, for its memory")
    parser.add_argument("--size", choices=SIZES, default="")
    args = parser.parse_args()
    if args.side is not None:
        sides(args.size)[args.side]()
    else:
        for found in compare():
            print(
                f"{found['name']}: {found['ours']:,.0f} {found['unit']}, "
                f"theirs {found['theirs']:,.0f}: {found['ratio']:.2f} times"
            )
