"""The form of a speech: is it English prose, is it in order, and is it new?"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from llmzoo.envs.debate.judge.stance import brief_stems
from llmzoo.envs.debate.judge.words import (
    FUNCTION,
    MARKERS,
    VOCABULARY,
    Sentence,
    Text,
    content_stems,
    sentences,
    words,
)
from llmzoo.envs.debate.tasks import Topic
from llmzoo.envs.prose import NGram, linear_ramp, ngram_coverage, ngrams, repeated_ngram_share

FULL_LENGTH = 40  # words from which the length counts in full; at 15 the score is 0
REPEAT_NGRAM = 4  # words in a row: the unit of repetition
BRIEF_NGRAM = 8  # words in a row: the unit of quotes from the briefs
_COMPOUND = re.compile(r"\b\w+-\w+(?:-\w+)?\b")  # "the on-call midwife" holds no "the on"
_MARKERS = [re.compile(rf"\b(?:{'|'.join(kind)})\b") for kind in MARKERS.values()]


def score_prose(speech: Text) -> float:
    """1.0 for a text of sentences; 0.0 for a heap of words, figures, signs or strange letters."""
    every = _join_words(speech)
    total = len(every)
    if not total:
        return 0.0
    shaped = sum(len(s.words) for s in speech if is_well_shaped(s)) / total
    function = sum(word in FUNCTION for word in every) / total
    plain = sum(word.isascii() for word in every) / total
    varied = len(set(every)) / total
    return (
        linear_ramp(total, 15, FULL_LENGTH)
        * linear_ramp(shaped, 0.6, 0.9)
        * linear_ramp(function, 0.2, 0.3)
        * linear_ramp(function, 0.8, 0.65)
        * linear_ramp(plain, 0.8, 0.97)
        * linear_ramp(varied, 0.2, 0.4)
    )


def is_well_shaped(sentence: Sentence) -> bool:
    """Four to forty-five words in a possible order, with a capital first and a stop at the end."""
    own, text = sentence.words, sentence.text.strip("\"'()[]")
    if not 4 <= len(own) <= 45 or not text.endswith((".", "!", "?")):
        return False
    head = text[:1]
    if not (head.isupper() or head.isdigit()) or own[-1] in VOCABULARY["never_last"]:
        return False
    function = sum(word in FUNCTION for word in own) / len(own)
    own = words(_COMPOUND.sub("compound", text.lower()))
    if own[0] in VOCABULARY["asking"] and not text.endswith("?"):
        return False
    possible = not any(_is_impossible_pair(one, two) for one, two in itertools.pairwise(own))
    return possible and (function >= 0.15 or len(own) <= 10)


def _is_impossible_pair(one: str, two: str) -> bool:
    return (
        (one in VOCABULARY["articles"] and two in VOCABULARY["never_after_articles"])
        or (one.isdigit() and two.isdigit())
        or (one in VOCABULARY["leading"] and two in VOCABULARY["never_after_leading"])
    )


def score_structure(speech: Text) -> float:
    """Half for three well-shaped sentences, half for two kinds of words that order the thoughts."""
    shaped = sum(is_well_shaped(sentence) for sentence in speech)
    text = " ".join(sentence.text.lower() for sentence in speech)
    kinds = sum(pattern.search(text) is not None for pattern in _MARKERS)
    return 0.5 * linear_ramp(shaped, 0, 3) + 0.5 * linear_ramp(kinds, 0, 2)


def score_novelty(
    topic: Topic, side: str, speech: Text, own: Sequence[Text], others: Sequence[Text]
) -> float:
    """1.0 if at most 55 % repeats the side's earlier words, 20 % the speech itself, 35 % the others
    and 60 % the briefs, and one content word in seven is not of the own brief, in whatever order."""
    all_words = _join_words(speech)
    stems = content_stems(all_words)
    briefs = [sentences(line) for line in (*topic.pro.lines, *topic.con.lines)]
    given = brief_stems(topic, side)
    return (
        linear_ramp(
            ngram_coverage(all_words, _known_runs(own, REPEAT_NGRAM), REPEAT_NGRAM), 0.85, 0.55
        )
        * linear_ramp(repeated_ngram_share(all_words, REPEAT_NGRAM), 0.5, 0.2)
        * linear_ramp(
            ngram_coverage(all_words, _known_runs(others, REPEAT_NGRAM), REPEAT_NGRAM), 0.65, 0.35
        )
        * linear_ramp(
            ngram_coverage(all_words, _known_runs(briefs, BRIEF_NGRAM), BRIEF_NGRAM), 0.9, 0.6
        )
        * linear_ramp(sum(stem in given for stem in stems) / max(1, len(stems)), 0.97, 0.86)
    )


def _join_words(speech: Text) -> NGram:
    return tuple(word for sentence in speech for word in sentence.words)


def _known_runs(speeches: Iterable[Text], length: int) -> set[NGram]:
    return {run for speech in speeches for run in ngrams(_join_words(speech), length)}
