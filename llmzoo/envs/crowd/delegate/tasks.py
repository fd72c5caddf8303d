"""Order books, questions about them, and the right answers.

An order book has a page for each month. A page is a list of records: orders, and notices of prices. A
question needs some of the pages. Each of these has a *partial value*: the number that must be found on this
page. The answer follows from the partial values alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
PEOPLE = ("Mira", "Tomas", "Ines", "Bodo", "Lena", "Karim", "Olga", "Pavel")
ITEMS = ("lamps", "chairs", "ropes", "bowls", "kites", "drums", "clocks", "shovels")
DAYS = range(1, 29)
AMOUNTS = range(2, 10)  # pieces of an order, and prices
PRICE_SHARE = 0.2  # of the records, as long as an item has no price on the page

Measure = Literal["total", "orders", "first", "last", "price"]


class Order(NamedTuple):
    """``person`` ordered ``amount`` pieces of ``item`` on ``day``."""

    day: int
    person: str
    amount: int
    item: str


class Price(NamedTuple):
    """A notice of the price of ``item``, the only one on its page."""

    day: int
    item: str
    price: int


Record = Order | Price


class Page(NamedTuple):
    """A document: the records of one month, by day."""

    title: str
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of question. ``combine`` makes the answer of the partial values. ``least``: pages that it needs at least.
    ``last_measure``: what is asked of the last page, if it is something else."""

    measure: Measure
    combine: Callable[[Sequence[int]], int]
    least: int = 1
    last_measure: Measure | None = None


def _cost(values: Sequence[int]) -> int:
    """The sum of the amounts, times the price, which comes last."""
    *amounts, price = values
    return sum(amounts) * price


KINDS: Mapping[str, Kind] = {
    "total": Kind("total", sum),
    "orders": Kind("orders", sum),
    "first": Kind("first", min),
    "last": Kind("last", max),
    "most": Kind("total", max, least=2),
    "cost": Kind("total", _cost, least=2, last_measure="price"),
}


class Question(NamedTuple):
    """``subject``: the person or the item. ``titles``: the pages that it needs; for the kind "cost" the
    page with the price is the last."""

    kind: str
    subject: str
    titles: tuple[str, ...]

    def measure(self, title: str) -> Measure:
        """What is asked of a page; of one that is not needed, the same as of the first."""
        kind = KINDS[self.kind]
        is_last = title == self.titles[-1]
        return kind.last_measure if kind.last_measure and is_last else kind.measure


class DelegateTask(NamedTuple):
    """One task: the pages in the order of the months, and the question."""

    pages: tuple[Page, ...]
    question: Question

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(page.title for page in self.pages)

    def page(self, title: str) -> Page:
        return next(page for page in self.pages if page.title == title)

    def partial_value(self, title: str) -> int:
        """The number that the question asks of one page."""
        question = self.question
        return measure_page(self.page(title), question.measure(title), question.subject)

    @property
    def answer(self) -> int:
        question = self.question
        return KINDS[question.kind].combine(
            [self.partial_value(title) for title in question.titles]
        )


def matching_records(page: Page, measure: Measure, subject: str) -> list[Record]:
    """The records that a measure counts."""
    if measure == "price":
        return [r for r in page.records if isinstance(r, Price) and r.item == subject]
    return [r for r in page.records if isinstance(r, Order) and subject in (r.item, r.person)]


def measure_page(page: Page, measure: Measure, subject: str) -> int:
    """A number that a page says about a person or an item; 0 if it says nothing about it."""
    return measure_records(matching_records(page, measure, subject), measure)


def measure_records(records: Sequence[Record], measure: Measure) -> int:
    """The number that the records of a measure give; 0 without a record."""
    if measure == "orders":
        return len(records)
    days = [record.day for record in records]
    if measure in ("first", "last"):
        return (min if measure == "first" else max)(days, default=0)
    return sum(record.price if isinstance(record, Price) else record.amount for record in records)


def sample_task(rng: random.Random, documents: int, rows: int, max_workers: int) -> DelegateTask:
    """A random task. Its question needs 1 to ``max_workers`` pages, each number equally often. On each of
    them at least one record matters."""
    needed = rng.randint(1, max_workers)
    name = rng.choice([name for name, kind in KINDS.items() if kind.least <= needed])
    subject = rng.choice(PEOPLE if name in ("orders", "first", "last") else ITEMS)
    titles = sorted(rng.sample(MONTHS, documents), key=MONTHS.index)
    asked = sorted(rng.sample(titles, needed), key=MONTHS.index)
    if KINDS[name].last_measure:  # any of the pages may have the price
        asked.append(asked.pop(rng.randrange(needed)))
    question = Question(name, subject, tuple(asked))
    pages = (
        _sample_page(rng, title, rows, question if title in asked else None) for title in titles
    )
    return DelegateTask(tuple(pages), question)


def _sample_page(rng: random.Random, title: str, rows: int, question: Question | None) -> Page:
    records: list[Record] = []
    without_price = list(ITEMS)
    if question is not None:
        measure, subject = question.measure(title), question.subject
        if measure == "price":
            without_price.remove(subject)
            records.append(Price(rng.choice(DAYS), subject, rng.choice(AMOUNTS)))
        else:
            order = _sample_order(rng)
            by_person = subject in PEOPLE
            records.append(
                order._replace(person=subject) if by_person else order._replace(item=subject)
            )
    while len(records) < rows:
        if without_price and rng.random() < PRICE_SHARE:
            item = without_price.pop(rng.randrange(len(without_price)))
            records.append(Price(rng.choice(DAYS), item, rng.choice(AMOUNTS)))
        else:
            records.append(_sample_order(rng))
    rng.shuffle(records)
    return Page(title, tuple(sorted(records, key=lambda record: record.day)))


def _sample_order(rng: random.Random) -> Order:
    return Order(rng.choice(DAYS), rng.choice(PEOPLE), rng.choice(AMOUNTS), rng.choice(ITEMS))


def canonical(task: DelegateTask) -> str:
    """What the answer depends on, whatever the names are called and whatever else the pages say.

    Two tasks with the same records that matter are in the same split: with other months, people or items,
    with the pages in another order, and with other records between those that matter.
    """
    question = task.question
    keys = [
        _page_key(task.page(title), question.measure(title), question.subject)
        for title in question.titles
    ]
    last = [keys.pop()] if KINDS[question.kind].last_measure else []
    return " ".join([question.kind, *sorted(keys), *last])


def _page_key(page: Page, measure: Measure, subject: str) -> str:
    """The numbers of the records that a measure counts."""
    records = matching_records(page, measure, subject)
    if measure == "price":
        return f"price {measure_records(records, measure)}"
    return str(sorted((r.day, r.amount) for r in records if isinstance(r, Order)))


def count_overlap(chosen: Sequence[str], needed: Sequence[str]) -> float:
    """How well two sets agree: the size of what they share, divided by that of both together."""
    both, either = {*chosen} & {*needed}, {*chosen} | {*needed}
    return len(both) / max(1, len(either))


def combine_known(question: Question, values: Mapping[str, int]) -> int:
    """The answer by the partial values that are known, by title; one that is not known counts nothing."""
    known = [values[title] for title in question.titles if title in values]
    if len(known) == len(question.titles):
        return KINDS[question.kind].combine(known)
    if question.kind in ("total", "orders"):
        return sum(known)
    return math.prod(known) if question.kind == "cost" else max(known, default=0)
