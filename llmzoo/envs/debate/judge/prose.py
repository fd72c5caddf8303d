"""Is it English prose? Sentences of words in an order that English allows, and enough of them."""

from __future__ import annotations

import itertools
import re

from llmzoo.envs.debate.judge.vocabulary import (
    ARTICLES,
    ASKING,
    FUNCTION,
    LEADING,
    NEVER_AFTER_ARTICLES,
    NEVER_AFTER_LEADING,
    NEVER_LAST,
)
from llmzoo.envs.debate.judge.words import Sentence, ramp
from llmzoo.envs.debate.judge.words import words as split

ENOUGH = 40  # words: a speech of fewer is worth less, one of 15 nothing
_COMPOUND = re.compile(r"\b\w+-\w+(?:-\w+)?\b")  # "the on-call midwife" holds no "the on"
_MARKERS = {
    "order": r"first(?:ly)?|second(?:ly)?|third(?:ly)?|to begin with|next|finally|last(?:ly)?|"
    r"start with|begin with|another|one more|my (?:other|last|main) (?:point|reason)",
    "addition": r"moreover|furthermore|besides|also|as well|what's more|what is more|nor|in addition",
    "cause": r"because|since|therefore|thus|hence|so that|as a result|which is why|that is why|"
    r"this means|which means|that means|for this reason|and so",
    "contrast": r"but|however|yet|although|though|while|whereas|instead|on the contrary|even if|"
    r"rather than|still|nevertheless|despite|in spite of",
    "example": r"for example|for instance|according to|consider|take the|in the brief|"
    r"our (?:brief|file)|the (?:brief|file)|such as|recall|remember|look at",
    "sum": r"in short|in sum|to sum up|all in all|in the end|overall|to conclude|in conclusion|"
    r"taken together|altogether|on balance|i ask you|we ask you|i urge you|we urge you|in closing|for these reasons",
}
_COMPILED = {name: re.compile(rf"\b(?:{pattern})\b") for name, pattern in _MARKERS.items()}


def prose(speech: tuple[Sentence, ...]) -> float:
    """1.0 for a text of sentences; 0.0 for a heap of words, figures, signs or strange letters."""
    total = sum(len(sentence.words) for sentence in speech)
    if not total:
        return 0.0
    words = [word for sentence in speech for word in sentence.words]
    shaped = sum(len(s.words) for s in speech if well_shaped(s)) / total
    joined = sum(word in FUNCTION for word in words) / total
    plain = sum(word.isascii() for word in words) / total
    varied = len(set(words)) / total
    return (
        ramp(total, 15, ENOUGH)
        * ramp(shaped, 0.6, 0.9)
        * ramp(joined, 0.2, 0.3)
        * ramp(joined, 0.8, 0.65)
        * ramp(plain, 0.8, 0.97)
        * ramp(varied, 0.2, 0.4)
    )


def well_shaped(sentence: Sentence) -> bool:
    """Four to forty-five words, a capital at its head and a stop at its end, in a possible order."""
    words, text = sentence.words, sentence.text.strip("\"'()[]")
    if not 4 <= len(words) <= 45 or not text.endswith((".", "!", "?")):
        return False
    head = text[:1]
    if not (head.isupper() or head.isdigit()) or words[-1] in NEVER_LAST:
        return False
    joined = sum(word in FUNCTION for word in words) / len(words)
    words = split(_COMPOUND.sub("compound", text.lower()))
    if words[0] in ASKING and not text.endswith("?"):
        return False
    return (joined >= 0.15 or len(words) <= 10) and not any(
        (one in ARTICLES and two in NEVER_AFTER_ARTICLES)
        or (one.isdigit() and two.isdigit())
        or (one in LEADING and two in NEVER_AFTER_LEADING)
        for one, two in itertools.pairwise(words)
    )


def structure(speech: tuple[Sentence, ...]) -> float:
    """Half for three well-shaped sentences, half for two kinds of words that order the thoughts."""
    shaped = sum(well_shaped(sentence) for sentence in speech)
    text = " ".join(sentence.text.lower() for sentence in speech)
    kinds = sum(pattern.search(text) is not None for pattern in _COMPILED.values())
    return 0.5 * ramp(shaped, 0, 3) + 0.5 * ramp(kinds, 0, 2)
