"""The parallel form names the agent whose action is missing, and plays nothing then."""

import pytest

import llmzoo


def test_the_agent_whose_turn_it_is_is_named():
    env = llmzoo.parallel("kuhn_poker_v0")
    observations, infos = env.reset(seed=0)
    assert infos["player_1"]["active_agent"] == "player_0"
    for actions, given in (({}, "nobody"), ({"player_1": "pass"}, "player_1")):
        with pytest.raises(ValueError, match=f"player_0 is missing.*actions of {given}"):
            env.step(actions)
    seen, *_, infos = env.step({"player_0": "Move: check"})  # that of the other need not be there
    assert seen["player_1"] != observations["player_1"]
    assert infos["player_0"]["active_agent"] == "player_1"


def test_every_agent_is_needed_where_all_act_at_once():
    env, twin = (llmzoo.parallel("resource_gathering_v0") for _ in range(2))
    for one in (env, twin):
        one.reset(seed=0)
    answers = dict.fromkeys(env.agents, "nonsense")
    with pytest.raises(ValueError, match=r"every agent in env.agents: miner_1 is missing"):
        env.step({"forester_0": "nonsense"})
    assert env.step(answers) == twin.step(answers)  # the half that was given has not been played


def test_a_finished_episode_needs_nobody():
    env = llmzoo.parallel("resource_gathering_v0")
    env.reset(seed=0)
    for _ in range(4):
        env.step(dict.fromkeys(env.agents, "nonsense"))
    assert env.agents == []
    assert env.step({})[0] == {}
