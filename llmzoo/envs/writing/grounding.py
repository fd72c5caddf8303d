"""How faithful two parts are to their source: measures of words, no model.

Of each part is asked, from 0 to 1:

* ``support``: which share of its telling words (no stop words, none that are frequent everywhere)
  the source has too, by stem or by a common synonym. Names and numbers count double.
* ``coverage``: how much of the source's telling words it takes up, by the most that a text of its
  length can be expected to; names, and words that are repeated or stand in the title, weigh more.
* ``copied``: which share of it is copied from the source, exactly or with words changed.
* ``repeated``: which share of it repeats itself.
* ``glue``: how many different stop words its beginning has, by its words: a list of
  keywords has few, however it is strung together.
* ``listed``: how many words follow upon one another without a stop word.

and of the pair

* ``order``, which tells sentences from shuffled words (:mod:`llmzoo.envs.writing.order`).
* ``thread``, which tells a retelling from other sentences with the source's words put in
  (:mod:`llmzoo.envs.writing.thread`).
* ``framed``: which share of it is sentences used again with other words put in.
* ``fit``: which share of the source's words stands where the source has them
  (:mod:`llmzoo.envs.writing.fit`): keywords in sentences made before do not.
* ``things``: its coverage of what is no name in the source: names are soon put into any text.
* ``paired``: which share of its neighbouring words are neighbours in the source: pieces of the source
  in another order keep most of them.
* ``pieces``: the same of its telling words, whatever stop words stand between them.
* ``taken``: which share of its telling words stands in the source just so. A retelling has words of
  its own; whatever is put together from the source alone has none.
* ``broken``: which share of its neighbours next to never stand so in running text.

Each measure is worth 0 at one value and 1 at another (:class:`Standard`); the factor on the reward
is the geometric mean over the parts of the products, times what the pair's measures are worth.
Below the value that is worth 0, ``progress`` still tells a better text from a worse one: it counts
each measure from the value of the worst text (:data:`WORST`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby

from llmzoo.envs.writing.copying import copied, framed, paired, pieces, repeated
from llmzoo.envs.writing.fit import fit, uses
from llmzoo.envs.writing.order import broken, order
from llmzoo.envs.writing.thread import thread
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
MAX_WORDS = 600  # of a part; more are no answer (the stages count what stands between spaces)
GLUED = 60  # words in which stop words are counted: in a longer text they come back
ALIKE = 5  # letters in which longer stems agree that count as one: a stemmer leaves some apart
SHORT = 100  # words of a source; in a shorter one all places are near
EXTRACT = 0.05  # what is left of a part that is copied all through: it is true

Ends = tuple[float, float]  # the value that is worth 0, and the one that is worth 1

WORST = {  # the value of each measure from which progress is counted
    "support": 0.0,
    "coverage": 0.0,
    "copied": 1.0,
    "repeated": 1.0,
    "glue": 0.0,
    "listed": 30.0,
    "order": -0.4,
    "thread": 0.0,
    "framed": 1.0,
    "fit": 0.0,
    "things": 0.0,
    "paired": 1.0,
    "pieces": 1.0,
    "taken": 1.0,
    "broken": 0.3,
}
TOPIC = ("support", "coverage")
MANNER = ("copied", "repeated", "glue", "listed")
PAIR = ("order", "thread", "framed", "fit", "things", "paired", "pieces", "taken", "broken")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standard:
    """What a task asks of a part. ``telling``: telling words by words that a part should have at
    least. ``stranger``: what a name weighs that the source lacks. ``light``: stems that tell
    nothing. ``thread``: None where parts go on to new things. ``things``: None where names alone
    support nothing."""

    support: Ends
    coverage: Ends
    copied: Ends = (0.8, 0.5)
    repeated: Ends = (0.2, 0.06)
    glue: Ends = (0.1, 0.18)
    listed: Ends = (13, 10)
    order: Ends = (0.08, 0.16)
    thread: Ends | None = None
    framed: Ends = (0.18, 0.11)
    fit: Ends = (0.37, 0.46)
    paired: Ends = (0.47, 0.39)
    pieces: Ends = (0.45, 0.36)
    taken: Ends = (0.97, 0.91)
    broken: Ends = (0.06, 0.036)
    things: Ends | None = None
    telling: float = 0.15
    stranger: int = 2
    light: frozenset[str] = LIGHT_STEMS


TLDR = Standard(support=(0.28, 0.46), coverage=(0.14, 0.26), order=(0.1, 0.2), thread=(1.0, 1.8))
ARXIV = Standard(
    support=(0.2, 0.36),
    coverage=(0.25, 0.48),
    order=(0.15, 0.28),
    thread=(2.0, 3.5),
    paired=(0.4, 0.31),
    taken=(0.9, 0.82),
    light=ACADEMIC_STEMS,
)
# a story goes on to new things and people
STORY = Standard(
    support=(0.14, 0.2),
    coverage=(0.15, 0.21),
    order=(0.37, 0.47),
    fit=(0.3, 0.4),
    things=(0.21, 0.27),
    paired=(0.25, 0.15),
    pieces=(0.35, 0.2),
    taken=(0.65, 0.5),
    stranger=1,
    light=FICTION_STEMS,
)


@dataclass(frozen=True, slots=True)
class Source:
    """A source text, measured once: its words, the places of their stems and of the first letters
    of long stems, the names in it, what each telling stem weighs, and what stands before each stem."""

    words: tuple[str, ...]
    places: Mapping[str, Sequence[int]]
    names: frozenset[str]
    weights: Mapping[str, float]
    uses: Mapping[str, Set[str]]


def read_source(title: str, text: str, standard: Standard) -> Source:
    words = tuple(tokens(f"{title}\n{text}"))
    meant = numerals(list(words))
    places = defaultdict[str, list[int]](list)
    for place, s in enumerate(map(stem, meant)):
        for known in {s, s[:ALIKE]} if len(s) >= ALIKE else {s}:
            places[known].append(place)
    counts = Counter(stem(word) for word in meant if _tells(word, standard))
    named = names(text)
    telling_most = {stem(word) for word in [*tokens(title), *named]}
    weights = {s: (1 + math.log(n)) * (1.5 if s in telling_most else 1) for s, n in counts.items()}
    return Source(words, dict(places), named, weights, uses(f"{title}.\n{text}"))


@dataclass(frozen=True, slots=True)
class Part:
    """What was measured of a part, its ``score``, the product of what the measures are worth, and
    its ``progress`` from 0 to 1: that of its topic times that of its manner, each a mean.

    ``unsupported``: telling words that the source lacks, in the order of the part."""

    support: float
    coverage: float
    copied: float
    repeated: float
    glue: float
    listed: float
    score: float
    progress: float
    unsupported: tuple[str, ...]


UNREAD = Part(0.0, 0.0, 0.0, 0.0, 0.0, 0, 0.0, 0.0, ())


@dataclass(frozen=True, slots=True)
class Grounding:
    """Both parts, what was measured of the pair (0 where it was not asked for), the mean progress of
    these measures, and the factor on the reward, both from 0 to 1."""

    first: Part
    second: Part
    order: float
    thread: float
    framed: float
    fit: float
    things: float
    paired: float
    pieces: float
    taken: float
    broken: float
    progress: float
    factor: float


def ground(first: str, second: str, source: Source, standard: Standard) -> Grounding:
    parts = _part(first, source, standard), _part(second, source, standard)
    if UNREAD in parts:
        return Grounding(*parts, *[0.0] * 11)
    words = tokens(first), tokens(second)
    pair = {
        "broken": broken(first, second),
        "order": order(first, second),
        "framed": framed(words),
        "fit": fit((first, second), source.uses),
        "paired": paired(words, source.words),
        "pieces": pieces(words, source.words),
        "taken": _taken([*words[0], *words[1]], source, standard),
    }
    ends = {name: getattr(standard, name) for name in pair}
    if standard.thread is not None:
        pair["thread"] = thread([_placed(own, source, standard) for own in words], source.places)
        asked = min(1.0, len(source.words) / SHORT)
        nothing, full = standard.thread
        ends["thread"] = asked * nothing, asked * full
    if standard.things is not None:
        both = numerals([*words[0], *words[1]])
        named = set(map(stem, source.names))
        things = {s: weight for s, weight in source.weights.items() if s not in named}
        pair["things"] = _coverage(set(map(stem, both)), len(both), things)
        ends["things"] = standard.things
    factor = math.sqrt(parts[0].score * parts[1].score)
    first_part, second_part = parts
    return Grounding(
        first_part,
        second_part,
        **{name: pair.get(name, 0.0) for name in PAIR},
        progress=_progress(pair, ends),
        factor=factor * math.prod(_worth(value, ends[name]) for name, value in pair.items()),
    )


def _placed(words: Sequence[str], source: Source, standard: Standard) -> list[str]:
    """The stems of a part's telling words as the source has them, in order."""
    stems = (stem(word) for word in numerals([*words]) if _tells(word, standard))
    found = (s if s in source.places else s[:ALIKE] for s in stems if _supported(s, source))
    return list(found)


def _part(text: str, source: Source, standard: Standard) -> Part:
    words = tokens(text)
    if len(words) > MAX_WORDS:
        return UNREAD
    telling = [word for word in numerals(words) if _tells(word, standard)]
    unsupported = [word for word in telling if not _supported(stem(word), source)]
    least = standard.telling * len(words)
    weigh = dict.fromkeys(names(text), standard.stranger) | dict.fromkeys(source.names, 2)
    there, missing = _weight(telling, weigh), _weight(unsupported, weigh)
    support = (there - missing) / max(there, least, 1.0)
    coverage = _coverage({stem(word) for word in telling}, len(words), source.weights)
    copying, repetition = copied(words, source.words), repeated(words)
    beginning = words[:GLUED]
    glue = len({word for word in beginning if is_stop(word)}) / max(1, len(beginning))
    listed = max((len([*run]) for stops, run in groupby(words, is_stop) if not stops), default=0)
    measured = {
        "support": support,
        "coverage": coverage,
        "copied": copying,
        "repeated": repetition,
        "glue": glue,
        "listed": listed,
    }
    ends = {name: getattr(standard, name) for name in measured}
    worth = {name: _worth(value, ends[name]) for name, value in measured.items()}
    worth["copied"] = max(EXTRACT, worth["copied"])
    topic, manner = (
        _progress({name: measured[name] for name in names}, ends) for names in (TOPIC, MANNER)
    )
    return Part(
        **measured,
        score=math.prod(worth.values()),
        progress=topic * manner,
        unsupported=tuple(dict.fromkeys(unsupported)),
    )


def _taken(words: Sequence[str], source: Source, standard: Standard) -> float:
    """The share of telling words that stand in the source just so: a retelling has words of its own."""
    telling = [word for word in words if _tells(word, standard)]
    known = set(source.words)
    return sum(word in known for word in telling) / max(1, len(telling))


def _tells(word: str, standard: Standard) -> bool:
    if word[0].isdigit():
        return True
    return len(word) > 1 and not is_stop(word) and stem(word) not in standard.light


def _supported(s: str, source: Source) -> bool:
    return s in source.places or (len(s) >= ALIKE and s[:ALIKE] in source.places)


def _weight(words: list[str], named: Mapping[str, int]) -> int:
    return sum(2 if w[0].isdigit() else named.get(w.removesuffix("'s"), 1) for w in words)


def _coverage(stems: set[str], length: int, weights: Mapping[str, float]) -> float:
    """The weight of the stems taken up, by that of as many of the heaviest as a fifth of the words."""
    taken = sum(weight for s, weight in weights.items() if s in stems)
    most = sorted(weights.values(), reverse=True)[: max(3, round(0.2 * length))]
    return taken / sum(most) if most else 0.0


def _worth(value: float, ends: Ends) -> float:
    """0 at the first end, 1 at the second, linear between."""
    nothing, full = ends
    return min(1.0, max(0.0, (value - nothing) / (full - nothing)))


def _progress(measured: Mapping[str, float], ends: Mapping[str, Ends]) -> float:
    """How far measures have come from the worst text to what is worth 1, from 0 to 1: the mean."""
    far = [_worth(value, (WORST[name], ends[name][1])) for name, value in measured.items()]
    return sum(far) / len(far)
