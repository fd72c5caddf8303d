"""Whether words that follow upon one another come from the same place of the source.

Who retells something takes neighbouring words from neighbouring places; the same words put into
sentences at random stand as near as any two of them do. No model: how close two words are goes by
the distance of their nearest places in the source.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

Places = Mapping[str, Sequence[int]]  # where in the source each word stands, ascending

NEAR = 5  # words apart at which two words are half as close as they could be
LEAST = 4  # placed words of a text that says anything about its thread


def thread(texts: Sequence[Sequence[str]], places: Places) -> float:
    """How much closer neighbours are in the source than any two words of their text, in standard
    deviations of what chance would give, over all texts together.

    ``texts``: the words of each text that have a place in ``places``, in order. About 0 where words
    are put together at random, 0 where there are too few of them.
    """
    excess = variance = 0.0
    for text in texts:
        words = [word for word, _ in groupby(text)]
        if len(words) < LEAST:
            continue
        number = {word: n for n, word in enumerate(dict.fromkeys(words))}
        at = np.array([number[word] for word in words])
        close = closeness([places[word] for word in number])[np.ix_(at, at)]
        every = close[np.triu_indices(len(words), 1)]
        neighbours = np.diagonal(close, 1)
        excess += float((neighbours - every.mean()).sum())
        variance += len(neighbours) * float(every.var())
    return excess / math.sqrt(variance) if variance > 1e-9 else 0.0


def closeness(places: Sequence[Sequence[int]]) -> npt.NDArray[np.float64]:
    """``NEAR / (NEAR + distance)`` for each pair of words, shape (words, words), where ``places``
    are those of each word."""
    every = np.concatenate([np.asarray(own) for own in places])
    starts = np.cumsum([0, *map(len, places)])[:-1]
    rows = []
    for own in map(np.asarray, places):
        after = np.searchsorted(own, every)
        right = np.abs(own[np.minimum(after, len(own) - 1)] - every)
        left = np.abs(own[np.maximum(after - 1, 0)] - every)
        rows.append(np.minimum.reduceat(np.minimum(left, right), starts))
    return NEAR / (NEAR + np.array(rows, dtype=np.float64))
