"""How a text overlaps with its source and with itself: copies, pieces, frames, and the thread.

No model: everything goes by which words are neighbours, and by where they stand in the source.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt

from llmzoo.envs.prose import ngram_coverage, ngrams
from llmzoo.envs.writing.words import is_stop, stem

MAX_SOURCE_WORDS = 2_000  # of a longer source only the beginning is compared
COPIED_NGRAM = 3  # words in a row from which a phrase is copied
SPAN = 5  # matches more than misses that make a copied span
FRAME_NGRAM = 5  # words in a row of a frame, in which all but stop words are blanks
HALF_DISTANCE = 5  # the distance in words at which closeness is 1/2
MIN_THREAD_WORDS = 4  # fewer words have no measurable thread
_SLACK = 3  # columns kept left of the source: two words left out in a row, and the neighbour


def copied_share(words: Sequence[str], source: Sequence[str]) -> float:
    """The share of ``words`` in copied phrases or in copied spans (:func:`copied_span_share`), whichever is larger."""
    if not words or not source:
        return 0.0
    source = source[:MAX_SOURCE_WORDS]
    return max(
        ngram_coverage(words, set(ngrams(source, COPIED_NGRAM)), COPIED_NGRAM),
        copied_span_share(words, source),
    )


def copied_span_share(words: Sequence[str], source: Sequence[str]) -> float:
    """The share of words in spans that match a span of the source except for single words.

    A span scores its matching words minus its changed, omitted and inserted ones. It counts from a
    score of :data:`SPAN` (a local alignment: Smith and Waterman 1981). This finds a copy with every
    third word changed, which has no run of three.
    """
    numbers = {word: number for number, word in enumerate(dict.fromkeys(source))}
    other = np.array([numbers[word] for word in source])
    n = len(other)
    # score and first word of the best span that ends at a word and a source word; the last two rows
    scores = [np.zeros(n + _SLACK, dtype=np.int64)] * 2
    starts = [np.zeros(n + _SLACK, dtype=np.int64)] * 2
    none = np.zeros(_SLACK, dtype=np.int64)
    inside = np.zeros(len(words), dtype=bool)
    for i, word in enumerate(words):
        score = np.zeros(n, dtype=np.int64)
        start = np.full(n, i, dtype=np.int64)
        # rows and columns to the end of a shorter span, and the words between
        for rows, columns, between in ((1, 1, 0), (1, 2, 1), (1, 3, 2), (2, 1, 1)):
            left = _SLACK - columns
            longer = scores[-rows][left : left + n] - between
            start = np.where(longer > score, starts[-rows][left : left + n], start)
            score = np.maximum(score, longer)
        match = other == numbers.get(word, -1)
        score = np.where(match, score + 1, np.maximum(score - 1, 0))
        start = np.where(score > 0, start, i + 1)
        ends = match & (score >= SPAN)
        if ends.any():
            inside[start[ends].min() : i + 1] = True
        scores = [scores[1], np.concatenate((none, score))]
        starts = [starts[1], np.concatenate((none + i + 1, start))]
    return float(inside.mean())


def source_pair_share(texts: Sequence[Sequence[str]], source: Sequence[str]) -> float:
    """The share of pairs of neighbouring words that are neighbours in the source. Pairs of two stop
    words do not count."""
    pairs = (pair for words in texts for pair in pairwise(words))
    return _known_pair_share([pair for pair in pairs if not all(map(is_stop, pair))], source)


def source_stem_pair_share(texts: Sequence[Sequence[str]], source: Sequence[str]) -> float:
    """The same share of the words that are no stop words, by stem: pieces of the source keep it
    whatever stop words are put between them."""
    pairs = [pair for words in texts for pair in pairwise(_content(words))]
    return _known_pair_share(pairs, _content(source))


def _known_pair_share(pairs: Sequence[tuple[str, str]], source: Sequence[str]) -> float:
    known = set(pairwise(source))
    return sum(pair in known for pair in pairs) / max(1, len(pairs))


def _content(words: Sequence[str]) -> list[str]:
    return [stem(word) for word in words if not is_stop(word)]


def repeated_share(words: Sequence[str]) -> float:
    """The share of runs of three words that occurred in the text before."""
    every = ngrams(words, COPIED_NGRAM)
    return 1 - len(set(every)) / len(every) if every else 0.0


def shared_frame_share(texts: Sequence[Sequence[str]]) -> float:
    """The share of different runs of :data:`FRAME_NGRAM` words that are alike once all but the stop words
    are blanks: sentences that are used again with other words put in."""
    every = {run for words in texts for run in ngrams(words, FRAME_NGRAM)}
    bare = [tuple(word if is_stop(word) else "" for word in run) for run in every]
    framing = [run for run in bare if any(run)]
    return 1 - len(set(framing)) / len(framing) if framing else 0.0


def source_locality(
    texts: Sequence[Sequence[str]], positions: Mapping[str, Sequence[int]]
) -> float:
    """How much closer neighbours are in the source than any two words of their text, in standard
    deviations of what chance would give, over all texts together.

    A retelling takes neighbouring words from nearby; in the same words put into sentences at random,
    neighbours are as near as any two words. How close two words are is measured by the distance of
    their nearest positions in the source. 0 for fewer than :data:`MIN_THREAD_WORDS` words.

    Parameters
    ----------
    texts: the words of each text that ``positions`` knows, in order.
    positions: the positions of each word in the source, ascending.
    """
    excess = variance = 0.0
    for text in texts:
        words = [word for word, _ in groupby(text)]
        if len(words) < MIN_THREAD_WORDS:
            continue
        number = {word: n for n, word in enumerate(dict.fromkeys(words))}
        at = np.array([number[word] for word in words])
        close = closeness([positions[word] for word in number])[np.ix_(at, at)]
        every = close[np.triu_indices(len(words), 1)]
        neighbours = np.diagonal(close, 1)
        excess += float((neighbours - every.mean()).sum())
        variance += len(neighbours) * float(every.var())
    return excess / math.sqrt(variance) if variance > 1e-9 else 0.0


def closeness(positions: Sequence[Sequence[int]]) -> npt.NDArray[np.float64]:
    """``HALF_DISTANCE / (HALF_DISTANCE + distance)`` for each pair of words, shape (words, words); ``positions`` holds
    those of each word."""
    every = np.concatenate([np.asarray(own) for own in positions])
    starts = np.cumsum([0, *map(len, positions)])[:-1]
    rows = []
    for own in map(np.asarray, positions):
        after = np.searchsorted(own, every)
        right = np.abs(own[np.minimum(after, len(own) - 1)] - every)
        left = np.abs(own[np.maximum(after - 1, 0)] - every)
        rows.append(np.minimum.reduceat(np.minimum(left, right), starts))
    return HALF_DISTANCE / (HALF_DISTANCE + np.array(rows, dtype=np.float64))
