"""Does a speech answer what was said last? It has to name it and to set something of its own against it."""

from __future__ import annotations

import re

from llmzoo.envs.debate.judge.prose import well_shaped
from llmzoo.envs.debate.judge.stance import asserted, own_words, reported
from llmzoo.envs.debate.judge.words import Sentence, ramp, stems, words
from llmzoo.envs.debate.topics import Topic

_AGAINST = re.compile(
    r"\b(?:but|yet|however|although|though|while|whereas|instead|rather|even if|on the contrary|"
    r"nevertheless|still|hardly|fails?|misses|ignores?|overlooks?|forgets?|answers?|"
    r"not|no|never|cannot|nobody|none|nothing|wrong|untrue|\w{1,8}n't)\b"
)
NAMED = 2  # words of the other's speech that name what is answered
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
    answered: set[int] = set()
    for place, sentence in enumerate(speech):
        following = speech[place : place + REACH]
        used = {stem for s in following for clause in asserted(s) for stem in clause.stems & own}
        named = reported(sentence) or _sets_against(sentence)
        turned = any(_sets_against(s) for s in following[:3])
        if not (named and turned and len(used) >= OWN and well_shaped(sentence)):
            continue
        met = [(len(sentence.stems & target), -number) for number, target in enumerate(targets)]
        most, number = max(met)
        if most >= NAMED:
            answered.add(-number)
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
    """What a sentence speaks of, less what ``side`` and the motion speak of anyway."""
    return sentence.stems - own_words(topic, side) - stems(words(topic.motion.lower()))
