"""Who sits where: one model in all seats, one each, or one seat that learns beside others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llmzoo.errors import ConfigError
from llmzoo.policies import SCRIPTED, load, load_model
from llmzoo.policies.base import Policy
from llmzoo.policies.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy

Learning = dict[str, TransformersPolicy]  # the policies that learn, by name


def take_seats(
    agents: Sequence[str], arrangement: str, *, model: str, others: str, sampling: Sampling
) -> tuple[dict[str, Policy], Learning]:
    """The policy of every seat, and those that learn.

    ``arrangement``: ``"shared"`` (one copy of ``model`` in all seats), ``"separate"`` (a copy for
    each) or the name of the one seat that learns; ``others`` then play the remaining ones.
    Weights are float32, whatever the folder holds: optimisers need it.
    """

    def new() -> TransformersPolicy:
        return load_model(model, sampling=sampling, dtype="float32")

    if arrangement == "shared":
        shared = new()
        return dict.fromkeys(agents, shared), {"policy": shared}
    if arrangement == "separate":
        own = {agent: new() for agent in agents}
        return dict(own), own
    if arrangement not in agents:
        raise ConfigError(
            f"seats is 'shared', 'separate' or one of {', '.join(agents)}; got {arrangement!r}"
        )
    learner = new()
    other = load(others) if others in SCRIPTED else load(others, sampling=sampling)
    return {a: learner if a == arrangement else other for a in agents}, {arrangement: learner}


def learning_among(seats: Mapping[str, Policy]) -> Learning:
    """The models among policies that somebody has seated, each named after its first seat."""
    found: Learning = {}
    for agent, policy in seats.items():
        if isinstance(policy, TransformersPolicy) and policy not in found.values():
            found[agent] = policy
    return found
