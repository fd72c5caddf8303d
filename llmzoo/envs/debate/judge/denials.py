"""What a text denies, and whether it denies another one.

A negation governs the words that follow it up to the next comma. It denies its head, the first of
them that is a content word: "storms do not stop the boats" denies the stopping.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from llmzoo.envs.debate.judge.words import content_stems, stems, words

_NEGATION = re.compile(
    r"\b(?:not|no|never|nor|neither|cannot|nobody|none|hardly|scarcely|far from|fail(?:s|ed)? to|"
    r"\w{1,8}n't)\b"
)
# these deny nothing ("no more than seven", "no doubt")
_NO_NEGATION = re.compile(
    r"\b(?:not (?:only|just|merely|even|to mention)|no (?:more|fewer|less|later|sooner) than|"
    r"no (?:doubt|wonder|matter)|(?:whether|if|why|or) not)\b"
)
# these deny a whole statement
_FALSE = (
    r"(?:not (?:so|true|right|the case)|n't (?:so|true|right|the case)|false|untrue|wrong|nonsense|"
    r"a (?:myth|lie))"
)
_STATEMENT_FALSE = re.compile(rf"\b{_FALSE} (?:that|to (?:say|think|claim))\b|\b{_FALSE}[.!]?$")
_SCOPE_END = re.compile(r"[,;:.!?]")
_LIGHT = stems(
    ("cause", "lead", "help", "allow", "let", "happen", "mean", "bring", "really", "at all")
)
_DENIES = re.compile(
    r"\b(?:not|no|never|nor|neither|cannot|false|untrue|wrong|myth|nonsense|(?:\w{1,8}n't))\b"
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|can|could|should)(n't|'t| not\b| never\b)?(?!\w)"
)
MIN_VERBS = 4  # the share of negated verbs is computed of at least this many
MIN_COMMON_WORDS = 3  # words in common from which two texts are about the same thing


@dataclass(frozen=True, slots=True)
class Denial:
    """Stems: ``heads`` are denied, ``scope`` holds all words that a negation governs."""

    heads: frozenset[str]
    scope: frozenset[str]


def denies(text: str) -> bool:
    """Whether its negations turn it into the opposite: there is an odd number of them."""
    return len(_DENIES.findall(text)) % 2 == 1


@lru_cache(maxsize=16_384)
def find_denials(text: str) -> Denial:
    """What ``text``, in small letters, denies."""
    if _STATEMENT_FALSE.search(text):
        everything = stems(words(text))
        return Denial(everything, everything)
    heads: set[str] = set()
    scope: set[str] = set()
    kept = _NO_NEGATION.sub(lambda match: "_" * len(match.group()), text)
    for match in _NEGATION.finditer(kept):
        end = _SCOPE_END.search(kept, match.end())
        governed = content_stems(words(kept[match.end() : end.start() if end else len(kept)]))
        governed = [stem for stem in governed if stem not in _LIGHT]
        heads.update(governed[:1])
        scope.update(governed)
    return Denial(frozenset(heads), frozenset(scope))


def negated_verb_share(text: str) -> float:
    """The share of auxiliary verbs that are negated: people who argue negate a third at most."""
    negations = _VERB.findall(text)
    return sum(map(bool, negations)) / max(MIN_VERBS, len(negations))


def is_negation_of(text: str, given: str) -> bool:
    """Whether one of two texts, in small letters, denies what the other one asserts."""
    one, two = find_denials(text), find_denials(given)
    return bool(
        one.heads & (stems(words(given)) - two.scope)
        or two.heads & (stems(words(text)) - one.scope)
    )
