"""The gradient of a batch: packed groups against padded rows of prompt and completion.

    python examples/benchmark/updates.py

The same model (Qwen2, 0.86 million parameters, random weights, float32), the same 16 prompts, K
answers to each of exactly C tokens, and the same loss: the weighted sum of the answers'
log-probabilities. Theirs is a plain forward pass of transformers over [16 * K, prompt + C] tokens
whose output layer reads the completions only, log_softmax and gather. Ours also gives the entropy
of every token. Both take turns in one process; medians are compared. What ours reads fewer tokens
of is the prompts, so the ratio is bounded by K (P + C) / (P + K C), which is printed too.

``memory_update`` compares the most memory that a process held that did one of them, libraries
included. ``_135m``: a model of the shape of SmolLM2-135M, with its 49,152 words, and 4 prompts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import sampling
import torch
from timing import Row, alternating, peak_memory, row
from torch import Tensor

from llmzoo.models.likelihood import likelihood
from llmzoo.models.sampling import Sampling

Size = tuple[int, int, int, str]
SIZES: dict[str, Size] = {  # prompt tokens, completion tokens, K, model
    "update_vs_padded": (128, 32, 8, ""),
    "update_vs_padded_k2": (128, 32, 2, ""),
}
LARGE = {"update_vs_padded_135m": (128, 32, 8, "_135m")}  # minutes, 12 GB
LONGER = {  # minutes: only where this script is run by itself
    "update_vs_padded_128_128": (128, 128, 8, ""),
    "update_vs_padded_512_64": (512, 64, 8, ""),
    "update_vs_padded_128_128_135m": (128, 128, 8, "_135m"),
}


MEASURED = ("update_vs_padded", "update_vs_padded_135m")  # whose memory is compared too


def sides(prompt: int, new: int, k: int, size: str) -> dict[str, Callable[[], int]]:
    """Ours and theirs; each returns the completion tokens that it has been through."""
    model = sampling.build_model(size)
    _, vocabulary, prompts = sampling.SIZES[size]
    noise = torch.Generator().manual_seed(0)
    prompts_BP = torch.randint(vocabulary, (prompts, prompt), generator=noise)
    answers_BKC = torch.randint(vocabulary, (prompts, k, new), generator=noise)
    weights_N = torch.randn(prompts * k, generator=noise)

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


def compare(repeats: int = 3, sizes: Mapping[str, Size] = SIZES | LARGE) -> list[Row]:
    rows = []
    for name, (prompt, new, k, size) in sizes.items():
        both = sides(prompt, new, k, size)
        fast, usual = alternating(list(both.values()), repeats)
        rows.append(row(name, fast, "completion tokens/s", theirs=usual))
        print(f"{name}: bound {k * (prompt + new) / (prompt + k * new):.2f}", flush=True)
    for name in filter(sizes.__contains__, MEASURED):
        held = [peak_memory(__file__, "--side", side, "--of", name) for side in ("ours", "theirs")]
        memory = name.replace("update_vs_padded", "memory_update")
        rows.append(row(memory, held[0], "MB", theirs=held[1], higher_is_better=False))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", choices=["ours", "theirs"], help="do it once, for its memory")
    parser.add_argument("--of", choices=MEASURED, default="update_vs_padded")
    args = parser.parse_args()
    if args.side is not None:
        sides(*(SIZES | LARGE)[args.of])[args.side]()
    else:
        for found in compare(sizes=SIZES | LARGE | LONGER):
            print(
                f"{found['name']:<32}{found['ours']:>10,.0f} {found['unit']}, "
                f"theirs {found['theirs']:,.0f}: {found['ratio']:.2f} times"
            )
