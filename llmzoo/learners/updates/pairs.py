"""Pairs of completions as token ids: from groups, from joint completions, from a preference set.

Sampled completions are trained on as they were sampled. They are not decoded and tokenised again.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llmzoo.learners.preferences import (
    PairChoice,
    choose_pairs,
    count_candidate_pairs,
    is_conversational,
)
from llmzoo.learners.updates.credits import keep_sampled
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Group

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two completions of one prompt by one agent."""

    agent: str
    prompt_ids: Ids
    chosen_ids: Ids
    rejected_ids: Ids


JointPair = tuple[Pair, ...]  # two joint completions, as one pair per agent


@dataclass(frozen=True, slots=True)
class SelectedPairs:
    """Joint pairs, and how many there would be without equal or tied completions."""

    pairs: list[JointPair]
    candidates: int

    @property
    def ties(self) -> float:
        """The fraction of candidates that were dropped."""
        return 1 - len(self.pairs) / max(1, self.candidates)


def agent_pairs(
    groups: Sequence[Group], choice: PairChoice, *, min_gap: float, rng: random.Random
) -> SelectedPairs:
    """Pairs within each group, ranked by the group's returns."""
    picked_pairs: list[JointPair] = []
    possible = 0
    for group in keep_sampled(groups):
        same = [completion.ids for completion in group.completions]
        picked = choose_pairs(group.returns, choice, rng=rng, min_gap=min_gap, same=same)
        picked_pairs += [(_pair(group, *indices),) for indices in picked]
        possible += count_candidate_pairs(len(group.returns), choice)
    return SelectedPairs(picked_pairs, possible)


def joint_pairs(
    groups: Sequence[Group], choice: PairChoice, *, min_gap: float, rng: random.Random
) -> SelectedPairs:
    """Pairs of joint completions at each node, ranked by the mean of the agents' returns.

    The g-th joint completion consists of the g-th completion of every group at the node. An agent whose prompt was too
    long for its model is left out of the pairs.
    """
    nodes: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        nodes.setdefault(group.key[:-1], []).append(group)  # the key ends with the agent
    picked_pairs: list[JointPair] = []
    possible = 0
    for at_node in nodes.values():
        sampled = [g for g in at_node if all(c.trainable for c in g.completions)]
        if not sampled:
            continue
        returns = [sum(r) / len(at_node) for r in zip(*(g.returns for g in at_node), strict=True)]
        same = list(zip(*([c.ids for c in g.completions] for g in sampled), strict=True))
        picked = choose_pairs(returns, choice, rng=rng, min_gap=min_gap, same=same)
        picked_pairs += [tuple(_pair(g, *indices) for g in sampled) for indices in picked]
        possible += count_candidate_pairs(len(returns), choice)
    return SelectedPairs(picked_pairs, possible)


def _pair(group: Group, chosen: int, rejected: int) -> Pair:
    return Pair(
        agent=group.agent,
        prompt_ids=group.prompt_ids,
        chosen_ids=group.completions[chosen].ids,
        rejected_ids=group.completions[rejected].ids,
    )


def encode_pair(policy: TransformersPolicy, row: Mapping[str, Any]) -> Pair:
    """A row of a preference set as the policy reads it.

    A text prompt is encoded like an observation, and its completions end with the tokenizer's
    end-of-sequence token. Messages are formatted with the tokenizer's chat template. If the prompt
    alone and the prompt with a completion are tokenised differently, the completion begins where
    they first differ. It ends with the token that ends its turn. The text that the template adds
    after that (ChatML's line break) is never sampled, so it is not trained on.
    """
    prompts = policy.prompts_for()
    if is_conversational(row):
        prompt = prompts.encode_messages(row["prompt"], generation_prompt=True)
        wholes = [
            prompts.encode_messages(row["prompt"] + row[name], generation_prompt=False)
            for name in ("chosen", "rejected")
        ]
        kept = min(_common_prefix_length(prompt, whole) for whole in wholes)
        prompt = prompt[:kept]
        completions = [_truncate_at_end_token(policy, whole[kept:]) for whole in wholes]
    else:
        prompt = prompts.encode(row["prompt"])
        token, number = policy.tokenizer.eos_token, policy.tokenizer.eos_token_id
        end = () if number is None else (int(number),)
        completions = [
            # some sets already contain the end token in their texts
            prompts.encode_completion(row[name].removesuffix(token or "")) + end
            for name in ("chosen", "rejected")
        ]
    return Pair(agent="", prompt_ids=prompt, chosen_ids=completions[0], rejected_ids=completions[1])


def _truncate_at_end_token(policy: TransformersPolicy, completion: Ids) -> Ids:
    """A completion up to the token that ends its turn, or all of it if there is no such token."""
    ends = [at for at, token in enumerate(completion) if token in policy.eos_ids]
    if not ends:
        # the model's settings may not name the token; whitespace after a control token is not content
        text = len(completion)
        while text and str(policy.tokenizer.decode(completion[text - 1])).isspace():
            text -= 1
        ends = [text - 1] if text and completion[text - 1] in policy.prompts_for().special else []
    return completion[: ends[-1] + 1] if ends else completion


def _common_prefix_length(one: Ids, other: Ids) -> int:
    """The length of the common prefix."""
    alike = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        alike += 1
    return alike


def truncate_pairs(pairs: Sequence[Pair], max_length: int | None) -> list[Pair]:
    """Pairs truncated to ``max_length`` tokens of prompt and completion; those left without one are dropped."""
    if max_length is None:
        return list(pairs)
    return [
        replace(
            pair,
            chosen_ids=pair.chosen_ids[: max_length - len(pair.prompt_ids)],
            rejected_ids=pair.rejected_ids[: max_length - len(pair.prompt_ids)],
        )
        for pair in pairs
        if len(pair.prompt_ids) < max_length
    ]
