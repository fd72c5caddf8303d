"""How much a grid is like a target. Pure functions of bytes, one a cell; 0 is air."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from llmzoo.envs.building.blocks import Box


def iou(grid: bytes, target: bytes) -> float:
    """Intersection over union by material: the cells that have the target's material, among those that
    are not air in the grid or in the target. 1 for equal grids; 0 for an empty grid."""
    built, wanted = _cells(grid), _cells(target)
    union = np.count_nonzero(built | wanted)
    return float(np.count_nonzero((built == wanted) & (wanted != 0)) / union)


def shape_iou(grid: bytes, target: bytes) -> float:
    """Intersection over union of the cells that are not air, whatever their material."""
    built, wanted = _cells(grid) != 0, _cells(target) != 0
    return float(np.count_nonzero(built & wanted) / np.count_nonzero(built | wanted))


def pairs_iou(grid: bytes, target: bytes, box: Box) -> float:
    """The same for pairs of cells that touch in a wall of depth 1: those pairs of the target that are
    built of two different materials, among the pairs of cells that are in the grid or in the target."""
    shape = box.height, box.width
    built, wanted = _cells(grid).reshape(shape), _cells(target).reshape(shape) != 0
    either = (built != 0) | wanted
    good = whole = 0
    for near, far in (
        ((slice(None), slice(0, -1)), (slice(None), slice(1, None))),
        ((slice(0, -1), slice(None)), (slice(1, None), slice(None))),
    ):
        whole += int(np.count_nonzero(either[near] & either[far]))
        one, other = built[near], built[far]
        both = (one != 0) & (other != 0) & (one != other)
        good += int(np.count_nonzero(both & wanted[near] & wanted[far]))
    return good / whole


def matching_share(grid: bytes, target: bytes, cells: Iterable[int]) -> float:
    """The share of ``cells`` that have the target's material."""
    places = list(cells)
    return sum(grid[at] == target[at] for at in places) / len(places)


def _cells(grid: bytes) -> np.ndarray:
    return np.frombuffer(grid, dtype=np.uint8)
