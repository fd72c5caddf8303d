"""The records of rollouts, and how they are stored and sent."""

from llmzoo.records.records import (
    Batch,
    Completion,
    ComponentReturns,
    Decision,
    Episode,
    EpisodeOutcome,
    Group,
    drop_unknown_returns,
    is_negligible,
    lists_to_tuples,
)

__all__ = [
    "Batch",
    "Completion",
    "ComponentReturns",
    "Decision",
    "Episode",
    "EpisodeOutcome",
    "Group",
    "drop_unknown_returns",
    "is_negligible",
    "lists_to_tuples",
]
