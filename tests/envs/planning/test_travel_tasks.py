"""Trips that count as one task, and splits."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from travel_tasks import TASK

import llmzoo
from llmzoo.envs.planning.travel import generator
from llmzoo.envs.planning.travel.tasks import canonical
from llmzoo.envs.tasks import assign_split


def drawn(seed=0, **kwargs):
    settings = {**generator.LEVELS["hard"]._asdict(), **kwargs}
    return generator.sample_task(random.Random(seed), **settings)


def renamed(task):
    """Other names, cities in another order, and tables in another order."""
    names = {city: f"{city} upon Sea" for city in (task.origin, *task.cities)}
    moved = lambda p: p._replace(name=f"The {p.name}", city=names[p.city])  # noqa: E731
    return replace(
        task,
        origin=names[task.origin],
        region="Elsewhere",
        cities=tuple(names[city] for city in reversed(task.cities)),
        transports=tuple(
            way._replace(origin=names[way.origin], destination=names[way.destination], number="X")
            for way in reversed(task.transports)
        ),
        stays=tuple(map(moved, reversed(task.stays))),
        restaurants=tuple(map(moved, reversed(task.restaurants))),
        sights=tuple(map(moved, reversed(task.sights))),
    )


def backwards(task):
    """The trip in the other direction."""
    return replace(
        task,
        transports=tuple(
            way._replace(
                origin=way.destination,
                destination=way.origin,
                day=way.day and task.days + 1 - way.day,
            )
            for way in task.transports
        ),
    )


def other_wishes(task):
    """Pets instead of smoking, and other cuisines: the same stays and restaurants suit."""
    swap = {"smoking": "pets", "pets": "smoking"}
    stays = [s._replace(forbids=tuple(swap.get(r, r) for r in s.forbids)) for s in task.stays]
    tables = [r._replace(cuisines=tuple(f"New {c}" for c in r.cuisines)) for r in task.restaurants]
    return replace(
        task,
        rule=swap.get(task.rule, task.rule),
        stays=tuple(stays),
        cuisines=tuple(f"New {c}" for c in reversed(task.cuisines)),
        restaurants=tuple(tables),
    )


@pytest.mark.parametrize("change", [renamed, backwards, other_wishes])
def test_tasks_that_count_as_one(change):
    for task in (TASK, *(drawn(seed) for seed in range(10))):
        assert change(task) != task
        assert canonical(change(task)) == canonical(task)


def test_tasks_that_differ():
    forms = {
        canonical(task)
        for task in (
            TASK,
            replace(TASK, budget=449),
            replace(TASK, people=5),
            replace(TASK, visits=2, days=5),
            replace(TASK, rule="visitors"),  # the Den suits
            replace(TASK, room="shared room"),
            replace(TASK, cuisines=("Thai",)),
            replace(TASK, transport="no flight"),
            replace(TASK, stays=TASK.stays[1:]),
            replace(TASK, restaurants=TASK.restaurants[1:]),
            replace(TASK, sights=TASK.sights[1:]),
            replace(TASK, transports=TASK.transports[1:]),
        )
    }
    assert len(forms) == 12


def test_cities_that_are_alike_do_not_hide_what_is_between_them():
    """Two cities with the same tables, and a cheap way from one to the other or back: the same task, by names;
    another price is another task."""
    task = drawn(visits=2, candidates=3, wishes=0)
    a, b, _ = task.cities
    twins = replace(
        task,
        cities=(a, b),
        stays=tuple(s._replace(city=c, name=f"{c} inn") for s in task.stays[:1] for c in (a, b)),
        restaurants=(),
        sights=(),
        transports=tuple(w for w in task.transports if {w.origin, w.destination} == {a, b})[:1],
    )
    (way,) = twins.transports
    turned = way._replace(origin=way.destination, destination=way.origin)
    assert canonical(twins) == canonical(replace(twins, transports=(turned,)))
    dearer = way._replace(price=way.price + 1)
    assert canonical(twins) != canonical(replace(twins, transports=(dearer,)))


@pytest.mark.parametrize("source", ["generator", "sample"])
def test_splits_are_disjoint_by_content(source):
    forms = {}
    for split in ("train", "test"):
        env = llmzoo.make("travel_v0", source=source, split=split).unwrapped
        count = env.tasks.count or 30
        forms[split] = {canonical(env.tasks[number]) for number in range(count)}
        assert {assign_split(form) for form in forms[split]} == {split}
    assert not forms["train"] & forms["test"]


@pytest.mark.parametrize("visits", [1, 2, 3])
@pytest.mark.parametrize("wishes", range(5))
def test_what_is_drawn(visits, wishes):
    for seed in range(5):
        task = drawn(seed, visits=visits, candidates=visits + 1, wishes=wishes)
        assert (task.days, len(task.cities)) == (2 * visits + 1, visits + 1)
        given = (task.rule, task.room, task.transport, task.cuisines)
        assert sum(map(bool, given)) == wishes
        for places in (task.stays, task.restaurants, task.sights):
            assert len({place.name for place in places}) == len(places)
        assert all(way.price > 0 for way in task.transports)
        assert all(place.cost > 0 for place in task.restaurants)
        numbers = [way.number for way in task.transports if way.number]
        assert len(set(numbers)) == len(numbers)
