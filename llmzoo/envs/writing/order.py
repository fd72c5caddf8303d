"""Whether words stand in the order of English sentences: pairs of word classes, no model.

Every word has a class: function words and frequent verbs have small classes of their own, the rest
goes by its ending. ``order.json`` holds for each pair of classes ``log P(b | a) / P(b)``, learned
from the project's own texts (:mod:`llmzoo.envs.writing.order_table`). Its mean over a text is
positive where words stand as in running text (their order tells something of the next class) and
negative where the same words are shuffled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

NEVER = -1.6  # what the table has for neighbours that next to never stand so
TABLE = Path(__file__).parent / "order.json"

PIECE = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[.!?;,:]")

_CLASSES = {
    "article": "the a an",
    "possessive": "my your our their its",
    "demonstrative": "this these those",
    "his": "his her",
    "subject": "i he she we they",
    "you": "you it",
    "object": "me him us them myself himself herself itself ourselves themselves",
    "is": "is are was were am",
    "be": "be",
    "been": "been being",
    "have": "has had have",
    "having": "having",
    "do": "do does did",
    "modal": "can could will would shall should may might must cannot",
    "not": "not",
    "to": "to",
    "of": "of",
    "preposition": "from at with into between among during toward towards against without within "
    "per upon onto via despite",
    "in": "in on",
    "for": "for by",
    "as": "as",
    "than": "than",
    "about": "about over after before around through under since until near behind across along",
    "and": "and or nor",
    "but": "but yet",
    "because": "because if although though unless whereas while whether",
    "that": "that",
    "who": "who which whom whose",
    "when": "when where how why",
    "what": "what",
    "so": "so then thus hence therefore",
    "also": "also still even just never always often already now only really almost soon instead "
    "however once again perhaps maybe later",
    "very": "very too more most less quite rather much",
    "all": "all both each every any some no many few several another other enough",
    "one": "one",
    "there": "there here",
    "out": "out up down off away back",
    "own": "own same such",
    "verb": "want go make take get know think say see tell ask give find use keep let need try feel "
    "leave call work help start look come put seem become turn move live believe hold bring happen "
    "write provide sit stand lose pay meet include continue set learn change lead understand watch "
    "follow stop create speak read allow add spend grow open walk win offer remember love consider "
    "appear buy wait serve die send expect build stay fall cut reach kill remain suggest raise pass "
    "sell require decide pull return explain hope develop carry break receive agree",
    "past": "went made took got knew thought said saw told gave found kept felt left came became "
    "began brought held wrote sat stood lost paid met led understood spent grew won spoke bought "
    "sent built fell broke lent stuck ran slept heard drove ate sold caught taught fought hid threw "
    "wore woke rode sang drew chose",
    "end": ". ! ?",
    "pause": ", ; :",
}
_CLASS = {word: name for name, words in _CLASSES.items() for word in words.split()}
_ENDINGS = (  # of words of at least so many letters
    ("ing", ("ing",), 6),
    ("ed", ("ed",), 5),
    ("ly", ("ly",), 5),
    ("noun", ("tion", "sion", "ment", "ness", "ity", "ance", "ence", "ship", "ism", "logy"), 6),
    ("adjective", ("ous", "ful", "able", "ible", "ive", "less", "ary", "al", "ic", "ish"), 5),
)
_SHORT_FORMS = {"re": "is", "m": "is", "ve": "have", "d": "modal", "ll": "modal"}
OTHER = "other"
NAMES = (*_CLASSES, *(name for name, *_ in _ENDINGS), "number", "plural", "genitive", OTHER)


def classes(text: str) -> list[str]:
    """The class of each word and mark, from the end of a sentence to the end of a sentence."""
    found = ["end"]
    for piece in PIECE.findall(text.lower().replace("’", "'")):
        word, _, short = piece.partition("'")
        if short == "t":  # don't, isn't
            word = {"can": "can", "won": "will"}.get(word, word.removesuffix("n"))
            found += [class_of(word), "not"]
        elif short == "s":
            found += [class_of(word), "is" if word in _CLASS else "genitive"]
        elif short:
            found += [class_of(word), _SHORT_FORMS.get(short, OTHER)]
        else:
            found.append(class_of(word))
    return found if found[-1] == "end" else [*found, "end"]


def order(*texts: str) -> float:
    """The mean over all neighbours in the texts; about 0.4 in running text, -0.4 when shuffled."""
    table = _table()
    values = [table[pair] for found in map(classes, texts) for pair in pairwise(found)]
    return sum(values) / max(1, len(values))


def broken(*texts: str) -> float:
    """The share of neighbours of which running text has next to none: ``the of``, ``to is``."""
    table = _table()
    values = [table[pair] for found in map(classes, texts) for pair in pairwise(found)]
    return sum(value <= NEVER for value in values) / max(1, len(values))


def class_of(word: str) -> str:
    """The class of a word or mark in small letters."""
    if word in _CLASS:
        return _CLASS[word]
    if word.isdigit() or word[0].isdigit():
        return "number"
    for name, endings, least in _ENDINGS:
        if len(word) >= least and word.endswith(endings):
            return name
    return "plural" if word.endswith("s") and not word.endswith(("ss", "us", "is")) else OTHER


@lru_cache(maxsize=1)
def _table() -> Mapping[tuple[str, str], float]:
    rows = json.loads(TABLE.read_text(encoding="utf-8"))
    return {
        (a, b): value / 100 for a, row in rows.items() for b, value in zip(NAMES, row, strict=True)
    }
