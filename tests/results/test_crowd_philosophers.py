"""The study of philosophers: its tables, its rewards, and what its table says."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmzoo import testing

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))


def table(cls: str, count: int, **more):
    import crowd_tables

    env = getattr(crowd_tables, cls)(num_agents=count, hungry_by=1, slack=0, **more)
    env.reset(seed=3)
    return env


def play(env, choose) -> float:
    """The return of an agent; ``choose`` gives the action of each."""
    total = 0.0
    while env.agents and not all(env.terminations.values()):
        env.step(choose(env, env.agent_selection))
        total += env.rewards[env.possible_agents[0]]
    return total


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_all_who_take_the_left_fork_first_deadlock_in_the_first_round(count):
    env = table("LeftFirst", count)
    assert play(env, lambda env, agent: env.unwrapped.expert(agent)) == 0.0
    info = env.infos[env.possible_agents[0]]
    assert info["deadlock"]
    assert set(info["meals"].values()) == {0}


def test_who_takes_a_random_fork_first_takes_both_in_some_dinners_and_the_same_in_each_copy():
    """First forks over 30 dinners: 150 fair draws, so both within 75 +- 30. A fork of the state chooses alike."""
    first = []
    for seed in range(30):
        env = table("EitherFirst", 5)
        env.reset(seed=seed)
        first += [env.unwrapped.expert(agent) for agent in env.possible_agents]
        copy = env.unwrapped.fork()
        assert [copy.expert(agent) for agent in env.possible_agents] == first[-5:]
    assert set(first) == {"left", "right"}
    assert 45 < first.count("left") < 105


def test_a_team_that_never_acts_gets_all_of_the_four_terms_and_a_deadlock_less():
    """In a deadlock of the first round: safety 0, efficiency 0 of 5 attempts, fairness 1, a third of each."""
    assert play(table("FourTerms", 5), lambda env, agent: "wait") == pytest.approx(1.0)
    assert play(table("FourTerms", 5), lambda env, agent: "left") == pytest.approx(1 / 3)


def test_one_meal_and_a_wasted_attempt():
    """philosopher_0 has one meal with two attempts; philosopher_2 takes a fork and puts it down.

    Safety 1, efficiency 2 / 3, and fairness 0, since one has all.
    """
    script = {"philosopher_0": ["left", "right"], "philosopher_2": ["left", "release"]}

    def choose(env, agent):
        words = script.get(agent, [])
        return words.pop(0) if words else "wait"

    assert play(table("FourTerms", 5), choose) == pytest.approx((1 + 2 / 3 + 0) / 3)


@pytest.mark.parametrize("cls", ["LeftFirst", "EitherFirst", "FourTerms"])
def test_the_tables_are_environments(cls):
    import crowd_tables

    for check in (
        testing.check_env,
        testing.check_seeds,
        testing.check_rewards,
        testing.check_fork,
    ):
        check(getattr(crowd_tables, cls))


def measured(deadlock: str, meals: list[int], **more) -> dict:
    """Two tables that want 4 and 5 meals."""
    found = {"agents": 5, "greedy": False, "more": {}, "deadlock": deadlock, "meals": meals}
    return {**found, "wanted": [4, 5], "fairness": [1.0, 0.5], **more}


def test_a_table_counts_the_dinners_and_the_meals():
    """Two runs on two tables: one deadlock in four; shares of 0, 3 / 5, 4 / 4 and 4 / 5, whose mean is 0.6."""
    import philosophers_tables as page

    rows = [
        {"arm": "magrpo_5", "seed": 1, "measured": [measured("00", [4, 4])]},
        {
            "arm": "magrpo_5",
            "seed": 0,
            "measured": [measured("10", [0, 3]), measured("11", [0, 0], greedy=True)],
        },
    ]
    found = page.find(rows, "magrpo_5", 5)
    assert [one["meals"] for one in found] == [[0, 3], [4, 4]]
    assert page.deadlock_rate(found)[0] == 0.25
    assert page.meal_share(found)[0] == pytest.approx(0.6)
    assert page.deadlock_rate(page.find(rows, "magrpo_5", 5, greedy=True))[0] == 1.0
    assert page.find(rows, "magrpo_5", 8) == page.find(rows, "magrpo_5", 5, temperature=0.5) == []
    first, greedy = (line.split(" | ") for line in page.main_table(rows).splitlines()[2:])
    assert (first[1], first[3], first[5]) == ("2", "50%, 0%", "30%, 90%")
    assert (greedy[1], greedy[3], greedy[5]) == ("1", "100%", "0%")


def test_the_log_has_runs_that_are_planned_and_none_twice():
    from crowd_philosophers import ARMS, LOG, planned
    from logs import read_rows

    rows = read_rows(LOG)
    names = [(row["arm"], row["seed"]) for row in rows]
    assert names
    assert len(set(names)) == len(names)
    assert set(names) <= {(name, seed) for name, seed, _ in planned()}
    settings = {arm.name: arm for arm in ARMS}
    for row in rows:
        if row["arm"] in settings:
            arm = settings[row["arm"]]
            assert row["settings"]["learner_args"] == arm.learner_args
            assert len(row["curve"]) == row["settings"]["steps"] == arm.steps
        for one in row["measured"]:
            assert len(one["deadlock"]) == len(one["meals"]) == len(one["wanted"])
            assert all(0 <= had <= wanted for had, wanted in zip(one["meals"], one["wanted"], strict=True))  # fmt: skip
