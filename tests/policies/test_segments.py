import torch

from llmzoo.policies.packing import Segments, packs

CPU = torch.device("cpu")


def test_packs_are_consecutive_and_bounded():
    # 3 + 4 = 7 fits, 5 more would not; 9 alone is too large and stands alone
    assert packs([3, 4, 5, 1, 9, 2], 7) == [range(2), range(2, 4), range(4, 5), range(5, 6)]
    assert packs([], 7) == []


def test_a_grid_holds_each_piece_in_a_row():
    flat = torch.arange(14, 19)
    pieces = Segments([2, 0, 3], CPU)  # tokens 14 15, none, 16 17 18
    assert not pieces.even
    assert pieces.real.tolist() == [[True, True, False], [False] * 3, [True] * 3]
    assert pieces.grid(flat)[pieces.real].tolist() == [14, 15, 16, 17, 18]
    assert pieces.flat(pieces.grid(flat)).tolist() == [14, 15, 16, 17, 18]
    assert pieces.columns.tolist() == [0, 1, 0, 1, 2]
    outside = pieces.outside(torch.float32)
    assert outside.tolist() == [[0, 0, float("-inf")], [float("-inf")] * 3, [0, 0, 0]]


def test_pieces_of_one_length_are_a_view():
    flat = torch.arange(8.0).view(4, 2)
    pieces = Segments([2, 2], CPU)
    assert pieces.even
    assert pieces.outside(torch.float32) is None
    assert pieces.grid(flat).data_ptr() == flat.data_ptr()
    assert pieces.grid(flat).tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert pieces.flat(pieces.grid(flat)).tolist() == flat.tolist()


def test_no_gradient_comes_from_padding():
    flat = torch.ones(5, requires_grad=True)
    pieces = Segments([1, 4], CPU)
    pieces.flat(3 * pieces.grid(flat)).sum().backward()
    assert flat.grad.tolist() == [3.0] * 5
