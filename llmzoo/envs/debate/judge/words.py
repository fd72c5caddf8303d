"""A text as the judge reads it: plain letters, words, stems, figures, sentences and clauses."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from llmzoo.envs.prose import TENS, UNITS, load_word_lists, split_phrases

_LISTS = load_word_lists(Path(__file__).parent / "vocabulary.ini")
VOCABULARY = {
    name: frozenset(words.split())
    for section in ("words", "order")
    for name, words in _LISTS[section].items()
}
MARKERS = {name: split_phrases(text) for name, text in _LISTS["markers"].items()}
FUNCTION = VOCABULARY["function"]
MAX_SMALL_FIGURE = 10  # figures up to this are part of ordinary speech ("two reasons", "1.")
_ENDINGS = [
    "ations", "ation", "ings", "ing", "ments", "ment", "ness", "edly", "ed", "ers", "er", "ies",
    "es", "s", "ly", "e",
]  # fmt: skip
_DIGITS = tuple("0123456789")
_WORD = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?|[^\W_]+(?:'[^\W_]+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_MARKUP = re.compile(r"\*+|^[#>]+ *|`+", re.MULTILINE)  # "**Opening.** We ..."
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
_CLAUSE_END = re.compile(
    r"[;:]|\s--?\s|,?\s(?:but|yet|however|whereas|because|since)\s|,\s(?:while|although|though)\s",
)
_CONCEDES = re.compile(
    r"\W*(?:although|though|even (?:if|though)|while|granted|admittedly|true),?\s"
)


@dataclass(frozen=True)
class Sentence:
    """``text``: as written, but in plain letters. ``words``: in small letters, with figures. Its
    parts are cached, since a judge reads a sentence many times."""

    text: str
    words: tuple[str, ...]

    @cached_property
    def stems(self) -> frozenset[str]:
        return stems(self.words)

    @cached_property
    def figures(self) -> frozenset[str]:
        return figures(self.words)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """Its parts between contrasts and reasons. A conceding part ends at its comma."""
        clauses: list[Clause] = []
        start = 0
        text = self.text.lower()
        # the word that opens a part stays with it: it says what the part does
        for end in [match.start() for match in _CLAUSE_END.finditer(text)] + [len(text)]:
            opening = text[start:end].lstrip(" ,;-")
            part = opening.strip(" ,;:-")
            start = end
            opener = _CONCEDES.match(part)
            if opener is not None:
                conceded, _, rest = part[opener.end() :].partition(", ")
                clauses += [_clause(conceded, conceded=True), _clause(rest)]
            else:
                goes_on = opening.startswith((":", "because", "since"))
                clauses.append(_clause(part, goes_on=goes_on))
        return tuple(clause for clause in clauses if clause.words)


@dataclass(frozen=True)
class Clause:
    """``conceded``: the next clause outweighs it ("although ..."). ``goes_on``: it continues the
    clause before ("they say: ...", "they say so because ...")."""

    text: str
    words: tuple[str, ...]
    conceded: bool
    goes_on: bool

    @cached_property
    def stems(self) -> frozenset[str]:
        return stems(self.words)


Text = tuple[Sentence, ...]


def _clause(text: str, *, conceded: bool = False, goes_on: bool = False) -> Clause:
    return Clause(text, words(text), conceded, goes_on)


def normalize(text: str) -> str:
    """``text`` with straight quotes, without accents, Markdown, zero-width and format characters."""
    decomposed = unicodedata.normalize("NFKD", text)
    kept = "".join(c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf"))
    return _MARKUP.sub("", kept).translate(_QUOTES)


def words(text: str) -> tuple[str, ...]:
    """The words and figures of plain text in small letters; "1,200" becomes "1200"."""
    every = _WORD.findall(text.lower())
    return tuple(word.replace(",", "") if word.startswith(_DIGITS) else word for word in every)


@lru_cache(maxsize=4_096)
def sentences(text: str) -> Text:
    parts = (part.strip() for part in _SENTENCE_END.split(normalize(text)))
    return tuple(Sentence(part, own) for part in parts if (own := words(part)))


def content_stems(tokens: tuple[str, ...]) -> list[str]:
    """Stems of the words that tell the subject, in order."""
    return [
        stem(word)
        for word in tokens
        if len(word) > 2
        and not word.startswith(_DIGITS)
        and word not in FUNCTION
        and word not in VOCABULARY["debate"]
        and word not in UNITS
    ]


def stems(tokens: tuple[str, ...]) -> frozenset[str]:
    return frozenset(content_stems(tokens))


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A word without its ending, at most six letters: "uniforms" and "uniformity" are one."""
    word = word.partition("'")[0]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    return word[:6]


def figures(tokens: tuple[str, ...]) -> frozenset[str]:
    """The figures in a run of words, including those from two to ninety-nine that are spelled out."""
    numbers = {word for word in tokens if word.startswith(_DIGITS)}
    for before, word, after in zip(("", *tokens), tokens, (*tokens[1:], ""), strict=False):
        if word in TENS:
            unit = UNITS.get(after, 0)
            numbers.add(str(TENS[word] + (unit if unit < 10 else 0)))
        elif before not in TENS and UNITS.get(word, 0) > 1:  # "one" seldom counts anything
            numbers.add(str(UNITS[word]))
    return frozenset(numbers)


def claimed_figures(tokens: tuple[str, ...]) -> frozenset[str]:
    """The figures that claim to have been counted: above ten in digits, or spelled out before
    "percent", "of" or a power of ten."""
    numbers = {word for word in tokens if word.startswith(_DIGITS) and not _is_small(word)}
    for i, word in enumerate(tokens[:-1]):
        if (word in TENS or word in UNITS) and tokens[i + 1] in VOCABULARY["counted"]:
            numbers |= figures(tokens[max(0, i - 1) : i + 1])
    return frozenset(numbers)


def _is_small(figure: str) -> bool:
    return len(figure) <= 2 and int(figure) <= MAX_SMALL_FIGURE
