"""Scores two parts of a text: their start, the stages of the published reward, and their faithfulness.

The stages are those of CoMLRL / MAGRPO (arXiv 2508.04652): length, ratio, vocabulary and style, up to
the first failure. The docstring of :mod:`llmzoo.envs.writing.tldr` says what each of them pays.

The stages pay nothing to a text of the wrong length, and faithfulness nothing to one that fails a
single measure, so with them alone all answers of a weak model would earn the same. The component
"start" therefore rises with every measure from the first word on. It is a small share of the reward, and
no other component depends on it. Nonsense earns less from it than a noisy expert's text earns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmzoo.envs.prose import split_phrases
from llmzoo.envs.writing.grounding import (
    FAITHFUL,
    Grounding,
    GroundingStandard,
    Source,
    measure_grounding,
)
from llmzoo.envs.writing.words import LEXICON, STOP_WORDS, tokens

LENGTH, RATIO, VOCABULARY, STYLE = STAGES = ("length", "ratio", "vocabulary", "style")
MOST = {LENGTH: 0.5, RATIO: 1.0, VOCABULARY: 0.5, STYLE: 0.4 * 0.95 + 0.6}
MAXIMUM = sum(MOST.values())  # 2.98
START = "start"
PARTS = (START, *STAGES)
MAX_START = 0.1  # the maximum of "start"; the maximum of "length" is lower by as much
LENGTH_SHARE = 0.25  # the share of a part's start that its length alone earns
INFINITE = float("inf")

TRANSITIONS = {name: split_phrases(text) for name, text in LEXICON["transitions"].items()}


@dataclass(frozen=True, slots=True)
class Band:
    """A share of 1 from ``full_from`` to ``full_to``, falling linearly to 0 at ``low`` and ``high``."""

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
class StructureThresholds:
    """The thresholds of a task. ``words``: fewest and most words of a part. ``overlap``: the Jaccard
    overlap from which the style is paid in full. ``both``: transitions count in both parts,
    otherwise only in the second."""

    words: tuple[int, int]
    ratio: Band
    vocabulary: Band
    overlap: float
    both: bool


TLDR = StructureThresholds(
    words=(8, 256),
    ratio=Band(1.1, 1.6, 3.2, 5.0),
    vocabulary=Band(1.3, 2.0),
    overlap=0.03,
    both=False,
)
ARXIV = StructureThresholds(
    words=(128, 256),
    ratio=Band(0.8, 1.3, 1.6, 2.0),
    vocabulary=Band(0.5, 0.7, 1.3, 1.7),
    overlap=0.23,
    both=True,
)
STORY = StructureThresholds(  # this project's: two passages of similar size that share a few names and things
    words=(64, 192),
    ratio=Band(0.5, 0.75, 1.35, 2.0),
    vocabulary=Band(0.5, 0.75, 1.35, 2.0),
    overlap=0.05,
    both=True,
)


@dataclass(frozen=True, slots=True)
class Structure:
    """What the stages paid (``parts``, 0 for a stage not reached), the stage that failed (None if all
    passed), and the measures: ``words`` of both parts, ``ratio``, ``vocabulary``, ``overlap`` and the
    number of ``categories``."""

    parts: Mapping[str, float]
    failed: str | None
    measured: Mapping[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Judgement:
    """``start``: see :func:`start`. ``read``: both parts could be read; otherwise only the start is
    paid."""

    structure: Structure
    grounding: Grounding
    start: float
    read: bool

    @property
    def faithful(self) -> float:
        """The factor on the stages; 0 for a part of too few or too many words."""
        return 0.0 if self.structure.failed == LENGTH else self.grounding.factor

    @property
    def success(self) -> bool:
        """All stages passed, and the pair is faithful enough."""
        return self.read and self.structure.failed is None and self.faithful >= FAITHFUL

    def worth(self, reward: str) -> Mapping[str, float]:
        """The named parts of the ``"grounded"`` or ``"structural"`` reward."""
        stages = self.structure.parts if self.read else dict.fromkeys(STAGES, 0.0)
        if reward == "structural":
            return {START: 0.0, **stages}
        paid = {name: self.faithful * value for name, value in stages.items()}
        if paid[LENGTH]:
            paid[LENGTH] -= self.faithful * MAX_START
        return {START: MAX_START * self.start, **paid}


def judge(
    first: str,
    second: str,
    source: Source,
    thresholds: StructureThresholds,
    standard: GroundingStandard,
    *,
    read: bool = True,
) -> Judgement:
    stages = measure_structure(first, second, thresholds)
    grounding = measure_grounding(first, second, source, standard)
    return Judgement(stages, grounding, start_progress(stages, grounding, thresholds), read)


def measure_structure(first: str, second: str, thresholds: StructureThresholds) -> Structure:
    """Puts both parts through the stages, with these thresholds."""
    lengths = len(first.split()), len(second.split())
    words = set(tokens(first)), set(tokens(second))
    kinds = len(transition_kinds(f"{first} {second}" if thresholds.both else second))
    measured = {
        "first_words": lengths[0],
        "second_words": lengths[1],
        "ratio": len(second) / max(1, len(first)),
        "vocabulary": len(words[1]) / max(1, len(words[0])),
        "overlap": jaccard(words[0] - STOP_WORDS, words[1] - STOP_WORDS),
        "categories": kinds,
    }
    transitions = 0.4 + 0.05 * (kinds - 1) if kinds else 0.0
    overlap = min(measured["overlap"] / thresholds.overlap, 1.0)
    shares = {
        LENGTH: 1.0
        if all(thresholds.words[0] <= n <= thresholds.words[1] for n in lengths)
        else None,
        RATIO: thresholds.ratio.share(measured["ratio"]),
        VOCABULARY: thresholds.vocabulary.share(measured["vocabulary"]),
        STYLE: (0.4 * transitions + 0.6 * overlap) / MOST[STYLE],
    }
    parts = dict.fromkeys(STAGES, 0.0)
    for stage, share in shares.items():
        if share is None:
            return Structure(parts, stage, measured)
        parts[stage] = MOST[stage] * share
    return Structure(parts, None, measured)


def transition_kinds(text: str) -> frozenset[str]:
    """The kinds of transitions in ``text``, as whole words: "some" holds no "so"."""
    line = f" {' '.join(tokens(text))} "
    return frozenset(
        name
        for name, signals in TRANSITIONS.items()
        if any(f" {phrase} " in line for phrase in signals)
    )


def jaccard(first: set[str], second: set[str]) -> float:
    """Shared words divided by all words of two sets; 0 if both are empty."""
    union = first | second
    return len(first & second) / len(union) if union else 0.0


def start_progress(
    stages: Structure, grounding: Grounding, thresholds: StructureThresholds
) -> float:
    """From 0 to 1: the mean of both parts; half of it is multiplied by how well they go together.

    A part is worth how near it comes to the words asked for, times :data:`LENGTH_SHARE` plus the rest for
    its progress. The parts go together by their ratios and by the measures of the pair.
    """
    own = sum(
        range_closeness(stages.measured[words], *thresholds.words)
        * (LENGTH_SHARE + (1 - LENGTH_SHARE) * part.progress)
        for words, part in (("first_words", grounding.first), ("second_words", grounding.second))
    )
    ratios = [
        range_closeness(stages.measured[name], band.full_from, band.full_to)
        for name, band in ((RATIO, thresholds.ratio), (VOCABULARY, thresholds.vocabulary))
    ]
    together = (sum(ratios) / 2 + grounding.progress) / 2
    return own / 2 * (1 + together) / 2


def range_closeness(value: float, low: float, high: float) -> float:
    """1 from ``low`` to ``high``, the share of ``low`` below, and that of ``high`` above."""
    return min(1.0, value / low, high / value if value else 0.0)
