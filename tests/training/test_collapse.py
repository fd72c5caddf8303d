"""A run whose return falls warns while it happens, and its best checkpoint stays."""

import random
import warnings

import pytest

from llmzoo.errors import CollapseWarning
from llmzoo.training.collapse import ReturnHistory


def row(step, paid, *, entropy=0.5, invalid=0.0):
    return {
        "step": step,
        "return": {"a_0": paid, "b_1": paid + 0.2},
        "entropy": entropy,
        "agents": {"a_0": {"invalid": invalid}, "b_1": {"invalid": invalid}},
    }


def rows_of(*parts):
    """Rows of several parts of a run: how many iterations, their return, and what else they say."""
    rng = random.Random(0)
    paid = [(mean + rng.gauss(0, 0.05), told) for count, mean, told in parts for _ in range(count)]
    return [row(step, one, **told) for step, (one, told) in enumerate(paid, start=1)]


def warned(rows, *, before=(), **options):
    history = ReturnHistory(before, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for each in rows:
            history.iteration(each)
    assert all(w.category is CollapseWarning for w in caught)
    return [str(w.message) for w in caught], history


FALLING = rows_of((12, 0.2, {}), (12, 0.6, {}), (30, 0.1, {"entropy": 0.01, "invalid": 0.9}))


def test_it_is_said_once_with_what_changed():
    (text,), _ = warned(FALLING)
    assert text.startswith(
        "the return is falling: 0.292 in iterations 23 to 32, entropy 0.11, 72% of the answers refused; "
        "it was 0.704 in iterations 13 to 22, entropy 0.5, 0% of the answers refused."
    )


@pytest.mark.parametrize(
    "rows",
    [
        rows_of((60, 0.3, {})),
        rows_of((20, 0.1, {}), (20, 0.3, {}), (20, 0.5, {})),
        rows_of((30, 0.6, {}), (9, 0.55, {})),
        FALLING[12:30][:19],  # not yet two windows
        [row(step, 0.5) for step in range(1, 60)],
        [{"step": step, "return": {}} for step in range(1, 60)],  # no episodes
    ],
)
def test_others_are_left_alone(rows):
    assert warned(rows)[0] == []


def test_agents_that_take_from_each_other_do_not_collapse():
    games = [
        {"step": step, "return": {"a_0": step / 60, "b_1": -step / 60}} for step in range(1, 61)
    ]
    assert warned(games)[0] == []
    punished = [{**game, "return": {**game["return"], "b_1": -1.5}} for game in games[30:]]
    assert warned(games[:30] + punished)[0]


def test_a_resumed_run_knows_what_it_earned_before():
    texts, history = warned(FALLING[20:], before=FALLING[:20])
    assert (texts, history.mean_return) == (warned(FALLING)[0], warned(FALLING)[1].mean_return)
    assert warned(FALLING, warns=False)[0] == []


def test_the_mean_return_is_of_the_newest_window():
    _, history = warned([row(step, float(step)) for step in range(1, 26)])
    assert history.mean_return == pytest.approx(sum(range(16, 26)) / 10 + 0.1)
    assert ReturnHistory().mean_return is None
    assert warned([row(1, 2.0)])[1].mean_return == pytest.approx(2.1)
