"""commons_v0: the pond, the best harvest, the equilibrium and whole episodes; numbers by hand."""

from __future__ import annotations

import itertools
import random

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.crowd.commons import tasks
from llmzoo.envs.crowd.commons.optimum import selfish_equilibrium, social_optimum
from llmzoo.envs.crowd.commons.pond import Pond, grow, share_out
from llmzoo.errors import ConfigError

# of 20 fish, with 100%: 10 left grow by 5, 5 left by 3 (3.75), 15 left by 3 (3.75); below 4 they die
POND = Pond(fishers=2, capacity=20, rate=100, fewest=4, start=20, limit=10, rounds=2)


def test_growth():
    assert [grow(POND, left) for left in (0, 3, 4, 5, 10, 15, 20)] == [0, 0, 7, 8, 15, 18, 20]


@pytest.mark.parametrize(
    ("stock", "wanted", "shares"),
    [
        (20, (4, 5), (4, 5)),
        (10, (5, 5), (5, 5)),
        (10, (9, 9), (5, 5)),
        (10, (2, 9), (2, 8)),
        (10, (2, 9, 9), (2, 4, 4)),
        (9, (9, 9, 9, 9), (2.25,) * 4),
        (0, (3, 0), (0, 0)),
    ],
)
def test_who_gets_how_many(stock, wanted, shares):
    assert share_out(stock, wanted) == pytest.approx(shares)


def test_the_best_harvest_of_two_rounds():
    """At the end all are taken. h in the first round leaves 20 - h, and then 20 - h and what is born.

    The total is 20 + growth(20 - h), and growth is largest, 5, at 8 to 12 left: 4.8, rounded down, is 4 at 8 and
    12, 4.95 is 4 at 9 and 11, and 5 is 5 at 10. So 10, and then 15 of 15.
    """
    plan = social_optimum(POND)
    assert (plan.harvests[0][20], plan.values[0][20]) == (10, 25)
    assert (plan.harvests[1][15], plan.values[1][15]) == (15, 15)


def test_the_limit_bounds_the_best_harvest():
    # each may take 3 in a round: 6 and 6
    pond = Pond(**{**fields(POND), "limit": 3})
    assert social_optimum(pond).values[0][20] == 12


def fields(pond):
    return {name: getattr(pond, name) for name in pond.__slots__}


def best_by_search(pond, stock, rounds):
    """The best harvest, by trying every sequence of harvests."""
    totals = []
    for sequence in itertools.product(range(pond.capacity + 1), repeat=rounds):
        left, total = stock, 0
        for taken in sequence:
            if taken > min(left, pond.fishers * pond.limit):
                break
            total += taken
            left = grow(pond, left - taken)
        else:
            totals.append(total)
    return max(totals)


@pytest.mark.parametrize("seed", range(6))
def test_no_sequence_of_harvests_is_better(seed):
    rng = random.Random(seed)
    pond = Pond(2, 12, rng.choice((50, 80, 100)), rng.randint(1, 3), rng.randint(6, 12), 6, 3)
    assert social_optimum(pond).values[0][pond.start] == best_by_search(pond, pond.start, 3)


def test_the_equilibrium_of_two_rounds():
    """The last round is a grab: each gets half of what is there. In the first there are 20 fish.

    If both name 8, 4 are left and become 7: each gets 8 + 3.5 = 11.5. Who names 9 or 10 instead kills the pond and
    gets just these; 7 gives 7 + 8 / 2 = 11, 6 gives 6 + 10 / 2 = 11, and fewer less. If both name 10, each gets 10,
    and nobody can do better: 6 gives 6 + 7 / 2 = 9.5. So there are two equilibria, and 8 is the better one. Together
    the fishers could have 25, of which half is 12.5: if both name 5, each gets 5 + 15 / 2. But there, 10 gives
    10 + 8 / 2 = 14.
    """
    game = selfish_equilibrium(POND)
    assert game.regret == 0
    assert (game.harvests[0][20], game.values[0][20]) == (8, 11.5)
    assert all(game.values[1][stock] == stock / 2 for stock in range(21))


def test_a_stock_without_an_equilibrium():
    """With boats of 2 and 7 fish, each wants to take 2 if the other takes 1, and 1 if the other takes 2.

    Both 2: 3 are left and die, each gets 2; 1 instead leaves 4, which become 7: 1 + 2 = 3. Both 1: 5 are left and
    become 8, each gets 1 + 2 = 3; 2 instead gives 2 + 2 = 4. Both 0: each gets 2, and 2 instead gives 4. So the
    least to gain is 1, and of both 1 and both 2, both 1 gives more.
    """
    game = selfish_equilibrium(Pond(**{**fields(POND), "limit": 2}))
    assert game.regret == 1
    assert (game.harvests[0][7], game.values[0][7]) == (1, 3)
    # with 20 fish nobody can hurt the pond, and all take what they may
    assert (game.harvests[0][20], game.values[0][20]) == (2, 4)


@pytest.mark.parametrize("seed", range(10))
def test_nobody_gains_by_deviating_once(seed):
    """Every number in every round, by playing on from there; and no equilibrium beats the optimum."""
    rng = random.Random(seed)
    pond = tasks.sample_task(rng, rng.choice((2, 3, 4)))
    game = selfish_equilibrium(pond)
    best = social_optimum(pond).values[0][pond.start]
    assert pond.fishers * game.values[0][pond.start] <= best + 1e-9
    for start in range(pond.rounds):
        for own in range(pond.limit + 1):
            for stock in (pond.capacity, pond.capacity // 2, pond.start):
                honest = played_on(pond, game, stock, start, game.harvests[start][stock])
                assert honest == pytest.approx(game.values[start][stock])
                assert played_on(pond, game, stock, start, own) <= honest + game.regret + 1e-9


def played_on(pond, game, stock, start, own):
    """What fisher 0 gets who names ``own`` in round ``start`` and then what all name."""
    total = 0.0
    for number in range(start, pond.rounds):
        wanted = [game.harvests[number][stock]] * pond.fishers
        if number == start:
            wanted[0] = own
        total += share_out(stock, wanted)[0]
        stock = grow(pond, max(0, stock - sum(wanted)))
    return total


# Episodes


def made(pond=POND, **kwargs):
    env = llmzoo.make("commons_v0", **{"num_agents": pond.fishers, **kwargs}).unwrapped
    env.reset(seed=0)
    env.episode = env.episode.__class__(pond, env.initial_world(pond))
    return env


def play(env, *rounds):
    for actions in rounds:
        for action in actions.split():
            env.step(action)


def test_the_best_harvest_earns_1():
    env = made()
    play(env, "5 5")
    assert env.episode.world.stock == 15
    assert env.rewards == pytest.approx(dict.fromkeys(env.possible_agents, 10 / 25))
    play(env, "8 7")
    assert env.rewards == pytest.approx(dict.fromkeys(env.possible_agents, 15 / 25))
    info = env.infos["fisher_0"]
    assert (info["success"], info["collapse"], info["optimum"]) == (True, False, 25)
    assert info["harvest"] == {"fisher_0": 13, "fisher_1": 12}
    # two differences of 1: 2 / (2 * 2 * 25) = 0.02, times 2 / 1
    assert info["equality"] == pytest.approx(0.96)


def test_a_collapse_ends_the_season():
    env = made()
    play(env, "10 7")  # 3 are left, too few
    info = env.infos["fisher_1"]
    assert all(env.terminations.values())
    assert (info["success"], info["collapse"]) == (False, True)
    assert env.rewards["fisher_0"] == pytest.approx(17 / 25)


def test_an_empty_pond_after_the_last_round_is_no_collapse():
    env = made()
    play(env, "5 5", "10 10")
    assert not env.infos["fisher_0"]["collapse"]
    assert env.infos["fisher_0"]["harvest"] == {"fisher_0": 12.5, "fisher_1": 12.5}
    assert env.infos["fisher_0"]["success"]


def test_nine_tenths_of_the_best_harvest_are_a_success():
    env = made()
    play(env, "5 5", "7 6")  # 23 of 25 are 92%
    assert env.infos["fisher_0"]["success"]
    env = made()
    play(env, "5 5", "6 6")  # 22 are 88%
    assert not env.infos["fisher_0"]["success"]


def test_the_selfish_game_pays_each_its_own():
    env = made(reward="selfish")
    play(env, "10 2")
    assert env.rewards == pytest.approx({"fisher_0": 20 / 25, "fisher_1": 4 / 25})
    assert env.infos["fisher_0"]["reward_components"] == pytest.approx({"own": 0.8})
    assert "You earn only for the fish" in env.observe("fisher_0")


def test_greed_pays_in_the_selfish_game_alone():
    """14 fish for who names 10 beside 5, where restraint gives 12.5."""
    greedy = made(reward="selfish")
    totals = dict.fromkeys(greedy.possible_agents, 0.0)
    for actions in ("10 5", "10 10"):
        play(greedy, actions)
        totals = {agent: total + greedy.rewards[agent] for agent, total in totals.items()}
    assert totals["fisher_0"] == pytest.approx(14 / 12.5)
    assert sum(totals.values()) / 2 < 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("11", "malformed: 11 is not from 0 to 10"),
        ("-1", "malformed: -1 is not from 0 to 10"),
        ("3 or 4", "malformed: no action"),
        ("3\n4", "malformed: more than one action"),
        ("2.5", "malformed: no action"),
    ],
)
def test_what_is_not_read_takes_nothing(text, error):
    env = made()
    env.step(text)
    env.step("4 fish")
    assert env.episode.world.last == (0, 4)
    assert env.infos["fisher_0"]["error"] == error
    assert env.infos["fisher_0"]["reward_components"]["form"] == -0.05
    assert f"Your last answer was {error.replace(': ', ': ', 1)}." in env.observe("fisher_0")


def test_what_was_taken_is_read_in_the_next_round():
    env = made()
    before = env.observe("fisher_1")
    env.step("6")
    assert env.observe("fisher_1") == before
    env.step("1")
    assert "Fish in the pond: 17.\nTaken in the last round: fisher_0 6, you 1." in env.observe(
        "fisher_1"
    )


def test_all_read_a_message():
    env = made(Pond(3, 30, 50, 3, 30, 10, 4), message_chars=40)
    env.step("3\nsay take 3 each")
    env.step("3")
    env.step("3")
    for other in ("fisher_1", "fisher_2"):
        assert "fisher_0 said:\n> take 3 each" in env.observe(other)
    assert "take 3 each" not in env.observe("fisher_0")


def test_one_agent_decides_for_all():
    env = made(num_agents=1, fishers=2)
    env.step("fisher_0: 5\nfisher_1: 5")
    assert env.episode.world.last == (5, 5)
    env.step("fisher_0: 5")
    assert env.infos["manager_0"]["error"] == "malformed: fisher_1: no action"
    assert env.infos["manager_0"]["reward_components"]["form"] == -0.025


@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("alone", [False, True])
def test_experts_take_the_best_harvest(count, alone):
    agents = {"num_agents": 1, "fishers": count} if alone else {"num_agents": count}
    testing.check_expert(
        lambda: llmzoo.make("commons_v0", split="test", **agents), range(10), best=1.0
    )


def test_experts_share_evenly():
    """The fish that cannot be divided go to others from round to round: nobody is more than one a round ahead."""
    env = llmzoo.make("commons_v0", num_agents=4).unwrapped
    for task in range(30):
        env.reset(options={"task": task})
        while not any(env.terminations.values()):
            env.step(env.expert(env.agent_selection))
        taken = env.episode.world.taken
        assert max(taken) - min(taken) <= env.episode.task.rounds
        assert env.infos["fisher_0"]["equality"] > 0.8


@pytest.mark.parametrize("count", range(2, 9))
def test_patience_pays_in_every_task(count):
    for seed in range(20):
        pond = tasks.sample_task(random.Random(seed), count)
        assert social_optimum(pond).values[0][pond.start] >= 1.5 * pond.start
        assert pond.fewest < pond.start <= pond.capacity
        assert pond.fishers * pond.limit >= pond.capacity


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"num_agents": 9}, "num_agents must be 2 to 8, got 9"),
        ({"num_agents": 1, "reward": "selfish"}, "requires at least 2 agents, got num_agents=1"),
        ({"reward": "greedy"}, "reward must be one of team, selfish; got 'greedy'"),
        ({"prompt": "long"}, "prompt must be one of full, terse"),
    ],
)
def test_wrong_arguments(kwargs, error):
    with pytest.raises(ConfigError, match=error):
        llmzoo.make("commons_v0", **kwargs)
