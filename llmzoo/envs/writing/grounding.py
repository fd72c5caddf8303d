"""How faithful two parts are to their source: measures of words, no model.

The docstring of :mod:`llmzoo.envs.writing.tldr` says what each of them measures; its content words are
neither stop words nor frequent everywhere. Those of the topic and of the manner are measured of each
part, the others of the pair. ``thread`` is not measured for stories, which go on to new things.
``things`` is measured for stories only: the coverage of what is no name in the source, since names are
easily put into any text.

Each measure is worth 0 at one value and 1 at another (:class:`GroundingStandard`). The factor on the reward
is the geometric mean of both parts' scores times what the pair's measures are worth; a score is the
product of what a part's measures are worth. ``progress`` tells a better text from a worse one where
all of this is 0: it counts each measure from its value for the worst text (:data:`WORST`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby

from llmzoo.envs.prose import linear_ramp, ngram_coverage, ngrams
from llmzoo.envs.writing.order import order_score, preceding_kinds, rare_pair_share, usage_fit
from llmzoo.envs.writing.overlap import (
    SPAN,
    copied_share,
    repeated_share,
    shared_frame_share,
    source_locality,
    source_pair_share,
    source_stem_pair_share,
)
from llmzoo.envs.writing.words import (
    ACADEMIC_STEMS,
    FICTION_STEMS,
    LIGHT_STEMS,
    is_stop,
    names,
    numerals,
    stem,
    tokens,
)

FAITHFUL = 0.75  # the factor from which an episode is a success
MAX_WORDS = 600  # of a part; a longer one is no answer
STOP_WORD_WINDOW = (
    60  # stop words are counted in this many first words, since they recur in longer texts
)
STEM_PREFIX = (
    5  # stems that are as long match by these first letters too, as a stemmer misses some forms
)
SHORT_SOURCE_WORDS = 100  # in a source with fewer words all positions are near
COPIED_FLOOR = 0.05  # the least value of "copied": a part that is copied throughout is still true

Ends = tuple[float, float]  # the value that is worth 0, and the one that is worth 1
Measures = Mapping[str, float]

WORST: Measures = {  # from which progress is counted
    **{
        "support": 0.0,
        "stretch": 0.0,
        "coverage": 0.0,
        "copied": 1.0,
        "repeated": 1.0,
        "glue": 0.0,
    },
    **{"listed": 30.0, "order": -0.4, "thread": 0.0, "framed": 1.0, "fit": 0.0, "things": 0.0},
    **{"paired": 1.0, "pieces": 1.0, "taken": 1.0, "broken": 0.3},
}
TOPIC = ("support", "stretch", "coverage")
MANNER = ("copied", "repeated", "glue", "listed")
COMMON: Mapping[str, Ends] = {  # a summary's, and those of any text
    **{"copied": (0.8, 0.5), "repeated": (0.2, 0.06), "glue": (0.1, 0.18), "listed": (13, 10)},
    **{"framed": (0.18, 0.11), "fit": (0.37, 0.46), "paired": (0.47, 0.39)},
    **{"pieces": (0.45, 0.36), "taken": (0.97, 0.91), "broken": (0.06, 0.036)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingStandard:
    """What a task asks of a part.

    ends: the two ends of each measure; ``thread`` and ``things`` only where they are asked for.
    content: the least share of content words that a part should have.
    stranger: the weight of a name that the source lacks.
    stretch: the number of content words in a row, the least supported of which are looked at.
    light: stems that say nothing about a text.
    """

    ends: Mapping[str, Ends]
    content: float = 0.15
    stranger: int = 2
    stretch: int = 12
    light: frozenset[str] = LIGHT_STEMS


TLDR = GroundingStandard(
    ends={
        **COMMON,
        **{"support": (0.28, 0.46), "stretch": (0.2, 0.33), "coverage": (0.14, 0.26)},
        **{"order": (0.1, 0.2), "thread": (1.0, 1.8)},
    }
)
ARXIV = GroundingStandard(
    ends={
        **COMMON,
        **{"support": (0.2, 0.36), "stretch": (0.08, 0.16), "coverage": (0.25, 0.48)},
        **{"order": (0.15, 0.28)},
        **{"thread": (2.0, 3.5), "paired": (0.4, 0.31), "taken": (0.9, 0.82)},
    },
    light=ACADEMIC_STEMS,
)
STORY = GroundingStandard(  # a story goes on to new things and people
    ends={
        **COMMON,
        **{"support": (0.14, 0.2), "stretch": (0.03, 0.08), "coverage": (0.15, 0.21)},
        **{"order": (0.37, 0.47)},
        **{"fit": (0.3, 0.4), "things": (0.21, 0.27), "paired": (0.25, 0.15)},
        **{"pieces": (0.35, 0.2), "taken": (0.65, 0.5)},
    },
    stranger=1,
    stretch=20,
    light=FICTION_STEMS,
)


@dataclass(frozen=True, slots=True)
class Source:
    """A source text, measured once: its words, the positions of their stems and of the first letters
    of long stems, its names, the weight of each content stem, the kinds of words before each stem, and
    the runs of :data:`~llmzoo.envs.writing.overlap.SPAN` words of the instructions."""

    words: tuple[str, ...]
    positions: Mapping[str, Sequence[int]]
    names: frozenset[str]
    weights: Mapping[str, float]
    uses: Mapping[str, Set[str]]
    instructions: Set[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class GroundedPart:
    """The measures of a part, its ``score``, and its ``progress`` from 0 to 1: that of its topic times
    that of its manner, each a mean. ``unsupported``: content words that the source lacks, in order."""

    measured: Measures
    score: float
    progress: float
    unsupported: tuple[str, ...]


UNREAD = GroundedPart(dict.fromkeys((*TOPIC, *MANNER), 0.0), 0.0, 0.0, ())


@dataclass(frozen=True, slots=True)
class Grounding:
    """Both parts, the measures of the pair (empty if a part was not read), their mean progress, and
    the factor on the reward, both from 0 to 1."""

    first: GroundedPart
    second: GroundedPart
    measured: Measures
    progress: float
    factor: float


def measure_source(
    title: str, text: str, standard: GroundingStandard, instructions: str = ""
) -> Source:
    """Measures a source text. A copy of the ``instructions`` counts like a copy of the source."""
    words = tuple(tokens(f"{title}\n{text}"))
    meant = numerals(list(words))
    positions = defaultdict[str, list[int]](list)
    for position, s in enumerate(map(stem, meant)):
        for known in {s, s[:STEM_PREFIX]} if len(s) >= STEM_PREFIX else {s}:
            positions[known].append(position)
    counts = Counter(map(stem, _content_words(meant, standard)))
    named = names(text)
    heavy = {stem(word) for word in [*tokens(title), *named]}
    weights = {s: (1 + math.log(n)) * (1.5 if s in heavy else 1) for s, n in counts.items()}
    told = frozenset(ngrams(tokens(instructions), SPAN))
    return Source(
        words, dict(positions), named, weights, preceding_kinds(f"{title}.\n{text}"), told
    )


def measure_grounding(
    first: str, second: str, source: Source, standard: GroundingStandard
) -> Grounding:
    """Measures both parts and the pair."""
    one, two = (_measure_part(text, source, standard) for text in (first, second))
    if UNREAD in (one, two):
        return Grounding(one, two, {}, 0.0, 0.0)
    measured, ends = _measure_pair((first, second), source, standard)
    factor = math.sqrt(one.score * two.score)
    factor *= math.prod(linear_ramp(value, *ends[name]) for name, value in measured.items())
    return Grounding(one, two, measured, _progress(measured, ends), factor)


def _measure_part(text: str, source: Source, standard: GroundingStandard) -> GroundedPart:
    words = tokens(text)
    if len(words) > MAX_WORDS:
        return UNREAD
    content = _content_words(numerals(words), standard)
    supported = [_is_supported(stem(word), source) for word in content]
    unsupported = [word for word, known in zip(content, supported, strict=True) if not known]
    weigh = dict.fromkeys(names(text), standard.stranger) | dict.fromkeys(source.names, 2)
    weight, missing = _name_weight(content, weigh), _name_weight(unsupported, weigh)
    beginning = words[:STOP_WORD_WINDOW]
    listed = (len([*run]) for stops, run in groupby(words, is_stop) if not stops)
    measured: Measures = {
        "support": (weight - missing) / max(weight, standard.content * len(words), 1.0),
        "stretch": _weakest_window(supported, standard.stretch),
        "coverage": _coverage(map(stem, content), len(words), source.weights),
        "copied": min(
            1.0,
            copied_share(words, source.words) + ngram_coverage(words, source.instructions, SPAN),
        ),
        "repeated": repeated_share(words),
        "glue": len({word for word in beginning if is_stop(word)}) / max(1, len(beginning)),
        "listed": max(listed, default=0),
    }
    worth = {name: linear_ramp(value, *standard.ends[name]) for name, value in measured.items()}
    worth["copied"] = max(COPIED_FLOOR, worth["copied"])
    topic, manner = (
        _progress({name: measured[name] for name in group}, standard.ends)
        for group in (TOPIC, MANNER)
    )
    return GroundedPart(
        measured, math.prod(worth.values()), topic * manner, tuple(dict.fromkeys(unsupported))
    )


def _measure_pair(
    texts: tuple[str, str], source: Source, standard: GroundingStandard
) -> tuple[Measures, Mapping[str, Ends]]:
    """The measures of the pair, and their ends for this source."""
    words = [tokens(text) for text in texts]
    both = [*words[0], *words[1]]
    content, known = _content_words(both, standard), set(source.words)
    ends = dict(standard.ends)
    measured = {
        "broken": rare_pair_share(*texts),
        "order": order_score(*texts),
        "framed": shared_frame_share(words),
        "fit": usage_fit(texts, source.uses),
        "paired": source_pair_share(words, source.words),
        "pieces": source_stem_pair_share(words, source.words),
        "taken": sum(word in known for word in content) / max(1, len(content)),
    }
    if "thread" in ends:
        stems = [_match_source_stems(own, source, standard) for own in words]
        measured["thread"] = source_locality(stems, source.positions)
        nothing, full = ends["thread"]
        asked = min(1.0, len(source.words) / SHORT_SOURCE_WORDS)
        ends["thread"] = asked * nothing, asked * full
    if "things" in ends:
        both = numerals(both)
        named = set(map(stem, source.names))
        things = {s: weight for s, weight in source.weights.items() if s not in named}
        measured["things"] = _coverage(map(stem, both), len(both), things)
    return measured, ends


def _content_words(words: Iterable[str], standard: GroundingStandard) -> list[str]:
    """The numbers, and the words that are neither stop words nor light."""
    return [
        word
        for word in words
        if word[0].isdigit()
        or (len(word) > 1 and not is_stop(word) and stem(word) not in standard.light)
    ]


def _match_source_stems(
    words: Sequence[str], source: Source, standard: GroundingStandard
) -> list[str]:
    """The stems of a part's content words as the source has them, in order."""
    stems = map(stem, _content_words(numerals([*words]), standard))
    return [
        s if s in source.positions else s[:STEM_PREFIX] for s in stems if _is_supported(s, source)
    ]


def _is_supported(s: str, source: Source) -> bool:
    return s in source.positions or (len(s) >= STEM_PREFIX and s[:STEM_PREFIX] in source.positions)


def _name_weight(words: list[str], named: Mapping[str, int]) -> int:
    return sum(2 if w[0].isdigit() else named.get(w.removesuffix("'s"), 1) for w in words)


def _weakest_window(supported: Sequence[bool], length: int) -> float:
    """The least share of supported words among so many in a row: of all, in a shorter text."""
    length = min(length, len(supported))
    windows = [supported[i : i + length] for i in range(len(supported) - length + 1)]
    return min(sum(window) for window in windows) / length if length else 0.0


def _coverage(stems: Iterable[str], length: int, weights: Mapping[str, float]) -> float:
    """The weight of the stems taken up, divided by that of the heaviest stems, one for every five
    words."""
    used = set(stems)
    weight = sum(weight for s, weight in weights.items() if s in used)
    most = sorted(weights.values(), reverse=True)[: max(3, round(0.2 * length))]
    return weight / sum(most) if most else 0.0


def _progress(measured: Measures, ends: Mapping[str, Ends]) -> float:
    """The mean progress of measures from the worst text to what is worth 1, from 0 to 1."""
    shares = [linear_ramp(value, WORST[name], ends[name][1]) for name, value in measured.items()]
    return sum(shares) / len(shares)
