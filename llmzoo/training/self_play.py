"""Self-play where what one agent wins is lost by others: its runs can end weaker than they began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pettingzoo import AECEnv

from llmzoo.learners.base import Learner
from llmzoo.training.config import FitConfig

# weight of the KL to the starting policy, from docs/results/archive/weak_starts.md
SELF_PLAY_KL = 0.2


def is_self_play(config: FitConfig, env: AECEnv, trained: Sequence[str]) -> bool:
    """Whether agents that learn play against each other, and against nobody else."""
    opposed = bool(env.metadata.get("opposed"))
    return opposed and len(trained) > 1 and config.opponents == "self"


def with_default_kl(
    config: FitConfig, learner: Learner, *, by_name: bool
) -> tuple[FitConfig, list[str]]:
    """The configuration with ``kl`` as a default, and what to tell the user.

    ``by_name``: whether ``config`` makes ``learner``. It is left as it is where ``kl`` or ``entropy`` is set, and for
    learners that follow no rewards: imitation, distillation and preferences.
    """
    options = learner.config
    if not hasattr(options, "kl") or not learner.needs_differences:
        return config, []
    if by_name and not {"kl", "entropy"} & config.learner_args.keys():
        note = f"the agents play against each other, so kl is {SELF_PLAY_KL} (docs/leagues.md)"
        return replace(config, learner_args={**config.learner_args, "kl": SELF_PLAY_KL}), [note]
    if options.kl or options.entropy:
        return config, []
    return config, [
        "the agents play against each other, and nothing holds them to where they began: such runs can "
        f"end weaker. Set kl, such as {SELF_PLAY_KL}, or opponents (docs/leagues.md)"
    ]
