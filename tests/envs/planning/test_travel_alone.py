"""One agent is not enough: what its own tables tell of the right cities."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from travel_alone import Watched, choices_that_fit, meals, right_cities, sum_of

from llmzoo.envs.planning.travel import generator, players
from llmzoo.envs.planning.travel.solver import Solver


class Choosing(random.Random):
    """Draws as usual, but lets the right cities be given."""

    right: tuple[int, ...] = ()

    def sample(self, population, k, **kwargs):
        drawn = super().sample(population, k, **kwargs)
        return list(self.right) if isinstance(population, range) and k == len(self.right) else drawn


@pytest.mark.slow
@pytest.mark.parametrize(("level", "choices"), [("easy", 4), ("normal", 6), ("hard", 10)])
def test_the_booker_reads_the_same_whichever_cities_are_right(level, choices):
    """All choices lead to the same tables and request of the booker, so that it can only guess: one in 4, 6
    or 10."""
    drawn = generator.LEVELS[level]
    for seed in range(2):
        seen, right = set(), set()
        for chosen in combinations(range(drawn.candidates), drawn.visits):
            rng = Choosing(seed)
            rng.right = chosen
            task = generator.sample_task(rng, **drawn._asdict())
            assert right_cities(task) == {task.cities[n] for n in chosen}
            seen.add(players.with_known_tables(task, "booker"))
            right.add(right_cities(task))
        assert len(seen) == 1
        assert len(right) == choices


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "tasks", "most"), [("easy", 150, 0.35), ("normal", 50, 0.26), ("hard", 15, 0.18)]
)
def test_the_best_guess_of_a_lone_guide(level, tasks, most):
    """The right choice is among those that fit, and a choice among them is right as often as their number
    says, within three standard errors."""
    rng, guess = Watched(0), random.Random(1)
    likely, right = 0.0, 0
    for _ in range(tasks):
        task = rng.trip(level)
        fit = choices_that_fit(task, rng.total)
        assert right_cities(task) in fit
        likely += 1 / len(fit)
        right += guess.choice(fit) == right_cities(task)
    assert likely / tasks < most
    share = likely / tasks
    assert abs(right / tasks - share) < 3 * (share * (1 - share) / tasks) ** 0.5


@pytest.mark.parametrize(("level", "tasks"), [("easy", 40), ("normal", 20), ("hard", 8)])
def test_only_one_choice_of_cities_keeps_the_budget(level, tasks):
    """Over all routes, with all their transport, stays and meals."""
    rng = random.Random(3)
    for _ in range(tasks):
        task = generator.sample_task(rng, **generator.LEVELS[level]._asdict())
        solver = Solver(task)
        kept = set()
        for route in solver.routes():
            booking = solver.cheapest_booking(route)
            menu = solver.cheapest_menu(route) if booking else None
            if booking and menu and booking.cost + menu.cost <= task.budget:
                kept.add(frozenset(stop.city for stop in route))
        assert len(kept) == 1


def test_the_cheapest_by_either_half_is_often_wrong():
    rng = random.Random(4)
    wrong_booker = wrong_guide = 0
    for _ in range(100):
        task = generator.sample_task(rng, **generator.LEVELS["easy"]._asdict())
        (right,) = right_cities(task)
        booker = Solver(players.with_known_tables(task, "booker")).cheapest_bookings()[0][1][0].city
        wrong_booker += booker != right
        wrong_guide += min(task.cities, key=lambda city: meals(task, city)) != right
    assert wrong_booker > 50
    assert wrong_guide > 50


@pytest.mark.parametrize(("level", "tasks"), [("easy", 20), ("normal", 10), ("hard", 4)])
def test_the_sum_of_a_city(level, tasks):
    """The same for all right cities, and GAP more for each other one."""
    rng = Watched(5)
    for _ in range(tasks):
        task = rng.trip(level)
        right = right_cities(task)
        for city in task.cities:
            more = generator.GAP * (city not in right)
            assert sum_of(task, city, rng.share) == pytest.approx(rng.total + more, abs=1e-9)
