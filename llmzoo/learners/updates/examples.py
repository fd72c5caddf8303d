"""Examples for supervised learning: prompts, and the tokens that are to follow them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llmzoo.errors import ConfigError, PromptsTooLongError
from llmzoo.policies.transformers import TransformersPolicy

WORLD_MODEL_FORM = "{prompt}\n\n[action]\n{completion}\n\n[next observation]\n"


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt and the tokens that are to follow it; ``given``: the model did not write them."""

    prompt: tuple[int, ...]
    completion: tuple[int, ...]
    given: bool


def answer_ids(policy: TransformersPolicy, text: str, agent: str | None = None) -> tuple[int, ...]:
    """A text's tokens as the policy would have sampled them, the end of the sequence included.

    See :meth:`llmzoo.policies.prompts.Prompts.written`. Raises :class:`ConfigError` for a model
    that knows no end.
    """
    tokenizer = policy.tokenizer
    if not policy.eos_ids:
        raise ConfigError(f"{policy.name} has no end-of-sequence token: set it in its tokenizer")
    own = tokenizer.eos_token_id
    ids = policy.prompts_of(agent).written(text)
    return (*ids, min(policy.eos_ids) if own is None else int(own))


def world_model_example(policy: TransformersPolicy, row: Mapping[str, Any]) -> Example:
    """What the agent read and did, and as the completion what it read next."""
    asked = WORLD_MODEL_FORM.format(prompt=row["prompt"], completion=row["completion"])
    agent = row["agent"]
    completion = answer_ids(policy, row["next_observation"], agent)
    return Example(policy.encode(asked, agent), completion, True)


def drawn(examples: Sequence[Example], count: int, rng: random.Random) -> list[Example]:
    """``count`` of the examples at random: each as often as the others, or once more."""
    if not examples:
        return []
    times, rest = divmod(count, len(examples))
    return [*list(examples) * times, *rng.sample(list(examples), rest)]


def cut_off(examples: Sequence[Example], max_length: int | None) -> list[Example]:
    """The first ``max_length`` tokens of each example; those without a completion then go."""
    if max_length is None:
        return list(examples)
    return [
        replace(e, completion=e.completion[: max_length - len(e.prompt)])
        for e in examples
        if len(e.prompt) < max_length
    ]


def fits(policy: TransformersPolicy, example: Example) -> bool:
    """Whether there is a prompt, and the model's context holds it with the completion."""
    limit = _limit(policy)
    return bool(example.prompt) and (limit is None or _length(example) <= limit)


def refuse_too_long(name: str, policy: TransformersPolicy, examples: Sequence[Example]) -> None:
    """Raise :class:`PromptsTooLongError` for examples of an iteration of which none fits."""
    lengths = [_length(example) for example in examples if example.prompt]
    if lengths:
        raise PromptsTooLongError(
            f"every example of {name!r} is too long for the model: the shortest has "
            f"{min(lengths)} tokens, prompt and completion together, the longest {max(lengths)}, "
            f"and {policy.name!r} reads at most {_limit(policy)}. Take a model with a longer "
            "context, or shorter examples"
        )


def _length(example: Example) -> int:
    return len(example.prompt) + len(example.completion)


def _limit(policy: TransformersPolicy) -> int | None:
    """The longest text that the model reads, in tokens; None where it knows no limit."""
    limit: int | None = (
        policy.model.config.get_text_config().to_dict().get("max_position_embeddings")
    )
    return limit
