"""mafia_v0 with one agent that plays the village: what it reads, what its answers do, and the exact best play."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest

import llmzoo
from llmzoo.cli.reference_docs import environment_docs
from llmzoo.envs.crowd.mafia import best_play, players
from llmzoo.envs.crowd.mafia.best_play import (
    Position,
    find_position,
    night_win_probability,
    removal_values,
    vote_win_probability,
)
from llmzoo.envs.crowd.mafia.game import Day, MafiaState, role_of
from llmzoo.envs.crowd.mafia.odds import NIGHT, VOTE, village_win_probability
from llmzoo.errors import ConfigError
from llmzoo.policies import load
from llmzoo.rollout import play_episodes

FIVE = ("mafia_0", "detective_1", "villager_2", "villager_3", "villager_4")
NAMES = dict(zip(FIVE, ("Dan", "Ben", "Ada", "Eve", "Cleo"), strict=True))
MANY_WON = [(5, 226), (6, 289), (7, 257), (8, 125)]  # of 500 games, by players
SIZES = [(5, 1), (6, 1), (6, 2), (7, 1), (7, 2), (8, 1), (8, 2), (8, 3)]


def made(size=5, seed=0, **kwargs):
    """A game of so many players at its start."""
    env = llmzoo.make("mafia_v0", num_agents=1, players=size, **kwargs).unwrapped
    env.reset(seed=seed)
    return env


def at(*days, checks=(), phase=VOTE, alive=FIVE, **kwargs):
    """A game of five in which Dan is the mafia and Ben the detective, at some position."""
    env = made(**kwargs)
    env.episode = MafiaState(env.episode.seed, NAMES, alive, phase, days, checks)
    return env


def start_where(killed):
    """A game of five in whose first night the mafia kills a player of this role."""
    for seed in range(50):
        env = made(seed=seed)
        env.step(first_villager(env))
        if role_of(env.episode.days[0].killed) == killed:
            return env
    raise AssertionError(killed)


def first_villager(env):
    """The first by alphabet of the villagers that are alive."""
    state = env.episode
    return min(state.names[agent] for agent in state.living("villager"))


def mafia_name(env):
    state = env.episode
    return state.names[state.living("mafia")[0]]


def play(env, act):
    """The return of the agent in the episode that has begun."""
    total = 0.0
    while not env.terminations["village_0"]:
        env.step(act(env))
        total += env.rewards["village_0"]
    return total


# What answers do


def test_a_game_that_is_won():
    env = made()
    assert env.agents == ["village_0"]
    env.step(first_villager(env))
    worth = 2 * village_win_probability(1, 3, VOTE) - 1
    assert env.rewards["village_0"] == pytest.approx(worth)
    state = env.episode
    assert (state.phase, len(state.alive), len(state.checks)) == (VOTE, 4, 1)
    env.step(f"Answer: {mafia_name(env)}")
    assert env.rewards["village_0"] == pytest.approx(1 - worth)
    info = env.infos["village_0"]
    assert (info["success"], info["outcomes"]) == (True, {"village_0": "won"})


def test_a_game_that_is_lost():
    """Nobody is ever removed: of five, the mafia kills three and is as many as the village."""
    env = made()
    total = play(env, lambda env: "nobody" if env.episode.phase == VOTE else first_villager(env))
    assert total == pytest.approx(-1)
    assert [day.removed for day in env.episode.days] == [None, None, None]
    assert env.infos["village_0"]["outcomes"] == {"village_0": "lost"}


def test_whom_the_village_names_is_removed():
    env = at(Day(None), phase=VOTE, days=3)
    env.step("Ben")
    state = env.episode
    assert state.days[0].removed == "detective_1"
    # there is no detective left, so that the mafia has killed and the next vote has come
    assert (state.phase, len(state.days), len(state.alive)) == (VOTE, 2, 3)
    assert role_of(state.days[1].killed) == "villager"
    assert "Ben (detective) was removed." in env.observe("village_0")
    assert "Votes" not in env.observe("village_0")


@pytest.mark.parametrize("text", ["", "Ben", "nobody", "Dan or Eve", "Zoe", "Dan " * 6_000])
def test_a_check_that_cannot_be_read(text):
    """Ben is the detective, who cannot check itself."""
    env = at(phase=NIGHT)
    env.step(text)
    assert env.episode.checks == ()
    worth = 2 * village_win_probability(1, 3, VOTE) - 1
    assert env.rewards["village_0"] == pytest.approx(worth - 0.1)
    assert env.infos["village_0"]["reward_components"]["malformed"] == -0.1
    assert env.infos["village_0"]["error"].startswith("malformed")
    assert "About your last answer: malformed" in env.observe("village_0")


def test_a_removal_that_cannot_be_read():
    env = at(Day("villager_3"), alive=(*FIVE[:3], "villager_4"))
    env.step("Eve")  # she was killed
    assert env.episode.days[0].removed is None
    assert env.infos["village_0"]["reward_components"]["malformed"] == -0.1
    assert "Nobody was removed." in env.observe("village_0")


def test_a_game_without_a_decision_is_lost():
    env = made(days=1)
    total = play(env, lambda env: "nobody" if env.episode.phase == VOTE else first_villager(env))
    assert total == pytest.approx(-1)
    info = env.infos["village_0"]
    assert (info["success"], info["outcomes"]) == (False, {"village_0": "lost"})
    assert len(env.episode.alive) == 4  # no night has come after the last day


def test_the_village_goes_on_without_its_detective():
    env = start_where("detective")
    assert "is not mafia" in env.observe("village_0")  # the check of that night
    env.step("nobody")
    state = env.episode
    assert (state.phase, len(state.days), len(state.checks)) == (VOTE, 2, 1)
    assert "The detective checked" in env.observe("village_0")


def test_an_agent_that_knows_the_villagers_wins_every_game():
    """Why the agent is not told who they are."""

    def act(env):
        return mafia_name(env)

    for size, mafia in ((6, 1), (8, 2), (8, 3)):
        env = made(size, mafia=mafia)
        for task in range(500 if size == 6 else 50):
            env.reset(options={"task": task})
            assert play(env, act) == pytest.approx(1)
            assert env.infos["village_0"]["success"]


def test_the_start_is_that_of_the_game_with_many_agents():
    many = llmzoo.make("mafia_v0", split="test").unwrapped
    one = made(6, split="test")
    for task in range(20):
        for env in (many, one):
            env.reset(options={"task": task})
        assert one.episode == many.episode
        assert one.infos["village_0"]["task_id"] == many.infos["mafia_0"]["task_id"]


def test_a_fork_meets_the_same_mafia():
    """And leaves the original as it was."""
    for seed in range(10):
        env = made(8, seed=seed)
        before = env.episode
        fork = env.fork()
        play(fork, lambda env: env.random_move("village_0", random.Random(env.turn)))
        assert env.episode is before
        play(env, lambda env: env.random_move("village_0", random.Random(env.turn)))
        assert env.episode == fork.episode


# What is hidden


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_no_prompt_shows_a_role_that_is_hidden(prompt):
    """It reads the same whoever of those that were not checked is mafia; Ben is the detective, who checked Eve."""
    env = made(prompt=prompt)
    for phase, days in product(
        (NIGHT, VOTE), ((), (Day(None),), (Day(None, {}, {"village_0": None}),))
    ):
        seen = set()
        for mafia in ("Dan", "Ada", "Cleo"):
            villagers = ("Eve", *(name for name in ("Dan", "Ada", "Cleo") if name != mafia))
            names = dict(zip(FIVE, (mafia, "Ben", *villagers), strict=True))
            checks = ("villager_2",)
            state = MafiaState(1, names, FIVE, phase, days, checks, {"village_0": "malformed: x"})
            seen.add(env.observation(state, "village_0"))
        (text,) = seen
        assert "_" not in text


def test_no_kill_shows_who_is_mafia():
    """After a night, each place by alphabet holds the mafia as often as the others: 600 games, 5 places."""
    places = Counter()
    for seed in range(600):
        env = made(6, seed=seed)
        env.step(first_villager(env))
        state = env.episode
        places[sorted(state.names[a] for a in state.alive).index(mafia_name(env))] += 1
    assert (
        min(places.values()) > 120 - 40
    )  # four standard errors: 4 * (600 * 1/5 * 4/5) ** 0.5 is 39.2
    assert max(places.values()) < 120 + 40


# The best play


def test_the_best_play_by_hand():
    # three are left: the detective, a villager and the mafia. One of two is removed, and a night would lose
    assert vote_win_probability(Position(1, 1, 0, 0, 1, 1)) == pytest.approx(1 / 2)
    # four: a removal wins with 1/3, and otherwise a night loses. After a night instead, the mafia is found with 1/3.
    # If a villager is cleared, the kill of the other leaves the mafia alone unchecked; any other one of two
    four = removal_values(Position(1, 2, 0, 0, 1, 1))
    assert four["unchecked"] == pytest.approx(1 / 3)
    assert four["nobody"] == pytest.approx(1 / 3 + 2 / 3 * (1 + 1 / 2 + 1 / 2) / 3)
    # without a day to come, waiting loses
    assert vote_win_probability(Position(1, 2, 0, 0, 1, 0)) == pytest.approx(1 / 3)
    # five before the first night: the mafia is found with 1/4. Otherwise the mafia kills one of two unchecked
    # villagers (then a check finds out), the cleared one (as above), or the detective: the village waits once, and
    # then names one of two, or of three if the cleared one is killed
    cleared = 1 / 2 * 1 + 1 / 4 * 7 / 9 + 1 / 4 * (2 / 3 * 1 / 2 + 1 / 3 * 1 / 3)
    assert night_win_probability(Position(1, 3, 0, 0, 1, 5)) == pytest.approx(
        1 / 4 + 3 / 4 * cleared
    )
    assert vote_win_probability(Position(0, 1, 1, 2, 0, 0)) == 1.0  # it is found
    assert vote_win_probability(Position(0, 4, 0, 0, 0, 0)) == 1.0
    assert vote_win_probability(Position(1, 0, 1, 2, 0, 3)) == 0.0  # as many mafia as others


def test_no_other_choice_is_better():
    """Up to eight players, it is never best to remove a player that is known to be good, or to check nobody new."""
    removals = checks = 0
    for numbers in product(range(4), range(7), range(4), range(7), range(2), range(8)):
        position = Position(*numbers)
        if position.winner is not None or sum(numbers[:-1]) > 8:
            continue
        for kind in ("cleared", "detective"):
            if getattr(position, kind):
                removed = night_win_probability(position.change(**{kind: -1}))
                assert removed <= vote_win_probability(position) + 1e-12
                removals += 1
        if position.days and position.detective:
            without = best_play._average_over_kills(position.change(days=-1))
            assert without <= night_win_probability(position) + 1e-12
            checks += without < night_win_probability(position) - 1e-12
    assert min(removals, checks) > 100


def test_positions_are_what_the_detective_knows():
    six = (*FIVE, "villager_5")
    state = MafiaState(0, dict.fromkeys(six, ""), six, VOTE, (Day(None), Day(None)))
    assert find_position(state, days=6) == (1, 4, 0, 0, 1, 4)
    state = MafiaState(0, state.names, six, VOTE, (Day(None),), ("mafia_0", "villager_2") * 2)
    assert find_position(state, days=6) == (0, 3, 1, 1, 1, 5)
    alive = ("mafia_0", "villager_2", "villager_3", "villager_4")  # the detective was killed
    state = MafiaState(0, state.names, alive, VOTE, (Day(None),), ("villager_2", "villager_5"))
    assert find_position(state, days=6) == (1, 2, 0, 1, 0, 5)


def test_the_expert_removes_whom_it_has_found_and_waits_where_that_is_better():
    alive = FIVE[:4]
    env = at(Day("villager_4"), checks=("mafia_0",), alive=alive)
    assert env.expert("village_0") == "Answer: Dan"
    env = at(Day("villager_4"), alive=alive)
    assert env.expert("village_0") == "Answer: nobody"  # 7/9, as above, and not 1/3
    env = at(Day("villager_4"), alive=alive, days=1)
    assert env.expert("village_0") == "Answer: Ada"  # any, by alphabet
    env = at(Day(None), phase=NIGHT, checks=("villager_2",))
    assert env.expert("village_0") == "Answer: Cleo"  # Ada was checked, and Ben is the detective


@pytest.mark.parametrize(("size", "mafia"), SIZES)
def test_the_expert_wins_as_often_as_computed(size, mafia):
    """Of 300 games, within four standard errors."""
    games = 300
    episodes = play_episodes(
        lambda: llmzoo.make("mafia_v0", num_agents=1, players=size, mafia=mafia),
        load("expert"),
        range(games),
    )
    exact = night_win_probability(Position(mafia, size - mafia - 1, 0, 0, 1, size))
    won = sum(episode.success for episode in episodes) / games
    assert abs(won - exact) < 4 * (exact * (1 - exact) / games) ** 0.5
    assert all(e.totals["village_0"] == pytest.approx(1 if e.success else -1) for e in episodes)


def play_as_many(env, agent):
    """The expert's action, but a mafia draws its victim as against one agent, unless someone has claimed a check."""
    state = env.episode
    claimed = {speaker for speaker, *_ in players.read_claims(state, env.names(state))}
    if state.phase != NIGHT or role_of(agent) != "mafia" or claimed.intersection(state.alive):
        return env.expert(agent)
    return state.names[players.draw_victim(state)]


@pytest.mark.parametrize(
    ("size", "won"),
    [pytest.param(n, won, marks=[] if n == 6 else pytest.mark.slow) for n, won in MANY_WON],
)
def test_separate_experts_against_the_same_mafia(size, won):
    """The shares of 500 test games on the documentation page."""
    env = llmzoo.make("mafia_v0", num_agents=size, split="test").unwrapped
    wins = 0
    for task in range(500):
        env.reset(options={"task": task})
        for agent in env.agent_iter():
            over = env.terminations[agent] or env.truncations[agent]
            env.step(None if over else play_as_many(env, agent))
        wins += env.episode.winner == "village"
    assert wins == won
    assert f" {won / 500:.1%} [" in environment_docs("mafia_v0")


@pytest.mark.parametrize(
    ("size", "won"),
    [
        (5, 300),
        (6, 463),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in ((7, 400), (8, 373))),
    ],
)
def test_the_rules_of_the_separate_experts_with_the_knowledge_and_votes_of_one(size, won):
    """The shares of 500 test games on the documentation page: 60.0%, 92.6%, 80.0% and 74.6%."""
    env = made(size, split="test")
    detective = next(agent for agent in env.members if role_of(agent) == "detective")

    def act(env):
        choice = players.choose(env.episode, detective, [])
        return env.episode.names.get(choice, choice)

    wins = 0
    for task in range(500):
        env.reset(options={"task": task})
        play(env, act)
        wins += env.infos["village_0"]["success"]
    assert wins == won
    assert f"{won / 500:.1%}" in environment_docs("mafia_v0")


def test_the_table_of_the_documentation():
    page = environment_docs("mafia_v0")
    row = next(line for line in page.splitlines() if line.startswith("| one agent, exact |"))
    exact = [
        night_win_probability(Position(mafia, size - mafia - 1, 0, 0, 1, size))
        for size, mafia in ((5, 1), (6, 1), (7, 1), (8, 2))
    ]
    assert [cell.strip() for cell in row.split("|")[2:-1]] == [f"{p:.1%}" for p in exact]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"num_agents": 1, "players": 4}, "players must be 5 to 8, got 4"),
        ({"num_agents": 6, "players": 5}, "as many as players .5., got 6"),
        ({"num_agents": 2}, "num_agents must be 5 to 8, got 2"),
        ({"num_agents": 1, "detective": False}, "num_agents=1 requires detective=True"),
        ({"num_agents": 1, "players": 8, "mafia": 4}, "mafia must be 1 to 3"),
    ],
)
def test_bad_settings(arguments, error):
    with pytest.raises(ConfigError, match=error):
        llmzoo.make("mafia_v0", **arguments)
