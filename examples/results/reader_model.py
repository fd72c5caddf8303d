"""Models that have read what an expert read and wrote in an environment, as a language model reads text.

Imitation learns the completions alone. These models learn the prompts as well, so that they find what stands twice
in a text: what hidden profiles need, and what imitation alone did not teach in an hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

EPISODES = 64  # of an update
RATE = 2e-3
WARMUP = 50  # updates
COMPLETION_WEIGHT = 1.0  # of the completions' loss, beside that of all tokens


def build_model(
    out: Path, *, start: Path, env: str, env_args: Mapping[str, Any], updates: int
) -> None:
    """Train a model of random weights and write it. ``start``: its folder."""
    from llmzoo.policies import load

    policy: Any = load(str(start))
    torch.manual_seed(0)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=RATE, betas=(0.9, 0.98))
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = RATE * min(1.0, (update + 1) / WARMUP)
        texts = read_texts(policy, env, env_args, range(update * EPISODES, (update + 1) * EPISODES))
        optimizer.zero_grad()
        text_loss(policy.model, texts).backward()
        torch.nn.utils.clip_grad_norm_(policy.model.parameters(), 1.0)
        optimizer.step()
    policy.save(out)


def read_texts(
    policy: Any, env: str, env_args: Mapping[str, Any], seeds: Sequence[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Prompts and completions of the expert, in tokens: all last turns, and one episode in four of the others."""
    from llmzoo import make, scripted_expert

    task = make(env, **env_args)
    expert = scripted_expert(task)
    end = policy.tokenizer.eos_token_id
    found = []
    for seed in seeds:
        task.reset(seed=seed)
        last: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        for agent in task.agent_iter():
            observation, _, terminated, truncated, _ = task.last()
            if terminated or truncated:
                task.step(None)
                continue
            if agent in last and seed % 4 == 0:
                found.append(last[agent])
            action = expert(observation, agent)
            completion = (*policy.tokenizer(action)["input_ids"], end)
            last[agent] = tuple(policy.encode(observation, agent)), completion
            task.step(action)
        found += last.values()
    return found


def text_loss(model: Any, texts: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> Tensor:
    """The mean loss of all tokens, and with :data:`COMPLETION_WEIGHT` that of the completions, whose tokens share
    the weight of one completion."""
    width = max(len(prompt) + len(completion) for prompt, completion in texts)
    ids = torch.zeros(len(texts), width, dtype=torch.long)
    attended, written = torch.zeros_like(ids), torch.zeros(len(texts), width)
    for row, (prompt, completion) in enumerate(texts):
        length = len(prompt) + len(completion)
        ids[row, :length] = torch.tensor(prompt + completion)
        attended[row, :length] = 1
        written[row, len(prompt) : length] = 1.0 / len(completion)
    logits = model(input_ids=ids, attention_mask=attended).logits[:, :-1]
    losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    everything = attended[:, 1:].float()
    written = written[:, 1:]
    mean = (losses * everything).sum() / everything.sum()
    return mean + COMPLETION_WEIGHT * (losses * written).sum() / written.sum()
