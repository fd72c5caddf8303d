"""The frozen policy of a round of DPO, which plays and is the reference of the loss."""

from __future__ import annotations

from pathlib import Path

import torch

from llmzoo.models import lora
from llmzoo.policies.transformers import TransformersPolicy


class RoundReference:
    """A snapshot of a policy from the start of a round; ``player`` is that policy.

    Full weights are copied. For a LoRA policy only the adapter is copied; while the adapter still
    has no effect, nothing is copied, and the base model without an adapter is the reference.
    """

    def __init__(self, policy: TransformersPolicy):
        self._policy = policy
        self.player = _snapshot(policy)

    def refresh(self) -> None:
        """Replace the snapshot with the policy's current weights."""
        policy, player = self._policy, self.player
        if policy.adapter is None:
            player.model.load_state_dict(policy.model.state_dict())
        elif player.adapter is None:
            self.player = _snapshot(policy)
        else:
            own = lora.adapter_parameters(policy.model, policy.adapter)
            copies = lora.adapter_parameters(policy.model, player.adapter)
            with torch.no_grad():
                for parameter, copy in zip(own.values(), copies.values(), strict=True):
                    copy.copy_(parameter)

    def count_tokens(self) -> None:
        """Add the tokens that the snapshot has sampled to the policy's count."""
        self._policy.tokens_sampled += self.player.tokens_sampled
        self.player.tokens_sampled = 0

    def save(self, folder: Path) -> None:
        """Write the weights into a new folder, unless the reference is the base model."""
        if not self._is_base(self.player):
            self.player.save(folder)

    def load(self, folder: Path) -> None:
        """Restore what :meth:`save` wrote. The policy's own weights must be restored first."""
        if self._policy.adapter is not None:
            if not folder.is_dir():
                self.player = self._policy.with_adapter(None)
                self.player.tokens_sampled = 0
                return
            if self._is_base(self.player):
                self.player = _snapshot(self._policy)
        self.player.load_weights(folder)

    def _is_base(self, player: TransformersPolicy) -> bool:
        return self._policy.adapter is not None and player.adapter is None


def _snapshot(policy: TransformersPolicy) -> TransformersPolicy:
    player = policy.reference()
    player.tokens_sampled = 0
    return player
