"""Self-play between trained agents: keeps learners close to their start, because runs can end weaker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pettingzoo import AECEnv

from llmzoo.learners.base import Learner
from llmzoo.learners.per_agent import PerAgentLearner
from llmzoo.training.config import FitConfig


def trains_opponents(config: FitConfig, env: AECEnv, trained: Sequence[str]) -> bool:
    """Whether the learning agents play only against each other."""
    sides = env.metadata.get("sides", ())
    learning = [side for side in sides if not set(side).isdisjoint(trained)]
    return len(learning) > 1 and config.opponents == "self"


def anchor_to_start(
    config: FitConfig, learner: Learner, build: Callable[[FitConfig], Learner] | None
) -> tuple[FitConfig, Learner, list[str]]:
    """The configuration and its learner with the ``self_play`` options as defaults, and notes for the user.

    ``build``: builds the learner of a configuration; None if the learner was given as an object. A learner
    that is already kept close to its start is left unchanged, and so is one whose agents have such options of
    their own.
    """
    options: Mapping[str, Any] = getattr(_learners(learner)[0].config, "self_play", {})
    if not options or _is_anchored(learner):
        return config, learner, []
    missing = {n: value for n, value in options.items() if n not in config.learner_args}
    settings = [
        agent_settings.get("learner_args", {}) for agent_settings in config.agent_args.values()
    ]
    if build is not None and not any({*options, "entropy"} & args.keys() for args in settings):
        anchored_config = replace(config, learner_args={**missing, **config.learner_args})
        if _is_anchored(anchored_learner := build(anchored_config)):
            default = f"the default is {_format_options(missing)} (docs/leagues.md)"
            return (
                anchored_config,
                anchored_learner,
                [f"the agents play against each other, so {default}"],
            )
    warning = (
        "the agents play against each other, and nothing keeps them close to their starting policies: such "
        f"runs can end weaker. Set {_format_options(options)}, or opponents (docs/leagues.md)"
    )
    return config, learner, [warning]


def _format_options(options: Mapping[str, Any]) -> str:
    return " and ".join(f"{name}: {value}" for name, value in options.items())


def _is_anchored(learner: Learner) -> bool:
    """Whether the learner of every agent keeps it close to its starting model."""
    return all(getattr(part.config, "is_anchored", True) for part in _learners(learner))


def _learners(learner: Learner) -> list[Learner]:
    """The learner of the run, then those of single agents."""
    if isinstance(learner, PerAgentLearner):
        return [learner.others, *learner.learners.values()]
    return [learner]
