"""What a text denies, and whether it denies what another one says.

A negation governs the words that follow it up to the next comma. Its head, the first of them that
speaks of a subject, is what it denies: "storms do not stop the boats" denies the stopping.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from llmzoo.envs.debate.judge.words import content, stems, words

_NEGATION = re.compile(
    r"\b(?:not|no|never|nor|neither|cannot|nobody|none|hardly|scarcely|far from|fail(?:s|ed)? to|"
    r"\w{1,8}n't)\b"
)
# these deny nothing ("no more than seven"), or what nobody says in earnest ("no doubt")
_NO_NEGATION = re.compile(
    r"\b(?:not (?:only|just|merely|even|to mention)|no (?:more|fewer|less|later|sooner) than|"
    r"no (?:doubt|wonder|matter)|(?:whether|if|why|or) not)\b"
)
# these deny the whole statement that they are said of
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
FEW = 4  # verbs: fewer tell nothing about a speech
ALIKE = 3  # words in common from which on two texts are about the same


@dataclass(frozen=True, slots=True)
class Denied:
    """Stems: ``heads`` are what is denied, ``scope`` all that stands under a negation."""

    heads: frozenset[str]
    scope: frozenset[str]


def denies(text: str) -> bool:
    """Whether it says the opposite of what it would say without its negations."""
    return len(_DENIES.findall(text)) % 2 == 1


@lru_cache(maxsize=16_384)
def denied(text: str) -> Denied:
    """What ``text``, in small letters, denies."""
    if _STATEMENT_FALSE.search(text):
        everything = stems(words(text))
        return Denied(everything, everything)
    heads: set[str] = set()
    scope: set[str] = set()
    kept = _NO_NEGATION.sub(lambda match: "_" * len(match.group()), text)
    for match in _NEGATION.finditer(kept):
        end = _SCOPE_END.search(kept, match.end())
        governed = content(words(kept[match.end() : end.start() if end else len(kept)]))
        governed = [stem for stem in governed if stem not in _LIGHT]
        heads.update(governed[:1])
        scope.update(governed)
    return Denied(frozenset(heads), frozenset(scope))


def denied_throughout(text: str) -> float:
    """The share of the auxiliary verbs that are negated: people who argue deny a third at most."""
    found = _VERB.findall(text)
    return sum(bool(negated) for negated in found) / max(FEW, len(found))


def turned(text: str, given: str) -> bool:
    """Whether one of the two texts, in small letters, denies what the other one asserts."""
    one, two = denied(text), denied(given)
    return bool(
        one.heads & (stems(words(given)) - two.scope)
        or two.heads & (stems(words(text)) - one.scope)
    )
