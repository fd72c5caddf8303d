"""Self-play where what one agent wins is lost by others: its runs can end weaker than they began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from pettingzoo import AECEnv

from llmzoo.learners.base import Learner
from llmzoo.training.config import FitConfig


def is_self_play(config: FitConfig, env: AECEnv, trained: Sequence[str]) -> bool:
    """Whether agents that learn play against each other, and against nobody else."""
    opposed = bool(env.metadata.get("opposed"))
    return opposed and len(trained) > 1 and config.opponents == "self"


def with_self_play_options(
    config: FitConfig, learner: Learner, *, by_name: bool
) -> tuple[FitConfig, list[str]]:
    """The configuration with ``learner.config.self_play`` as defaults, and what to tell the user.

    ``by_name``: whether ``config`` makes ``learner``. Its options are left as they are where one of these, or
    ``entropy``, is given.
    """
    options = getattr(learner.config, "self_play", {})
    if not options:
        return config, []
    anchors = {*options, "entropy"}
    if by_name and not anchors & config.learner_args.keys():
        said = " and ".join(f"{name} is {value}" for name, value in options.items())
        note = f"the agents play against each other, so {said} (docs/leagues.md)"
        return replace(config, learner_args={**config.learner_args, **options}), [note]
    if any(
        getattr(learner.config, f.name) != f.default
        for f in fields(learner.config)
        if f.name in anchors
    ):
        return config, []
    said = " and ".join(f"{name} to {value}" for name, value in options.items())
    return config, [
        "the agents play against each other, and nothing holds them to where they began: such runs can "
        f"end weaker. Set {said}, or opponents (docs/leagues.md)"
    ]
