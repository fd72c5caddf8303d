"""philosophers_v0: the table, the shortest dinner and whole episodes; numbers by hand."""

from __future__ import annotations

import itertools
import random

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.crowd.philosophers import schedule, tasks
from llmzoo.envs.crowd.philosophers.schedule import Meal, plan_dinner, scheduled_action
from llmzoo.envs.crowd.philosophers.table import (
    ACTIONS,
    Guest,
    Table,
    is_deadlock,
    lay_table,
    play_round,
)
from llmzoo.errors import ConfigError

HUNGRY = Guest(hungry_from=0, meals=2, eating=1)
THREE = (Guest(0, 1, 1), Guest(0, 1, 2), Guest(1, 2, 1))


def played(*rounds, guests=(HUNGRY,) * 3):
    table = lay_table(len(guests))
    for number, actions in enumerate(rounds):
        table = play_round(table, guests, number, actions.split())
    return table


def test_the_lower_number_gets_the_fork_that_two_take():
    # fork 1 is the right one of philosopher 0 and the left one of philosopher 1
    assert played("right left wait").holders == (None, 0, None)
    assert played("wait left wait", "right wait wait").holders == (None, 1, None)


def test_a_meal():
    """Two rounds to take the forks, and one to eat, after which they lie on the table again."""
    both = played("left wait wait", "right wait wait")
    assert (both.holders, both.eating, both.meals) == ((0, 0, None), (1, 0, 0), (1, 0, 0))
    # while philosopher 0 eats, its fork 1 is not free, and it does not hear its release
    after = played("left wait wait", "right wait wait", "release left wait")
    assert (after.holders, after.eating, after.meals) == ((None,) * 3, (0, 0, 0), (1, 0, 0))


def test_a_meal_of_two_rounds():
    guests = (HUNGRY._replace(eating=2), HUNGRY, HUNGRY)
    rounds = ["left wait wait", "right wait wait", "wait wait wait"]
    assert played(*rounds, guests=guests).holders == (0, 0, None)
    assert played(*rounds, "wait wait wait", guests=guests).holders == (None, None, None)


def test_a_fork_that_is_released_may_be_taken_in_the_same_round():
    assert played("right wait wait", "release left wait").holders == (None, 1, None)


def test_who_is_not_hungry_gets_no_fork():
    guests = (HUNGRY._replace(hungry_from=1), HUNGRY._replace(meals=1), HUNGRY)
    assert played("left wait wait", guests=guests).holders == (None,) * 3
    assert played("left wait wait", "left wait wait", guests=guests).holders == (0, None, None)
    full = ["wait left wait", "wait right wait", "wait wait wait", "wait left wait"]
    assert played(*full, guests=guests).holders == (None,) * 3


@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("word", ["left", "right"])
def test_a_deadlock_is_a_fork_for_each(count, word):
    guests = (HUNGRY,) * count
    assert is_deadlock(play_round(lay_table(count), guests, 0, [word] * count))
    one_waits = [word] * (count - 1) + ["wait"]
    assert not is_deadlock(play_round(lay_table(count), guests, 0, one_waits))
    assert not is_deadlock(Table((0, 0, *[None] * (count - 2)), (1,) * count, (1,) * count))


def test_no_fork_has_two_holders_and_meals_only_grow():
    for seed in range(200):
        rng = random.Random(seed)
        guests = tasks.sample_task(rng, rng.randint(2, 8))
        table = lay_table(len(guests))
        for number in range(20):
            actions = [rng.choice(ACTIONS) for _ in guests]
            after = play_round(table, guests, number, actions)
            for philosopher, guest in enumerate(guests):
                held = after.holds(philosopher)
                assert all(held) == bool(after.eating[philosopher])
                grown = after.meals[philosopher] - table.meals[philosopher]
                assert grown == (all(held) and not table.eating[philosopher])
                assert after.meals[philosopher] <= guest.meals
            table = after


# The shortest dinner


def test_two_who_share_both_forks_eat_one_after_the_other():
    # forks in rounds 0 and 1, eating in round 2, so the second begins in round 3 and has its meal in round 4
    dinner = plan_dinner((Guest(0, 1, 1), Guest(0, 1, 1)))
    assert dinner.rounds == 5
    # if the first eats for 3 rounds, the other goes first: 3 + 2 rounds again
    assert plan_dinner((Guest(0, 1, 3), Guest(0, 1, 1))).rounds == 5
    # nobody comes before round 2
    assert plan_dinner((Guest(2, 1, 1), Guest(2, 1, 1))).rounds == 7


@pytest.mark.parametrize("count", range(2, 9))
def test_one_meal_for_everyone(count):
    """5 rounds for an even number, 6 for an odd one.

    Neighbours begin at least 2 rounds apart, since the first holds the fork between them for 2 rounds at least.
    In 5 rounds a meal begins in round 0 to 3, so of two neighbours one begins in {0, 1} and the other in {2, 3},
    which an odd number around a table cannot do. In 4 rounds one would begin in round 0 and the other in round 2,
    when both forks are still held.
    """
    assert plan_dinner((Guest(0, 1, 1),) * count).rounds == 5 + count % 2


def shortest(guests):
    """The fewest rounds of any joint play, by a search over all tables that can be reached."""
    tables = {lay_table(len(guests))}
    wanted = tuple(guest.meals for guest in guests)
    for number in itertools.count():
        if any(table.meals == wanted for table in tables):
            return number
        tables = {
            play_round(table, guests, number, actions)
            for table in tables
            for actions in itertools.product(*(sensible(table, p) for p in range(len(guests))))
        }


def sensible(table, philosopher):
    """All actions but those without an effect."""
    if table.eating[philosopher]:
        return ("wait",)
    return ACTIONS if any(table.holds(philosopher)) else ("left", "right", "wait")


@pytest.mark.parametrize("seed", range(12))
def test_no_joint_play_is_shorter(seed):
    rng = random.Random(seed)
    guests = tasks.sample_task(rng, 2 + seed % 2)
    assert plan_dinner(guests).rounds == shortest(guests)


@pytest.mark.parametrize("count", range(2, 9))
def test_a_plan_is_played_as_planned(count):
    for seed in range(10):
        guests = tasks.sample_task(random.Random(seed), count)
        dinner, table = plan_dinner(guests), lay_table(count)
        for number in range(dinner.rounds):
            actions = [scheduled_action(meals, number) for meals in dinner.meals]
            table = play_round(table, guests, number, actions)
        assert table.meals == tuple(guest.meals for guest in guests)


def test_the_schedules_of_one_guest():
    # two rounds: begin in round 0, with either fork; three rounds: or in round 1
    assert list(schedule.list_schedules(Guest(0, 1, 1), 2)) == [
        (Meal(0, False),),
        (Meal(0, True),),
    ]
    assert len(list(schedule.list_schedules(Guest(0, 1, 1), 3))) == 4
    assert list(schedule.list_schedules(Guest(1, 1, 1), 2)) == []
    # the second meal begins 3 rounds after the first: 0 and 3, in 4 ways
    assert len(list(schedule.list_schedules(Guest(0, 2, 1), 5))) == 4


# Tasks


def test_turns_and_mirror_images_are_one_task():
    guests = (Guest(0, 1, 1), Guest(1, 2, 3), Guest(2, 1, 2), Guest(3, 2, 1))
    form = tasks.canonical(guests)
    assert form == "011 123 212 321"
    for turn in range(4):
        turned = guests[turn:] + guests[:turn]
        assert tasks.canonical(turned) == tasks.canonical(turned[::-1]) == form


def test_two_philosophers_have_300_tasks():
    env = llmzoo.make("philosophers_v0", num_agents=2, split="all").unwrapped
    assert len({env.tasks[number] for number in range(300)}) == 300
    with pytest.raises(IndexError, match="about 300 distinct all tasks"):
        env.tasks[300]


@pytest.mark.parametrize("hungry_by", [1, 2, 4])
def test_all_are_hungry_by_the_round_that_is_asked_for(hungry_by):
    env = llmzoo.make("philosophers_v0", num_agents=4, hungry_by=hungry_by).unwrapped
    first_rounds = {guest.hungry_from + 1 for number in range(60) for guest in env.tasks[number]}
    assert first_rounds == set(range(1, hungry_by + 1))


def test_a_table_is_in_the_same_split_however_soon_all_are_hungry():
    """21 tables of two who are hungry at once: 6 alike, and 15 pairs of the 6 kinds of guests."""
    soon = llmzoo.make("philosophers_v0", num_agents=2, hungry_by=1, split="all").unwrapped
    held_out = llmzoo.make("philosophers_v0", num_agents=2, split="test").unwrapped
    forms = {tasks.canonical(soon.tasks[number]) for number in range(21)}
    assert len(forms) == 21
    with pytest.raises(IndexError, match="about 21 distinct all tasks"):
        soon.tasks[21]
    trained = llmzoo.make("philosophers_v0", num_agents=2, hungry_by=1).unwrapped
    tests = {tasks.canonical(held_out.tasks[number]) for number in range(40)}
    assert not tests & {tasks.canonical(trained.tasks[number]) for number in range(20)}


@pytest.mark.parametrize("hungry_by", [0, 5, True, 1.0])
def test_hungry_by_is_checked(hungry_by):
    with pytest.raises(ConfigError, match="hungry_by must be 1 to 4"):
        llmzoo.make("philosophers_v0", hungry_by=hungry_by)


# Episodes


def made(guests=THREE, **kwargs):
    env = llmzoo.make("philosophers_v0", **kwargs).unwrapped
    env.reset(seed=0)
    env.episode = env.episode.__class__(guests, lay_table(len(guests)))
    return env


def play(env, *rounds):
    for actions in rounds:
        for action in actions.split():
            env.step(action)


def test_a_meal_pays_all_alike():
    env = made()
    play(env, "left wait wait")
    assert env.rewards == dict.fromkeys(env.possible_agents, 0.0)
    play(env, "right wait wait")
    assert env.rewards == dict.fromkeys(env.possible_agents, 0.25)


def test_a_deadlock_ends_the_episode():
    env = made((Guest(0, 1, 1),) * 3)
    play(env, "left left left")
    info = env.infos["philosopher_1"]
    assert all(env.terminations.values())
    assert (info["success"], info["deadlock"], info["starved"]) == (False, True, 3)
    assert info["meals"] == dict.fromkeys(env.possible_agents, 0)


def test_waiting_earns_nothing():
    env = made()
    for _ in range(plan_dinner(env.episode.task).rounds + 2):
        assert not any(env.terminations.values())
        play(env, "wait wait wait")
        assert not any(env.rewards.values())
    assert all(env.terminations.values())
    assert not env.infos["philosopher_0"]["deadlock"]


def test_the_last_infos():
    env = made((Guest(0, 1, 1), Guest(0, 1, 1), Guest(0, 2, 1)))
    play(env, "left wait wait", "right wait wait", "wait wait wait", "wait left wait")
    while env.agents and not env.terminations[env.agent_selection]:
        env.step("wait")
    info = env.infos["philosopher_0"]
    assert info["meals"] == {"philosopher_0": 1, "philosopher_1": 0, "philosopher_2": 0}
    assert info["throughput"] == pytest.approx(1 / env.episode.round)
    assert info["fairness"] == 0.0
    assert info["starved"] == 2


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_an_agent_reads_its_own_forks_and_no_others(prompt):
    """Prompts stay the same if anything else at the table changes."""
    env = made((HUNGRY,) * 4, num_agents=4, prompt=prompt)
    before = env.observe("philosopher_0")
    shown = {
        fork: made_with_holder(env, fork, 2).observe("philosopher_0") != before for fork in range(4)
    }
    assert shown == {0: True, 1: True, 2: False, 3: False}


def made_with_holder(env, fork, holder):
    changed = env.fork()
    holders = tuple(holder if f == fork else None for f in range(4))
    table = Table(holders, (0,) * 4, (0, 1, 1, 1))
    changed.episode = env.episode.__class__(env.episode.task, table)
    return changed


def test_messages_go_to_the_neighbours():
    env = made((HUNGRY,) * 4, num_agents=4, message_chars=20)
    before = env.observe("philosopher_2")
    env.step("say I eat first\nleft")
    assert env.observe("philosopher_2") == before
    for _ in range(3):
        env.step("wait")
    for neighbour in ("philosopher_1", "philosopher_3"):
        assert "philosopher_0 said:\n> I eat first" in env.observe(neighbour)
    assert "I eat first" not in env.observe("philosopher_2")
    assert "I eat first" not in env.observe("philosopher_0")


def test_a_message_that_is_too_long_costs_and_the_action_counts():
    env = made(message_chars=5)
    play_lines(env, "say too long\nleft", "wait", "wait")
    assert env.episode.world.holders == (0, None, None)
    info = env.infos["philosopher_0"]
    assert info["error"] == "malformed: a message of 8 characters, 5 are allowed"
    assert info["reward_components"]["form"] == -0.05
    assert "Your last answer was malformed: a message of 8" in env.observe("philosopher_0")


def play_lines(env, *answers):
    for answer in answers:
        env.step(answer)


def test_one_agent_plays_all():
    env = made(num_agents=1)
    env.step("philosopher_0: left\nphilosopher_2: wait")
    assert env.episode.world.holders == (0, None, None)
    info = env.infos["host_0"]
    assert info["error"] == "malformed: philosopher_1: no action"
    assert info["reward_components"]["form"] == pytest.approx(-0.05 / 3)


@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("alone", [False, True])
def test_experts_need_no_slack(count, alone):
    agents = {"num_agents": 1, "philosophers": count} if alone else {"num_agents": count}
    tasks_played = range(10)
    testing.check_expert(
        lambda: llmzoo.make("philosophers_v0", split="all", slack=0, **agents),
        tasks_played,
        best=1.0,
    )


def test_an_expert_alone_does_not_wait_for_ever():
    """Off its schedule, it takes the fork with the lower number first, and gives the other back."""
    env = made((HUNGRY, HUNGRY, HUNGRY))
    env.episode = env.episode.__class__(
        env.episode.task, Table((None, 0, None), (0,) * 3, (0,) * 3), round=9
    )
    assert env.expert("philosopher_0") == "left"  # it holds fork 1, and fork 0 is free
    env.episode = env.episode.__class__(
        env.episode.task, Table((2, 0, None), (0,) * 3, (0,) * 3), round=9
    )
    assert env.expert("philosopher_0") == "release"
    assert env.expert("philosopher_2") == "left"  # it holds fork 0, the lower of 0 and 2


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"num_agents": 9}, "num_agents must be 2 to 8, got 9"),
        ({"num_agents": 3, "philosophers": 4}, "as many as philosophers .4., got 3"),
        ({"num_agents": 1, "philosophers": 1}, "philosophers must be 2 to 8, got 1"),
        ({"slack": -1}, "slack must be 0 to 20"),
        ({"message_chars": 2001}, "message_chars must be 0 to 2000"),
    ],
)
def test_wrong_arguments(kwargs, error):
    with pytest.raises(ConfigError, match=error):
        llmzoo.make("philosophers_v0", **kwargs)
