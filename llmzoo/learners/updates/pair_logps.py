"""Log-probabilities of pairs of answers, as TRL's DPOTrainer computes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from llmzoo.learners.updates.pairs import Pair, ids_of
from llmzoo.policies.lora import is_peft
from llmzoo.policies.transformers import TransformersPolicy


@torch.no_grad()
def pair_logps(
    policy: TransformersPolicy,
    pairs: Sequence[Pair],
    *,
    at_once: int,
    max_length: int | None = None,
    ld_alpha: float | None = None,
) -> Tensor:
    """Log-probabilities [M, 2] of the chosen and the rejected answers of M pairs, without gradient.

    They are the model's own, at temperature 1, computed as the trainer computes them, with its
    collator and its output layer: in bfloat16 another way to the same sum is another number, and
    the two would be told apart from weights that are the same.
    ``ld_alpha`` is the weight of the tokens of the longer answer beyond the length of the shorter
    (LD-DPO, arXiv 2409.06411).
    """
    from trl.trainer.dpo_trainer import DataCollatorForPreference

    collate = DataCollatorForPreference(pad_token_id=policy.pad_id, max_length=max_length)
    found = []
    with policy.ready(), _fused(policy.model) as model:
        for start in range(0, len(pairs), at_once):
            batch = collate([ids_of(pair) for pair in pairs[start : start + at_once]])
            ids, mask = (batch[k].to(model.device) for k in ("input_ids", "completion_mask"))
            logps = model(
                input_ids=ids,
                attention_mask=batch["attention_mask"].to(model.device),
                labels=ids.masked_fill(mask == 0, -100),
                use_cache=False,
                fused_lm_head=True,
            ).log_probs
            if ld_alpha is not None:
                answered = mask[:, 1:]
                shared = answered.sum(dim=1).view(2, -1).amin(dim=0).repeat(2)
                logps = torch.where(
                    answered.cumsum(dim=1) > shared.unsqueeze(1), ld_alpha * logps, logps
                )
            found.append(logps.sum(dim=1).float().view(2, -1).T.cpu())
    return torch.cat(found) if found else torch.zeros(0, 2)


@contextmanager
def _fused(model: Any) -> Iterator[Any]:
    """The transformers model with TRL's output layer, which never holds all logits at once."""
    from trl.trainer.utils import add_fused_lm_head

    inner = model.get_base_model() if is_peft(model) else model
    kept = dict(vars(inner))
    add_fused_lm_head(inner)
    try:
        yield inner
    finally:
        vars(inner).clear()
        vars(inner).update(kept)
