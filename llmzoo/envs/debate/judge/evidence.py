"""The content of a speech: evidence of its own brief, invented figures, and answers to the other side."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache

from llmzoo.envs.debate.judge.denials import is_negation_of
from llmzoo.envs.debate.judge.stance import (
    EVERYDAY_STEMS,
    asserted_clauses,
    distinctive_stems,
    is_reported,
    names_opponent,
)
from llmzoo.envs.debate.judge.style import is_well_shaped
from llmzoo.envs.debate.judge.words import (
    Sentence,
    Text,
    claimed_figures,
    figures,
    sentences,
    stems,
    words,
)
from llmzoo.envs.debate.tasks import BriefPoint, Topic
from llmzoo.envs.prose import linear_ramp

MAX_MENTAL_DIGITS = 6  # digits of a figure with which a speaker may calculate
REPEAT_FACTOR = 0.5  # the weight of evidence that the side has given before
MIN_TARGET_WORDS = 2  # words that a reply shares with the sentence it answers; 1 in reported speech
MIN_OWN_WORDS = 2  # words of the own brief that a reply must have
REPLY_SENTENCES = (
    4  # the reply is searched in this many sentences, from the one that names its target
)
_AGAINST = re.compile(
    r"\b(?:but|yet|however|although|though|while|whereas|instead|rather|even if|on the contrary|"
    r"nevertheless|still|hardly|fails?|misses|ignores?|overlooks?|forgets?|answers?|"
    r"as (?:for|to)|concerning|regarding|granted|admittedly|of course|by all means|in fact|"
    r"not|no|never|cannot|nobody|none|nothing|wrong|untrue|\w{1,8}n't)\b"
)


def score_evidence(topic: Topic, side: str, speech: Text, before: Sequence[Text]) -> float:
    """1.0 for one piece of evidence well told; half if an earlier speech of the side (``before``) gave
    it already, while the brief holds some that none gave."""
    points = topic.brief(side).points
    known = [
        max((score_telling(point, earlier) for earlier in before), default=0.0) for point in points
    ]
    spent = REPEAT_FACTOR if min(known) < 0.5 else 1.0
    return min(
        1.0,
        sum(
            score_telling(point, speech) * (1 - (1 - spent) * telling)
            for point, telling in zip(points, known, strict=True)
        ),
    )


def score_telling(point: BriefPoint, speech: Text) -> float:
    """How well the evidence of a point is told: a figure of it and four of its words in a sentence
    that denies no more than the brief does; the claim in that sentence or a neighbour."""
    given = words(point.evidence.lower())
    wanted, claim = stems(given), stems(words(point.claim.lower()))
    numbers = frozenset(word for word in given if word[0].isdigit()) or figures(given)
    best = 0.0
    for i, sentence in enumerate(speech):
        own = sentence.text.lower()
        # the other side's words are not one's own evidence; a quoted witness is ("they said")
        if names_opponent(own):
            own = " ".join(clause.text for clause in asserted_clauses(sentence))
        sentence_words = words(own)
        if not numbers & figures(sentence_words) or not is_well_shaped(sentence):
            continue
        if is_negation_of(own, point.evidence.lower()):
            continue
        near = _stems(speech[max(0, i - 1) : i + 2])
        backed = 0.6 + 0.4 * linear_ramp(len(claim & near), 0, 2)
        best = max(best, linear_ramp(len(stems(sentence_words) & wanted), 1, 4) * backed)
    return best


def find_invented_figures(topic: Topic, speech: Text, heard: tuple[str, ...]) -> frozenset[str]:
    """Figures, claimed to be counted, that neither a brief, nor the motion, nor the other side has, and
    that are no sum or difference of two figures of one sentence, nor of one figure and 100."""
    texts = (topic.motion, *topic.pro.lines, *topic.con.lines, *heard)
    claimed = frozenset().union(*(claimed_figures(sentence.words) for sentence in speech))
    known_figures = [s.figures for text in texts for s in sentences(text)]
    left = claimed - frozenset().union(*known_figures)
    return left and left - frozenset().union(
        *(_derivable_figures(figures) for figures in known_figures)
    )


def _derivable_figures(figures_in_sentence: frozenset[str]) -> frozenset[str]:
    """What a speaker may work out from the figures of one sentence."""
    values = [float(figure) for figure in figures_in_sentence if len(figure) <= MAX_MENTAL_DIGITS]
    pairs = [*itertools.combinations(values, 2), *((value, 100.0) for value in values)]
    return frozenset(f"{result:g}" for one, two in pairs for result in (abs(one - two), one + two))


def score_replies(topic: Topic, side: str, speech: Text, last: Text) -> float | None:
    """0.7 for one answer to the other side's last speech, 1.0 for two. An answer names a sentence of
    it and sets own words against it. None if there is nothing to answer: no speech, or none with a
    sentence about the subject."""
    own = distinctive_stems(topic, side)
    targets = [
        subject_stems(topic, side, sentence) for sentence in answerable_sentences(topic, side, last)
    ]
    if not targets:
        return None
    # a thought runs over two sentences, and so does its mention
    thoughts = [one | two for one, two in zip(targets, [*targets[1:], frozenset()], strict=True)]
    answered: set[int] = set()
    for i, sentence in enumerate(speech):
        following = speech[i : i + REPLY_SENTENCES]
        used = {
            stem for s in following for clause in asserted_clauses(s) for stem in clause.stems & own
        }
        against = any(_AGAINST.search(s.text.lower()) for s in following[:3])
        if not (against and len(used) >= MIN_OWN_WORDS and is_well_shaped(sentence)):
            continue
        needed = 1 if is_reported(sentence) else MIN_TARGET_WORDS
        names = _recognizable_words(sentence)
        mention = names.union(*map(_recognizable_words, following[1:2]))
        named = [
            (len(names & target), len(mention & thought), -number)
            for number, (target, thought) in enumerate(zip(targets, thoughts, strict=True))
            if names & target and len(mention & thought) >= needed
        ]
        if named:
            answered.add(-max(named)[-1])
    return 0.7 * linear_ramp(len(answered), 0, 1) + 0.3 * linear_ramp(len(answered), 1, 2)


def answerable_sentences(topic: Topic, side: str, last: Text) -> Text:
    """The sentences of the other side's last speech that ``side`` could name."""
    return tuple(
        sentence
        for sentence in last
        if is_well_shaped(sentence)
        and len(subject_stems(topic, side, sentence)) >= MIN_TARGET_WORDS
    )


def subject_stems(topic: Topic, side: str, sentence: Sentence) -> frozenset[str]:
    """The subject of a sentence, without the words of ``side``, of the motion and of every subject."""
    return _recognizable_words(sentence) - distinctive_stems(topic, side) - _common(topic, side)


@lru_cache(maxsize=512)
def _common(topic: Topic, side: str) -> frozenset[str]:
    own = (s.figures for line in topic.brief(side).lines for s in sentences(line))
    return stems(words(topic.motion.lower())).union(EVERYDAY_STEMS, *own)


def _recognizable_words(sentence: Sentence) -> frozenset[str]:
    """The words and the figures by which a sentence can be recognised."""
    return sentence.stems | claimed_figures(sentence.words)


def _stems(speech: Text) -> frozenset[str]:
    return frozenset().union(*(sentence.stems for sentence in speech))
