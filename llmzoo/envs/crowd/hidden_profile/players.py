"""Scripted members. They use nothing but what their prompts show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from llmzoo.envs.crowd.hidden_profile.facts import Fact, FactNames, score_places

SLOPPY = 0.25  # how often a noisy expert errs

Speak = Callable[[FactNames, Sequence[Fact], Sequence[str], int], str]
Choose = Callable[[FactNames, Sequence[Fact], Sequence[str]], int]


def report(names: FactNames, known: Sequence[Fact], heard: Sequence[str], words: int) -> str:
    """What speaks against the place that leads in the member's own view and for the others, and was not said yet.

    Only such facts can change a vote. Without any left, the member says whom it will vote for.
    """
    leader = _first_best(known, names)
    said = _read_all(names, heard)
    new = [fact for fact in known if fact.good == (fact.place != leader) and fact not in said]
    return (
        _fit(names, new, words) or f"I vote for {names.places[choose_place(names, known, heard)]}."
    )


def defend(names: FactNames, known: Sequence[Fact], heard: Sequence[str], words: int) -> str:
    """What speaks for the place that leads in the member's own view: most often, what all know."""
    leader = _first_best(known, names)
    return _fit(names, [fact for fact in known if fact.place == leader and fact.good], words)


def choose_place(names: FactNames, known: Sequence[Fact], heard: Sequence[str]) -> int:
    """The best place by the member's own facts and those that were reported."""
    return _first_best({*known, *_read_all(names, heard)}, names)


def hold_on(names: FactNames, known: Sequence[Fact], heard: Sequence[str]) -> int:
    """The place that the member's own facts favour, but not the one that :func:`choose_place` names."""
    scores = score_places(known, len(names.places))
    scores[choose_place(names, known, heard)] = min(scores) - 1
    return scores.index(max(scores))


def _first_best(facts: Iterable[Fact], names: FactNames) -> int:
    scores = score_places(facts, len(names.places))
    return scores.index(max(scores))


def _read_all(names: FactNames, heard: Sequence[str]) -> set[Fact]:
    return {fact for text in heard for fact in names.read(text)}


def _fit(names: FactNames, facts: Sequence[Fact], words: int) -> str:
    """As many of the facts as a message of so many words can hold."""
    count = len(facts)
    while len(names.write(facts[:count]).split()) > words:
        count -= 1
    return names.write(facts[:count])
