"""Stories: event by event, somebody gains and loses things.

A story uses each sentence at most once and never tells two events of one kind in a row. At least two
things are left at any time, so plurals are right.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from llmzoo.envs.math.generator import names
from llmzoo.envs.math.generator.problem import MathProblem, SampleProblem
from llmzoo.envs.symmetry_keys import sorted_key

_MANY = {2: "twice", 3: "three times", 4: "four times"}
_PARTS = {2: "half", 3: "a third"}


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a story.

    count: the number of things after it.
    gaps: the values for the gaps of a sentence.
    terse: the event in few words.
    step: the event in a program.
    """

    count: int
    gaps: dict[str, object]
    terse: str
    step: str


def story(events: int, most: int) -> SampleProblem:
    """A story of so many events that starts with up to ``most`` things and asks for the final number."""

    def draw(rng: random.Random) -> MathProblem:
        name, thing = rng.choice(names.NAMES), rng.choice(names.THINGS)
        count = rng.randint(most // 4, most)
        told, terse, program = [f"{name} has {count} {thing}."], [f"has {count}"], [f"n = {count}"]
        left = {kind: [*sentences] for kind, sentences in _KINDS.items()}
        last: _Kind | None = None
        for _ in range(events):
            last = rng.choice([k for k in left if k is not last and left[k] and _fits(k, count)])
            sentence = left[last].pop(rng.randrange(len(left[last])))
            event = last(rng, count)
            count = event.count
            told.append(sentence.format(name=name, thing=thing, **event.gaps))
            terse.append(event.terse)
            program.append(event.step)
        question = rng.choice(
            (
                f"How many {thing} does {name} have now?",
                f"With how many {thing} does {name} end up?",
            )
        )
        return MathProblem(
            " ".join([*told, question]),
            str(count),
            "\n".join([*program, "print(n)"]),
            f"{' '.join(terse)} how many now",
            _key(terse),
        )

    return draw


def _key(events: Sequence[str]) -> str:
    """The events, with consecutive additions and subtractions sorted, and consecutive multiplications
    too. The initial number counts as an addition."""
    runs = groupby(
        [events[0].replace("has", "plus"), *events[1:]],
        key=lambda event: event.startswith(("times", "minus 1/")),
    )
    return ", ".join(sorted_key(*map(_sort_product, run)) for _, run in runs)


def _sort_product(event: str) -> str:
    """``plus 6 of 11`` and ``plus 11 of 6`` in one form."""
    start, of, each = event.partition(" of ")
    kind, count = start.split()
    return f"{kind} {sorted_key(count, each)}" if of else event


_Kind = Callable[[random.Random, int], Event]


def _more(rng: random.Random, count: int) -> Event:
    k = rng.randint(2, 60)
    return Event(count + k, {"k": k, "who": rng.choice(names.PEOPLE)}, f"plus {k}", f"n += {k}")


def _fewer(rng: random.Random, count: int) -> Event:
    k = rng.randint(2, count - 2)
    return Event(count - k, {"k": k, "who": rng.choice(names.PEOPLE)}, f"minus {k}", f"n -= {k}")


def _parcels(rng: random.Random, count: int) -> Event:
    k, each = rng.randint(2, 12), rng.randint(2, 15)
    gaps = {"k": k, "each": each, "boxes": rng.choice(names.BOXES)}
    return Event(count + k * each, gaps, f"plus {k} of {each}", f"n += {k} * {each}")


def _times(rng: random.Random, count: int) -> Event:
    k = rng.choice([*_MANY])
    return Event(count * k, {"many": _MANY[k]}, f"times {k}", f"n *= {k}")


def _part(rng: random.Random, count: int) -> Event:
    k = rng.choice([k for k in _PARTS if count % k == 0])
    return Event(count - count // k, {"part": _PARTS[k]}, f"minus 1/{k}", f"n -= n // {k}")


_KINDS: dict[_Kind, tuple[str, ...]] = {
    _more: (
        "Then {name} finds {k} more at home.",
        "{name} buys {k} more at the market.",
        "{name} gets {k} {thing} from {who}.",
    ),
    _fewer: (
        "{name} gives {k} of the {thing} to {who}.",
        "Then {k} of the {thing} get lost.",
        "{name} sells {k} of the {thing}.",
    ),
    _parcels: (
        "A delivery brings {k} {boxes} with {each} {thing} each.",
        "{name} is given {k} {boxes} of {each} {thing} each.",
    ),
    _times: ("A year later {name} has {many} as many {thing}.",),
    _part: (
        "Then {name} gives away {part} of the {thing}.",
        "{name} trades {part} of all the {thing} for a hat.",
    ),
}


def _fits(kind: _Kind, count: int) -> bool:
    """Whether an event is possible with so many things."""
    if kind is _fewer:
        return count >= 4
    if kind is _part:
        return count >= 4 and any(count % k == 0 for k in _PARTS)
    return True
