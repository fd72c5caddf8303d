"""Writes the articles of the Veyl Isles: ``python scripts/corpus/recipe.py``."""

from __future__ import annotations

import json
import random

from sentences import WORDINGS
from world import SHE, Subject, subjects

from llmzoo.envs.tools.corpus import FILE

COLOUR = 2  # sentences without facts in an article
MIN_WORDS, MAX_WORDS = 60, 120

_SHE = {"He": "She", "he": "she", "His": "Her", "his": "her", "him": "her"}
_HE = {word: word for word in _SHE}
_ARTICLES = {"bridge builder": "", "merchant": "", "naturalist": "the "}  # before what made a name


def lines() -> list[str]:
    """The lines of ``articles.jsonl``, in the order of the titles."""
    made = sorted(subjects(), key=lambda subject: subject.title)
    return [
        json.dumps(
            {
                "title": subject.title,
                "text": written(subject),
                "facts": dict(subject.facts),
                "kind": subject.kind,
            }
        )
        for subject in made
    ]


def written(subject: Subject) -> str:
    """The article about a subject; the same text every time."""
    rng = random.Random(subject.title)
    wording = WORDINGS[subject.kind]
    facts = [rng.choice(group) for group in wording.groups]
    colour = rng.sample(wording.colour, len(wording.colour))
    body = [*facts, *colour[:COLOUR]]
    rng.shuffle(body)
    text = _filled(" ".join([rng.choice(wording.openings), *body]), subject)
    for more in colour[COLOUR:]:
        if len(text.split()) >= MIN_WORDS:
            break
        text = f"{text} {_filled(more, subject)}"
    return text


def _filled(sentences: str, subject: Subject) -> str:
    words = _SHE if subject.title in SHE else _HE
    the = _ARTICLES.get(str(subject.facts.get("profession")), "")
    filled = sentences.format(title=subject.title, the=the, **words, **subject.facts)
    return filled[0].upper() + filled[1:]


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
