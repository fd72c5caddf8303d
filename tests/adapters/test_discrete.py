"""An environment with numbered actions, played in words."""

import contextlib
import io
import random
from functools import partial

import numpy as np
import pytest
from discrete_envs import Pile
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils.conversions import parallel_to_aec

from llmzoo import testing
from llmzoo.adapters import DiscreteText, discrete_to_text
from llmzoo.errors import ConfigError, LlmzooError, NoScriptedPolicyError
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.rollout import fork, play_episodes


def pile(seed=7, cut=False, **options):
    """A game on a pile of ``seed``: split "all" takes a seed as it is."""
    env = discrete_to_text(Pile(cut), split="all", **options)
    env.reset(seed=seed)
    return env


def legal_player(env, agent):
    return env.unwrapped.noisy_expert(agent, random.Random(env.observe(agent)))


def play(env, *answers):
    for answer in answers:
        env.step(answer)
    return env


def parts(env):
    return {agent: info["reward_components"] for agent, info in env.infos.items()}


def test_what_an_agent_reads():
    env = play(pile(rules="Take the last."), "Move: 2")
    assert env.observe("b_1") == (
        "You are b_1 in pile_v0. Take the last.\n\nObservation: 5\n\nLegal moves: 1, 2, 3\n\n"
        'End your answer with a line such as "Move: 1".'
    )
    assert env.observe("c_2").endswith("Observation: 5\nIt is the turn of b_1.")
    env.step("Move: 9")
    assert "\n\nYour answer was refused: there is no move 9. Tries left: 1\n\n" in env.observe(
        "b_1"
    )
    # a legal answer, and the refusal is forgotten
    assert "refused" not in play(env, "Move: 1", "1").observe("a_0")


def test_the_terse_prompt_and_functions_of_ones_own():
    env = pile(
        prompt="terse",
        observation=lambda seen, agent: f"{agent} sees {seen.item()}",
        actions="take {}".format,
    )
    assert env.observe("a_0") == "a_0 sees 7\nLegal moves: take 1, take 2, take 3\nMove:"
    assert play(env, "I take 3, no: Move: take 2").unwrapped.game.pile == 5


def test_rewards_are_the_games_and_parts_name_them():
    env = play(pile(4), "1", "1", "2")  # c empties it
    assert env.rewards == {"a_0": -1, "b_1": -1, "c_2": 2}
    assert parts(env) == {"a_0": {"game": -1}, "b_1": {"game": -1}, "c_2": {"game": 2}}
    assert all(env.terminations.values())
    assert [info["won"] for info in env.infos.values()] == [False, False, True]
    assert [info["success"] for info in env.infos.values()] == [False] * 3  # a_0 has not won


@pytest.mark.parametrize(
    ("success", "expected"),
    [
        (None, False),
        ("a_0", False),
        ("c_2", True),
        (lambda paid: paid == {"a_0": -1, "b_1": -1, "c_2": 2}, True),
    ],
)
def test_success_is_whose_win_one_asks_for(success, expected):
    env = play(pile(4, success=success), "1", "1", "2")
    assert {info["success"] for info in env.infos.values()} == {expected}


def test_a_wrong_answer_costs_and_may_be_mended():
    env = play(pile(4), "1 or 2")
    assert env.agent_selection == "a_0"
    assert env.rewards == {"a_0": -0.1, "b_1": 0, "c_2": 0}
    assert env.infos["a_0"]["error"] == "it names more than one move"
    assert parts(env)["a_0"] == {"illegal": -0.1}
    assert env.last()[1] == -0.1
    play(env, "1")
    assert env.infos["a_0"]["error"] is None
    play(env, "1", "3")  # two are left
    assert env.infos["c_2"]["error"] == "3 is not legal now"
    play(env, "2")
    assert env.rewards == {"a_0": -1, "b_1": -1, "c_2": 2}
    assert parts(env)["c_2"] == {"game": 2}  # since its last answer; the penalty was paid before
    assert env.infos["c_2"]["won"]


def test_tries_are_counted_at_each_turn():
    env = pile(4, tries=3)
    play(env, "x", "x", "1", "x", "x", "1", "x", "x")
    assert not any(env.terminations.values())
    assert "Tries left: 1" in env.observe("c_2")


def test_forfeiting():
    env = pile(4, tries=2, illegal_penalty=0.25, forfeit_penalty=3.0, success="a_0")
    play(env, "1", "nothing", "nothing")
    assert env.rewards == {"a_0": 0, "b_1": -3.25, "c_2": 0}
    assert parts(env)["b_1"] == {"illegal": -0.25, "forfeit": -3.0}
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    for info in env.infos.values():
        assert (info["success"], info["won"]) == (False, False)
    assert "The game is over." in env.observe("a_0")
    while env.agents:
        env.step(None)
    env.reset(seed=3)
    assert play(env, "1").rewards == {"a_0": 0, "b_1": 0, "c_2": 0}


@pytest.mark.parametrize("text", ["", "x" * 20_001, "1" * 20_001, "Move: 4", "Move: -1", "\x00"])
def test_no_text_is_played_for_the_agent(text):
    env = play(pile(7), text)
    assert env.unwrapped.game.pile == 7
    assert env.infos["a_0"]["error"]


def test_one_agent_may_be_out_before_the_others():
    env = play(pile(7), "3")
    assert env.agent_selection == "a_0"
    assert env.terminations == {"a_0": True, "b_1": False, "c_2": False}
    assert env.last()[1:] == (-0.5, True, False, env.infos["a_0"])
    assert (env.infos["a_0"]["success"], env.infos["a_0"]["won"]) == (False, False)
    with pytest.raises(ValueError, match="dead"):
        env.step("1")
    env.step(None)
    assert (env.agents, env.agent_selection) == (["b_1", "c_2"], "b_1")
    play(env, "2", "2")
    assert env.rewards == {"b_1": -1, "c_2": 2}
    assert env.infos["c_2"]["won"]
    play(env, None, None)
    assert env.agents == []


def test_truncation_is_the_games():
    env = play(pile(7, cut=True), "3")
    assert env.truncations == {"a_0": True, "b_1": False, "c_2": False}
    assert not any(env.terminations.values())


@pytest.mark.filterwarnings("ignore:Observation", "ignore:Action space")  # as for every text
def test_pettingzoos_own_tests():
    for make in (partial(discrete_to_text, Pile()), partial(discrete_to_text, Pile(True))):
        with contextlib.redirect_stdout(io.StringIO()):
            api_test(make(), num_cycles=50)
            seed_test(make, num_cycles=50)


def test_conformance():
    make = partial(discrete_to_text, Pile())
    testing.check_text_spaces(make)
    testing.check_hostile_text(make, testing.hostile_texts(100))
    for act in (None, legal_player):
        testing.check_seeds(make, seeds=(5, 6, 7), act=act)
        testing.check_rewards(make, act=act)
        testing.check_fork(make, seed=6, act=act)
        testing.check_observations_do_not_grow(make, seed=6, act=act)


def test_splits_share_no_seed():
    seen = {}
    for split in ("train", "test", "all"):
        env = discrete_to_text(Pile(), split=split)
        seen[split] = set()
        for seed in range(1, 20):
            env.reset(seed=seed)
            seen[split].add(env.unwrapped.game.pile)
        env.reset(options={"task": 4})
        by_task = env.unwrapped.game.pile
        env.reset(seed=4, options={"task": 9})  # as evaluate() asks: the seed decides
        assert env.unwrapped.game.pile == by_task
    assert len(seen["train"]) == len(seen["test"]) == 19
    assert not seen["train"] & seen["test"]
    assert seen["all"] == set(range(1, 20))


def test_a_fork_leaves_a_half_refused_turn_as_it_was():
    env = play(pile(7), "x")
    forked = fork(env)
    play(forked, "x")
    assert all(forked.terminations.values())
    assert "Tries left: 1" in env.observe("a_0")
    play(env, "2")
    assert (env.unwrapped.game.pile, forked.unwrapped.game.pile) == (5, 7)


def test_an_episode_records_each_try():
    answers = iter(["?", "2", "2", "3"])
    policy = ScriptedPolicy(lambda request: next(answers))
    make = partial(discrete_to_text, Pile(), split="all", success="c_2")
    (episode,) = play_episodes(make, policy, [7])
    assert [(d.agent, d.reward) for d in episode.decisions] == [
        ("a_0", -0.1),
        ("a_0", -1.0),
        ("b_1", -1.0),
        ("c_2", 2.0),
    ]
    assert episode.success
    assert episode.totals == pytest.approx({"a_0": -1.1, "b_1": -1.0, "c_2": 2.0})


def test_scripted_players():
    env = pile(7, expert=lambda seen, agent: 1 + int(seen[0, 0]) % 3)
    assert env.unwrapped.expert("a_0") == "Move: 2"
    moves = {env.unwrapped.noisy_expert("a_0", random.Random(i)) for i in range(30)}
    assert moves == {"Move: 1", "Move: 2", "Move: 3"}
    with pytest.raises(NoScriptedPolicyError, match="noisy_expert"):
        pile(7).unwrapped.expert("a_0")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"tries": 0}, "tries is at least 1"),
        ({"illegal_penalty": -0.1}, "0 or more"),
        ({"forfeit_penalty": float("nan")}, "0 or more"),
        ({"prompt": "short"}, "one of full, terse"),
        ({"success": "c_3"}, "Did you mean 'c_2'"),
        ({"split": "dev"}, "split"),
        ({"actions": ["one"]}, "1 names for 3 actions"),
        ({"actions": ["one", "One", "two"]}, "empty or taken"),
        ({"render_mode": "rgb_array"}, "render_mode"),
    ],
)
def test_settings_that_mean_nothing(options, reason):
    with pytest.raises((LlmzooError, ValueError), match=reason):
        discrete_to_text(Pile(), **options)


def test_environments_of_another_kind():
    with pytest.raises(ConfigError, match="not Discrete"):
        discrete_to_text(discrete_to_text(Pile()))
    with pytest.raises(ConfigError, match="parallel_to_aec"):
        discrete_to_text(parallel_to_aec)


def test_a_game_without_a_legal_move_is_to_blame():
    env = pile(7)
    env.unwrapped.game.infos["a_0"]["action_mask"] = np.zeros(3)
    with pytest.raises(ConfigError, match="pile_v0 leaves a_0 no legal move"):
        env.observe("a_0")


def test_the_class_is_what_the_function_wraps():
    assert isinstance(discrete_to_text(Pile()).unwrapped, DiscreteText)
    assert str(discrete_to_text(Pile())) == "text_pile_v0"


def test_human_shows_the_start_and_what_follows(capsys):
    env = discrete_to_text(Pile(), render_mode="human")
    env.reset(seed=0)
    start = capsys.readouterr().out
    env.step("Move: 1")  # one is taken away
    assert (start, capsys.readouterr().out) == ("Observation: 7\n", "Observation: 6\n")
