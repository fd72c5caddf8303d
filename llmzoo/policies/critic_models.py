"""Critics: they predict the return that follows a text.

Shapes: B texts, N completions, C completion tokens (right-padded), H hidden size, O values per text.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from llmzoo.distributed import sharding
from llmzoo.errors import ConfigError
from llmzoo.models.likelihood import do_nothing, last_states
from llmzoo.models.lora import is_peft, unsharded_copy
from llmzoo.models.memory import explain_out_of_memory
from llmzoo.models.packing import Segments, split_into_packs
from llmzoo.models.precision import Precision, autocast, cast_weights
from llmzoo.policies.transformers import TransformersPolicy

_VALUE_HEAD_HINT = "critic=value_head keeps no model of its own."


class ValueHead(nn.Module):
    """Values [..., O] of hidden states [..., H], in float32: a linear map that starts at zero.

    With V = 0 everywhere, the first advantages equal the returns, and bootstrapped targets contain
    no random guesses, which for a large H would drown rewards of size 1. The head can still learn:
    its gradient is the hidden state times the error. The layers below it get their first gradient
    at the second step.
    """

    def __init__(self, hidden_size: int, outputs: int = 1):
        super().__init__()
        self.linear = nn.Linear(hidden_size, outputs)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        with torch.autocast(hidden.device.type, enabled=False):
            return self.linear(hidden.to(self.linear.weight.dtype))


class CriticModel(nn.Module):
    """A separate transformer without an output vocabulary, with a :class:`ValueHead` on top.

    Parameters
    ----------
    body: a transformers model without its output layer, as :meth:`from_policy` and :meth:`load` make it.
    outputs: O, the number of values per text: one, or one per agent for a central critic.
    tokens: per forward pass; more tokens take several passes.
    precision: as for a policy, see :mod:`llmzoo.models.precision`; the head is always float32.
    gradient_checkpointing: recompute the layers' activations in the backward pass.

    A text too long for the body's context is cut on the left, with one warning.
    Gradients flow through both methods.
    """

    def __init__(
        self,
        body: Any,
        *,
        outputs: int = 1,
        tokens: int = 16_384,
        precision: Precision = "float32",
        gradient_checkpointing: bool = False,
    ):
        super().__init__()
        if outputs < 1 or tokens < 1:
            raise ConfigError(f"outputs and tokens are at least 1, got {outputs} and {tokens}")
        cast_weights(body, precision)
        self.body = body.requires_grad_(True).eval()
        self.head = ValueHead(body.config.hidden_size, outputs).to(sharding.compute_device(body))
        self.tokens = tokens
        self.precision = precision
        self.gradient_checkpointing = gradient_checkpointing
        # some models have no limit, and no such entry
        self.context = getattr(body.config, "max_position_embeddings", None) or 2**31
        self._warned = False

    @classmethod
    def from_policy(cls, policy: TransformersPolicy, **options: Any) -> CriticModel:
        """A critic that starts from a copy of the policy's weights, with its adapter merged in."""
        if is_peft(policy.model):
            is_sharded = sharding.is_sharded(policy.model)
            copied = (
                unsharded_copy(policy.model, policy.adapter)
                if is_sharded
                else copy.deepcopy(policy.model)
            )
            return cls(_merge(copied, policy.adapter), **options)
        return cls(sharding.copy_model(policy.model.base_model), **options)

    @classmethod
    def load(cls, name: str, *, device: str | None = None, **options: Any) -> CriticModel:
        """A critic that starts from a model by name: see :meth:`TransformersPolicy.load`."""
        policy = TransformersPolicy.load(name, device=device)
        if is_peft(policy.model):
            return cls(_merge(policy.model, policy.adapter), **options)
        return cls(policy.model.base_model, **options)

    def values(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """The values [B, O] at the last token of each text."""
        return self._read(
            [self._truncate_left(prompt, 0) for prompt in prompts], [1] * len(prompts)
        )

    def token_values(
        self,
        prompts: Sequence[Sequence[int]],
        completions: Sequence[Sequence[int]],
        output: int = 0,
    ) -> Tensor:
        """The value [N, C] before each token of ``completions[n]``, which follows ``prompts[n]``.

        ``output``: the index among the critic's O values. Padding is 0.
        """
        width = max(len(ids) for ids in completions)
        if width == 0:
            raise ValueError("none of the completions has a token")
        read = [
            [*self._truncate_left(prompt, max(0, len(ids) - 1)), *ids[:-1]]
            for prompt, ids in zip(prompts, completions, strict=True)
        ]
        cells = Segments([len(ids) for ids in completions], sharding.compute_device(self.body))
        values = self._read(read, cells.lengths)[:, output]
        return cells.grid(values) * cells.real

    def _read(self, texts: Sequence[Sequence[int]], counts: Sequence[int]) -> Tensor:
        """Values [sum of counts, O] at the last ``counts[i]`` tokens of each text, in order."""
        self.body.eval()
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # less padding
        values: list[Tensor] = []
        for pack in split_into_packs([len(texts[i]) for i in order], self.tokens):
            part = [order[i] for i in pack]
            states_of_part = partial(
                last_states,
                self.body,
                [texts[i] for i in part],
                [counts[i] for i in part],
                recompute=do_nothing if self.gradient_checkpointing else None,
            )
            size = sum(len(texts[i]) for i in part)
            with (
                explain_out_of_memory(
                    "microbatch_tokens", size, "A pass of the critic", _VALUE_HEAD_HINT
                ),
                autocast(sharding.compute_device(self.body), self.precision),
            ):
                states = sharding.run_with_weights(self.body, states_of_part)
            values += self.head(states).split([counts[i] for i in part])
        return torch.cat(
            [values for _, values in sorted(zip(order, values, strict=True), key=_first_item)]
        )

    def _truncate_left(self, prompt: Sequence[int], following: int) -> Sequence[int]:
        """The end of the prompt that fits into the context before ``following`` more tokens."""
        room = self.context - following
        if len(prompt) <= room:
            return prompt
        if room < 1:
            raise ConfigError(
                f"a completion of {following + 1} tokens does not fit the critic's context of "
                f"{self.context}: lower max_new_tokens"
            )
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"a text of {len(prompt)} tokens does not fit the critic's context of "
                f"{self.context}; such texts are cut on the left",
                stacklevel=3,
            )
        return prompt[-room:]


def _merge(model: Any, adapter: str | None) -> Any:
    """The body of a ``PeftModel`` as a plain model. Do not use the ``PeftModel`` afterwards."""
    plain = model.unload() if adapter is None else model.merge_and_unload(adapter_names=[adapter])
    return plain.base_model


def _first_item(pair: tuple[int, Tensor]) -> int:
    return pair[0]
