"""What the judges of English prose share: word lists, runs of words, spelled-out numbers, ramps.

Each family cuts words and stems in its own way, since its thresholds were set with that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from configparser import ConfigParser
from pathlib import Path

NGram = tuple[str, ...]  # words in a row

UNITS = {
    name: value
    for value, name in enumerate(
        [
            "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
            "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
            "eighteen", "nineteen",
        ]
    )
}  # fmt: skip
TENS = {
    name: 10 * value
    for value, name in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}


def load_word_lists(path: Path) -> Mapping[str, Mapping[str, str]]:
    """The lists of an ``.ini`` file, by section and name; a list may run over several lines."""
    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.read_string(path.read_text(encoding="utf-8"), str(path))
    return {section: dict(parser[section]) for section in parser.sections()}


def split_phrases(text: str) -> tuple[str, ...]:
    """The phrases of a list, which commas separate."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


def linear_ramp(value: float, none: float, full: float) -> float:
    """0 at ``none`` and beyond, 1 at ``full`` and beyond, linear between; either may be larger."""
    return min(1.0, max(0.0, (value - none) / (full - none)))


def ngrams(words: Sequence[str], length: int) -> list[NGram]:
    """All runs of ``length`` neighbouring words, in order."""
    return [tuple(words[i : i + length]) for i in range(len(words) - length + 1)]


def ngram_coverage(words: Sequence[str], known: Set[NGram], length: int) -> float:
    """The share of ``words`` that lie in a run of ``length`` words which is ``known``."""
    starts = (i for i, ngram in enumerate(ngrams(words, length)) if ngram in known)
    return _covered_share(starts, length, len(words))


def repeated_ngram_share(words: Sequence[str], length: int) -> float:
    """The share of ``words`` that lie in a run of ``length`` words which occurred before."""
    seen: set[NGram] = set()
    starts = []
    for i, ngram in enumerate(ngrams(words, length)):
        if ngram in seen:
            starts.append(i)
        seen.add(ngram)
    return _covered_share(starts, length, len(words))


def _covered_share(starts: Iterable[int], length: int, total: int) -> float:
    inside = {i for start in starts for i in range(start, start + length)}
    return len(inside) / max(1, total)
