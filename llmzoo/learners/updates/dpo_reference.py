"""The frozen policy that a round of DPO plays with and compares with."""

from __future__ import annotations

from pathlib import Path

import torch

from llmzoo.models import lora
from llmzoo.policies.transformers import TransformersPolicy


class RoundReference:
    """A snapshot of a policy from the start of a round; ``player`` answers as the policy did then.

    Full weights are copied. Of a LoRA policy only the adapter is copied, and nothing while the
    adapter still does nothing: the bare base is the reference then.
    """

    def __init__(self, policy: TransformersPolicy):
        self._policy = policy
        self.player = _snapshot(policy)

    def refresh(self) -> None:
        """Replace the snapshot by the policy's present weights."""
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
        """Write the weights into a new folder. The bare base needs none."""
        if not self._is_base(self.player):
            self.player.save(folder)

    def load(self, folder: Path) -> None:
        """Restore what :meth:`save` wrote. The policy must have its own weights already."""
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
