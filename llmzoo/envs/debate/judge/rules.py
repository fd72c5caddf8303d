"""The rule-based judge: offline, deterministic, pure functions from a debate to named scores.

The score of a speech is ``gate x sum of weight x part``, from 0 to 1. The score of a side is the mean
over all its speeches; those not yet held count 0. Each part is from 0 to 1:

| part | weight | what earns it |
|---|---|---|
| stance | 0.2 | it argues with words that only its own brief has, and names its side |
| evidence | 0.3 | it gives a figure of the brief with its circumstances, beside its claim |
| responsiveness | 0.2 | it names two things of the other side's last speech and answers them |
| structure | 0.1 | three or more sentences; words that order the thoughts |
| novelty | 0.1 | it repeats neither itself, nor the other side, nor the brief word for word |
| consistency | 0.1 | it neither contradicts its side's earlier words nor gives up its case |

Responsiveness is 1 if there is nothing to answer: in the first speech, and after a speech without a
sentence on the subject.

The gate is the product of what every argument needs: prose (40 words in sentences of a possible
order), stance (full from 0.5 up; 0 if nearly every verb is negated), novelty, consistency, evidence
(0.6 without any, full from 0.5 up), and faithfulness: 0.6 for each figure that no brief and nobody
else gave and that cannot be computed from two of one sentence. Rules do not understand: an argument
in words entirely of one's own may earn too little, and an honest point followed by nonsense in
well-formed sentences earns too much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from llmzoo.envs.debate.judge.denials import denies, negated_verb_share
from llmzoo.envs.debate.judge.evidence import find_invented_figures, score_evidence, score_replies
from llmzoo.envs.debate.judge.stance import asserted_clauses, count_concessions, score_stance
from llmzoo.envs.debate.judge.style import score_novelty, score_prose, score_structure
from llmzoo.envs.debate.judge.words import Sentence, Text, sentences
from llmzoo.envs.debate.tasks import SIDES, Debate, Speech, Topic
from llmzoo.envs.prose import linear_ramp

WEIGHTS: Mapping[str, float] = {
    "stance": 0.2,
    "evidence": 0.3,
    "responsiveness": 0.2,
    "structure": 0.1,
    "novelty": 0.1,
    "consistency": 0.1,
}
UNBACKED_FACTOR = 0.6  # the gate of a speech without evidence
INVENTED_FACTOR = 0.6  # the gate for each invented figure

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
    """The weighted parts of a speech that follows the speeches ``before``; they sum to its score."""
    parts, gate = judge_speech(topic, before, speech)
    return {name: gate * WEIGHTS[name] * value for name, value in parts.items()}


def judge_speech(
    topic: Topic, before: tuple[Speech, ...], speech: Speech
) -> tuple[Mapping[str, float], float]:
    """The parts of one speech, each from 0 to 1, and its gate."""
    parsed = sentences(speech.text)
    own = [sentences(s.text) for s in before if s.side == speech.side]
    others = [sentences(s.text) for s in before if s.side != speech.side]
    heard = tuple(s.text for s in before if s.side != speech.side)
    readable = score_prose(parsed)
    if not readable:
        return dict.fromkeys(WEIGHTS, 0.0), 0.0
    last = others[-1] if others else ()
    answered = score_replies(topic, speech.side, parsed, last)
    parts = {
        "stance": score_stance(topic, speech.side, parsed, last),
        "evidence": score_evidence(topic, speech.side, parsed, own),
        "responsiveness": 1.0 if answered is None else answered,
        "structure": score_structure(parsed),
        "novelty": score_novelty(topic, speech.side, parsed, own, others),
        "consistency": score_consistency(parsed, own),
    }
    gate = (
        readable
        * linear_ramp(parts["stance"], 0.0, 0.5)
        * linear_ramp(negated_verb_share(speech.text.lower()), 0.75, 0.5)
        * parts["novelty"]
        * parts["consistency"]
        * (UNBACKED_FACTOR + (1 - UNBACKED_FACTOR) * linear_ramp(parts["evidence"], 0.0, 0.5))
        * INVENTED_FACTOR ** len(find_invented_figures(topic, parsed, heard))
    )
    return parts, gate


def score_consistency(current: Text, before: Sequence[Text]) -> float:
    """0.3 for each sentence that gives up the own case or contradicts a sentence of the side."""
    stood = [s for speech in (*before, current) for s in speech if asserted_clauses(s)]
    against = sum(
        any(sentences_contradict(sentence, other) for other in stood)
        for sentence in current
        if asserted_clauses(sentence)
    )
    return float(0.3 ** (count_concessions(current) + against))


def sentences_contradict(one: Sentence, other: Sentence) -> bool:
    """Whether two sentences of one subject differ in what they deny."""
    common = len(one.stems & other.stems)
    return (
        common >= 4
        and common >= 0.7 * len(one.stems | other.stems)
        and denies(one.text.lower()) != denies(other.text.lower())
    )
