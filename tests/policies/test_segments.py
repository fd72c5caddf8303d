import random

import torch

from llmzoo.models.packing import Segments, SharedSegments, split_into_packs
from llmzoo.models.trie import Trie

CPU = torch.device("cpu")


def shared(texts):
    trie = Trie()
    return SharedSegments(trie, [trie.add(text) for text in texts], CPU)


def test_packs_are_consecutive_and_bounded():
    # 3 + 4 = 7 fits, 5 more would not; 9 alone is too large and stands alone
    assert split_into_packs([3, 4, 5, 1, 9, 2], 7) == [
        range(2),
        range(2, 4),
        range(4, 5),
        range(5, 6),
    ]
    assert split_into_packs([], 7) == []


def test_a_grid_holds_each_piece_in_a_row():
    flat = torch.arange(14, 19)
    pieces = Segments([2, 0, 3], CPU)  # tokens 14 15, none, 16 17 18
    assert not pieces.even
    assert pieces.real.tolist() == [[True, True, False], [False] * 3, [True] * 3]
    assert pieces.grid(flat)[pieces.real].tolist() == [14, 15, 16, 17, 18]
    assert pieces.flat(pieces.grid(flat)).tolist() == [14, 15, 16, 17, 18]
    assert pieces.columns.tolist() == [0, 1, 0, 1, 2]
    outside = pieces.padding_mask(torch.float32)
    assert outside.tolist() == [[0, 0, float("-inf")], [float("-inf")] * 3, [0, 0, 0]]


def test_pieces_of_one_length_are_a_view():
    flat = torch.arange(8.0).view(4, 2)
    pieces = Segments([2, 2], CPU)
    assert pieces.even
    assert pieces.padding_mask(torch.float32) is None
    assert pieces.grid(flat).data_ptr() == flat.data_ptr()
    assert pieces.grid(flat).tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert pieces.flat(pieces.grid(flat)).tolist() == flat.tolist()


def test_no_gradient_comes_from_padding():
    flat = torch.ones(5, requires_grad=True)
    pieces = Segments([1, 4], CPU)
    pieces.flat(3 * pieces.grid(flat)).sum().backward()
    assert flat.grad.tolist() == [3.0] * 5


def test_shared_beginnings_are_whole_in_the_grid():
    texts = [(5, 6, 7), (5, 6), (5, 8, 9)]
    pieces = shared(texts)
    assert pieces.ids.tolist() == [5, 6, 7, 8, 9]
    assert pieces.ends.tolist() == [2, 1, 4]
    grid = pieces.grid(pieces.ids)
    assert [row[: len(text)] for row, text in zip(grid.tolist(), texts, strict=True)] == [
        list(text) for text in texts
    ]
    assert pieces.flat(grid).tolist() == pieces.ids.tolist()


def test_a_shared_token_adds_up_the_gradients_of_all_its_texts():
    pieces = shared([(5, 6), (5, 7), (5,)])
    flat = torch.ones(3, requires_grad=True)
    (pieces.grid(flat) * pieces.real).sum().backward()
    assert flat.grad.tolist() == [3.0, 1.0, 1.0]


def test_a_trie_holds_each_beginning_once():
    """Worked out: 0 -> 1 -> 2, 0 -> 3 -> 4, and 5 alone."""
    trie = Trie()
    assert [trie.add(text) for text in [(5, 6, 7), (5, 8, 9), (6,), (5, 6)]] == [
        [0, 1, 2],
        [0, 3, 4],
        [5],
        [0, 1],
    ]
    assert (trie.ids, trie.depths) == ([5, 6, 7, 8, 9, 6], [0, 1, 2, 1, 2, 0])
    assert trie.parents == [-1, 0, 1, 0, 3, -1]
    assert trie.find((8, 9), after=0) == [3, 4]
    assert trie.find((7, 9), after=1) is None
    assert trie.add((7, 5), after=1) == [2, 6]
    # a last node after 2: it moves before 3, which begins another branch
    assert trie.preorder() == ([0, 1, 2, 4, 5, 6, 3], [5, 3, 3, 5, 5, 6, 3])


def test_descendants_are_a_range():
    noise = random.Random(0)
    for _ in range(50):
        trie = Trie()
        for _ in range(noise.randint(1, 12)):
            trie.add([noise.randint(0, 2) for _ in range(noise.randint(1, 8))])
        places, last = trie.preorder()
        assert sorted(places) == list(range(len(trie)))
        for node in range(len(trie)):
            above = [node]
            while trie.parents[above[-1]] >= 0:
                above.append(trie.parents[above[-1]])
            seen = [k for k in range(len(trie)) if places[k] <= places[node] <= last[k]]
            assert sorted(seen) == sorted(above)
