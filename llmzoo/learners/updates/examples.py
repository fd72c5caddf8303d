"""Examples for supervised learning: tokenised prompts and completions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llmzoo.errors import ConfigError, PromptsTooLongError
from llmzoo.policies.transformers import TransformersPolicy

WORLD_MODEL_TEMPLATE = "{prompt}\n\n[action]\n{completion}\n\n[next observation]\n"


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt and the completion to imitate. ``given``: the model did not write the completion."""

    prompt: tuple[int, ...]
    completion: tuple[int, ...]
    given: bool


def answer_ids(policy: TransformersPolicy, text: str, agent: str | None = None) -> tuple[int, ...]:
    """A text's tokens as the policy would sample them, including the end-of-sequence token.

    See :meth:`llmzoo.policies.prompts.PromptFormatter.encode_completion`. Raises :class:`ConfigError` for a model
    without such a token.
    """
    tokenizer = policy.tokenizer
    if not policy.eos_ids:
        raise ConfigError(f"{policy.name} has no end-of-sequence token: set it in its tokenizer")
    eos_id = tokenizer.eos_token_id
    ids = policy.prompts_for(agent).encode_completion(text)
    return (*ids, min(policy.eos_ids) if eos_id is None else int(eos_id))


def world_model_example(policy: TransformersPolicy, row: Mapping[str, Any]) -> Example:
    """An example with the agent's observation and action as the prompt and its next observation as the completion."""
    prompt = WORLD_MODEL_TEMPLATE.format(prompt=row["prompt"], completion=row["completion"])
    agent = row["agent"]
    completion = answer_ids(policy, row["next_observation"], agent)
    return Example(policy.encode(prompt, agent), completion, True)


def sample_examples(examples: Sequence[Example], count: int, rng: random.Random) -> list[Example]:
    """``count`` random examples. How often each one is sampled differs by at most 1."""
    if not examples:
        return []
    times, rest = divmod(count, len(examples))
    return [*list(examples) * times, *rng.sample(list(examples), rest)]


def truncate_examples(examples: Sequence[Example], max_length: int | None) -> list[Example]:
    """Each example's first ``max_length`` tokens. Examples without any completion token left are dropped."""
    if max_length is None:
        return list(examples)
    return [
        replace(e, completion=e.completion[: max_length - len(e.prompt)])
        for e in examples
        if len(e.prompt) < max_length
    ]


def fits_context(policy: TransformersPolicy, example: Example) -> bool:
    """Whether the prompt is not empty and fits the model's context together with the completion."""
    limit = _context_length(policy)
    return bool(example.prompt) and (limit is None or _length(example) <= limit)


def refuse_too_long(name: str, policy: TransformersPolicy, examples: Sequence[Example]) -> None:
    """Raise :class:`PromptsTooLongError` because none of an iteration's examples fits."""
    lengths = [_length(example) for example in examples if example.prompt]
    if lengths:
        raise PromptsTooLongError(
            f"every example of {name!r} is too long for the model: the shortest has "
            f"{min(lengths)} tokens, prompt and completion together, the longest {max(lengths)}, "
            f"and {policy.name!r} reads at most {_context_length(policy)}. Use a model with a longer "
            "context, or shorter examples"
        )


def _length(example: Example) -> int:
    return len(example.prompt) + len(example.completion)


def _context_length(policy: TransformersPolicy) -> int | None:
    """The model's context length in tokens; None if its configuration has none."""
    limit: int | None = (
        policy.model.config.get_text_config().to_dict().get("max_position_embeddings")
    )
    return limit
