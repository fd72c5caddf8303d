"""Does a speech answer what was said last? It has to name it and to set something of its own against it."""

from __future__ import annotations

import re
from functools import lru_cache

from llmzoo.envs.debate.judge.prose import well_shaped
from llmzoo.envs.debate.judge.stance import EVERYDAY_STEMS, asserted, own_words, reported
from llmzoo.envs.debate.judge.words import Sentence, quoted, ramp, sentences, stems, words
from llmzoo.envs.debate.topics import Topic

_AGAINST = re.compile(
    r"\b(?:but|yet|however|although|though|while|whereas|instead|rather|even if|on the contrary|"
    r"nevertheless|still|hardly|fails?|misses|ignores?|overlooks?|forgets?|answers?|"
    r"as (?:for|to)|concerning|regarding|granted|admittedly|of course|by all means|in fact|"
    r"not|no|never|cannot|nobody|none|nothing|wrong|untrue|\w{1,8}n't)\b"
)
NAMED = 2  # words of the other's speech that name what is answered, one where it is said whose
OWN = 2  # words of the own brief that answer it
REACH = 4  # sentences: the one that names it and those in which the answer may stand


def replies(
    topic: Topic, side: str, speech: tuple[Sentence, ...], last: tuple[Sentence, ...]
) -> float | None:
    """0.7 for one thing answered of the other side's last speech, 1.0 for two; None where there is
    nothing to answer: no speech, or none with a sentence that speaks of the subject."""
    own = own_words(topic, side)
    targets = [subject(topic, side, sentence) for sentence in answerable(topic, side, last)]
    if not targets:
        return None
    # a thing said runs over two sentences, and so does its mention
    things = [one | two for one, two in zip(targets, [*targets[1:], frozenset()], strict=True)]
    answered: set[int] = set()
    for place, sentence in enumerate(speech):
        following = speech[place : place + REACH]
        used = {stem for s in following for clause in asserted(s) for stem in clause.stems & own}
        against = any(_sets_against(s) for s in following[:3])
        if not (against and len(used) >= OWN and well_shaped(sentence)):
            continue
        needed = 1 if reported(sentence) else NAMED
        mention = frozenset().union(*(_names(s) for s in following[:2]))
        found = [
            (len(_names(sentence) & target), len(mention & thing), -number)
            for number, (target, thing) in enumerate(zip(targets, things, strict=True))
            if _names(sentence) & target and len(mention & thing) >= needed
        ]
        if found:
            answered.add(-max(found)[-1])
    return 0.7 * ramp(len(answered), 0, 1) + 0.3 * ramp(len(answered), 1, 2)


def _sets_against(sentence: Sentence) -> bool:
    return _AGAINST.search(sentence.text.lower()) is not None


def answerable(topic: Topic, side: str, last: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
    """The sentences of the other side's last speech that ``side`` could name."""
    return tuple(
        sentence
        for sentence in last
        if well_shaped(sentence) and len(subject(topic, side, sentence)) >= NAMED
    )


def subject(topic: Topic, side: str, sentence: Sentence) -> frozenset[str]:
    """What a sentence speaks of, less what ``side``, the motion and every subject speak of anyway."""
    return _names(sentence) - own_words(topic, side) - _anyway(topic, side)


@lru_cache(maxsize=512)
def _anyway(topic: Topic, side: str) -> frozenset[str]:
    own = (s.figures for line in topic.brief(side).lines for s in sentences(line))
    return stems(words(topic.motion.lower())).union(EVERYDAY_STEMS, *own)


def _names(sentence: Sentence) -> frozenset[str]:
    """The words and the figures by which a sentence can be recognised."""
    return sentence.stems | quoted(sentence.words)
