"""Evidence: what the speaker's own brief gives it, told with its figure beside the claim it backs."""

from __future__ import annotations

import itertools

from llmzoo.envs.debate.judge.denials import turned
from llmzoo.envs.debate.judge.prose import well_shaped
from llmzoo.envs.debate.judge.stance import asserted, names_opponent
from llmzoo.envs.debate.judge.words import (
    Sentence,
    content,
    figures,
    quoted,
    ramp,
    sentences,
    words,
)
from llmzoo.envs.debate.topics import Point, Topic

LONGEST = 6  # digits of a figure that anybody would reckon with in his head
AGAIN = 0.5  # evidence that the side has given before counts half


def evidence(
    topic: Topic, side: str, speech: tuple[Sentence, ...], before: tuple[tuple[Sentence, ...], ...]
) -> float:
    """1.0 for one piece of evidence well told; half for one that an earlier speech of the side
    (``before``) gave already, while the brief holds some that none gave."""
    points = topic.brief(side).points
    known = [
        max((well_told(point, earlier) for earlier in before), default=0.0) for point in points
    ]
    spent = AGAIN if min(known) < 0.5 else 1.0
    return min(
        1.0,
        sum(
            well_told(point, speech) * (1 - (1 - spent) * told)
            for point, told in zip(points, known, strict=True)
        ),
    )


def invented(topic: Topic, speech: tuple[Sentence, ...], heard: tuple[str, ...]) -> frozenset[str]:
    """Figures, said to be counted, that stand in neither brief, nor in the motion, nor in what the
    others said, and are no sum or difference of two that stand in one sentence, nor of one and 100."""
    texts = (topic.motion, *topic.pro.lines, *topic.con.lines, *heard)
    claimed = frozenset().union(*(quoted(sentence.words) for sentence in speech))
    told = [s.figures for text in texts for s in sentences(text)]
    left = claimed - frozenset().union(*told)
    return left and left - frozenset().union(*(_reckoned(figures) for figures in told))


def _reckoned(told: frozenset[str]) -> frozenset[str]:
    """What a speaker may work out from the figures of one sentence."""
    values = [float(figure) for figure in told if len(figure) <= LONGEST]
    pairs = [*itertools.combinations(values, 2), *((value, 100.0) for value in values)]
    return frozenset(f"{result:g}" for one, two in pairs for result in (abs(one - two), one + two))


def well_told(point: Point, speech: tuple[Sentence, ...]) -> float:
    """How well a point's evidence is told: a figure of it and four of its words in one sentence that
    denies no more than the brief does; the claim in that sentence or a neighbour."""
    given = words(point.evidence.lower())
    wanted, about = content(given), frozenset(content(words(point.claim.lower())))
    numbers = frozenset(word for word in given if word[0].isdigit()) or figures(given)
    best = 0.0
    for place, sentence in enumerate(speech):
        # a witness may be quoted ("they said"), the other side's words are not the own evidence
        own = sentence.text.lower()
        if names_opponent(own):
            own = " ".join(clause.text for clause in asserted(sentence))
        said = words(own)
        if not numbers & figures(said) or not well_shaped(sentence):
            continue
        if turned(own, point.evidence.lower()):
            continue
        met = len(frozenset(content(said)) & frozenset(wanted))
        near = speech[max(0, place - 1) : place + 2]
        backed = len(about & frozenset().union(*(s.stems for s in near)))
        best = max(best, ramp(met, 1, 4) * (0.6 + 0.4 * ramp(backed, 0, 2)))
    return best
