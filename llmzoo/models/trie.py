"""Texts as a trie: a token that follows the same tokens is one node, computed once for all of them."""

from __future__ import annotations

from collections.abc import Sequence


class Trie:
    """Nodes are numbered in the order in which they are added, so a node comes after its parent.

    ``ids``: each node's token. ``depths``: the number of tokens before it. ``parents``: the node
    before it, -1 for a first token.
    """

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.depths: list[int] = []
        self.parents: list[int] = []
        self._after: dict[tuple[int, int], int] = {}  # (the node before, the token) -> the node

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, text: Sequence[int], after: int = -1) -> list[int]:
        """The nodes of a text that follows the node ``after``; those that are missing are added."""
        path = []
        depth = 0 if after < 0 else self.depths[after] + 1
        for column, token in enumerate(text, depth):
            node = self._after.setdefault((after, token), len(self.ids))
            if node == len(self.ids):
                self.ids.append(token)
                self.depths.append(column)
                self.parents.append(after)
            path.append(node)
            after = node
        return path

    def find(self, text: Sequence[int], after: int = -1) -> list[int] | None:
        """The nodes of a text that follows the node ``after``; None if any is missing."""
        path = []
        for token in text:
            node = self._after.get((after, token))
            if node is None:
                return None
            path.append(node)
            after = node
        return path

    def preorder(self) -> tuple[list[int], list[int]]:
        """Each node's place if every node is followed by all that descends from it, and the place of
        the last of these. A node at place q descends from one at place k, or is it, iff
        k <= q <= last.
        """
        sizes = [1] * len(self)
        for node in reversed(range(len(self))):
            if self.parents[node] >= 0:
                sizes[self.parents[node]] += sizes[node]
        free = [0] * (len(self) + 1)  # where each node's next child goes; the last: first tokens
        places = []
        for node, parent in enumerate(self.parents):
            places.append(free[parent])
            free[parent] += sizes[node]
            free[node] = places[node] + 1
        return places, [place + size - 1 for place, size in zip(places, sizes, strict=True)]
