"""Which judge a debate has, and what a judge may return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from llmzoo.endpoints import Endpoint, connect, endpoint_of
from llmzoo.envs.debate.judge.endpoint import EndpointJudge
from llmzoo.envs.debate.judge.rules import Scores
from llmzoo.envs.debate.speeches import Debate
from llmzoo.envs.debate.topics import SIDES
from llmzoo.errors import ConfigError

Judge = Callable[[Debate], Mapping[str, float]]


def chosen(
    judge: Literal["rules", "endpoint"] | Judge, endpoint: Endpoint | Mapping[str, Any] | None
) -> Judge | None:
    """The judge who is asked at the end; None for the rules."""
    if judge != "endpoint":
        if endpoint is not None:
            raise ConfigError("endpoint is of use with judge='endpoint' only")
        if judge == "rules":
            return None
        if not callable(judge):
            raise ConfigError(f"judge must be 'rules', 'endpoint' or a function, got {judge!r}")
        return judge
    if isinstance(endpoint, Mapping):
        endpoint = endpoint_of(endpoint)
    if endpoint is None:
        raise ConfigError("judge='endpoint' needs endpoint={'model': ..., 'base_url': ...}")
    if not isinstance(endpoint, Endpoint):
        raise ConfigError(f"endpoint must be an Endpoint or its arguments, got {endpoint!r}")
    connect(endpoint).close()  # a missing package or key shows now, not at the end of a debate
    return EndpointJudge(endpoint)


def checked(scores: Mapping[str, float]) -> Scores:
    """What a judge returned, as scores of one part."""
    try:
        valid = set(scores) == set(SIDES) and all(0.0 <= scores[side] <= 1.0 for side in SIDES)
    except TypeError:
        valid = False
    if not valid:
        raise ConfigError(f"a judge returns scores from 0 to 1 for pro and con, got {scores!r}")
    return {side: {"verdict": float(scores[side])} for side in SIDES}
