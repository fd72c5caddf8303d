"""delegate_v0: pages, questions and their answers, worked out by hand, and the split by content."""

from __future__ import annotations

import random
import re

import pytest

import llmzoo
from llmzoo.envs.crowd.delegate.prompts import format_page, format_question
from llmzoo.envs.crowd.delegate.tasks import (
    ITEMS,
    KINDS,
    MONTHS,
    PEOPLE,
    DelegateTask,
    Order,
    Page,
    Price,
    Question,
    canonical,
    combine_known,
    count_overlap,
    sample_task,
)

MARCH = Page(
    "March",
    (
        Order(2, "Mira", 3, "lamps"),
        Order(5, "Tomas", 4, "lamps"),
        Price(7, "lamps", 6),
        Order(9, "Mira", 2, "ropes"),
    ),
)
MAY = Page(
    "May", (Price(1, "lamps", 5), Order(3, "Olga", 9, "lamps"), Order(20, "Mira", 8, "ropes"))
)
JUNE = Page("June", (Order(4, "Lena", 7, "bowls"),))


def task(kind, subject, *titles):
    return DelegateTask((MARCH, MAY, JUNE), Question(kind, subject, titles))


@pytest.mark.parametrize(
    ("kind", "subject", "titles", "parts", "answer"),
    [
        ("total", "lamps", ["March"], [7], 7),  # 3 + 4
        ("total", "lamps", ["March", "May"], [7, 9], 16),
        ("orders", "Mira", ["March", "May"], [2, 1], 3),
        ("first", "Mira", ["March", "May"], [2, 20], 2),
        ("last", "Mira", ["March", "May"], [9, 20], 20),
        ("most", "lamps", ["March", "May"], [7, 9], 9),
        ("cost", "lamps", ["March", "May"], [7, 5], 35),  # 7 lamps of March at 5 coins
        ("cost", "lamps", ["May", "March"], [9, 6], 54),
    ],
)
def test_answers(kind, subject, titles, parts, answer):
    asked = task(kind, subject, *titles)
    assert [asked.partial_value(title) for title in titles] == parts
    assert asked.answer == answer
    assert combine_known(asked.question, dict(zip(titles, parts, strict=True))) == answer


def test_a_part_that_is_not_known_counts_nothing():
    assert combine_known(Question("total", "lamps", ("March", "May")), {"May": 9}) == 9
    assert combine_known(Question("first", "Mira", ("March", "May")), {"May": 20, "June": 1}) == 20
    assert combine_known(Question("first", "Mira", ("March",)), {}) == 0


def test_the_overlap_of_two_plans():
    assert count_overlap(["March", "May"], ["May", "March"]) == 1
    assert count_overlap(["March", "June"], ["March", "May"]) == 1 / 3
    assert count_overlap([], ["March"]) == 0


def answer_from_text(shown: DelegateTask) -> int:
    """The answer, found again from the sentences that agents read."""
    kind, subject, titles = shown.question
    parts = []
    for number, title in enumerate(titles):
        text = "\n".join(format_page(shown.page(title), terse=False))
        orders = [
            (int(day), int(amount))
            for day, who, amount, item in re.findall(r"day (\d+): (\w+) ordered (\d+) (\w+)", text)
            if subject in (who, item)
        ]
        if kind == "cost" and number == len(titles) - 1:
            (price,) = re.findall(rf"the price of {subject} is (\d+) coins", text)
            parts.append(int(price))
        elif kind in ("total", "most", "cost"):
            parts.append(sum(amount for _, amount in orders))
        elif kind == "orders":
            parts.append(len(orders))
        else:
            days = [day for day, _ in orders]
            parts.append(min(days) if kind == "first" else max(days))
    if kind == "cost":
        return sum(parts[:-1]) * parts[-1]
    return {"total": sum, "orders": sum, "most": max, "first": min, "last": max}[kind](parts)


@pytest.mark.parametrize(("documents", "rows", "workers"), [(6, 4, 3), (12, 200, 8), (2, 12, 1)])
def test_drawn_tasks(documents, rows, workers):
    rng = random.Random(0)
    kinds, needed = set(), set()
    for _ in range(150):
        drawn = sample_task(rng, documents, rows, workers)
        question = drawn.question
        kinds.add(question.kind)
        needed.add(len(question.titles))
        assert len(drawn.pages) == len({*drawn.titles}) == documents
        assert list(drawn.titles) == sorted(drawn.titles, key=MONTHS.index)
        assert {*question.titles} <= {*drawn.titles}
        for page in drawn.pages:
            assert len(page.records) == rows
            assert [r.day for r in page.records] == sorted(r.day for r in page.records)
            priced = [r.item for r in page.records if isinstance(r, Price)]
            assert len(priced) == len({*priced})
        assert all(drawn.partial_value(title) > 0 for title in question.titles)
        assert drawn.answer == answer_from_text(drawn) > 0
        words = re.findall(r"[A-Z][a-z]+", format_question(question, terse=False))
        assert {*words} & {*MONTHS} == {*question.titles}
    assert kinds == {name for name, kind in KINDS.items() if kind.least <= workers}
    assert needed == set(range(1, workers + 1))


def images(drawn, rng):
    """The same task under other names, with the pages in another order, and without what does not matter."""
    people, items = rng.sample(PEOPLE, len(PEOPLE)), rng.sample(ITEMS, len(ITEMS))
    months = rng.sample(MONTHS, len(MONTHS))
    names = {
        **dict(zip(PEOPLE, people, strict=True)),
        **dict(zip(ITEMS, items, strict=True)),
        **dict(zip(MONTHS, months, strict=True)),
    }
    kind, subject, titles = drawn.question
    pages = []
    for page in drawn.pages:
        records = [type(r)(*(names.get(value, value) for value in r)) for r in page.records]
        records = [r for r in records if names[subject] in r] + [Price(1, "hats", 3)]
        pages.append(Page(names[page.title], tuple(sorted(records, key=lambda r: r.day))))
    rng.shuffle(pages)
    renamed = [names[title] for title in titles]
    free = renamed[:-1] if kind == "cost" else renamed
    rng.shuffle(free)
    renamed = [*free, renamed[-1]] if kind == "cost" else free
    return DelegateTask(tuple(pages), Question(kind, names[subject], tuple(renamed)))


def test_a_task_and_its_images_are_in_one_split():
    rng = random.Random(1)
    tasks = llmzoo.make("delegate_v0", split="test").unwrapped.tasks
    for number in range(100):
        drawn = tasks[number]
        image = images(drawn, rng)
        assert canonical(image) == canonical(drawn)
        assert image.answer == drawn.answer


def test_a_record_that_matters_changes_the_key():
    changed = MARCH._replace(records=(Order(2, "Mira", 4, "lamps"), *MARCH.records[1:]))
    one = task("total", "lamps", "March")
    other = one._replace(pages=(changed, MAY, JUNE))
    assert canonical(one) != canonical(other)
    assert canonical(one) != canonical(task("most", "lamps", "March", "May"))
