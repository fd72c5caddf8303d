"""Scripted speakers: an expert who earns all that rules give, and an amateur who errs as people do.

The expert looks behind the prompt: it knows the replies that a topic holds for each point of the
other side. Speech j of a side tells point j of the brief; when the four are told it recalls two.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import islice

from llmzoo.envs.debate.judge.evidence import well_told
from llmzoo.envs.debate.judge.replies import answerable, subject
from llmzoo.envs.debate.judge.rules import score_speech
from llmzoo.envs.debate.judge.stance import own_words
from llmzoo.envs.debate.judge.vocabulary import FUNCTION
from llmzoo.envs.debate.judge.words import Sentence, sentences, stem, stems
from llmzoo.envs.debate.speeches import Debate, Speech, heard
from llmzoo.envs.debate.topics import Topic, other

MOST_DRAFTS = 6

# what each side says between its points; nothing in it belongs to a subject
_OPEN = {
    "pro": (
        "We support the motion, and we do so on grounds that can be counted.",
        "Our side stands by the motion, and I would like to add to what has been laid out.",
        "Let me say once more, and for good cause, that the motion should carry.",
        "There is still more to be said, and so I support the motion with another thought.",
        "I speak for the motion again, with all that has been told in mind.",
        "All of us on these benches support the motion to the end.",
    ),
    "con": (
        "We oppose the motion, for it promises what it cannot keep.",
        "Our bench is against the motion, and here is one more reason for that.",
        "I too reject the motion, since its price has not yet been named.",
        "What was offered so far has moved none of us, and we still reject the motion.",
        "We are as much against the motion now as we were at the start.",
        "To the last of us we oppose the motion, and we do so calmly.",
    ),
}
_LINK = {
    "pro": (
        "That is no mere opinion, because it was counted, and whoever wants to say otherwise has to "
        "explain why it came out as it did.",
        "It would be hard to wish that away, and I do not see how anyone could do so without leaving "
        "out the very people of whom we speak.",
        "Therefore I ask you to hold on to it when you hear what comes after me, since it answers much "
        "of what will be said.",
        "This is what we promised to show at the start, and this is what has been shown, so that "
        "the choice in front of you is a plain one.",
        "None of it has been met so far, however often it was passed over, and therefore it counts "
        "today as it counted when I first put it to you; silence is a way of saying that there is "
        "nothing to say.",
        "Put it all on the scales, add what you like to the other pan, and they still come down on one "
        "side, which is where I hope to find you when the talking is done and you have to choose.",
    ),
    "con": (
        "So much for hopes, then: what has been measured is a different matter, and it should carry "
        "more weight with you than any promise.",
        "Anyone who still wants the change has to live with that, and so would those who were never "
        "asked whether they wished to pay.",
        "Because of this we would rather mend what is there than throw it out, and nothing in the "
        "speeches before mine speaks to the contrary.",
        "As long as that stands, and it does, the careful answer is the one that I have given, and "
        "it is open to all who look twice.",
        "It was there from the start and it has not been moved an inch, therefore it still decides, "
        "and I would ask anyone who doubts it to name the speech in which it was so much as looked "
        "at.",
        "Whoever weighs both halves of the ledger will end up, I am sure, about where we are; the rest "
        "was hope, and of hope we have had a great deal from over there, all of it kindly meant.",
    ),
}
# how the other side's claim is named; a reply follows
_CLAIMED = {
    "pro": (
        "The other side tells us that {claim}.",
        "My opponent argues that {claim}.",
        "From the opposing bench we heard that {claim}.",
        "The other side went on to say that {claim}.",
        "It was my opponent who maintained that {claim}.",
        "One claim of the other side remains, namely that {claim}.",
    ),
    "con": (
        "My opponent would have you believe that {claim}.",
        "According to the other side, {claim}.",
        "We have heard it said by the opposing bench that {claim}.",
        "Across the table my opponents insist that {claim}.",
        "The other side asks you to accept that {claim}.",
        "My opponent leaves us with the thought that {claim}.",
    ),
}
# what else it spoke of; the own point follows
_NAMED = {
    "pro": (
        "The other side also speaks of {words}, but that leaves our ground where it was.",
        "My opponent brings up {words} as well, yet here is what it cannot explain away.",
        "As for {words}, of which the opposing bench made much, it has to be set against this.",
        "There was talk of {words} from my opponent; however, it weighs less than what follows.",
        "The other side adds {words} to its account, but look at what it leaves out of it.",
        "Nor does the other side get far with {words}, because the following still holds.",
        "I have listened to what was said of {words}, yet one fact was kept from you.",
        "Let the other side have {words}, if it must; it does not alter what was counted here.",
    ),
    "con": (
        "My opponent reminds us of {words}, yet that is only half of the story.",
        "The opposing bench lingers over {words}, but there is something it passes over.",
        "With {words} the other side paints a fine picture; however, a corner of it is missing.",
        "To {words}, which my opponent has offered you, we answer with what was really observed.",
        "The other side would like to rest on {words}, but it rests on too little.",
        "And as to {words}, whatever my opponents make of it, this is still unanswered.",
        "My opponent may well dwell on {words}, but not on the matter that I now turn to.",
        "However often the other side repeats {words}, the next finding remains.",
    ),
}
_BEFORE_NOUNS = frozenset(
    (
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "for",
        "with",
        "by",
        "from",
        "per",
        "no",
        "and",
        "or",
    )
)
# before the first point of a side that has nothing to answer
_LEAD = {
    "pro": "First of all, there is something that all of us can see.",
    "con": "To begin with, there is something that all of us have seen.",
}


def expert(debate: Debate, side: str) -> str:
    """The speech that earns all there is, for the side whose turn it is: the best of its drafts."""
    best, most = "", -1.0
    for draft in islice(_drafts(debate, side), MOST_DRAFTS):
        speech = Speech("", side, "", heard(draft))
        worth = sum(score_speech(debate.topic, debate.speeches, speech).values())
        if worth > most:
            best, most = draft, worth
        if most > 1 - 1e-9:
            break
    return best


def _drafts(debate: Debate, side: str) -> Iterator[str]:
    said = [sentences(speech.text) for speech in debate.speeches if speech.side == side]
    turn = len(said) % len(_OPEN[side])
    points = debate.topic.brief(side).points
    first = len(said) % len(points)
    # in order, those that have been told already last
    for point in sorted(
        (*points[first:], *points[:first]),
        key=lambda point: any(well_told(point, speech) for speech in said),
    ):
        for answers in _answers(debate, side, turn):
            parts = [_OPEN[side][turn], *(answers or [_LEAD[side]])]
            yield " ".join([*parts, point.claim, point.evidence, _LINK[side][turn]])


def _read_out(debate: Debate, side: str) -> str:
    """Where the speaker stands, and one point of the brief word for word."""
    told = sum(speech.side == side for speech in debate.speeches)
    brief = debate.topic.brief(side)
    point = brief.points[told % len(brief.points)]
    stand = "for" if side == "pro" else "against"
    return f"I am {stand} the motion, because of this. {point.claim} {point.evidence}"


def amateur(debate: Debate, side: str, rng: random.Random) -> str:
    """A speech with the faults that people's speeches have, one time in three with none."""
    brief = debate.topic.brief(side)
    point = rng.choice(brief.points)
    good = expert(debate, side)
    own = [speech.text for speech in debate.speeches if speech.side == side]
    theirs = [speech.text for speech in debate.speeches if speech.side != side]
    return rng.choice(
        (
            *[good] * 5,
            good[: rng.randrange(40, len(good))],  # unfinished
            _misread(good, rng),
            _read_out(debate, side),
            f"{point.claim} Everybody knows that.",  # no evidence
            " ".join(line for point in brief.points for line in (point.claim, point.evidence)),
            own[-1] if own else brief.position,
            f"{theirs[-1]} I do not agree." if theirs else brief.position,
            _read_out(debate, other(side)),  # the wrong side
            ", ".join(sorted(own_words(debate.topic, side))[:30]),
            "I would rather listen.",
            "",
        )
    )


def _answers(debate: Debate, side: str, turn: int) -> Iterator[list[str]]:
    """Sentences that name two things of the other side's last speech, with a reply to its claim or
    without."""
    last = next((s for s in reversed(debate.speeches) if s.side != side), None)
    targets = answerable(debate.topic, side, sentences(last.text)) if last else ()
    found = [
        _NAMED[side][(turn + 2 * number) % len(_NAMED[side])].format(
            words=_listed(debate.topic, side, target)
        )
        for number, target in enumerate(
            sorted(targets, key=lambda target: -len(subject(debate.topic, side, target)))
        )
    ]
    theirs = debate.topic.brief(other(side)).points
    for point, reply in zip(theirs, debate.topic.brief(side).replies, strict=True):
        if any(target.text == point.claim for target in targets):
            claim = point.claim[0].lower() + point.claim[1:].rstrip(".")
            for named in found[:3]:
                yield [_CLAIMED[side][turn].format(claim=claim), reply, named]
    yield found[:2]


def _listed(topic: Topic, side: str, target: Sentence) -> str:
    """Up to three words, or figures, that say of what a sentence speaks: nouns as far as one can tell."""
    about = subject(topic, side, target)
    chosen: dict[str, tuple[bool, bool, int, str]] = {}
    for before, word, after in zip(
        ("", *target.words), target.words, (*target.words[1:], "the"), strict=False
    ):
        if (stems((word,)) | {word}) & about:
            noun = (
                before in _BEFORE_NOUNS and after in FUNCTION and not word.endswith(("ed", "ing"))
            )
            chosen.setdefault(stem(word), (word.isalpha(), noun, len(word), word))
    first, *rest = [word for *_, word in sorted(chosen.values(), reverse=True)[:3]]
    return " and ".join([", ".join([first, *rest[:-1]]), *rest[-1:]])


def _misread(evidence: str, rng: random.Random) -> str:
    """Evidence with its figures read wrongly."""
    return re.sub(r"[0-9]+", lambda match: str(rng.randrange(11, 990)), evidence)
