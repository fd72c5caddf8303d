"""How much of a text is copied: from another, exactly or with words changed, and from itself, as
words or as sentences with other words put in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from llmzoo.envs.writing.words import is_stop, stem

MAX_SOURCE_WORDS = 2_000  # a longer source is compared by its beginning
RUN = 3  # words in a row that make a copied phrase
SPAN = 5  # matches more than misses that make a copied span
FRAME = 5  # words in a row, telling ones left blank, that make a piece of a frame
_SLACK = 3  # columns kept left of the source: two words left out in a row, and the neighbour


def copied(words: Sequence[str], source: Sequence[str]) -> float:
    """The share of ``words`` in copied phrases (:func:`runs`) or spans (:func:`spans`), whichever
    is more."""
    if not words or not source:
        return 0.0
    source = source[:MAX_SOURCE_WORDS]
    return max(runs(words, source), spans(words, source))


def runs(words: Sequence[str], source: Sequence[str]) -> float:
    """The share of words inside of :data:`RUN` or more that stand so in the source."""
    there = {tuple(source[i : i + RUN]) for i in range(len(source) - RUN + 1)}
    inside = np.zeros(len(words), dtype=bool)
    for i in range(len(words) - RUN + 1):
        if tuple(words[i : i + RUN]) in there:
            inside[i : i + RUN] = True
    return float(inside.mean())


def spans(words: Sequence[str], source: Sequence[str]) -> float:
    """The share of words inside of spans that run along with a span of the source.

    A span scores its matching words less its changed, left out and inserted ones and counts from
    :data:`SPAN` on (a local alignment: Smith and Waterman 1981). It finds a copy with every third
    word changed, which has no run of three.
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
        # rows and columns to the end of a shorter span, and the words that lie between
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


def paired(texts: Sequence[Sequence[str]], source: Sequence[str]) -> float:
    """The share of neighbouring words, not both stop words, that are neighbours in the source."""
    there = set(pairwise(source))
    told = [
        pair for words in texts for pair in pairwise(words) if not all(is_stop(w) for w in pair)
    ]
    return sum(pair in there for pair in told) / max(1, len(told))


def pieces(texts: Sequence[Sequence[str]], source: Sequence[str]) -> float:
    """The share of neighbouring telling words, by stem and with the stop words left out, that are
    neighbours so in the source: pieces of it keep them whatever stands between."""
    there = set(pairwise(_telling(source)))
    told = [pair for words in texts for pair in pairwise(_telling(words))]
    return sum(pair in there for pair in told) / max(1, len(told))


def _telling(words: Sequence[str]) -> list[str]:
    return [stem(word) for word in words if not is_stop(word)]


def repeated(words: Sequence[str]) -> float:
    """The share of runs of three words that stood in the text before."""
    found = [tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)]
    return 1 - len(set(found)) / len(found) if found else 0.0


def framed(texts: Sequence[Sequence[str]]) -> float:
    """The share of different runs of :data:`FRAME` words of all texts that are alike when all but
    the stop words are blanks: sentences that are used again with other words put in."""
    found = {tuple(words[i : i + FRAME]) for words in texts for i in range(len(words) - FRAME + 1)}
    bare = [tuple(word if is_stop(word) else "" for word in run) for run in found]
    told = [run for run in bare if any(run)]
    return 1 - len(set(told)) / len(told) if told else 0.0
