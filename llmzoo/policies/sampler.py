"""What writes a policy's completions: the policy's own model, or an engine apart from it.

A :class:`llmzoo.policies.transformers.TransformersPolicy` samples with its own weights. With a
:class:`Sampler` the training, the likelihoods and the checkpoints stay where they are, and only
the sampling goes to an engine that holds a copy of the weights: it must be told when they change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from llmzoo.errors import LlmzooError
from llmzoo.policies.decode import Tokens
from llmzoo.policies.sampling import Sampling


class SamplerError(LlmzooError, RuntimeError):
    """An engine that samples did not do what it was asked for; the run can be resumed."""


class Sampler(Protocol):
    """Samples for one policy, from a copy of its weights."""

    @property
    def context(self) -> int:
        """The longest text, prompt and answer together, in tokens."""
        ...

    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        group_size: int,
        sampling: Sampling,
        *,
        keys: Sequence[int],
        greedy: bool = False,
    ) -> list[list[Tokens]]:
        """``group_size`` rows for each prompt: ids as sampled, the token that ended the row included.

        The log-probabilities are those of the distribution that was sampled from, under
        ``sampling``. ``keys``: a number for each prompt that fixes its noise, whatever else is
        sampled beside it. Raises :class:`SamplerError`.
        """
        ...

    def sync(self) -> None:
        """Sample from the policy's weights as they are now; nothing of older ones is kept."""
        ...

    def rest(self) -> None:
        """Give back what memory it can until it is asked again: the weights are about to change."""
        ...

    def close(self) -> None:
        """Give back everything; it is not asked again."""
        ...
