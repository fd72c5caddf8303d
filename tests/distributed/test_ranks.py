"""What the ranks of a run tell one another, and who does what."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from llmzoo.cli import main
from llmzoo.distributed import ranks
from llmzoo.errors import ConfigError
from llmzoo.learners.updates.microbatches import shard_microbatches


def as_rank(monkeypatch, rank, world):
    monkeypatch.setattr(ranks, "_placement", replace(ranks._placement, rank=rank, world=world))


def test_shares_are_neighbours_of_like_size_and_leave_nothing_out(monkeypatch):
    for world in range(1, 6):
        for count in range(12):
            shares = []
            for rank in range(world):
                as_rank(monkeypatch, rank, world)
                shares.append(ranks.shard_range(count))
            assert [i for share in shares for i in share] == list(range(count))
            assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_process_alone_tells_itself():
    assert (ranks.rank(), ranks.world_size()) == (0, 1)
    assert ranks.all_gather_bytes(b"x") == [b"x"]
    assert ranks.broadcast({"a": 1}) == {"a": 1}
    assert ranks.all_reduce_sum({"a": 0.5}) == {"a": 0.5}
    found = ranks.map_sharded([1, 2], lambda items: [torch.full((n,), float(n)) for n in items])
    assert [t.tolist() for t in found] == [[1.0], [2.0, 2.0]]
    assert ranks.map_sharded([], lambda items: pytest.fail("asked for nothing")) == []
    weight = nn.Parameter(torch.zeros(2))
    ranks.all_reduce_gradients([weight])
    assert weight.grad is None


def test_a_launcher_that_leaves_out_where_the_others_are(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="RANK, MASTER_ADDR, MASTER_PORT"), ranks.process_group():
        pass


def test_a_process_without_a_number_speaks_for_itself(monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    assert main(["trian"]) == 2
    assert "unknown command 'trian'" in capsys.readouterr().err
    assert main(["info"]) == 0
    assert "sudoku_v0" in capsys.readouterr().out


def cut(items, at_once):
    return [items[i : i + at_once] for i in range(0, len(items), at_once)]


@pytest.mark.parametrize("world", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 8])
def test_every_part_counts_on_one_rank_and_all_ranks_have_as_many(count, world, monkeypatch):
    items = list(range(count))
    for at_once in (1, 2, 100):
        counted, numbers, idle = [], set(), 0
        for rank in range(world):
            as_rank(monkeypatch, rank, world)
            parts = shard_microbatches(items, at_once, cut)
            numbers.add(len(parts))
            own = [item for part, counts in parts if counts for item in part]
            counted += own
            idle += not own
        assert sorted(counted) == items
        assert len(numbers) == 1  # a sharded model runs them together
        assert idle == max(0, world - count)  # nobody stands by while there is something to do
