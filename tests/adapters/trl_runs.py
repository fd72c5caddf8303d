"""Runs of TRL's trainer that tests look into."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from float64 import in_float64
from trl import GRPOConfig, GRPOTrainer

from llmzoo.models.likelihood import likelihood
from llmzoo.policies.settings import Sampling


@dataclass
class Seen:
    """What a run has shown: its trainer, one entry a call of the rest."""

    trainer: Any = None
    started: dict[str, torch.Tensor] = field(default_factory=dict)
    batches: list[dict[str, Any]] = field(default_factory=list)  # what TRL computed its loss from
    ours: list[torch.Tensor] = field(default_factory=list)  # log-probabilities by our code
    theirs: list[torch.Tensor] = field(default_factory=list)  # and by TRL's, padded alike

    def logged(self, name: str) -> list[float]:
        return [row[name] for row in self.trainer.state.log_history if name in row]

    def moved(self) -> float:
        """The largest change of any weight."""
        now = self.trainer.model.state_dict()
        return max((now[n].cpu() - w).abs().max().item() for n, w in self.started.items())


@in_float64()
def train(
    model: Any, tokenizer: Any, folder: Path, dataset: Any, steps: int, **options: Any
) -> Seen:
    """Train for ``steps`` of two groups of four, in float64, and take log-probabilities at each."""
    model.to(torch.float64)
    seen = Seen(started=copy.deepcopy(model.state_dict()))
    length = options.pop("max_completion_length")

    class Watched(GRPOTrainer):
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            batch = super()._generate_and_score_completions(inputs)
            seen.batches.append({**batch, "inputs": inputs})
            ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
            mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
            kept = batch["completion_ids"].size(1)
            with torch.no_grad():
                theirs, _, _ = self._get_per_token_logps_and_entropies(self.model, ids, mask, kept)
                seen.theirs.append(theirs)
                seen.ours.append(_likelihoods(self, batch, theirs.shape))
            return batch

    arguments = {
        "output_dir": str(folder),
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_steps": steps,
        "learning_rate": 1e-3,
        "max_completion_length": length,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "use_cpu": True,
        "bf16": False,
        "disable_tqdm": True,
        "gradient_checkpointing": False,
        "seed": 3,
        **options.pop("settings", {}),
    }
    seen.trainer = Watched(
        model=model,
        processing_class=tokenizer,
        args=GRPOConfig(**arguments),
        train_dataset=dataset,
        **options,
    )
    seen.trainer.train()
    return seen


def _likelihoods(trainer: Any, batch: dict[str, Any], shape: Any) -> torch.Tensor:
    """Log-probabilities of all completion tokens [samples, tokens] by llmzoo, row by row."""
    padded = torch.zeros(shape)
    was_training = trainer.model.training
    trainer.model.eval()
    for row in range(shape[0]):
        prompt = batch["prompt_ids"][row][batch["prompt_mask"][row].bool()].tolist()
        answer = batch["completion_ids"][row][batch["completion_mask"][row].bool()].tolist()
        pad = trainer.processing_class.pad_token_id
        got = likelihood(trainer.model, [prompt], [[answer]], Sampling(), pad_id=pad)
        padded[row, : len(answer)] = got.logprobs.reshape(-1)[: len(answer)]
    trainer.model.train(was_training)
    return padded
