"""Whether words stand where their source has them: after an article, after "to", after a person.

Who puts keywords into sentences made before puts verbs after "the" and nouns after "they". No model:
what a word can be goes by what stands before it in the source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from itertools import pairwise

from llmzoo.envs.writing.order import PIECE, class_of
from llmzoo.envs.writing.words import is_stop, stem

_BEFORE = {  # classes of the table of order that ask for the same; any other is "telling"
    "article": "article possessive demonstrative his all",
    "to": "to",
    "person": "subject you modal do not who",
    "is": "is be been have",
    "preposition": "of preposition in for as about",
    "break": "end pause and but because so also",
}
_PLACE = {name: place for place, names in _BEFORE.items() for name in names.split()}


def uses(text: str) -> Mapping[str, Set[str]]:
    """What stands before each stem that is no stop word's: the kinds of words."""
    found = defaultdict[str, set[str]](set)
    for place, word in _used(text):
        found[word].add(place)
    return dict(found)


def fit(texts: tuple[str, ...], known: Mapping[str, Set[str]]) -> float:
    """The share of the source's words in the texts that stand after a kind of word that they stand
    after in the source, whose :func:`uses` are ``known``; 0 where no word is the source's."""
    fits = [place in known[word] for text in texts for place, word in _used(text) if word in known]
    return sum(fits) / max(1, len(fits))


def _used(text: str) -> Iterator[tuple[str, str]]:
    pieces = PIECE.findall(text.lower().replace("’", "'"))
    for before, word in pairwise([".", *pieces]):
        if word[0].isalpha() and not is_stop(word):
            yield _PLACE.get(class_of(before.partition("'")[0]), "telling"), stem(word)
