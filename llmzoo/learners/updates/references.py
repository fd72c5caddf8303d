"""The frozen policy that a preference loss compares with: renewed, played with, saved."""

from __future__ import annotations

from pathlib import Path

import torch

from llmzoo.policies import lora
from llmzoo.policies.transformers import TransformersPolicy


class Reference:
    """A policy as it was when it was made or last renewed; ``player`` answers as it did then.

    Full weights are copied. Of a LoRA adapter only the adapter is, and nothing as long as it does
    nothing: then the bare base is the reference.
    """

    def __init__(self, policy: TransformersPolicy):
        self._policy = policy
        self.player = _fresh(policy)

    def renew(self) -> None:
        """Become the policy as it now is."""
        policy, player = self._policy, self.player
        if policy.adapter is None:
            player.model.load_state_dict(policy.model.state_dict())
        elif player.adapter is None:
            self.player = _fresh(policy)
        else:
            own = lora.own_parameters(policy.model, policy.adapter)
            copies = lora.own_parameters(policy.model, player.adapter)
            with torch.no_grad():
                for parameter, copy in zip(own.values(), copies.values(), strict=True):
                    copy.copy_(parameter)

    def counted(self) -> None:
        """Count the tokens that the player has sampled as the policy's."""
        self._policy.tokens_sampled += self.player.tokens_sampled
        self.player.tokens_sampled = 0

    def save(self, folder: Path) -> None:
        """Write the weights into a new folder; none is made where the bare base is the reference."""
        if not self._is_base(self.player):
            self.player.save(folder)

    def load(self, folder: Path) -> None:
        """Take up what :meth:`save` wrote, once the policy has its own weights."""
        if self._policy.adapter is not None:
            if not folder.is_dir():
                self.player = self._policy.with_adapter(None)
                self.player.tokens_sampled = 0
                return
            if self._is_base(self.player):
                self.player = _fresh(self._policy)
        self.player.load_weights(folder)

    def _is_base(self, player: TransformersPolicy) -> bool:
        return self._policy.adapter is not None and player.adapter is None


def _fresh(policy: TransformersPolicy) -> TransformersPolicy:
    player = policy.reference()
    player.tokens_sampled = 0
    return player
