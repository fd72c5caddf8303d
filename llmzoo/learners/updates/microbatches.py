"""Parts of a minibatch that fit into one forward pass, dealt to the ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from llmzoo.distributed import ranks
from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.models.packing import split_into_packs
from llmzoo.models.sampling import Sampling
from llmzoo.models.trie import Trie
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Group

Item = TypeVar("Item")
Part = TypeVar("Part")


def shard_microbatches(
    items: Sequence[Item], tokens_at_once: int, split: Callable[[Sequence[Item], int], list[Part]]
) -> list[tuple[Part, bool]]:
    """This rank's parts of a minibatch, which ``split`` divides, and whether each part counts.

    All ranks get the same number of parts, because the ranks of a sharded model run it together. A
    rank with too few parts also runs a part of another rank, which does not count.
    """
    world = ranks.world_size()
    if world == 1:
        return [(part, True) for part in split(items, tokens_at_once)]
    pieces = split(items, tokens_at_once)
    while len(pieces) < min(world, len(items)) and tokens_at_once > 1:
        tokens_at_once = -(-tokens_at_once // 2)
        pieces = split(items, tokens_at_once)
    mine = [(part, True) for part in pieces[ranks.rank() :: world]]
    needs_padding = len(mine) < math.ceil(len(pieces) / world)
    return [*mine, (pieces[0], False)] if needs_padding else mine


def make_microbatches(
    policy: TransformersPolicy,
    scored: Sequence[ScoredGroup],
    tokens_at_once: int,
    *,
    loss_key: Callable[[str], object] = lambda agent: None,
) -> list[list[ScoredGroup]]:
    """Parts of at most ``tokens_at_once`` tokens, with groups of equal sampling settings.

    ``loss_key``: maps an agent to a key of its loss. All groups of a microbatch have the same key,
    so that a microbatch is one pass through the model.

    The turns of a conversation are neighbours, and its tokens count once. Otherwise groups are
    sorted by prompt length, and a prompt counts once for all its completions. A group with too many
    tokens is split.
    """
    alike: dict[tuple[Sampling, object], list[ScoredGroup]] = {}
    for c in sorted(scored, key=lambda c: len(c.group.prompt_ids)):
        pieces = _split_group(c, tokens_at_once)
        agent = c.group.agent
        alike.setdefault((policy.sampling_for(agent), loss_key(agent)), []).extend(pieces)
    return [
        [c for i in pack for c in items[i]]
        for pieces in alike.values()
        for items, sizes in [_pack_conversations(pieces, tokens_at_once)]
        for pack in split_into_packs(sizes, tokens_at_once)
    ]


def _pack_conversations(
    credited: Sequence[ScoredGroup], tokens_at_once: int
) -> tuple[list[list[ScoredGroup]], list[int]]:
    """What one pass should read together, with its tokens, in order of the longest prompt."""
    items = []
    for alike in _group_by_prefix(credited):
        if alike[0].group.prompt_ids == alike[-1].group.prompt_ids:
            items += [([c], count_tokens(c.group)) for c in alike]
        else:
            items += _split_conversation(alike, tokens_at_once)
    number = {id(c): n for n, c in enumerate(credited)}
    items.sort(key=lambda item: (_longest_prompt(item[0]), number[id(item[0][0])]))
    return [item for item, _ in items], [size for _, size in items]


def _longest_prompt(credited: Sequence[ScoredGroup]) -> int:
    return max(len(c.group.prompt_ids) for c in credited)


def _group_by_prefix(credited: Sequence[ScoredGroup]) -> list[list[ScoredGroup]]:
    """The groups whose prompts begin with a whole shorter prompt, after the group that has it."""
    together: list[list[ScoredGroup]] = []
    for c in sorted(credited, key=lambda c: c.group.prompt_ids):
        first = together[-1][0].group.prompt_ids if together else None
        if first is not None and c.group.prompt_ids[: len(first)] == first:
            together[-1].append(c)
        else:
            together.append([c])
    return together


def _split_conversation(
    conversation: Sequence[ScoredGroup], tokens_at_once: int
) -> list[tuple[list[ScoredGroup], int]]:
    """Consecutive groups, as many as fit into ``tokens_at_once``, and the tokens of their trie."""
    pieces: list[list[ScoredGroup]] = []
    sizes: list[int] = []
    trie = Trie()
    for c in conversation:
        _add_group(trie, c.group)
        if pieces and len(trie) <= tokens_at_once:
            pieces[-1].append(c)
            sizes[-1] = len(trie)
        else:
            trie = Trie()
            _add_group(trie, c.group)
            pieces.append([c])
            sizes.append(len(trie))
    return list(zip(pieces, sizes, strict=True))


def _add_group(trie: Trie, group: Group) -> None:
    end = trie.add(group.prompt_ids)[-1]
    for completion in group.completions:
        trie.add(completion.ids, end)


def _split_group(credited: ScoredGroup, tokens_at_once: int) -> list[ScoredGroup]:
    group = credited.group
    if count_tokens(group) <= tokens_at_once:
        return [credited]
    sizes = [len(completion.ids) for completion in group.completions]
    return [
        ScoredGroup(group.select(pack), credited.advantages[pack.start : pack.stop])
        for pack in split_into_packs(sizes, tokens_at_once - len(group.prompt_ids))
    ]


def count_tokens(group: Group) -> int:
    """The tokens that a pass reads for a group: the prompt once, and all completions."""
    return len(group.prompt_ids) + sum(len(completion.ids) for completion in group.completions)
