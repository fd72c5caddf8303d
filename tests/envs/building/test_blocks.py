"""Placing blocks, and how much a grid is like its target; numbers by hand."""

from __future__ import annotations

import random

import pytest

from llmzoo.envs.building import scoring
from llmzoo.envs.building.blocks import (
    AIR,
    STONE,
    WOOD,
    Box,
    FillCommand,
    apply_orders,
    cover_with_boxes,
    overlaps,
)
from llmzoo.envs.building.orders import Orders

BOX = Box(3, 2, 2)
EMPTY = bytes(BOX.volume)


def fill(low, high, material):
    return FillCommand(low, high, material)


def given(*fills):
    return Orders(tuple(enumerate(fills, start=1)))


def test_cells_are_numbered_along_x_then_z_then_y():
    assert [BOX.at(*place) for place in ((0, 0, 0), (2, 0, 0), (0, 0, 1), (0, 1, 0))] == [
        0,
        2,
        3,
        6,
    ]
    assert [BOX.place(index) for index in range(12)] == [
        (x, y, z) for y in range(2) for z in range(2) for x in range(3)
    ]


def test_a_layer_as_text():
    grid = apply_orders(BOX, EMPTY, {"a": given(fill((0, 1, 0), (1, 1, 0), STONE))}).grid
    assert BOX.rows(grid, 0) == ["...", "..."]
    assert BOX.rows(grid, 1) == ["SS.", "..."]


def test_the_later_agent_stays_and_both_overlap():
    built = apply_orders(
        BOX,
        EMPTY,
        {
            "a": given(fill((0, 0, 0), (2, 0, 0), WOOD)),  # three cells
            "b": given(fill((2, 0, 0), (2, 1, 0), STONE)),  # two, one of them the same
        },
    )
    assert BOX.rows(built.grid, 0) == ["WWS", "..."]
    assert overlaps(built.written) == {"a": pytest.approx(1 / 3), "b": pytest.approx(1 / 2)}


def test_an_agent_that_writes_nothing_does_not_overlap():
    built = apply_orders(BOX, EMPTY, {"a": given(fill((0, 0, 0), (0, 0, 0), WOOD)), "b": Orders()})
    assert overlaps(built.written) == {"a": 0.0, "b": 0.0}


def test_a_stock_is_taken_by_cells_that_change():
    floor = fill((0, 0, 0), (2, 0, 1), WOOD)  # six cells
    first = apply_orders(BOX, EMPTY, {"a": given(floor)}, stocks={"a": {WOOD: 7}})
    assert first.stocks == {"a": {WOOD: 1}}
    again = apply_orders(BOX, first.grid, {"a": given(floor)}, stocks=first.stocks)
    assert (again.stocks, again.refused) == ({"a": {WOOD: 1}}, {"a": ()})
    two = fill((0, 1, 0), (1, 1, 0), WOOD)
    one = fill((2, 1, 1), (2, 1, 1), WOOD)
    last = apply_orders(BOX, first.grid, {"a": given(two, one)}, stocks=first.stocks)
    assert last.refused == {"a": ("line 1: it takes 2 blocks, you have 1 wood",)}
    assert BOX.rows(last.grid, 1) == ["...", "..W"]
    assert first.stocks == {"a": {WOOD: 1}}  # what was given is left as it was


def test_removed_blocks_are_lost():
    at = (0, 0, 0)
    built = apply_orders(
        BOX, EMPTY, {"a": given(fill(at, at, WOOD), fill(at, at, AIR))}, stocks={"a": {WOOD: 1}}
    )
    assert (built.grid, built.stocks) == (EMPTY, {"a": {WOOD: 0}})


def test_solid_cells_stay():
    solid = bytes([1, *[0] * 11])
    built = apply_orders(BOX, EMPTY, {"a": given(fill((0, 0, 0), (1, 0, 0), WOOD))}, solid=solid)
    assert BOX.rows(built.grid, 0) == [".W.", "..."]


def test_boxes_fill_just_their_cells():
    box = Box(6, 5, 4)
    rng = random.Random(0)
    for _ in range(200):
        cells = {at for at in range(box.volume) if rng.random() < rng.choice((0.2, 0.9))}
        found = cover_with_boxes(box, cells, WOOD)
        built = apply_orders(box, bytes(box.volume), {"a": given(*found)}).grid
        assert {at for at, material in enumerate(built) if material} == cells
    assert cover_with_boxes(box, range(box.volume), STONE) == [
        FillCommand((0, 0, 0), (5, 4, 3), STONE)
    ]


# scores

WALL = Box(3, 2, 1)
TARGET = bytes([STONE, STONE, 0, STONE, 0, 0])  # ##. below, #.. above: three cells, two pairs


@pytest.mark.parametrize(
    ("grid", "cells", "shape", "pairs"),
    [
        ([0, 0, 0, 0, 0, 0], 0, 0, 0),
        ([STONE, 0, 0, 0, 0, 0], 1 / 3, 1 / 3, 0),
        ([STONE, STONE, 0, STONE, 0, 0], 1, 1, 0),
        ([STONE, WOOD, 0, WOOD, 0, 0], 1 / 3, 1, 1),
        ([STONE, WOOD, 0, STONE, 0, 0], 2 / 3, 1, 1 / 2),
        # one block beside the text: a pair more, in neither's favour
        ([STONE, WOOD, STONE, WOOD, 0, 0], 1 / 4, 3 / 4, 2 / 3),
        # all six cells: 7 pairs of cells touch, and 2 of them count
        ([STONE, WOOD, STONE, WOOD, STONE, WOOD], 1 / 6, 1 / 2, 2 / 7),
        ([WOOD] * 6, 0, 1 / 2, 0),
    ],
)
def test_intersection_over_union(grid, cells, shape, pairs):
    grid = bytes(grid)
    assert scoring.iou(grid, TARGET) == pytest.approx(cells)
    assert scoring.shape_iou(grid, TARGET) == pytest.approx(shape)
    assert scoring.pairs_iou(grid, TARGET, WALL) == pytest.approx(pairs)


def test_the_share_of_some_cells():
    grid = bytes([STONE, WOOD, 0, 0, 0, 0])
    assert scoring.matching_share(grid, TARGET, [0, 1, 3]) == pytest.approx(1 / 3)
    assert scoring.matching_share(grid, TARGET, [2, 5]) == 1.0
