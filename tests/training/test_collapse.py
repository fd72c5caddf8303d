"""A run whose return falls, or rises while success falls, warns while it happens."""

import random
import warnings

import pytest

from llmzoo.errors import CollapseWarning, RewardAttackWarning
from llmzoo.training.collapse import ReturnHistory


def row(step, paid, *, entropy=0.5, invalid=0.0, success=None):
    return {
        "step": step,
        "success": success,
        "return": {"a_0": paid, "b_1": paid + 0.2},
        "entropy": entropy,
        "agents": {"a_0": {"invalid": invalid}, "b_1": {"invalid": invalid}},
    }


def rows_of(*parts):
    """Rows of several parts of a run: how many iterations, their return, and what else they say."""
    rng = random.Random(0)
    paid = [(mean + rng.gauss(0, 0.05), told) for count, mean, told in parts for _ in range(count)]
    return [row(step, one, **told) for step, (one, told) in enumerate(paid, start=1)]


def warned(rows, *, before=(), kind=CollapseWarning, **options):
    history = ReturnHistory(before, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for each in rows:
            history.add_iteration(each)
    assert all(w.category is kind for w in caught)
    return [str(w.message) for w in caught], history


FALLING = rows_of((12, 0.2, {}), (12, 0.6, {}), (30, 0.1, {"entropy": 0.01, "invalid": 0.9}))


def test_it_is_said_once_with_what_changed():
    (text,), _ = warned(FALLING)
    assert text.startswith(
        "the return is falling: 0.292 in iterations 23 to 32, entropy 0.11, 72% of the actions refused; "
        "it was 0.704 in iterations 13 to 22, entropy 0.5, 0% of the actions refused."
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


def test_iterations_without_a_higher_return_are_counted():
    paid = [0.0] * 10 + [1.0] * 5 + [0.5] * 20 + [2.0] * 3
    _, history = warned([])
    idle = []
    for step, one in enumerate(paid, start=1):
        history.add_iteration(row(step, one))
        idle.append(history.idle)
    # the window of iterations 11 to 20 has five of 1 and five of 0.5; two of 2 make more than that
    assert idle == [0] * 20 + list(range(1, 17)) + [0] * 2


def moving(count, paid, success):
    """Iterations whose return and success move from the first to the last value."""
    rng = random.Random(1)

    def at(ends, done):
        return ends[0] + (ends[1] - ends[0]) * done + rng.gauss(0, 0.03)

    return [
        row(step, at(paid, step / count), success=at(success, step / count))
        for step in range(1, count + 1)
    ]


ATTACK = moving(60, (0.2, 0.8), (0.5, 0.1))


def test_a_return_that_rises_while_success_falls_is_said_once():
    (text,), _ = warned(ATTACK, kind=RewardAttackWarning)
    assert text.startswith("the return rises while success falls: return 0.")
    assert "The reward can be obtained without solving the task" in text
    assert warned(ATTACK, warns=False, kind=RewardAttackWarning)[0] == []
    assert warned(ATTACK[15:], before=ATTACK[:15], kind=RewardAttackWarning)[0] == [text]


@pytest.mark.parametrize(
    "rows",
    [
        moving(60, (0.2, 0.8), (0.1, 0.5)),
        moving(60, (0.2, 0.8), (0.5, 0.5)),
        moving(60, (0.5, 0.5), (0.5, 0.1)),
        [{**one, "success": None} for one in ATTACK],
        ATTACK[:19],
    ],
)
def test_a_return_that_rises_otherwise_is_left_alone(rows):
    assert warned(rows, kind=RewardAttackWarning)[0] == []
