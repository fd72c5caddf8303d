"""Scripted speakers: an expert with the highest score, and a noisy expert who errs as people do.

The expert knows more than its prompt: the topic's replies to each point of the other side. Speech j
of a side tells point j of the brief; after all four it returns to two of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from llmzoo.envs.debate.judge.evidence import answerable_sentences, score_telling, subject_stems
from llmzoo.envs.debate.judge.rules import score_speech
from llmzoo.envs.debate.judge.stance import distinctive_stems
from llmzoo.envs.debate.judge.words import (
    FUNCTION,
    VOCABULARY,
    Sentence,
    sentences,
    stem,
    stems,
)
from llmzoo.envs.debate.tasks import Debate, Speech, Topic, clean_speech, other_side
from llmzoo.envs.prose import load_word_lists

MOST_DRAFTS = 6

_PHRASES = {  # by kind and side
    name: {side: lines.strip().split("\n") for side, lines in sides.items()}
    for name, sides in load_word_lists(Path(__file__).parent / "phrases.ini").items()
}


def expert(debate: Debate, side: str) -> str:
    """The best of some drafts for the side whose turn it is; as a rule it earns all there is."""
    best, most = "", -1.0
    for draft in islice(_drafts(debate, side), MOST_DRAFTS):
        speech = Speech("", side, "", clean_speech(draft))
        worth = sum(score_speech(debate.topic, debate.speeches, speech).values())
        if worth > most:
            best, most = draft, worth
        if most > 1 - 1e-9:
            break
    return best


def _drafts(debate: Debate, side: str) -> Iterator[str]:
    own_speeches = [sentences(speech.text) for speech in debate.speeches if speech.side == side]
    turn = len(own_speeches) % len(_PHRASES["opening"][side])
    points = debate.topic.brief(side).points
    first = len(own_speeches) % len(points)
    # in order, but points that were told before come last
    for point in sorted(
        (*points[first:], *points[:first]),
        key=lambda point: any(score_telling(point, speech) for speech in own_speeches),
    ):
        for answers in _draft_answers(debate, side, turn):
            parts = [_PHRASES["opening"][side][turn], *(answers or _PHRASES["lead"][side])]
            yield " ".join([*parts, point.claim, point.evidence, _PHRASES["link"][side][turn]])


def _draft_from_brief(debate: Debate, side: str) -> str:
    """A statement of the own side, and one point of the brief word for word."""
    speech_count = sum(speech.side == side for speech in debate.speeches)
    brief = debate.topic.brief(side)
    point = brief.points[speech_count % len(brief.points)]
    stand = "for" if side == "pro" else "against"
    return f"I am {stand} the motion, because of this. {point.claim} {point.evidence}"


def noisy_expert(debate: Debate, side: str, rng: random.Random) -> str:
    """A speech with a fault that people's speeches have; one in three has none."""
    brief = debate.topic.brief(side)
    point = rng.choice(brief.points)
    good = expert(debate, side)
    own = [speech.text for speech in debate.speeches if speech.side == side]
    theirs = [speech.text for speech in debate.speeches if speech.side != side]
    return rng.choice(
        (
            *[good] * 5,
            good[: rng.randrange(40, len(good))],  # unfinished
            re.sub(r"[0-9]+", lambda match: str(rng.randrange(11, 990)), good),
            _draft_from_brief(debate, side),
            f"{point.claim} Everybody knows that.",  # no evidence
            " ".join(line for point in brief.points for line in (point.claim, point.evidence)),
            own[-1] if own else brief.position,
            f"{theirs[-1]} I do not agree." if theirs else brief.position,
            _draft_from_brief(debate, other_side(side)),  # the wrong side
            ", ".join(sorted(distinctive_stems(debate.topic, side))[:30]),
            "I would rather listen.",
            "",
        )
    )


def _draft_answers(debate: Debate, side: str, turn: int) -> Iterator[list[str]]:
    """Sentences that name two things of the other side's last speech. If it made a claim of its brief,
    a reply to that comes first."""
    topic = debate.topic
    last = next((s for s in reversed(debate.speeches) if s.side != side), None)
    targets = answerable_sentences(topic, side, sentences(last.text)) if last else ()
    templates = _PHRASES["named"][side]
    by_words = sorted(targets, key=lambda target: -len(subject_stems(topic, side, target)))
    named = [
        templates[(turn + 2 * i) % len(templates)].format(words=_name_subject(topic, side, target))
        for i, target in enumerate(by_words)
    ]
    theirs = topic.brief(other_side(side)).points
    for point, reply in zip(theirs, topic.brief(side).replies, strict=True):
        if any(target.text == point.claim for target in targets):
            claim = point.claim[0].lower() + point.claim[1:].rstrip(".")
            claim_line = _PHRASES["claimed"][side][turn].format(claim=claim)
            for naming in named[:3]:
                yield [claim_line, reply, naming]
    yield named[:2]


def _name_subject(topic: Topic, side: str, target: Sentence) -> str:
    """Up to three words or figures of a sentence that tell its subject, nouns if possible."""
    about = subject_stems(topic, side, target)
    own = target.words
    ranked: dict[str, tuple[bool, bool, int, str]] = {}
    for before, word, after in zip(("", *own), own, (*own[1:], "the"), strict=False):
        if (stems((word,)) | {word}) & about:
            between = before in VOCABULARY["before_nouns"] and after in FUNCTION
            noun = between and not word.endswith(("ed", "ing"))
            ranked.setdefault(stem(word), (word.isalpha(), noun, len(word), word))
    first, *rest = [word for *_, word in sorted(ranked.values(), reverse=True)[:3]]
    return " and ".join([", ".join([first, *rest[:-1]]), *rest[-1:]])
