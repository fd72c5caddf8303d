"""Microbatches: divide a minibatch into forward passes that fit into memory and assign these to ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from llmzoo.distributed import ranks
from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.models.language_model import LanguageModel
from llmzoo.models.packing import split_into_packs
from llmzoo.models.sampling import Sampling
from llmzoo.models.trie import Trie
from llmzoo.records import Group

Item = TypeVar("Item")
Microbatch = TypeVar("Microbatch")


def shard_microbatches(
    items: Sequence[Item],
    microbatch_tokens: int,
    split: Callable[[Sequence[Item], int], list[Microbatch]],
) -> list[tuple[Microbatch, bool]]:
    """This rank's microbatches, and whether each one counts. ``split`` divides the minibatch.

    Every rank gets the same number, because the ranks of a sharded model run it together. A rank with
    too few microbatches runs one of another rank again, which does not count.
    """
    world = ranks.world_size()
    if world == 1:
        return [(microbatch, True) for microbatch in split(items, microbatch_tokens)]
    microbatches = split(items, microbatch_tokens)
    while len(microbatches) < min(world, len(items)) and microbatch_tokens > 1:
        microbatch_tokens = -(-microbatch_tokens // 2)
        microbatches = split(items, microbatch_tokens)
    own = [(microbatch, True) for microbatch in microbatches[ranks.rank() :: world]]
    needs_padding = len(own) < math.ceil(len(microbatches) / world)
    return [*own, (microbatches[0], False)] if needs_padding else own


def make_microbatches(
    policy: LanguageModel,
    scored: Sequence[ScoredGroup],
    microbatch_tokens: int,
    *,
    loss_key: Callable[[str], object] = lambda agent: None,
) -> list[list[ScoredGroup]]:
    """Microbatches of at most ``microbatch_tokens`` tokens, each of groups with equal sampling settings.

    ``loss_key``: maps an agent to a key of its loss. All groups of a microbatch have the same key,
    so that a microbatch is one pass through the model.

    The turns of a conversation are placed next to each other, and their shared tokens count once.
    Otherwise groups are sorted by prompt length, and a prompt counts once for all its completions.
    A group with too many tokens is split.
    """
    by_settings: dict[tuple[Sampling, object], list[ScoredGroup]] = {}
    for c in sorted(scored, key=lambda c: len(c.group.prompt_ids)):
        agent = c.group.agent
        settings = policy.sampling_for(agent), loss_key(agent)
        by_settings.setdefault(settings, []).extend(_split_group(c, microbatch_tokens))
    return [
        [c for i in pack for c in items[i]]
        for compatible in by_settings.values()
        for items, sizes in [_pack_conversations(compatible, microbatch_tokens)]
        for pack in split_into_packs(sizes, microbatch_tokens)
    ]


def _pack_conversations(
    scored: Sequence[ScoredGroup], microbatch_tokens: int
) -> tuple[list[list[ScoredGroup]], list[int]]:
    """The groups that one pass should read together, with their token count, ordered by longest prompt."""
    items = []
    for conversation in _group_by_prefix(scored):
        if conversation[0].group.prompt_ids == conversation[-1].group.prompt_ids:
            items += [([c], count_tokens(c.group)) for c in conversation]
        else:
            items += _split_conversation(conversation, microbatch_tokens)
    number = {id(c): n for n, c in enumerate(scored)}
    items.sort(key=lambda item: (_longest_prompt(item[0]), number[id(item[0][0])]))
    return [item for item, _ in items], [size for _, size in items]


def _longest_prompt(scored: Sequence[ScoredGroup]) -> int:
    return max(len(c.group.prompt_ids) for c in scored)


def _group_by_prefix(scored: Sequence[ScoredGroup]) -> list[list[ScoredGroup]]:
    """Lists of groups. Each prompt in a list begins with the prompt of the first group of that list."""
    conversations: list[list[ScoredGroup]] = []
    for c in sorted(scored, key=lambda c: c.group.prompt_ids):
        first = conversations[-1][0].group.prompt_ids if conversations else None
        if first is not None and c.group.prompt_ids[: len(first)] == first:
            conversations[-1].append(c)
        else:
            conversations.append([c])
    return conversations


def _split_conversation(
    conversation: Sequence[ScoredGroup], microbatch_tokens: int
) -> list[tuple[list[ScoredGroup], int]]:
    """Runs of consecutive groups that fit into ``microbatch_tokens``, each with the tokens of its trie."""
    runs: list[list[ScoredGroup]] = []
    sizes: list[int] = []
    trie = Trie()
    for c in conversation:
        _add_group(trie, c.group)
        if runs and len(trie) <= microbatch_tokens:
            runs[-1].append(c)
            sizes[-1] = len(trie)
        else:
            trie = Trie()
            _add_group(trie, c.group)
            runs.append([c])
            sizes.append(len(trie))
    return list(zip(runs, sizes, strict=True))


def _add_group(trie: Trie, group: Group) -> None:
    end = trie.add(group.prompt_ids)[-1]
    for completion in group.completions:
        trie.add(completion.ids, end)


def _split_group(scored: ScoredGroup, microbatch_tokens: int) -> list[ScoredGroup]:
    group = scored.group
    if count_tokens(group) <= microbatch_tokens:
        return [scored]
    sizes = [len(completion.ids) for completion in group.completions]
    return [
        ScoredGroup(group.select(pack), scored.advantages[pack.start : pack.stop])
        for pack in split_into_packs(sizes, microbatch_tokens - len(group.prompt_ids))
    ]


def count_tokens(group: Group) -> int:
    """The tokens that a pass reads for a group: the prompt once, and all completions."""
    return len(group.prompt_ids) + sum(len(completion.ids) for completion in group.completions)
