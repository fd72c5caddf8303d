"""The scripted customer: answers what the agent asks with the sentences of its instructions that are about it.

It reads only what the customer may read. Sentences are found by topic, so that records of tau2-bench can be
played too, if roughly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from llmzoo.envs.tools.airline.tasks import AirlineConversation, AirlineTask
from llmzoo.envs.tools.service.conversations import STOP

UNSURE = "I am not sure what you need to know."
AGREED = "Yes, please go ahead."
LEAVE_AS_IS = "Then leave everything as it is."
THANKS = f"Thank you, that is all. {STOP}"
MAX_SENTENCES = 6  # of one answer

_TOPICS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(words, re.IGNORECASE)
    for name, words in {
        "who": r"\buser[ _]id\b|\b(your|full) names?\b|\bidentif",
        "reservation": r"\breservations?\b|\b(confirmation|booking) (number|code|id)\b",
        "reason": r"\bwhy\b|\breasons?\b|\bbecause\b",
        "trip": r"\b(which|direct|stop|another) flights?\b|\bwhat flights?\b|\bdates?\b|\bdays?\b|\bwhen\b|\bfly on\b",
        "cabin": r"\bcabins?\b|\bclass\b",
        "passengers": r"\bpassengers?\b|\btravell?ers?\b|\bborn\b|\bbirth",
        "payment": r"\bpay\b|\bpayment|\bcards?\b|\bcertificates?\b",
        "bags": r"\bbags?\b|\bbaggages?\b|\bluggage\b|\bsuitcases?\b",
        "insurance": r"\binsurance\b|\binsured?\b",
    }.items()
}
_CONFIRM = re.compile(
    r"\b(shall|should|may|can) i\b[^?]*\?|\bconfirm\b|\bgo ahead\b|\bproceed\b|\bdo you agree\b|\bwould you like me to\b",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"\b(can ?not|can't|unable|impossible|not (possible|allowed|permitted)|sorry|do(es)? not allow|refuse)",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(done|booked|cancell?ed|changed|moved|updated|added|sent|completed?|refunded|replaced)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\?|\b(tell|give|provide|let me know|name)\b", re.IGNORECASE)
_MORE = re.compile(r"\banything else\b|\bany(thing)? (other|more|further)\b", re.IGNORECASE)
_FIGURE = re.compile(r"\$ ?\d|\d ?(dollars|usd)\b", re.IGNORECASE)
_QUESTION = re.compile(r"Before you end the call, ask ([^.]+)\.")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_PERSONS = tuple(
    (re.compile(rf"\b{words}\b", re.IGNORECASE), mine)
    for words, mine in (
        *(("you are", "I am"), ("you're", "I'm"), ("you were", "I was"), ("you have", "I have")),
        *(("yourself", "myself"), ("yours", "mine"), ("your", "my"), ("you", "I")),
    )
)


def respond(conversation: AirlineConversation) -> str:
    """What the customer says next."""
    message = conversation.last_message_from("assistant")
    question = _pending_question(conversation)
    if _CONFIRM.search(message) and not _REFUSED.search(message):
        return f"{AGREED} {question}".strip()
    if _REFUSED.search(message):
        return f"{LEAVE_AS_IS} {question}" if question else THANKS
    if _reports_done(message):
        return f"Thank you. {question}" if question else THANKS
    asks = _ASKS.search(message) is not None
    if _FIGURE.search(message) and not question and not asks:
        is_settled = any(
            _REFUSED.search(e) or _reports_done(e) for e in conversation.messages("assistant")
        )
        return THANKS if is_settled else f"Thank you. {AGREED}"
    facts = " ".join(relevant_sentences(conversation.task, message)[:MAX_SENTENCES])
    if facts:
        return facts
    return f"{UNSURE} {to_first_person(conversation.task.reason) if asks else question}".strip()


def relevant_sentences(task: AirlineTask, message: str) -> list[str]:
    """The sentences of a task's customer about the topics of a message."""
    topics = {name for name, words in _TOPICS.items() if words.search(message)}
    found = []
    for sentence in _SENTENCES.split(f"{task.known_info}\n{task.instructions}"):
        about = {name for name, words in _TOPICS.items() if words.search(sentence)}
        if about & topics and not _QUESTION.search(sentence):
            found.append(to_first_person(sentence.strip()))
    return found


def to_first_person(text: str) -> str:
    """What a customer says of itself, from what it is told."""
    for words, first_person in _PERSONS:
        text = words.sub(first_person, text)
    return text[:1].upper() + text[1:]


def _reports_done(message: str) -> bool:
    """Whether a message says that something was done, and asks for nothing."""
    asks = _ASKS.search(message) and not _MORE.search(message)
    return _DONE.search(message) is not None and not asks


def _pending_question(conversation: AirlineConversation) -> str:
    """What the customer has to ask; "" once an answer to it has a figure."""
    found = _QUESTION.search(conversation.task.instructions)
    if found is None:
        return ""
    wanted = to_first_person(found[1])
    question = f"Please tell me {wanted[:1].lower()}{wanted[1:]}."
    waits = False
    for side, kind, text in conversation.entries:
        if kind == "message" and side == "user":
            waits = waits or question in text
        elif kind == "message" and waits and _FIGURE.search(text):
            return ""
    return question
