"""The rule-based judge: offline, deterministic, pure functions from a debate to named parts.

A speech is worth ``gate x sum of weight x part``, from 0 to 1, and a side the mean over all the
speeches that it has in a debate; those not yet held count 0. Parts, each from 0 to 1:

| part | weight | what earns it |
|---|---|---|
| stance | 0.2 | it asserts what only its own brief speaks of, and says which side it is on |
| evidence | 0.3 | a figure of the brief, told in a sentence with its circumstances, beside its claim |
| responsiveness | 0.2 | it names two things of the other side's last speech and sets own points against them |
| structure | 0.1 | three or more sentences; words that order the thoughts |
| novelty | 0.1 | it repeats neither itself, nor the other side, nor the brief word for word |
| consistency | 0.1 | it neither contradicts its side's earlier words nor gives its case up |

The first speech of all has nothing to answer, nor has one after a speech without sense; there
responsiveness counts as earned.

The gate is the product of what no argument can do without: prose (sentences in an order that
English allows, 40 words), stance (from 0.5 up it is 1; nothing where nearly every verb is denied),
novelty, consistency, evidence (0.6 without any, 1 from 0.5 up), and faithfulness: 0.6 for each
figure that is in no brief, that nobody else said and that cannot be reckoned from two that stand in
one sentence. Rules do not understand: an argument in words wholly of one's own earns less than it may
deserve, and an honest point that is followed by nonsense in well-formed sentences earns too much.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from llmzoo.envs.debate.judge.denials import denied_throughout, denies
from llmzoo.envs.debate.judge.evidence import evidence, invented
from llmzoo.envs.debate.judge.novelty import novelty
from llmzoo.envs.debate.judge.prose import prose, structure
from llmzoo.envs.debate.judge.replies import replies
from llmzoo.envs.debate.judge.stance import asserted, given_up, stance
from llmzoo.envs.debate.judge.words import Sentence, ramp, sentences
from llmzoo.envs.debate.speeches import Debate, Speech
from llmzoo.envs.debate.topics import SIDES, Topic

WEIGHTS: Mapping[str, float] = {
    "stance": 0.2,
    "evidence": 0.3,
    "responsiveness": 0.2,
    "structure": 0.1,
    "novelty": 0.1,
    "consistency": 0.1,
}
UNBACKED = 0.6  # what a speech keeps that gives no evidence
INVENTED = 0.6  # what a speech keeps for each figure that nobody gave it

Scores = Mapping[str, Mapping[str, float]]  # what each side has earned, by part


def score(debate: Debate) -> Scores:
    """What each side has earned so far: its parts sum to its score, from 0 to 1."""
    totals = {side: dict.fromkeys(WEIGHTS, 0.0) for side in SIDES}
    for number, speech in enumerate(debate.speeches):
        earned = score_speech(debate.topic, debate.speeches[:number], speech)
        for name, value in earned.items():
            totals[speech.side][name] += value / debate.total
    return totals


@lru_cache(maxsize=4_096)
def score_speech(topic: Topic, before: tuple[Speech, ...], speech: Speech) -> Mapping[str, float]:
    """What one speech is worth after the speeches ``before``, by part."""
    found, gate = judge_speech(topic, before, speech)
    return {name: gate * WEIGHTS[name] * value for name, value in found.items()}


def judge_speech(
    topic: Topic, before: tuple[Speech, ...], speech: Speech
) -> tuple[Mapping[str, float], float]:
    """The parts of one speech, each from 0 to 1, and its gate."""
    said = sentences(speech.text)
    own = tuple(sentences(s.text) for s in before if s.side == speech.side)
    others = tuple(sentences(s.text) for s in before if s.side != speech.side)
    heard = tuple(s.text for s in before if s.side != speech.side)
    readable = prose(said)
    if not readable:
        return dict.fromkeys(WEIGHTS, 0.0), 0.0
    last = others[-1] if others else ()
    answered = replies(topic, speech.side, said, last)
    parts = {
        "stance": stance(topic, speech.side, said, last),
        "evidence": evidence(topic, speech.side, said, own),
        "responsiveness": 1.0 if answered is None else answered,
        "structure": structure(said),
        "novelty": novelty(topic, speech.side, said, own, others),
        "consistency": consistency(said, own),
    }
    gate = (
        readable
        * ramp(parts["stance"], 0.0, 0.5)
        * ramp(denied_throughout(speech.text.lower()), 0.75, 0.5)
        * parts["novelty"]
        * parts["consistency"]
        * (UNBACKED + (1 - UNBACKED) * ramp(parts["evidence"], 0.0, 0.5))
        * INVENTED ** len(invented(topic, said, heard))
    )
    return parts, gate


def consistency(said: tuple[Sentence, ...], before: tuple[tuple[Sentence, ...], ...]) -> float:
    """0.3 for each sentence that gives the own case up or contradicts one of the side's."""
    stood = [s for speech in (*before, said) for s in speech if asserted(s)]
    against = sum(
        any(contradict(sentence, other) for other in stood)
        for sentence in said
        if asserted(sentence)
    )
    return float(0.3 ** (given_up(said) + against))


def contradict(one: Sentence, other: Sentence) -> bool:
    """Two sentences of one subject, one of which denies what the other says."""
    common = len(one.stems & other.stems)
    return (
        common >= 4
        and common >= 0.7 * len(one.stems | other.stems)
        and denies(one.text.lower()) != denies(other.text.lower())
    )
