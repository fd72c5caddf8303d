"""The gradient of a batch: packed groups against padded rows of prompt and completion.

    python examples/benchmark/updates.py

The same model (Qwen2, 0.86 million parameters, random weights, float32), the same 16 prompts, K
answers to each of exactly C tokens, and the same loss: the weighted sum of the answers'
log-probabilities. Theirs is a plain forward pass of transformers over [16 * K, prompt + C] tokens
whose output layer reads the completions only, log_softmax and gather. Ours also gives the entropy
of every token. Both take turns in one process; medians are compared. What ours reads fewer tokens
of is the prompts, so the ratio is bounded by K (P + C) / (P + K C), which is printed too.

``memory_update`` compares the most memory that a process held that did one of them, libraries
included.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import torch
from sampling import PROMPTS, VOCABULARY, build_model
from timing import Row, alternating, peak_memory, row
from torch import Tensor

from llmzoo.policies.likelihood import likelihood
from llmzoo.policies.sampling import Sampling

SIZES = {  # prompt tokens, completion tokens, K
    "update_vs_padded": (128, 32, 8),
    "update_vs_padded_k2": (128, 32, 2),
}
LONGER = {  # minutes: only where this script is run by itself
    "update_vs_padded_128_128": (128, 128, 8),
    "update_vs_padded_512_64": (512, 64, 8),
}


def sides(prompt: int, new: int, k: int) -> dict[str, Callable[[], int]]:
    """Ours and theirs; each returns the completion tokens that it has been through."""
    model = build_model()
    noise = torch.Generator().manual_seed(0)
    prompts_BP = torch.randint(VOCABULARY, (PROMPTS, prompt), generator=noise)
    answers_BKC = torch.randint(VOCABULARY, (PROMPTS, k, new), generator=noise)
    weights_N = torch.randn(PROMPTS * k, generator=noise)

    def learn(logprobs_NC: Tensor) -> int:
        model.zero_grad()
        (logprobs_NC * weights_N.unsqueeze(-1)).sum().backward()
        return logprobs_NC.numel()

    def ours() -> int:
        found = likelihood(model, prompts_BP.tolist(), answers_BKC.tolist(), Sampling(), pad_id=0)
        return learn(found.logprobs)

    def theirs() -> int:
        answers_NC = answers_BKC.flatten(0, 1)
        ids = torch.cat([prompts_BP.repeat_interleave(k, 0), answers_NC], dim=1)
        logits = model(
            input_ids=ids, attention_mask=torch.ones_like(ids), logits_to_keep=new + 1
        ).logits[:, :-1]
        return learn(logits.log_softmax(-1).gather(-1, answers_NC.unsqueeze(-1)).squeeze(-1))

    return {"ours": ours, "theirs": theirs}


def compare(repeats: int = 3, sizes: Mapping[str, tuple[int, int, int]] = SIZES) -> list[Row]:
    rows = []
    for name, (prompt, new, k) in sizes.items():
        both = sides(prompt, new, k)
        fast, usual = alternating(list(both.values()), repeats)
        rows.append(row(name, fast, "completion tokens/s", theirs=usual))
        print(f"{name}: bound {k * (prompt + new) / (prompt + k * new):.2f}", flush=True)
    held = [peak_memory(__file__, side) for side in ("ours", "theirs")]
    rows.append(row("memory_update", held[0], "MB", theirs=held[1], higher_is_better=False))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", choices=["ours", "theirs"], help="do it once, for its memory")
    side = parser.parse_args().side
    if side is not None:
        sides(*SIZES["update_vs_padded"])[side]()
    else:
        for found in compare(sizes={**SIZES, **LONGER}):
            print(
                f"{found['name']:<26}{found['ours']:>10,.0f} {found['unit']}, "
                f"theirs {found['theirs']:,.0f}: {found['ratio']:.2f} times"
            )
