"""The published reward of two authors, and what it measures: lengths, ratios, vocabulary, style.

From CoMLRL / MAGRPO (arXiv 2508.04652), in stages that stop at the first failure:

1. ``length``: both parts have a number of words within bounds: +0.5.
2. ``ratio``: characters of the second part by those of the first: +1 in a range, linear around it.
3. ``vocabulary``: different words of the second by those of the first: +0.5, linear around.
4. ``style``: ``0.4 * (0.4 + 0.05 * (categories - 1)) + 0.6 * min(J, cap) / cap``, with ``categories``
   the kinds of transitions found (0.4 is 0 where there are none) and J the Jaccard overlap of the
   parts' words without stop words.

The most is 2.98, with all twelve categories.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmzoo.envs.writing.transitions import categories
from llmzoo.envs.writing.words import STOP_WORDS, tokens

LENGTH, RATIO, VOCABULARY, STYLE = STAGES = ("length", "ratio", "vocabulary", "style")
MOST = {LENGTH: 0.5, RATIO: 1.0, VOCABULARY: 0.5, STYLE: 0.4 * 0.95 + 0.6}
MAXIMUM = sum(MOST.values())  # 2.98
INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class Band:
    """Full pay from ``full_from`` to ``full_to``, falling linearly to 0 at ``low`` and ``high``."""

    low: float
    full_from: float
    full_to: float = INFINITE
    high: float = INFINITE

    def share(self, value: float) -> float | None:
        """From 0 to 1, or None outside of ``low`` to ``high``."""
        if not self.low <= value <= self.high:
            return None
        if value < self.full_from:
            return (value - self.low) / (self.full_from - self.low)
        if value > self.full_to:
            return (self.high - value) / (self.high - self.full_to)
        return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The thresholds of a task. ``words``: fewest and most words of a part. ``overlap``: the Jaccard
    overlap from which the style is paid in full. ``both``: transitions count in both parts, and
    otherwise in the second only."""

    words: tuple[int, int]
    ratio: Band
    vocabulary: Band
    overlap: float
    both: bool


TLDR = Form(
    words=(8, 256),
    ratio=Band(1.1, 1.6, 3.2, 5.0),
    vocabulary=Band(1.3, 2.0),
    overlap=0.03,
    both=False,
)
ARXIV = Form(
    words=(128, 256),
    ratio=Band(0.8, 1.3, 1.6, 2.0),
    vocabulary=Band(0.5, 0.7, 1.3, 1.7),
    overlap=0.23,
    both=True,
)
STORY = Form(  # this project's: two passages of like size that share a few names and things
    words=(64, 192),
    ratio=Band(0.5, 0.75, 1.35, 2.0),
    vocabulary=Band(0.5, 0.75, 1.35, 2.0),
    overlap=0.05,
    both=True,
)


@dataclass(frozen=True, slots=True)
class Structure:
    """What the stages paid (``parts``, 0 where none was reached), the stage that failed (None if all
    passed), and what was measured: ``words`` of both parts, ``ratio``, ``vocabulary``, ``overlap``
    and the number of ``categories``."""

    parts: Mapping[str, float]
    failed: str | None
    measured: Mapping[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())


def structure(first: str, second: str, form: Form) -> Structure:
    """Both parts, put through the stages of a form."""
    lengths = len(first.split()), len(second.split())
    words = set(tokens(first)), set(tokens(second))
    ratio = len(second) / max(1, len(first))
    vocabulary = len(words[1]) / max(1, len(words[0]))
    overlap = jaccard(words[0] - STOP_WORDS, words[1] - STOP_WORDS)
    found = len(categories(f"{first} {second}" if form.both else second))
    measured = {
        "first_words": lengths[0],
        "second_words": lengths[1],
        "ratio": ratio,
        "vocabulary": vocabulary,
        "overlap": overlap,
        "categories": found,
    }
    transitions = 0.4 + 0.05 * (found - 1) if found else 0.0
    shares = {
        LENGTH: 1.0 if all(form.words[0] <= n <= form.words[1] for n in lengths) else None,
        RATIO: form.ratio.share(ratio),
        VOCABULARY: form.vocabulary.share(vocabulary),
        STYLE: (0.4 * transitions + 0.6 * min(overlap / form.overlap, 1.0)) / MOST[STYLE],
    }
    parts = dict.fromkeys(STAGES, 0.0)
    for stage in STAGES:
        share = shares[stage]
        if share is None:
            return Structure(parts, stage, measured)
        parts[stage] = MOST[stage] * share
    return Structure(parts, None, measured)


def jaccard(first: set[str], second: set[str]) -> float:
    """Shared words by all words of two sets; 0 where both are empty, since nothing is shared."""
    union = first | second
    return len(first & second) / len(union) if union else 0.0
