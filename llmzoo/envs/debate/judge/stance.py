"""Does a speech argue its own side, and stay with it?

Clauses are weighed one by one. What a speaker reports ("my opponent says that ...") or concedes
("although ..., ") is not asserted. What it denies counts for the other side.
"""

from __future__ import annotations

import re
from functools import lru_cache

from llmzoo.envs.debate.judge.denials import MIN_COMMON_WORDS, denies, is_negation_of
from llmzoo.envs.debate.judge.words import (
    VOCABULARY,
    Clause,
    Sentence,
    Text,
    sentences,
    stems,
    words,
)
from llmzoo.envs.debate.tasks import Topic, other_side
from llmzoo.envs.prose import linear_ramp

FULL_OWN_WORDS = 4  # different words of the own brief from which a speech gets the full score
HEARD_WEIGHT = 0.3  # the weight of a word of the other brief that the other side has just used

_OPPONENT = (
    r"(?:my|our|the|both|these|learned|worthy) opponents?|opposing (?:side|bench|team|speaker)|"
    r"opposition|other side|(?:pro|con)_[0-9]+|(?:pro|con)(?:'s)? (?:side|says|claims|argues)"
)
_NAMES_OPPONENT = re.compile(rf"\b(?:{_OPPONENT})\b")
_REPORTS = re.compile(
    rf"\b(?:{_OPPONENT}|proposition|so-called|"
    r"their (?:case|points?|claims?|arguments?|side|brief|evidence|figures?|speech|worry|fear)|"
    r"you(?: have)? (?:say|said|claim|claimed|argue|argued|told)|"
    r"they(?: have)? (?:say|said|claim|claimed|argue|argued|told|tell|cite|cited|point|warn|warned|"
    r"mention|mentioned|raise|raised|fear|worry|speak|spoke|talk)|"
    r"the (?:claim|objection|complaint|worry|fear) that|"
    r"we (?:heard|hear|were told|are told|have heard)|"
    r"it (?:is|was|has been) (?:said|claimed|argued))\b"
)
_MAYBE = re.compile(r"\b(?:hardly|fails?|failed|nothing|little|without|doubt|less|ignores?)\b")
_PRO = (
    r"(?:support|favou?r|back|affirm|defend|endorse|uphold|accept|adopt|pass|carry|propose|vote for|"
    r"agree with|stands? (?:for|by|behind)|argues? for|speaks? for|in favou?r of|sides? with|am for|are for)\w{0,3}"
    r"(?: (?:of|to|the|this|that|our|tonight's|today's|of the)){0,3} (?:motion|proposal|idea)|"
    r"(?:i am|i'm|we are|we're) (?:all )?(?:for|in favou?r of) (?:this|it)\b"
)
_CON = (
    r"(?:oppose|reject|resist|refuse|defeat|against|vote down|turn down|disagree with|decline)\w{0,3}"
    r"(?: (?:of|to|the|this|that|our|tonight's|today's)){0,3} (?:motion|proposal|idea)|"
    r"(?:i am|i'm|we are|we're) (?:all )?against (?:this|it)\b"
)
_AFTER = r"motion (?:should|must|deserves|ought|stands|is right|is sound|carries|holds|is worth)"
_AFTER_CON = (
    r"motion (?:fails|falls|goes too far|is (?:a |the )?(?:wrong|mistake|mistaken|unwise|bad))"
)
_STATES = {
    "pro": re.compile(rf"\b(?:{_PRO}|{_AFTER})\b"),
    "con": re.compile(rf"\b(?:{_CON}|{_AFTER_CON})\b"),
}
_GIVES_UP = re.compile(
    r"\b(?:i was wrong|we were wrong|i am wrong|we are wrong|"
    r"(?:opponents?|other side|they|you) (?:is|are|was|were|has been|have been) (?:completely |entirely "
    r"|absolutely |quite )?(?:right|correct)|(?:i|we) (?:fully |now |must |have to |gladly )?(?:concede|"
    r"surrender|give up|withdraw|yield)|(?:i|we) (?:fully |now |completely |must )?agree with "
    r"(?:my|our|the|everything|all|what) (?:opponents?|other side|they|you|my)|(?:i|we)(?: have)? "
    r"changed? (?:my|our) minds?|(?:my|our) (?:own )?(?:case|side|argument|position) (?:is|was) "
    r"(?:wrong|weak|false|mistaken|hopeless)|(?:they|you) win|"
    r"(?:i|we)(?: have to| must)? take (?:it|this|that|all of (?:it|this|that)|everything) back|"
    r"the opposite is (?:true|the case)|(?:forget|ignore) (?:all |everything )?(?:that |what )?(?:i|we)(?: have)? said|"
    r"none of (?:it|this|that|what (?:i|we) said) is (?:true|right)|no longer (?:believe|support|oppose))\b"
)
EVERYDAY_STEMS = stems(tuple(VOCABULARY["everyday"]))
_TURNS = re.compile(r"\b(?:but|yet|however|only|still)\b")


@lru_cache(maxsize=512)
def distinctive_stems(topic: Topic, side: str) -> frozenset[str]:
    """Stems that only this side's brief has: not the motion, the other brief or everyday language."""
    return (
        brief_stems(topic, side)
        - brief_stems(topic, other_side(side))
        - stems(words(topic.motion.lower()))
        - EVERYDAY_STEMS
    )


@lru_cache(maxsize=512)
def brief_stems(topic: Topic, side: str) -> frozenset[str]:
    """The stems of a side's brief."""
    lines = topic.brief(side).lines
    return frozenset().union(*(s.stems for line in lines for s in sentences(line)))


def asserted_clauses(sentence: Sentence) -> tuple[Clause, ...]:
    """The clauses that the speaker stands for."""
    clauses = []
    reported = running = False
    for clause in sentence.clauses:
        if not (running and clause.goes_on):
            reported = _REPORTS.search(clause.text) is not None
            # "the other side is wrong: ..." goes on in the speaker's own voice
            running = reported and not denies(clause.text)
        if not reported and not clause.conceded:
            clauses.append(clause)
    return tuple(clauses)


def is_reported(sentence: Sentence) -> bool:
    """Whether the sentence reports or concedes something."""
    return len(asserted_clauses(sentence)) < len(sentence.clauses)


def names_opponent(text: str) -> bool:
    return _NAMES_OPPONENT.search(text) is not None


def measure_leaning(topic: Topic, side: str, speech: Text, last: Text = ()) -> tuple[float, int]:
    """The share of the own side (0 to 1) in the asserted words that only one brief has, and the number
    of different words of the own brief among them. Words of the other side's ``last`` speech count
    less against it, since an answer has to use them."""
    heard = frozenset().union(*(sentence.stems for sentence in last))
    own, opposite = distinctive_stems(topic, side), distinctive_stems(topic, other_side(side))
    used: set[str] = set()
    of_own = 0
    against = 0.0
    for clause in (clause for sentence in speech for clause in asserted_clauses(sentence)):
        mine, theirs = clause.stems & own, clause.stems & opposite
        if _denies_brief(topic, side, clause):
            against += len(mine)
        else:
            of_own += len(mine)
            used |= mine
        if not denies(clause.text) and not _MAYBE.search(clause.text):
            against += len(theirs - heard) + HEARD_WEIGHT * len(theirs & heard)
    return of_own / max(1, of_own + against), len(used)


def stated_side(side: str, speech: Text) -> float:
    """1.0 if the speaker says that it is on this side, -1.0 for the other side, 0.0 for neither."""
    sides = {_declared_side(clause) for sentence in speech for clause in asserted_clauses(sentence)}
    return -1.0 if other_side(side) in sides else float(side in sides)


def agrees_with_position(topic: Topic, side: str, speech: Text) -> bool:
    """Whether a sentence says the same as the side's position, in similar words."""
    (position, *_) = sentences(topic.brief(side).position)
    return any(
        len(s.stems & position.stems) >= 0.5 * len(position.stems)
        and denies(s.text.lower()) == denies(position.text.lower())
        for s in speech
        if asserted_clauses(s)
    )


def count_concessions(speech: Text) -> int:
    """The number of sentences in which the speaker gives up its own case."""
    return sum(
        match is not None and not _TURNS.search(s.text.lower(), match.end())
        for s in speech
        if (match := _GIVES_UP.search(s.text.lower()))
    )


def score_stance(topic: Topic, side: str, speech: Text, last: Text = ()) -> float:
    """Three quarters for arguing the own brief, a quarter for naming the own side."""
    says = stated_side(side, speech)
    if says < 0:
        return 0.0
    share, used = measure_leaning(topic, side, speech, last)
    named = 1.0 if says > 0 or agrees_with_position(topic, side, speech) else 0.0
    argued = linear_ramp(share, 0.45, 0.6) * linear_ramp(used, 0, FULL_OWN_WORDS)
    return argued * (0.75 + 0.25 * named)


def _declared_side(clause: Clause) -> str | None:
    """The side that a clause declares itself for."""
    for side, pattern in _STATES.items():
        match = pattern.search(clause.text)
        if match:
            before = " ".join(clause.text[: match.end()].split()[-8:])
            after = " ".join(clause.text[match.end() :].split()[:1])
            return other_side(side) if denies(f"{before} {after}") else side
    return None


def _denies_brief(topic: Topic, side: str, clause: Clause) -> bool:
    """Whether the clause denies the part of the brief that it is about."""
    part = max(_brief_clauses(topic, side), key=lambda part: len(clause.stems & part.stems))
    alike = len(clause.stems & part.stems) >= max(MIN_COMMON_WORDS, 0.4 * len(clause.stems))
    return alike and is_negation_of(clause.text, part.text)


@lru_cache(maxsize=512)
def _brief_clauses(topic: Topic, side: str) -> tuple[Clause, ...]:
    lines = topic.brief(side).lines
    return tuple(clause for line in lines for s in sentences(line) for clause in s.clauses)
