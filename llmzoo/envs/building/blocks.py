"""Blocks in a box of cells, and the commands that place them.

x counts from the left, y from the ground up, z from the front to the back, all from 0. A grid has one
byte per cell, the number of its material in ``MATERIALS``, at the index ``Box.at(x, y, z)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from llmzoo.envs.building.orders import (
    OrderRefused,
    Orders,
    Reader,
    check_coordinate,
    parse_numbers,
)

MATERIALS = ("air", "wood", "stone", "brick", "glass", "door")
AIR, WOOD, STONE, BRICK, GLASS, DOOR = range(len(MATERIALS))
SYMBOLS = ".WSBGD"

Stock = Mapping[int, int]  # blocks that are left of each material


class Box(NamedTuple):
    """The size of a grid, in cells."""

    width: int
    height: int
    depth: int

    @property
    def volume(self) -> int:
        return self.width * self.height * self.depth

    def at(self, x: int, y: int, z: int) -> int:
        """The index of a cell in a grid."""
        return (y * self.depth + z) * self.width + x

    def place(self, index: int) -> tuple[int, int, int]:
        """x, y and z of the cell with this index."""
        rest, x = divmod(index, self.width)
        y, z = divmod(rest, self.depth)
        return x, y, z

    def rows(self, grid: bytes, y: int) -> list[str]:
        """The symbols of a layer, a line for each z."""
        start = y * self.depth
        starts = [(start + z) * self.width for z in range(self.depth)]
        return ["".join(SYMBOLS[m] for m in grid[at : at + self.width]) for at in starts]


class FillCommand(NamedTuple):
    """A command: one material in all cells from one corner to another."""

    low: tuple[int, int, int]
    high: tuple[int, int, int]
    material: int

    def __str__(self) -> str:
        name = MATERIALS[self.material]
        if self.low == self.high:
            return f"setblock {_format_coordinates(self.low)} {name}"
        return f"fill {_format_coordinates(self.low)} {_format_coordinates(self.high)} {name}"


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The result of the commands of a round.

    written: for each agent the cells that its commands named, as a grid of 0 and 1. stocks: what is left
    of each agent's. refused: by agent, what could not be done for want of blocks.
    """

    grid: bytes
    written: Mapping[str, bytes]
    stocks: Mapping[str, Stock]
    refused: Mapping[str, tuple[str, ...]]


def command_readers(
    box: Box, materials: Sequence[int], columns: range | None = None
) -> dict[str, Reader]:
    """How ``setblock`` and ``fill`` are read. ``materials``: those that an agent may place; any agent may
    place air. ``columns``: the x that it reaches, all by default."""
    allowed = {MATERIALS[material]: material for material in (AIR, *materials)}
    reach = range(box.width) if columns is None else columns

    def corner(words: Sequence[str]) -> tuple[int, int, int]:
        x, y, z = parse_numbers(words)
        (
            check_coordinate("x", x, box.width),
            check_coordinate("y", y, box.height),
            check_coordinate("z", z, box.depth),
        )
        if x not in reach:
            raise OrderRefused(f"you reach x from {reach[0]} to {reach[-1]}")
        return x, y, z

    def material(word: str) -> int:
        if word.lower() not in allowed:
            raise OrderRefused(f"a material is {', '.join(allowed)}")
        return allowed[word.lower()]

    def setblock(rest: str) -> FillCommand:
        words = rest.split()
        if len(words) != 4:
            raise OrderRefused("setblock takes x y z material")
        at = corner(words[:3])
        return FillCommand(at, at, material(words[3]))

    def fill(rest: str) -> FillCommand:
        words = rest.split()
        if len(words) != 7:
            raise OrderRefused("fill takes x1 y1 z1 x2 y2 z2 material")
        (x1, y1, z1), (x2, y2, z2) = corner(words[:3]), corner(words[3:6])
        low = min(x1, x2), min(y1, y2), min(z1, z2)
        return FillCommand(low, (max(x1, x2), max(y1, y2), max(z1, z2)), material(words[6]))

    return {"setblock": setblock, "fill": fill}


def apply_orders(
    box: Box,
    grid: bytes,
    orders: Mapping[str, Orders],
    *,
    stocks: Mapping[str, Stock] | None = None,
    solid: bytes | None = None,
) -> BuildResult:
    """Carry out the commands of a round, agent by agent: where two write, the later one stays.

    ``stocks``: what each agent may place; a cell that becomes a material takes one block, and one that
    has it already takes none. A command that takes more than is left is refused. ``solid``: cells that
    no command changes.
    """
    cells = bytearray(grid)
    written: dict[str, bytes] = {}
    left: dict[str, Stock] = {}
    refused: dict[str, tuple[str, ...]] = {}
    for builder, given in orders.items():
        marks = bytearray(box.volume)
        stock = None if stocks is None else dict(stocks[builder])
        short: list[str] = []
        for number, command in given.given:
            spans = _cell_spans(box, command)
            material = command.material
            if stock is not None and material != AIR:
                taken = sum(n - cells.count(material, at, at + n) for at, n in spans)
                if taken > stock[material]:
                    have = f"{stock[material]} {MATERIALS[material]}"
                    short.append(f"line {number}: it takes {taken} blocks, you have {have}")
                    continue
                stock[material] -= taken
            for at, n in spans:
                cells[at : at + n] = bytes((material,)) * n
                marks[at : at + n] = b"\1" * n
        if solid is not None:
            for at in _marked_cells(solid):
                cells[at] = AIR
        written[builder] = bytes(marks)
        refused[builder] = tuple(short)
        left[builder] = {} if stock is None else stock
    return BuildResult(bytes(cells), written, left, refused)


def overlaps(written: Mapping[str, bytes]) -> dict[str, float]:
    """For each agent the share of the cells it wrote that another agent wrote too, 0 if it wrote none."""
    masks = {builder: int.from_bytes(marks, "big") for builder, marks in written.items()}
    shares = {}
    for builder, mask in masks.items():
        others = 0
        for other, theirs in masks.items():
            others |= theirs if other != builder else 0
        count = mask.bit_count()
        shares[builder] = (mask & others).bit_count() / count if count else 0.0
    return shares


def cover_with_boxes(box: Box, cells: Iterable[int], material: int) -> list[FillCommand]:
    """Commands that fill just these cells: few, each the largest box that grows from its first cell along
    x, then z, then y."""
    left = set(cells)
    found = []
    for at in sorted(left):
        if at not in left:
            continue
        x, y, z = low = box.place(at)
        right, back, top = x, z, y
        while right + 1 < box.width and box.at(right + 1, y, z) in left:
            right += 1
        while back + 1 < box.depth and all(
            box.at(i, y, back + 1) in left for i in range(x, right + 1)
        ):
            back += 1
        while top + 1 < box.height and all(
            box.at(i, top + 1, k) in left for i in range(x, right + 1) for k in range(z, back + 1)
        ):
            top += 1
        fill = FillCommand(low, (right, top, back), material)
        left.difference_update(at + i for at, n in _cell_spans(box, fill) for i in range(n))
        found.append(fill)
    return found


def _cell_spans(box: Box, command: FillCommand) -> list[tuple[int, int]]:
    """The rows of cells that a command names: the first index and the number of cells of each."""
    (x1, y1, z1), (x2, y2, z2), _ = command
    length = x2 - x1 + 1
    return [(box.at(x1, y, z), length) for y in range(y1, y2 + 1) for z in range(z1, z2 + 1)]


def _marked_cells(marks: bytes) -> Iterable[int]:
    return (at for at, mark in enumerate(marks) if mark)


def _format_coordinates(place: Sequence[int]) -> str:
    return " ".join(map(str, place))
