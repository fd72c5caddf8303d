"""A key for each puzzle, equal for equivalent puzzles.

Two puzzles are equivalent if a symmetry of the rules maps one onto the other: permutations of the rows
within a band, of the bands, of the columns within a stack, of the stacks, the transposition, and any
renaming of the digits. A 4x4 grid has 128 such arrangements times 24 renamings, a 9x9 grid 3,359,232 times
362,880.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import permutations, product
from operator import itemgetter

from llmzoo.envs.games.sudoku.scoring import BLANK, units_of

Arrangement = Callable[[str], tuple[str, ...]]  # from the text of a puzzle to the cells of an image


def canonical_key(puzzle: str) -> str:
    """The same text for all images of a puzzle under the symmetries above.

    For 4x4 puzzles the key is the least image, so different classes have different keys. For 9x9
    puzzles it is an invariant: images always share it, and two classes share it only in rare cases.
    """
    return _least_image(puzzle) if len(puzzle) == 16 else _invariant(puzzle)


def _least_image(puzzle: str) -> str:
    """The least image whose blanks come last; digits are renamed by first appearance."""
    givens = "".join(BLANK if cell == BLANK else "1" for cell in puzzle)
    patterns = [image(givens) for image in arrangements()]
    first = max(patterns)  # few arrangements share it, so few have to be renamed
    images = [
        image(puzzle)
        for image, pattern in zip(arrangements(), patterns, strict=True)
        if pattern == first
    ]
    return min(map(_rename_digits, images))


def _rename_digits(cells: tuple[str, ...]) -> str:
    names = {BLANK: BLANK}
    for cell in cells:
        if cell not in names:
            names[cell] = str(len(names))
    return "".join([names[cell] for cell in cells])


@cache
def arrangements() -> tuple[Arrangement, ...]:
    """The 128 ways to arrange the cells of a 4x4 grid."""
    orders = [
        first + second
        for top, bottom in permutations(((0, 1), (2, 3)))
        for first, second in product(permutations(top), permutations(bottom))
    ]
    images = []
    for rows, columns in product(orders, orders):
        images.append([4 * row + column for row in rows for column in columns])
        images.append([4 * row + column for column in columns for row in rows])
    return tuple(itemgetter(*image) for image in images)


def _invariant(puzzle: str) -> str:
    """Two rounds of colour refinement on the cells of a 9x9 puzzle.

    A cell's colour says whether it is given. Each round the new colour is made of the old one and of
    the sorted colours in the cell's row, column, band, stack and box and of the cells with its digit.
    Rows and columns are an unordered pair, so that the transposition changes nothing.
    """
    rows, columns, boxes, lines = _units()
    digits = {digit: [k for k, cell in enumerate(puzzle) if cell == digit] for digit in {*puzzle}}
    colours = [int(cell != BLANK) for cell in puzzle]
    for _ in range(2):
        of_row, of_column = _with_bands(rows, colours), _with_bands(columns, colours)
        of_box = [_sorted_colours(box, colours) for box in boxes]
        of_digit = {digit: _sorted_colours(cells, colours) for digit, cells in digits.items()}
        texts = [
            repr(
                (
                    colours[cell],
                    of_digit[puzzle[cell]],
                    of_box[box],
                    sorted((of_row[row], of_column[column])),
                )
            )
            for cell, (row, column, box) in enumerate(lines)
        ]
        ranks = {text: rank for rank, text in enumerate(sorted({*texts}))}
        colours = [ranks[text] for text in texts]
    return " ".join(sorted(texts))


def _sorted_colours(cells: range | list[int], colours: list[int]) -> list[int]:
    return sorted([colours[cell] for cell in cells])


def _with_bands(lines: list[range], colours: list[int]) -> list[tuple[list[int], list[list[int]]]]:
    """For each line its colours, and those of the three lines of its band."""
    bags = [_sorted_colours(line, colours) for line in lines]
    bands = [sorted(bags[start : start + 3]) for start in range(0, 9, 3)]
    return [(bag, bands[number // 3]) for number, bag in enumerate(bags)]


@cache
def _units() -> tuple[list[range], list[range], list[list[int]], list[tuple[int, int, int]]]:
    """The cells of each row, column and box of a 9x9 grid, and each cell's row, column and box."""
    lines = [(row, column - 9, box - 18) for row, column, box in units_of(9)]
    boxes = [[cell for cell in range(81) if lines[cell][2] == box] for box in range(9)]
    return (
        [range(9 * row, 9 * row + 9) for row in range(9)],
        [range(column, 81, 9) for column in range(9)],
        boxes,
        lines,
    )
