"""Sampled tokens per second: our sampler against ``model.generate(num_return_sequences=K)``.

    python examples/benchmark/sampling.py

The same model (Qwen2, 0.86 million parameters, random weights, float32), the same 16 prompts of 128
tokens, K=8 answers to each of exactly 32 tokens: nothing ends an answer early, on either side. Both
sample from the full distribution at temperature 1. Ours also returns the log-probability of every
token. The two take turns in one process; medians are compared. ``memory_sampling`` compares the
most memory that a process held that did one of them, libraries included.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from timing import Row, alternating, peak_memory, row
from transformers import Qwen2ForCausalLM
from workers import step_task

from llmzoo.policies.decode import sample
from llmzoo.policies.sampling import Sampling

PROMPTS, PROMPT_TOKENS, K, NEW_TOKENS, VOCABULARY = 16, 128, 8, 32, 512


def build_model() -> Qwen2ForCausalLM:
    return step_task.build_model(VOCABULARY).eval()


def sides() -> dict[str, Callable[[], int]]:
    """Ours and theirs; each returns the tokens that it has sampled."""
    model = build_model()
    noise = torch.Generator().manual_seed(0)
    prompts_BP = torch.randint(VOCABULARY, (PROMPTS, PROMPT_TOKENS), generator=noise)
    tokens = PROMPTS * K * NEW_TOKENS

    def ours() -> int:
        rows = sample(
            model,
            prompts_BP.tolist(),
            K,
            Sampling(max_new_tokens=NEW_TOKENS),
            eos_ids=(),
            pad_id=0,
            keys=range(PROMPTS),
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
        assert found.shape == (PROMPTS * K, PROMPT_TOKENS + NEW_TOKENS)
        return tokens

    return {"ours": ours, "theirs": theirs}


def compare(repeats: int = 7) -> list[Row]:
    fast, usual = alternating(list(sides().values()), repeats)
    held = [peak_memory(__file__, side) for side in ("ours", "theirs")]
    return [
        row("sampling_vs_generate", fast, "tokens/s", theirs=usual),
        row("memory_sampling", held[0], "MB", theirs=held[1], higher_is_better=False),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", choices=["ours", "theirs"], help="do it once, for its memory")
    side = parser.parse_args().side
    if side is not None:
        sides()[side]()
    else:
        for found in compare():
            print(
                f"{found['name']}: {found['ours']:,.0f} {found['unit']}, "
                f"theirs {found['theirs']:,.0f}: {found['ratio']:.2f} times"
            )
