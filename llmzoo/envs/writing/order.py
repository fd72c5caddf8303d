"""Whether words stand in the order of English sentences, by pairs of word classes; no model.

Every word has a class: function words and frequent verbs have small classes of their own, the rest
is classed by its ending. ``order.json`` holds ``log P(b | a) / P(b)`` for each pair of classes, as
``scripts/order_table.py`` learned it from the project's own texts. Its mean over a text is positive
for running text (their order tells something of the next class) and negative for the same words
shuffled.

:func:`usage_fit` compares classes with the source instead. Keywords put into ready-made sentences follow
other kinds of words than in the source: verbs follow "the", nouns follow "they".
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from llmzoo.envs.writing.words import LEXICON, is_stop, stem

RARE_PAIR_VALUE = -1.6  # the table's value for neighbours that hardly ever occur
TABLE = Path(__file__).parent / "order.json"

_PIECE = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[.!?;,:]")
_CLASS = {word: name for name, words in LEXICON["classes"].items() for word in words.split()}
_ENDINGS = (  # of words of at least so many letters
    ("ing", ("ing",), 6),
    ("ed", ("ed",), 5),
    ("ly", ("ly",), 5),
    ("noun", ("tion", "sion", "ment", "ness", "ity", "ance", "ence", "ship", "ism", "logy"), 6),
    ("adjective", ("ous", "ful", "able", "ible", "ive", "less", "ary", "al", "ic", "ish"), 5),
)
_SHORT_FORMS = {"re": "is", "m": "is", "ve": "have", "d": "modal", "ll": "modal"}
OTHER = "other"
NAMES = (
    *LEXICON["classes"],
    *(name for name, *_ in _ENDINGS),
    "number",
    "plural",
    "genitive",
    OTHER,
)

_BEFORE = {  # classes after which the same kinds of words can follow; any other is "content"
    "article": "article possessive demonstrative his all",
    "to": "to",
    "person": "subject you modal do not who",
    "is": "is be been have",
    "preposition": "of preposition in for as about",
    "break": "end pause and but because so also",
}
_KIND = {name: kind for kind, names in _BEFORE.items() for name in names.split()}


def classes(text: str) -> list[str]:
    """The class of each word and mark, between two ends of sentences."""
    named = ["end"]
    for piece in _pieces(text):
        word, _, short = piece.partition("'")
        if short == "t":  # don't, isn't
            word = {"can": "can", "won": "will"}.get(word, word.removesuffix("n"))
        named.append(class_of(word))
        if short == "t":
            named.append("not")
        elif short == "s":
            named.append("is" if word in _CLASS else "genitive")
        elif short:
            named.append(_SHORT_FORMS.get(short, OTHER))
    return named if named[-1] == "end" else [*named, "end"]


def order_score(*texts: str) -> float:
    """The mean value of all neighbours; about 0.4 in running text, -0.4 when shuffled."""
    values = _values(texts)
    return sum(values) / max(1, len(values))


def rare_pair_share(*texts: str) -> float:
    """The share of neighbours that hardly ever occur in running text: ``the of``, ``to is``."""
    values = _values(texts)
    return sum(value <= RARE_PAIR_VALUE for value in values) / max(1, len(values))


def class_of(word: str) -> str:
    """The class of a word or mark in small letters."""
    if word in _CLASS:
        return _CLASS[word]
    if word[0].isdigit():
        return "number"
    for name, endings, least in _ENDINGS:
        if len(word) >= least and word.endswith(endings):
            return name
    return "plural" if word.endswith("s") and not word.endswith(("ss", "us", "is")) else OTHER


def preceding_kinds(text: str) -> Mapping[str, Set[str]]:
    """The kinds of words that precede each stem in the text. Stop words are left out."""
    kinds = defaultdict[str, set[str]](set)
    for kind, word in _stems_with_kinds(text):
        kinds[word].add(kind)
    return dict(kinds)


def usage_fit(texts: tuple[str, ...], known: Mapping[str, Set[str]]) -> float:
    """The share of the source's words in the texts that follow the same kind of word as in the source;
    0 without such words. ``known``: the :func:`preceding_kinds` of the source."""
    fits = [
        kind in known[word]
        for text in texts
        for kind, word in _stems_with_kinds(text)
        if word in known
    ]
    return sum(fits) / max(1, len(fits))


def _stems_with_kinds(text: str) -> Iterator[tuple[str, str]]:
    for before, word in pairwise([".", *_pieces(text)]):
        if word[0].isalpha() and not is_stop(word):
            yield _KIND.get(class_of(before.partition("'")[0]), "content"), stem(word)


def _pieces(text: str) -> list[str]:
    return _PIECE.findall(text.lower().replace("’", "'"))


def _values(texts: tuple[str, ...]) -> list[float]:
    table = _table()
    return [table[pair] for text in texts for pair in pairwise(classes(text))]


@lru_cache(maxsize=1)
def _table() -> Mapping[tuple[str, str], float]:
    rows = json.loads(TABLE.read_text(encoding="utf-8"))
    return {
        (a, b): value / 100 for a, row in rows.items() for b, value in zip(NAMES, row, strict=True)
    }
