"""Bounds of a configuration file, checked while it is parsed, before any value is made.

An alias repeats the values of its anchor, so a file of a few lines can expand to billions of values. The
parser's events are counted one by one, and an alias counts as many values as its anchor has.
"""

from __future__ import annotations

import yaml

MAX_BYTES = 2**18  # bytes
MAX_DEPTH = 24  # mappings and lists in one another
MAX_VALUES = 10_000  # values, keys included, once aliases are replaced


class BoundsError(yaml.YAMLError):
    """A file is too large, too deep, or stands for too many values."""


def check_bounds(data: bytes) -> None:
    """Raise :class:`BoundsError` for a YAML text beyond a bound, ``yaml.YAMLError`` for a text that is not YAML."""
    if len(data) > MAX_BYTES:
        raise BoundsError(f"is larger than {MAX_BYTES:,} bytes")
    sizes: dict[str, tuple[int, int]] = {}  # by anchor: its number of values and of levels
    # anchor, values before it, levels inside
    open_collections: list[tuple[str | None, int, int]] = []
    total = 0
    for event in yaml.parse(data, yaml.SafeLoader):
        size, levels = 1, 0
        if isinstance(event, yaml.CollectionStartEvent):
            open_collections.append((event.anchor, total, 0))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before, inside = open_collections.pop()
            size, levels = 0, inside + 1
            if anchor is not None:
                sizes[anchor] = total - before, levels
        elif isinstance(event, yaml.AliasEvent):
            if any(event.anchor == anchor for anchor, _, _ in open_collections):
                raise BoundsError(f"has an alias *{event.anchor} inside what it names")
            size, levels = sizes.get(event.anchor, (1, 0))
        elif isinstance(event, yaml.ScalarEvent):
            if event.anchor is not None:
                sizes[event.anchor] = 1, 0
        else:
            continue
        total += size
        if total > MAX_VALUES:
            raise BoundsError(f"holds more than {MAX_VALUES:,} values, with its aliases replaced")
        if len(open_collections) + levels > MAX_DEPTH:
            raise BoundsError(f"is nested more than {MAX_DEPTH} deep, with its aliases replaced")
        if open_collections:
            anchor, before, inside = open_collections[-1]
            open_collections[-1] = anchor, before, max(inside, levels)
