"""Is it said anew? Against the own side's earlier words, the others' words, and the brief itself."""

from __future__ import annotations

from collections.abc import Iterable

from llmzoo.envs.debate.judge.stance import subject_of
from llmzoo.envs.debate.judge.words import Sentence, content, ramp, sentences
from llmzoo.envs.debate.topics import Topic

_GRAM = 4  # words
_QUOTE = 8  # words in a row that count as taken from the brief

Words = tuple[str, ...]


def novelty(
    topic: Topic,
    side: str,
    speech: tuple[Sentence, ...],
    own: Iterable[tuple[Sentence, ...]],
    others: Iterable[tuple[Sentence, ...]],
) -> float:
    """1.0 where at most 55 % repeats earlier own words, 20 % the speech itself, 35 % the others and
    60 % the briefs; and where one word of the subject in seven is not of the own brief, in whatever
    order."""
    said = _joined(speech)
    known = _grams((_joined(earlier) for earlier in own), _GRAM)
    repeated = _covered(said, known, _GRAM)
    taken = _covered(said, _grams((_joined(earlier) for earlier in others), _GRAM), _GRAM)
    lines = [*topic.pro.lines, *topic.con.lines]
    pasted = _covered(said, _grams((_joined(sentences(line)) for line in lines), _QUOTE), _QUOTE)
    given = subject_of(topic, side)
    told = content(said)
    borrowed = sum(stem in given for stem in told) / max(1, len(told))
    return (
        ramp(repeated, 0.85, 0.55)
        * ramp(_twice(said), 0.5, 0.2)
        * ramp(taken, 0.65, 0.35)
        * ramp(pasted, 0.9, 0.6)
        * ramp(borrowed, 0.97, 0.86)
    )


def _joined(speech: tuple[Sentence, ...]) -> Words:
    return tuple(word for sentence in speech for word in sentence.words)


def _grams(texts: Iterable[Words], n: int) -> frozenset[Words]:
    return frozenset(text[i : i + n] for text in texts for i in range(len(text) - n + 1))


def _covered(text: Words, known: frozenset[Words], n: int) -> float:
    """The share of words that stand in a run of n known ones."""
    marked: set[int] = set()
    for i in range(len(text) - n + 1):
        if text[i : i + n] in known:
            marked.update(range(i, i + n))
    return len(marked) / max(1, len(text))


def _twice(text: Words) -> float:
    """The share of words in runs that stood in the same text before."""
    seen: set[Words] = set()
    marked: set[int] = set()
    for i in range(len(text) - _GRAM + 1):
        gram = text[i : i + _GRAM]
        if gram in seen:
            marked.update(range(i, i + _GRAM))
        seen.add(gram)
    return len(marked) / max(1, len(text))
