"""Reads tables as pandas writes them with ``to_string``: columns are aligned to the right.

A column ends where its name in the first line ends. The numbers of the rows may stand before the first column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def parse_table(text: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a table with these columns, in their order; raises ``ValueError`` for another table."""
    head, *lines = [line for line in text.split("\n") if line.strip()]
    ends = _column_ends(head, columns)
    starts = [_index_width(lines), *ends]
    for line in lines:
        if any(line[end : end + 1].strip() for end in ends):
            raise ValueError(f"a row that is not aligned with the columns: {line.strip()[:80]!r}")
    return [
        {
            name: line[start:end].strip()
            for name, start, end in zip(columns, starts, ends, strict=False)
        }
        for line in (line.ljust(len(head)) for line in lines)
    ]


def _column_ends(head: str, columns: Sequence[str]) -> list[int]:
    """Where each column ends."""
    place, ends = 0, []
    for name in columns:
        found = re.compile(rf"\s*{re.escape(name)}(?=\s|$)").match(head, place)
        if found is None:
            raise ValueError(f"no column {name!r} after {head[:place].strip()[-40:]!r}")
        place = found.end()
        ends.append(place)
    if head[place:].strip():
        raise ValueError(f"unknown columns {head[place:].strip()[:80]!r}")
    return ends


def _index_width(lines: Sequence[str]) -> int:
    """The width of the numbers that stand before the rows, aligned to the left; 0 if there are none."""
    numbers = [re.match(r"\d+", line) for line in lines]
    width = max((len(number[0]) for number in numbers if number), default=0)
    each = all(
        number and line[len(number[0]) : width + 2].strip() == "" and len(line) > width + 2
        for number, line in zip(numbers, lines, strict=True)
    )
    return width if each else 0
