"""A text as the judge reads it: plain letters, words, stems, figures, sentences and clauses."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache

from llmzoo.envs.debate.judge.vocabulary import COUNTED, ENDINGS, FUNCTION, OF_DEBATES, TENS, UNITS

_WORD = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?|[^\W_]+(?:'[^\W_]+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_MARKUP = re.compile(r"\*+|^[#>]+ *|`+", re.MULTILINE)  # "**Opening.** We ..."
_CLAUSE_END = re.compile(
    r"[;:]|\s--?\s|,?\s(?:but|yet|however|whereas|because|since)\s|,\s(?:while|although|though)\s",
)
_CONCEDES = re.compile(
    r"\W*(?:although|though|even (?:if|though)|while|granted|admittedly|true),?\s"
)
SMALL = 10  # figures up to this are part of ordinary speech ("two reasons", "1.")


@dataclass(frozen=True)
class Sentence:
    """``text`` as written but for odd characters; ``words`` in small letters, with figures. What is
    found in it is found once: a judge looks at a sentence many times."""

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
        found: list[Clause] = []
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
                found += [_clause(conceded, conceded=True), _clause(rest)]
            else:
                found.append(_clause(part, goes_on=opening.startswith((":", "because", "since"))))
        return tuple(clause for clause in found if clause.words)


@dataclass(frozen=True)
class Clause:
    """``conceded``: said only to be outweighed by what follows ("although ..."). ``goes_on``: what
    went before still speaks ("they say: ...", "they say so because ...")."""

    text: str
    words: tuple[str, ...]
    conceded: bool
    goes_on: bool

    @cached_property
    def stems(self) -> frozenset[str]:
        return stems(self.words)


def _clause(text: str, *, conceded: bool = False, goes_on: bool = False) -> Clause:
    return Clause(text, words(text), conceded, goes_on)


def plain(text: str) -> str:
    """``text`` without accents, zero-width and other format characters and the signs of Markdown,
    and with straight quotes."""
    decomposed = unicodedata.normalize("NFKD", text)
    kept = "".join(c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf"))
    return (
        _MARKUP.sub("", kept)
        .replace("\u2019", "'")
        .replace("\u2018", "'")
        .replace("\u201c", '"')
        .replace("\u201d", '"')
    )


def words(text: str) -> tuple[str, ...]:
    """The words and figures of plain text in small letters; of "1,200" remains "1200"."""
    found = _WORD.findall(text.lower())
    return tuple(word.replace(",", "") if word[0] in "0123456789" else word for word in found)


@lru_cache(maxsize=4_096)
def sentences(text: str) -> tuple[Sentence, ...]:
    parts = (part.strip() for part in _SENTENCE_END.split(plain(text)))
    return tuple(Sentence(part, found) for part in parts if (found := words(part)))


def content(of: tuple[str, ...]) -> list[str]:
    """Stems of the words that speak of a subject, in order."""
    return [
        stem(word)
        for word in of
        if len(word) > 2
        and word[0] not in "0123456789"
        and word not in FUNCTION
        and word not in OF_DEBATES
        and word not in UNITS
    ]


def stems(of: tuple[str, ...]) -> frozenset[str]:
    return frozenset(content(of))


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A word without its ending, at most six letters: "uniforms" and "uniformity" are one."""
    word = word.partition("'")[0]
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    return word[:6]


def figures(of: tuple[str, ...]) -> frozenset[str]:
    """The figures in a run of words, those from two to ninety-nine spelled out too."""
    found = {word for word in of if word[0] in "0123456789"}
    for place, word in enumerate(of):
        if word in TENS:
            following = UNITS.get(of[place + 1], 0) if place + 1 < len(of) else 0
            found.add(str(TENS[word] + (following if following < 10 else 0)))
        elif place and of[place - 1] in TENS:
            continue  # told with the tens before it
        elif UNITS.get(word, 0) > 1:  # "one" seldom counts anything
            found.add(str(UNITS[word]))
    return frozenset(found)


def quoted(of: tuple[str, ...]) -> frozenset[str]:
    """The figures that claim to have been counted: above ten, in digits, or spelled out before
    "percent", "of" or a power of ten."""
    found = {word for word in of if word[0] in "0123456789" and not _small(word)}
    for place, word in enumerate(of[:-1]):
        if (word in TENS or word in UNITS) and of[place + 1] in COUNTED:
            found |= set(figures(of[max(0, place - 1) : place + 1]))
    return frozenset(found)


def _small(figure: str) -> bool:
    return len(figure) <= 2 and int(figure) <= SMALL


def ramp(value: float, none: float, full: float) -> float:
    """0 at ``none`` and beyond, 1 at ``full`` and beyond, a line between; either may be larger."""
    return min(1.0, max(0.0, (value - none) / (full - none)))
