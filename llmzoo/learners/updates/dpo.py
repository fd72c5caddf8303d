"""Learning from preferences with TRL's DPOTrainer, round by round."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from llmzoo.errors import ConfigError
from llmzoo.learners.preferences import conversational, load_preferences
from llmzoo.learners.updates.pair_logps import pair_logps
from llmzoo.learners.updates.pairs import Pair, encoded, own_pairs, rows
from llmzoo.learners.updates.preference_config import DPOConfig, PreferenceConfig
from llmzoo.learners.updates.references import Reference
from llmzoo.learners.updates.trl_args import trl
from llmzoo.learners.updates.trl_updater import TRLUpdater
from llmzoo.parallel import ranks
from llmzoo.parallel.sharding import gathered
from llmzoo.policies.base import Policy
from llmzoo.policies.lora import is_peft
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch


def starts_round(iteration: int, *, rounds: int, total: int) -> bool:
    """Whether a round starts with this iteration (from 0) of ``total``; ``rounds`` 0: every one."""
    if rounds == 0 or iteration == 0:
        return True
    return iteration * rounds // total != (iteration - 1) * rounds // total


def trainer_class(weight: float = 1.0) -> Any:
    """TRL's DPOTrainer on rows of token ids that hold the reference's log-probabilities.

    ``weight`` multiplies the gradient, but not the loss that is logged.
    """

    from trl.trainer import dpo_trainer

    class PairTrainer(trl().DPOTrainer):  # type: ignore[misc]
        def __init__(self, model: Any, **options: Any):
            if is_peft(model):
                # to TRL a PeftModel has one adapter, "default", and makes a reference of it; inside
                # is the model with all seats' adapters, of which the active one computes
                if options["args"].gradient_checkpointing:
                    model.enable_input_require_grads()
                model = model.get_base_model()
            # a name for a cache of what the rows have already: it would read every weight, and
            # cannot read those that are divided over ranks
            with patch.object(dpo_trainer, "hash_module", lambda module: "", create=True):
                super().__init__(model, **options)

        def _prepare_dataset(self, dataset: Any, *args: Any) -> Any:
            return dataset  # nothing to cut into tokens

        def _precompute_ref_logps(self, dataset: Any, *args: Any) -> Any:
            return dataset  # the rows have them

        def compute_loss(self, *args: Any, **options: Any) -> Any:
            loss = super().compute_loss(*args, **options)
            # plus something whose value is 0, and whose gradient is what lacks
            return loss + (weight - 1) * (loss - loss.detach())

    return PairTrainer


class PreferenceUpdater(TRLUpdater):
    """Holds, beside the optimisers, the reference of each policy, which also plays.

    A subclass has ``_learn``.
    """

    def __init__(
        self,
        config: PreferenceConfig,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ):
        if config.rounds > total_steps:
            raise ConfigError(
                f"{config.rounds} rounds do not fit into {total_steps} steps; rounds=0 starts one "
                "at each"
            )
        super().__init__(config.for_trl(), policies, seats, total_steps=total_steps)
        for policy in self.policies.values():
            _refuse_output_adapter(policy)
        self.options = config
        self.references = {name: Reference(policy) for name, policy in self.policies.items()}

    def players(self) -> Mapping[str, Policy]:
        """The seats, with each policy that learns as it was at the start of the round."""
        return {
            agent: next(
                (self.references[n].player for n, p in self.policies.items() if p is policy), policy
            )
            for agent, policy in self.seats.items()
        }

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        for reference in self.references.values():
            reference.counted()
        metrics = self._learn(batch, seed=seed)
        self.iterations += 1
        if self.iterations < self.total_steps and starts_round(
            self.iterations, rounds=self.options.rounds, total=self.total_steps
        ):
            for reference in self.references.values():
                reference.renew()
        return metrics

    def _learn(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        raise NotImplementedError

    def _logps(self, policy: TransformersPolicy, pairs: Sequence[Pair]) -> Tensor:
        args = self.config.trl_args
        compute = partial(
            pair_logps,
            policy,
            at_once=self.config.rows_at_once,
            max_length=args.get("max_length"),
            ld_alpha=args.get("ld_alpha"),
        )
        with gathered([policy.model]):
            found = ranks.spread(pairs, lambda mine: list(compute(mine)))
        return torch.stack(found) if found else torch.zeros(0, 2)

    def _named(self, found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The metrics of all policies, each after its policy's name where there are several."""
        alone = len(self.policies) == 1
        return {
            key if alone else f"{name}/{key}": value
            for name, metrics in found.items()
            for key, value in metrics.items()
        }

    def save(self, folder: Path) -> None:
        super().save(folder)
        for name, reference in self.references.items():
            reference.save(folder / f"{name}.reference")

    def load(self, folder: Path) -> None:
        super().load(folder)
        for name, reference in self.references.items():
            reference.load(folder / f"{name}.reference")


class DPOUpdater(PreferenceUpdater):
    """Trains each policy on the pairs of its own seats, or on the rows of a preference set."""

    options: DPOConfig

    def __init__(self, config: DPOConfig, *args: Any, **options: Any):
        super().__init__(config, *args, **options)
        self._rows = load_preferences(config.preferences) if config.preferences else []
        for policy in self.policies.values():
            if policy.tokenizer.chat_template is None and any(map(conversational, self._rows)):
                raise ConfigError(
                    f"{config.preferences} holds conversations, but {policy.name} has no chat "
                    "template: give prompt, chosen and rejected as texts"
                )

    def _learn(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        found = {}
        for name, policy in self.policies.items():
            pairs, metrics = self._pairs(name, policy, batch, seed)
            reference = self._logps(self.references[name].player, pairs)
            trained = self.train(name, trainer_class(), rows(pairs, reference), seed=seed)
            found[name] = {"pairs": len(pairs), **metrics, **trained}
        return self._named(found)

    def _pairs(
        self, name: str, policy: TransformersPolicy, batch: Batch, seed: int
    ) -> tuple[list[Pair], dict[str, float]]:
        if self._rows:
            return [encoded(policy, self._rows[at]) for at in self._next_rows()], {}
        chosen = own_pairs(
            [g for g in batch.groups if self.seats[g.agent] is policy],
            self.options.pairs,
            min_gap=self.options.min_gap,
            rng=random.Random(f"{seed}/{name}/pairs"),
        )
        return [pair for (pair,) in chosen.pairs], {"ties": chosen.ties}

    def _next_rows(self) -> list[int]:
        """This iteration's rows: each once, in a fixed order, before any comes again in another."""
        count, per = len(self._rows), self.options.rows
        places = range(self.iterations * per, (self.iterations + 1) * per)
        orders = {
            turn: random.Random(f"{self.options.order}/{turn}").sample(range(count), count)
            for turn in {place // count for place in places}
        }
        return [orders[place // count][place % count] for place in places]


def _refuse_output_adapter(policy: TransformersPolicy) -> None:
    """TRL multiplies with the output layer's own weight: an adapter there would never be trained."""
    if is_peft(policy.model):
        from peft.tuners.tuners_utils import BaseTunerLayer

        if isinstance(policy.model.get_output_embeddings(), BaseTunerLayer):
            raise ConfigError("DPO cannot train an adapter on the output layer: see target_modules")
