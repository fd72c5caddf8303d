"""Ends a run whose model can read none of its prompts."""

from __future__ import annotations

from collections.abc import Mapping

from llmzoo.errors import PromptsTooLongError
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch


def check_answered(
    batch: Batch,
    policies: Mapping[str, TransformersPolicy],
    seats: Mapping[str, Policy],
    *,
    step: int,
) -> None:
    """Raise :class:`PromptsTooLongError` for a policy that refused every prompt of a batch.

    ``policies``: those that learn, by name. ``step``: the number of the iteration, from 1.
    """
    answers = [
        *((group.agent, c) for group in batch.groups for c in group.completions),
        *((d.agent, d.completion) for episode in batch.episodes for d in episode.decisions),
    ]
    for name, policy in policies.items():
        own = [(agent, c) for agent, c in answers if seats[agent] is policy]
        if not own or not all(c.refused for _, c in own):
            continue
        agent, longest = max(own, key=lambda answer: len(answer[1].prompt_ids))
        answer_tokens = policy.sampling_of(agent).max_new_tokens
        raise PromptsTooLongError(
            f"iteration {step}: every prompt of {name!r} was too long for the model, so it cannot "
            f"learn: the longest has {len(longest.prompt_ids)} tokens, the shortest "
            f"{min(len(c.prompt_ids) for _, c in own)}, and the model {policy.name!r} reads at "
            f"most {policy.context - answer_tokens}: its context of {policy.context} minus "
            f"max_new_tokens={answer_tokens}. Either lower max_new_tokens, or take a model with a "
            "longer context, or an environment with shorter prompts"
        )
