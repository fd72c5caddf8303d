"""mafia_v0: rules and rewards worked out by hand, odds of random play, hidden roles, players that leave."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import golden
import pytest
from tiny_models import FakePolicy

import llmzoo
from llmzoo.cli.reference_docs import environment_docs
from llmzoo.envs.crowd.mafia import game, players
from llmzoo.envs.crowd.mafia.game import Day, MafiaState
from llmzoo.envs.crowd.mafia.odds import (
    NIGHT,
    TALK,
    VOTE,
    find_winner,
    removal_probability,
    village_win_probability,
)
from llmzoo.errors import ConfigError
from llmzoo.parallel_forms import to_parallel
from llmzoo.rollout import agent_turn_tree, joint_tree, play_episodes, run_rollouts
from llmzoo.rollout.stepping import agents_to_act, is_over, is_success, step_joint_action
from llmzoo.training.config import FitConfig
from llmzoo.training.self_play import trains_opponents

SIX = ("mafia_0", "detective_1", "villager_2", "villager_3", "villager_4", "villager_5")
FIVE = ("mafia_0", "detective_1", "villager_2", "villager_3", "villager_4")
NAMES = dict(zip(FIVE, ("Dan", "Ben", "Ada", "Eve", "Cleo"), strict=True))
SIZES = [(5, 1), (6, 1), (6, 2), (7, 1), (7, 2), (8, 1), (8, 2), (8, 3)]


def made(**kwargs):
    """A game of five in which Dan is the mafia and Ben the detective."""
    env = llmzoo.make("mafia_v0", num_agents=5, **kwargs)
    env.reset(seed=0)
    state = env.unwrapped.episode
    env.unwrapped.episode = MafiaState(state.seed, NAMES, state.alive)
    return env


def act(env, *texts):
    """Step with a text for each of the agents that act now; past those that have left."""
    gone = {}
    for text in texts:
        env.step(text)
    rewards = dict(env.rewards)
    while env.agents and (
        env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
    ):
        agent = env.agent_selection
        gone[agent] = env.last()[1], env.infos[agent]
        env.step(None)
    return rewards, gone


# Odds


@pytest.mark.parametrize("players_", [2, 3, 4, 5])
def test_the_probability_of_a_removal_by_counting_all_votes(players_):
    nobody, decided, total = players_, 0, 0
    for votes in product(range(players_ + 1), repeat=players_):
        if any(vote == voter for voter, vote in enumerate(votes)):
            continue
        total += 1
        (first, most), *others = Counter(votes).most_common()
        decided += first != nobody and all(count < most for _, count in others)
    assert total == players_**players_
    assert removal_probability(players_) == pytest.approx(decided / total)


def test_odds_by_hand():
    assert [find_winner(*counts) for counts in ((0, 3), (1, 1), (1, 2), (2, 1))] == [
        "village",
        "mafia",
        None,
        "mafia",
    ]
    # two players vote for each other or for nobody: one is removed if one votes so and the other not, but then
    # nobody has a vote too
    assert removal_probability(2) == 0.0
    # of three, each votes for one of two others or nobody, 27 ways. A has both votes of B and C: 3 ways; so
    # have B and C: 9 ways. With less than two votes nobody is removed
    assert removal_probability(3) == pytest.approx(9 / 27)
    # one mafia of three: removed in a third of the removals; otherwise the next night decides
    assert village_win_probability(1, 2, VOTE) == pytest.approx(1 / 9)
    assert village_win_probability(1, 3, NIGHT) == pytest.approx(1 / 9)
    assert village_win_probability(1, 2, NIGHT) == 0.0
    r = removal_probability(4)
    assert village_win_probability(1, 3, VOTE) == pytest.approx(r / 4 + (1 - r) / 9)
    assert village_win_probability(1, 4, NIGHT) == village_win_probability(1, 3, VOTE)


@pytest.mark.parametrize(("agents", "mafia"), SIZES)
def test_random_play_wins_as_often_as_computed(agents, mafia):
    env = llmzoo.make("mafia_v0", num_agents=agents, mafia=mafia, words=5)
    games, won = 600, 0
    for seed in range(games):
        env.reset(seed=seed)
        rng = random.Random(f"{agents} {mafia} {seed}")
        for agent in env.agent_iter():
            over = env.terminations[agent] or env.truncations[agent]
            env.step(None if over else env.unwrapped.random_move(agent, rng))
        won += env.unwrapped.episode.winner == "village"
        assert env.unwrapped.episode.winner is not None  # nights without a choice do not occur
    expected = village_win_probability(mafia, agents - mafia, NIGHT)
    assert abs(won / games - expected) < 4 * (expected * (1 - expected) / games) ** 0.5


def test_the_table_of_the_documentation():
    page = environment_docs("mafia_v0")
    for mafia in (1, 2, 3):
        row = next(line for line in page.splitlines() if line.startswith(f"| {mafia} mafia |"))
        numbers = [
            f"{100 * village_win_probability(mafia, agents - mafia, NIGHT):.1f}%"
            for agents in range(5, 9)
            if (agents, mafia) in SIZES
        ]
        assert [cell.strip() for cell in row.split("|")[2:-1] if cell.strip()] == numbers


# Rules and rewards


def test_a_game_that_the_village_wins():
    env = made()
    assert env.unwrapped.acting(env.unwrapped.episode) == ("mafia_0", "detective_1")
    rewards, gone = act(env, "Answer: Eve", "I check Dan")
    # three of the village are left, before a vote: the worth of (1, 3)
    worth = 2 * village_win_probability(1, 3, VOTE) - 1
    others = dict.fromkeys(FIVE[1:], pytest.approx(worth))
    assert rewards == {"mafia_0": pytest.approx(-worth), **others}
    assert list(gone) == ["villager_3"]
    paid, info = gone["villager_3"]
    assert (paid, info["success"]) == (pytest.approx(worth), False)
    assert "outcomes" not in info  # the game goes on
    assert env.agents == [*FIVE[:3], "villager_4"]
    assert "Eve (villager) was killed in the night." in env.observe("mafia_0")
    assert "You checked: Dan is mafia." in env.observe("detective_1")
    assert "You checked" not in env.observe("villager_2")

    rewards, gone = act(env, "Not me", "Dan is mafia", "", "Hm")
    assert rewards == {"mafia_0": 0, "detective_1": 0, "villager_2": -0.1, "villager_4": 0}
    assert "Ada: (nothing)\nBen: Dan is mafia\nCleo: Hm\nDan: Not me" in env.observe("villager_4")

    rewards, gone = act(env, "Ben", "Dan", "Dan", "nobody")
    assert rewards == {
        "mafia_0": pytest.approx(-1 + worth),
        **{a: pytest.approx(1 - worth) for a in ("detective_1", "villager_2", "villager_4")},
    }
    assert {agent: info["success"] for agent, (_, info) in gone.items()} == {
        "mafia_0": False,
        "detective_1": True,
        "villager_2": True,
        "villager_4": True,
    }
    outcomes = gone["mafia_0"][1]["outcomes"]
    assert outcomes == {"mafia_0": "lost", **dict.fromkeys(FIVE[1:], "won")}


def test_the_mafia_wins_when_it_is_at_least_as_many():
    env = made()
    act(env, "Eve", "Ada")
    act(env, "a", "b", "c", "d")
    _, gone = act(env, "Cleo", "Cleo", "Cleo", "Ben")  # 1 mafia and 2 others
    # the game is lost: -1 in all, of which it was paid the worth of (1, 3) before
    assert gone["villager_4"][0] == pytest.approx(-2 * village_win_probability(1, 3, VOTE))
    _, gone = act(env, "Ada", "Dan")  # 1 and 1
    assert env.agents == []
    assert {agent: info["won"] for agent, (_, info) in gone.items()} == {
        "mafia_0": True,
        "detective_1": False,
        "villager_2": False,
    }


@pytest.mark.parametrize(
    ("votes", "removed"),
    [
        (("Ben", "Dan", "Dan", "Ben"), None),  # a tie
        (("nobody", "nobody", "Dan", "Dan"), None),
        (("nobody", "nobody", "nobody", "Dan"), None),
        (("nobody", "Dan", "Dan", "nonsense"), "mafia_0"),
        (("Dan", "Ada or Dan", "", "Ben"), "detective_1"),  # three votes that cannot be read
        (("", "", "", ""), None),
    ],
)
def test_votes(votes, removed):
    env = made(days=3)
    act(env, "Eve", "Ada")
    act(env, "a", "b", "c", "d")
    act(env, *votes)
    assert env.unwrapped.episode.days[0].removed == removed


def test_illegal_choices_count_as_none_and_cost():
    env = made()
    rewards, _ = act(env, "Dan", "Ben")  # the mafia its own, the detective itself
    assert rewards["mafia_0"] == pytest.approx(-0.1 - (2 * village_win_probability(1, 4, VOTE) - 1))
    assert env.unwrapped.episode.days[0].killed is None
    assert env.unwrapped.episode.checks == ()
    assert "About your last answer: malformed" in env.observe("mafia_0")
    assert "Nobody was killed in the night." in env.observe("villager_3")


def test_chance_decides_if_the_mafia_disagrees():
    agents = ["mafia_0", "mafia_1", *(f"villager_{n}" for n in range(2, 7))]
    killed = set()
    for seed in range(20):
        state = game.start_game(seed, agents)
        choices = {"mafia_0": "villager_2", "mafia_1": "villager_3"}
        after = game.end_night(state, choices)
        assert after == game.end_night(state, choices)
        killed.add(after.days[0].killed)
    assert killed == {"villager_2", "villager_3"}
    assert game.find_most_named([None, None]) == []
    assert game.find_most_named(["b", "a", "b", None, "a", "c"]) == ["a", "b"]


def test_a_game_without_a_decision_is_lost_by_both_sides():
    env = made(days=1)
    act(env, "", "Ada")
    act(env, *"abcde")
    rewards, gone = act(env, *["nobody"] * 5)
    assert env.agents == []
    worth = 2 * village_win_probability(1, 4, VOTE) - 1
    others = dict.fromkeys(FIVE[1:], pytest.approx(-1 - worth))
    assert rewards == {"mafia_0": pytest.approx(-1 + worth), **others}
    for _, info in gone.values():
        assert (info["success"], set(info["outcomes"].values())) == (False, {"lost"})
    (episode,) = play_episodes(lambda: llmzoo.make("mafia_v0", days=1), silent(), [0])
    # three texts of the mafia and the detective, two of the villagers
    assert episode.totals == pytest.approx({a: -1.3 if a[0] in "md" else -1.2 for a in SIX})


def silent():
    return FakePolicy(lambda request, i: "")


@pytest.mark.parametrize("agents", range(5, 9))
def test_sides_win_what_the_others_lose(agents):
    """At each step; and who stays to the end earns 1 or -1 in all."""
    env = llmzoo.make("mafia_v0", num_agents=agents)
    mafia, village = env.metadata["sides"]
    assert sorted(mafia + village) == sorted(env.possible_agents)
    for seed in range(20):
        env.reset(seed=seed)
        rng = random.Random(seed)
        totals = Counter()
        while env.agents:
            agent = env.agent_selection
            if env.terminations[agent]:
                env.step(None)
                continue
            env.step(env.unwrapped.noisy_expert(agent, rng))
            by_side = [
                {env.rewards[a] for a in env.agents if a in side} for side in (mafia, village)
            ]
            assert all(len(paid) == 1 for paid in by_side)
            assert sum(map(sum, by_side)) == pytest.approx(0.0)
            totals.update(env.rewards)
        for agent in env.unwrapped.episode.alive:
            won = env.unwrapped.episode.winner == ("mafia" if agent in mafia else "village")
            assert totals[agent] == pytest.approx(1 if won else -1)


# What is hidden


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_no_prompt_shows_a_role_that_is_hidden(prompt):
    """A villager reads the same whoever else is what, and no prompt has an agent's name in it."""
    env = llmzoo.make("mafia_v0", num_agents=5, prompt=prompt).unwrapped
    env.reset(seed=0)
    seen = set()
    for order in (FIVE, [FIVE[i] for i in (3, 0, 2, 1, 4)], [FIVE[i] for i in (1, 3, 2, 4, 0)]):
        names = dict(zip(order, ("Dan", "Ben", "Ada", "Eve", "Cleo"), strict=True))
        by_name = {name: agent for agent, name in names.items()}
        said = {by_name[n]: text for n, text in (("Dan", "Hello"), ("Eve", "I am good"))}
        votes = {by_name["Dan"]: by_name["Eve"], by_name["Ada"]: "nobody"}
        state = MafiaState(1, names, FIVE, VOTE, (Day(None, said, votes), Day(None, said)))
        assert names["villager_2"] == "Ada"
        seen.add(env.observation(state, "villager_2"))
        for agent in FIVE:
            assert "_" not in env.observation(state, agent)
    assert len(seen) == 1


def test_mafia_know_each_other():
    env = llmzoo.make("mafia_v0", num_agents=8)
    env.reset(seed=3)
    names = env.unwrapped.episode.names
    assert f"The mafia with you: {names['mafia_1']}." in env.observe("mafia_0")
    assert "The mafia with you" not in env.observe("villager_5")
    assert names["mafia_1"] not in env.observe("mafia_0").partition("One of:")[2]


def test_no_place_in_the_list_is_more_often_mafia():
    places = Counter()
    for seed in range(600):
        names = game.start_game(seed, FIVE).names
        places[sorted(names.values()).index(names["mafia_0"])] += 1
    assert min(places.values()) > 120 - 50  # five standard errors


def test_actions_of_a_phase_are_not_seen_before_it_ends():
    env = made()
    before = env.observe("detective_1")
    env.step("Eve")
    assert env.observe("detective_1") == before
    env.step("Dan")
    env.step(None)
    before = env.observe("villager_4")
    for text in ("one", "two", "three"):
        env.step(text)
        assert env.observe("villager_4") == before


def test_observations_are_bounded():
    """By the number of players, days and words, whatever they write."""
    env = llmzoo.make("mafia_v0", num_agents=8, days=8, words=30)
    env.reset(seed=0)
    start = len(env.observe("villager_7"))
    longest = 0
    for agent in env.agent_iter():
        longest = max(longest, len(env.observe(agent)))
        over = env.terminations[agent] or env.truncations[agent]
        env.step(None if over else "word " * 3_999)
    line = len("Name: ") + 12 * 30
    assert 8 * 8 * 100 < longest < start + 8 * (8 * (line + len("Name nobody, ")) + 200)


# Scripted players


def state_of(*days, checks=(), phase=VOTE, alive=FIVE):
    return MafiaState(0, NAMES, alive, phase, days, checks)


def test_suspects_by_hand():
    plain = state_of(Day(None))
    suspects = players.find_suspects(plain, "villager_2", [])
    assert suspects == pytest.approx(dict.fromkeys(FIVE, 1 / 4) | {"villager_2": 0.0})
    # Ben says that Dan is mafia. Either Ben is the detective and Dan is mafia: weight 1. Or Ben is mafia, and one of
    # three others the detective: 0.05 each
    claim = [("detective_1", "mafia_0", True)]
    suspects = players.find_suspects(plain, "villager_2", claim)
    assert suspects["mafia_0"] == pytest.approx(1 / 1.15)
    assert suspects["detective_1"] == pytest.approx(0.15 / 1.15)
    assert suspects["villager_3"] == 0.0
    # Dan was removed and was no mafia in Eve's false claim: Eve is mafia
    alive = tuple(a for a in FIVE if a != "villager_4")
    suspects = players.find_suspects(
        state_of(Day("villager_4"), alive=alive), "villager_2", [("villager_3", "villager_4", True)]
    )
    assert suspects["villager_3"] == 1.0
    # claims that no assignment agrees with are left out: two villagers lie
    liars = [("villager_2", "villager_3", True), ("villager_3", "villager_2", True)]
    assert sum(players.find_suspects(plain, "villager_4", liars).values()) == pytest.approx(1)


def test_the_detective_reports_what_it_has_found_and_is_believed():
    found = state_of(Day(None), checks=("mafia_0",), phase=TALK)
    said = players.speak(found, "detective_1", NAMES, [])
    assert said == "I checked Dan: mafia."
    assert players.speak(found, "villager_2", NAMES, []) == players.SILENCE
    after = state_of(Day(None, {"detective_1": said}), checks=("mafia_0",))
    claims = list(players.read_claims(after, NAMES))
    assert claims == [("detective_1", "mafia_0", True)]
    for agent in FIVE[1:]:
        assert players.choose_vote(after, agent, claims) == "mafia_0"
    assert players.choose_vote(after, "mafia_0", claims) != "mafia_0"
    night = state_of(*after.days, checks=("mafia_0",), phase=NIGHT)
    assert players.choose_by_night(night, "mafia_0", claims) == "detective_1"
    assert players.choose_by_night(night, "detective_1", claims) != "mafia_0"  # checked already


def test_a_villager_waits_without_evidence_if_a_removal_is_worse():
    """Of four, a removal at random wins with 1/3 for a villager, who knows itself; waiting with 1/9."""
    alive = FIVE[:3] + FIVE[4:]
    state = state_of(Day("villager_3"), alive=alive)
    assert players.choose_vote(state, "villager_2", []) != "nobody"
    # of two mafia in six, removing a suspect of 2/5 in a position of (2, 4)
    six = ("mafia_0", "mafia_1", *(f"villager_{n}" for n in range(2, 6)))
    state = game.start_game(0, six)
    state = MafiaState(0, state.names, six, VOTE, (Day(None),))
    removal = 0.4 * village_win_probability(1, 4, NIGHT) + 0.6 * village_win_probability(
        2, 3, NIGHT
    )
    waits = removal <= village_win_probability(2, 4, NIGHT)
    assert (players.choose_vote(state, "villager_2", []) == "nobody") == waits


def share_won(mafia, village, games=200, **kwargs):
    """The share of games that the village wins."""
    policies = {"mafia": llmzoo.policies.load(mafia), "village": llmzoo.policies.load(village)}
    env = llmzoo.make("mafia_v0", **kwargs)
    first, _ = env.metadata["sides"]
    agents = {a: policies["mafia" if a in first else "village"] for a in env.possible_agents}
    episodes = play_episodes(lambda: llmzoo.make("mafia_v0", **kwargs), agents, range(games))
    return sum(e.decisions[-1].info["outcomes"]["mafia_0"] == "lost" for e in episodes) / games


def test_experts_win_more_than_random_players():
    """Differences of at least four standard errors of a share of 200 games, 0.14."""
    both = share_won("expert", "expert")
    assert share_won("random", "expert") > share_won("random", "random") + 0.14
    assert both < share_won("random", "expert")
    assert share_won("expert", "random") < both - 0.1


# Agents that leave, in all forms


def test_the_parallel_form_has_the_players_of_the_moment():
    env = to_parallel(llmzoo.make("mafia_v0"))
    env.reset(seed=0)
    seen = {tuple(env.agents)}
    game_ = env.unwrapped
    while env.agents:
        agent = game_.agent_selection
        env.step({agent: game_.expert(agent)})
        seen.add(tuple(env.agents))
    assert len(seen) >= 3
    assert seen >= {SIX, ()}


def test_a_fork_goes_on_with_the_players_that_are_left():
    env = made()
    env.step("Eve")
    env.step("Dan")
    assert (env.agent_selection, env.terminations["villager_3"]) == ("villager_3", True)
    fork = env.unwrapped.fork()
    fork.step(None)
    assert "villager_3" not in fork.agents
    assert "villager_3" in env.agents
    env.step(None)
    assert fork.agents == env.agents
    act(fork, *"abcd")
    assert env.unwrapped.episode.phase == TALK


@pytest.mark.parametrize("tree", [joint_tree, agent_turn_tree])
@pytest.mark.parametrize("agents", [5, 8])
def test_trees_play_it_with_the_players_that_are_left(tree, agents):
    env = llmzoo.make("mafia_v0", num_agents=agents)
    env.reset(seed=1)
    everyone = env.possible_agents
    rollout = tree(env, 1, group_size=2, trained=everyone)
    policy = llmzoo.policies.load("noisy_expert")
    (batch,) = run_rollouts([rollout], dict.fromkeys(everyone, policy))
    turns = {a: {g.turn for g in batch.groups if g.agent == a} for a in everyone}
    assert {a for a, own in turns.items() if 0 in own} >= set(everyone[:2])
    assert all(own == set(range(len(own))) for own in turns.values())  # each turn has its group
    assert len({len(own) for own in turns.values()}) > 1  # some left before others
    assert all(len(g.returns) == 2 for g in batch.groups)
    first, village = env.metadata["sides"]
    for ending in batch.endings:  # also for players that have left
        won = {ending.outcomes[agent] for agent in first}, {ending.outcomes[a] for a in village}
        assert won in (({"won"}, {"lost"}), ({"lost"}, {"won"}), ({"lost"}, {"lost"}))
        assert set(ending.outcomes) == set(everyone)


def test_self_play_knows_its_sides():
    env = llmzoo.make("mafia_v0")
    _, village = env.metadata["sides"]
    assert trains_opponents(FitConfig(), env, env.possible_agents)
    assert not trains_opponents(FitConfig(), env, village)


@pytest.mark.parametrize(
    "arguments",
    [{"num_agents": 4}, {"num_agents": 9}, {"mafia": 3}, {"words": 4}, {"days": 0}, {"days": 9}],
)
def test_bad_settings(arguments):
    with pytest.raises(ConfigError, match=next(iter(arguments))):
        llmzoo.make("mafia_v0", **arguments)


EPISODES = {
    "the experts": ({}, []),
    "what is wrong": (
        {"num_agents": 5, "days": 1},
        ["nobody", "", "", "word " * 40, "I checked Kim: mafia.", "Hello", "Hm", *["nonsense"] * 9],
    ),
    "terse": ({"num_agents": 8, "prompt": "terse"}, []),
    "no detective": ({"num_agents": 5, "detective": False}, []),
    "one agent": ({"num_agents": 1, "players": 8}, ["nobody", "Answer: nobody"]),
    "one agent, terse": ({"num_agents": 1, "prompt": "terse"}, ["7"]),
}


def test_transcripts():
    said = []
    for episode, (kwargs, answers) in EPISODES.items():
        env = llmzoo.make("mafia_v0", split="test", **kwargs)
        env.reset(options={"task": 0}, seed=0)
        said += [f"##### mafia, {episode}\n{golden.played(env, answers)}\n"]
    golden.check("mafia", "\n".join(said))


def test_an_agent_that_has_left_keeps_its_own_outcome():
    """The infos of those that are left tell of the other side's success."""
    dead = 0
    for seed in range(10):
        env, rng = llmzoo.make("mafia_v0", prompt="terse"), random.Random(seed)
        env.reset(seed=seed)
        while not is_over(env):
            step_joint_action(env, [env.unwrapped.random_move(a, rng) for a in agents_to_act(env)])
        state = env.unwrapped.episode
        for agent in env.possible_agents:
            side = "mafia" if agent.startswith("mafia") else "village"
            dead += agent not in state.alive
            assert is_success(env, agent) == (agent in state.alive and state.winner == side)
    assert dead > 10
