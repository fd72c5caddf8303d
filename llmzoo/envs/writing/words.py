"""Splits a text into words, and tells stop words, numbers, names and stems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from llmzoo.envs.prose import TENS, UNITS, load_word_lists

LEXICON = load_word_lists(Path(__file__).parent / "lexicon.ini")

# an apostrophe belongs to a word, a point or comma between digits to a number
_WORD = re.compile(r"\d+(?:[.,]\d+)*[^\W\d_]*|[^\W\d_]+(?:['’][^\W\d_]+)*")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][^\W\d_]+")  # a capital within a sentence
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MAX_STEMMED = 40  # letters; no English word is longer
_POWERS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}


def _groups(name: str) -> Iterator[list[str]]:
    """The groups of words of a list, which semicolons separate."""
    return (group.split() for group in LEXICON["forms"][name].split(";"))


STOP_WORDS = frozenset(LEXICON["words"]["stop"].split())
SYNONYMS = list(_groups("same"))
_IRREGULAR = {form: base for base, *forms in _groups("irregular") for form in forms}
_SAME = {word: group[0] for group in SYNONYMS for word in group}
_ENDINGS = LEXICON["forms"]["endings"].split()
_SUFFIXES = tuple(zip(_ENDINGS[::2], map(int, _ENDINGS[1::2]), strict=True))


def tokens(text: str) -> list[str]:
    """The words and numbers of a text in lower case; ``"don't"`` is one word, ``"1,000"`` is one."""
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


def names(text: str) -> frozenset[str]:
    """The tokens that have a capital somewhere within a sentence."""
    return frozenset(word.lower() for word in _NAME.findall(text))


def numerals(words: list[str]) -> list[str]:
    """The tokens with numbers in words as digits: ``forty six`` as ``46``, ``two hundred`` as
    ``200``; a lone ``one`` is mostly a pronoun and stays."""
    written: list[str] = []
    number = 0
    for word in words:
        larger = _count(number, word)
        if larger is None and number:
            written.append(str(number))
            number, larger = 0, _count(0, word)
        if larger is None:
            written.append(word)
        else:
            number = larger
    return [*written, str(number)] if number else written


def _count(number: int, word: str) -> int | None:
    """The number so far (0 for none) continued by ``word``; None if ``word`` does not continue it."""
    if word in TENS and number % 100 == 0:
        return number + TENS[word]
    if UNITS.get(word) and number % 10 == 0 and (number or word != "one"):
        return number + UNITS[word]
    if word in _POWERS and number < 1_000:
        return max(number, 1) * _POWERS[word]
    return number if word == "and" and number >= 100 and number % 100 == 0 else None


def is_stop(word: str) -> bool:
    """Whether a token is a stop word, or a contraction of one (``"he's"``, ``"wouldn't"``)."""
    first, apostrophe, _ = word.partition("'")
    return word in STOP_WORDS or (
        bool(apostrophe) and (first in STOP_WORDS or first.removesuffix("n") in STOP_WORDS)
    )


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """What a token shares with its other forms; common synonyms share a stem too."""
    word = word[:_MAX_STEMMED].removesuffix("'s").replace("'", "")
    if word[:1].isdigit():  # "24m" is an age, "3rd" a rank
        return word.replace(",", "").rstrip(_LETTERS)
    return _strip_suffixes(_base_form(word))


def _base_form(word: str) -> str:
    """The word, or its singular or infinitive if the lists know it; then the group's first word."""
    for form in (word, _strip_plural(word)):
        base = _IRREGULAR.get(form, form)
        if base in _SAME or base != word:
            return _SAME.get(base, base)
    for suffix in ("ing", "ed", "er"):
        form = _strip_verb_ending(word, suffix)
        for spelled in (form, f"{form}e"):
            if spelled in _SAME:
                return _SAME[spelled]
    return word


def _strip_plural(word: str) -> str:
    """The word without the ending of a plural, or of a verb in ``y``."""
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _strip_verb_ending(word: str, suffix: str) -> str:
    """The word without a verb's ending, its last consonant single again (``stopped``, ``stop``)."""
    if not word.endswith(suffix) or len(word) - len(suffix) < 3:
        return word
    left = word.removesuffix(suffix)
    return left[:-1] if left[-1] == left[-2] and left[-1] not in "lsz" else left


def _strip_suffixes(word: str) -> str:
    """The word without up to three endings and without a final ``e``; ``y`` becomes ``i``."""
    word = _strip_plural(word)
    for _ in range(3):
        for suffix, least in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= least:
                word = _strip_verb_ending(word, suffix).removesuffix(suffix)
                break
        else:
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 2 and word.endswith("y") else word


def _stems(name: str) -> frozenset[str]:
    return frozenset(map(stem, LEXICON["words"][name].split()))


LIGHT_STEMS = _stems("light")
ACADEMIC_STEMS = LIGHT_STEMS | _stems("academic")
FICTION_STEMS = LIGHT_STEMS | _stems("fiction")
