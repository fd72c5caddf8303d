"""One agent of an AEC environment as a gymnasium.Env."""

from __future__ import annotations

import runpy
import subprocess
import sys
import warnings
from functools import partial

import gymnasium
import pytest
from agent_envs import Prepaid
from discrete_envs import Pile
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from pages import ROOT
from toy_envs import Adder, Matcher

import llmzoo.adapters.gymnasium  # noqa: F401  # registers
from llmzoo import registry
from llmzoo.adapters import discrete_to_text
from llmzoo.adapters.single_agent import single_agent
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.errors import ConfigError, NoScriptedPolicyError, UnknownNameError
from llmzoo.policies import load
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.testing import hostile_texts


def play(env, answers, seed=None, options=None):
    """What an episode says: the first observation and info, then every step's five."""
    said = [env.reset(seed=seed, options=options)]
    for text in answers:
        said.append(env.step(text))
        if said[-1][2] or said[-1][3]:
            break
    return said


# rewards, worked out by hand


def test_every_payment_counts_the_first_and_the_last_too():
    """Two rounds: a_0 writes 1 and 2, b_1 writes 10 and 20; at the end each is paid 33 / 10."""
    other = iter(["1", "2"])
    env = single_agent(partial(Adder, 2), agent="b_1", others=lambda text: next(other))
    (observation, info), first, second = play(env, ["10", "20"])
    assert observation == "b_1 0 1.0"
    assert info["reward_components"] == {}
    assert first[0] == "b_1 1 1.0 10.0 2.0"
    assert first[1:4] == (10.0, False, False)
    assert first[4]["reward_components"] == {"number": 10.0}
    assert second[1:4] == (pytest.approx(20 + 3.3), False, True)
    assert second[4]["reward_components"] == {"number": 20.0, "team": pytest.approx(3.3)}
    assert second[4]["success"] is True


def test_who_acts_first_is_paid_what_the_others_bring_about():
    env = single_agent(Adder(), agent="a_0", others=lambda text: "5")
    _, (_, reward, terminated, truncated, info) = play(env, ["1"])
    assert (reward, terminated, truncated) == (pytest.approx(1 + 0.6), False, True)
    assert info["reward_components"] == {"number": 1.0, "team": pytest.approx(0.6)}


def test_what_was_paid_before_the_first_answer_comes_with_it():
    env = single_agent(Prepaid, agent="b_1", others=lambda text: "4")
    (_, info), first, second = play(env, ["x", "y"])
    assert info["reward_components"] == {"gift": 4.0}
    assert first[1] == 4 + 1 + 4  # before the first answer, for it, and before the second
    assert first[4]["reward_components"] == {"gift": 8.0, "own": 1.0}
    assert second[1] == 1
    assert sum(step[1] for step in (first, second)) == 10


def test_an_episode_that_others_end_before_the_first_turn():
    env = single_agent(Prepaid, agent="b_1", others=lambda text: "4", end=True)
    observation, info = env.reset(seed=1)
    assert info["over"] is True
    assert info["reward_components"] == {"gift": 4.0}
    last = env.step("said in vain")
    assert last[:4] == (observation, 4.0, True, False)
    assert last[4]["reward_components"] == {"gift": 4.0}
    with pytest.raises(ResetNeeded):
        env.step("again")


@pytest.mark.parametrize(
    ("env_id", "answers"),
    [
        ("sudoku_v0", ["", "1234\n3412\n2143\n4321", "[[1, 1, 1]]", "\x00漢字🙂"]),
        ("sokoban_v0", ["U", "DDDD", "LRLR", "[]"]),
        ("debate_v0", ["No.", "Sources say so [1].", "x" * 30_000]),
        ("coop_functions_v0", ["def f(x):\n    return x"]),
        ("tool_use_v0", ["nothing", "{}", "calculator(1+1)", "done"]),
    ],
)
@pytest.mark.parametrize("index", [0, 1])
def test_rewards_sum_to_what_the_aec_environment_pays(env_id, answers, index):
    """The same episode played by hand on the AEC form pays the agent the same in all."""
    made = partial(registry.make, env_id, **registry.spec(env_id).offline)
    agents = made().possible_agents
    one_agent = agents[index]
    env = single_agent(made, agent=one_agent, others=lambda text: "other")
    said = play(env, [answers[i % len(answers)] for i in range(40)], seed=5)

    aec = made()
    aec.reset(seed=5)
    total, given = 0.0, 0
    for agent in aec.agent_iter():
        _, reward, terminated, truncated, info = aec.last()
        if agent == one_agent:
            total += reward
            last = info
        action = None
        if not (terminated or truncated):
            action = answers[given % len(answers)] if agent == one_agent else "other"
            given += agent == one_agent
        aec.step(action)
    assert sum(step[1] for step in said[1:]) == pytest.approx(total)
    assert len(said) - 1 == given
    assert said[-1][4]["success"] == last["success"]
    for step in said[1:]:
        assert sum(step[4]["reward_components"].values()) == pytest.approx(step[1])


def test_an_agent_that_dies_before_the_others_reads_its_end():
    """a_0 takes 3 of 9 and is out at once, paid -0.5; the game goes on without it."""
    env = single_agent(discrete_to_text(Pile(), split="all"), agent="a_0", others="noisy_expert")
    _, (_, reward, terminated, _, _) = play(env, ["Move: 3"], seed=9)
    assert (reward, terminated) == (-0.5, True)


def test_simultaneous_agents_do_not_see_the_answer():
    """The other agent reads the same whatever is answered; the team is paid the product."""
    read = []

    def other(text):
        read.append(text)
        return "3"

    env = single_agent(Matcher, agent="a_0", others=other)
    assert play(env, ["2"])[1][1] == 2 * 3 + 2
    assert play(env, ["5"])[1][1] == 5 * 3 + 5
    assert read == ["b_1 0", "b_1 0"]


class Trio(TextEnv):
    """Simultaneous: three agents; each reads its name and the round."""

    metadata = {**TextEnv.metadata, "name": "trio_v0"}

    def __init__(self):
        super().__init__(["a_0", "b_1", "c_2"], simultaneous=True, max_turns=2)

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return f"{agent} {self.turn}"

    def apply(self, state, actions):
        return (*state, tuple(actions.values())), Outcome()


def test_the_others_answer_once_a_round():
    """b_1 sits between them: what they say belongs to the round in which they were asked."""
    env = single_agent(Trio, agent="b_1", others=lambda text: f"<{text}>")
    play(env, ["first", "second"])
    assert env.agent.env.episode == (
        ("<a_0 0>", "first", "<c_2 0>"),
        ("<a_0 1>", "second", "<c_2 1>"),
    )


# Gymnasium's own checks


@pytest.mark.parametrize(
    ("env_id", "one_agent"),
    [("sudoku-v0", "planner_1"), ("sokoban-v0", "proposer_0"), ("math-v0", "tool_1")],
)
def test_gymnasiums_check_passes_without_a_warning(env_id, one_agent, capsys):
    env = gymnasium.make(f"llmzoo/{env_id}", agent=one_agent, others="noisy_expert")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_make_by_the_name_of_the_module_registers():
    """In a fresh interpreter, with nothing of ours imported."""
    code = (
        "import gymnasium, sys\n"
        "env = gymnasium.make('llmzoo.adapters.gymnasium:llmzoo/sudoku-v0', agent='planner_1', "
        "others='expert', max_turns=2)\n"
        "print(env.reset(seed=1)[1]['split'], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["train", "False"], done.stderr


def test_every_environment_is_registered():
    for env_id in registry.list_envs():
        name, _, version = env_id.rpartition("_v")
        assert gymnasium.spec(f"llmzoo/{name}-v{version}").kwargs == {"env": env_id}


@pytest.mark.parametrize("mode", ["ansi", "human", None])
def test_render_modes_are_passed_on(mode, capsys):
    env = gymnasium.make("llmzoo/sudoku-v0", agent="planner_1", others="expert", render_mode=mode)
    assert env.render_mode == mode
    env.reset(seed=2)
    capsys.readouterr()
    if mode is not None:
        drawn = env.render()
        shown = drawn if mode == "ansi" else capsys.readouterr().out
        assert len(shown.strip().splitlines()) == 4
    env.close()


# seeds


@pytest.mark.parametrize("others", ["random", "noisy_expert"])
def test_a_seed_fixes_the_episode_and_those_after_it(others):
    """In a fresh environment and a used one, with the others' chance."""
    used = single_agent("sudoku_v0", agent="planner_1", others=others)
    play(used, ["x"] * 3, seed=99)
    fresh = single_agent("sudoku_v0", agent="planner_1", others=others)
    for seed in (7, None, None):
        assert play(used, ["1", "2"], seed=seed) == play(fresh, ["1", "2"], seed=seed)
    assert play(used, ["1"], seed=7)[0] != play(fresh, ["1"], seed=8)[0]


@pytest.mark.slow
def test_a_model_in_the_other_agent_follows_the_seed_too():
    """One policy object, asked in two orders: its answers hang on the episode's seed alone."""
    policy = load("tiny")
    seen = []

    def tapped(requests, group_size=1, *, greedy=False, **_):
        answers = policy.respond(requests, group_size, greedy=greedy)
        seen.append([completion.text for row in answers for completion in row])
        return answers

    spy = ScriptedPolicy(lambda request: "", "spy")
    spy.respond = tapped
    env = single_agent("sudoku_v0", agent="planner_1", others=spy, prompt="terse", max_turns=2)
    for seed in (1, 2, 3, 1):
        play(env, ["x", "x"], seed=seed)
    rounds = [seen[i : i + 2] for i in range(0, 8, 2)]
    assert rounds[3] == rounds[0]
    assert len({str(r) for r in rounds[:3]}) == 3


class Alike(TextEnv):
    """Every agent reads the same at every turn of every episode; what a_0 says is kept."""

    metadata = {**TextEnv.metadata, "name": "alike_v0"}

    def __init__(self):
        super().__init__(["a_0", "b_1"], max_turns=3)

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return "sudoku proposer 1/4\n1234\n3412\n2143\n432.\nanswer\n"

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        return (*state, text) if agent == "a_0" else state, Outcome()


@pytest.mark.parametrize("others", ["random", "tiny"])
@pytest.mark.slow
def test_the_others_chance_is_the_seeds_own(others):
    """The same prompt: another seed draws other answers, and the same one the same again."""
    env = single_agent(Alike, agent="b_1", others=others)
    said = {}
    for seed in range(8):
        play(env, ["x"] * 3, seed=seed)
        said[seed] = env.agent.env.episode
        assert len(said[seed]) == 3
    assert len(set(said.values())) >= 4  # a model that is sure says the same now and then
    play(env, ["x"] * 3, seed=2)
    assert env.agent.env.episode == said[2]
    if others == "tiny":  # a scripted player's chance hangs on what it reads, a model's on its turn
        assert any(len(set(answers)) > 1 for answers in said.values())


def test_a_task_by_its_number():
    env = single_agent("sudoku_v0", agent="planner_1", others="expert", split="test")
    ids = [env.reset(options={"task": number})[1]["task_id"] for number in (4, 5, 4)]
    assert ids[0] == ids[2] != ids[1]


# texts and errors


def test_hostile_text_never_raises():
    env = single_agent("sudoku_v0", agent="planner_1", others="noisy_expert")
    env.reset(seed=0)
    for text in hostile_texts(200):
        _, reward, terminated, truncated, info = env.step(text)
        assert isinstance(reward, float)
        if terminated or truncated:
            assert isinstance(info["success"], bool)
            env.reset()


def test_a_wrong_answer_is_named():
    env = single_agent("sudoku_v0", agent="planner_1", others="expert")
    _, (observation, _, _, _, info) = play(env, ["hello"], seed=1)
    assert "malformed" in info["error"]
    assert "malformed" in observation


def test_infos_are_not_shared():
    env = single_agent(partial(Adder, 2), agent="b_1", others=lambda text: "1")
    env.reset()
    for _ in range(2):
        env.step("1")[4]["reward_components"]["number"] = 99.0
        assert env.agent.env.infos["b_1"]["reward_components"]["number"] == 1.0


def test_calls_out_of_order():
    env = single_agent(Adder, agent="a_0", others=lambda text: "1")
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step("1")
    play(env, ["1"])
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step("1")


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"others": "expert"}, ConfigError, "agent must be one of proposer_0, planner_1"),
        ({"agent": "planner_2", "others": "expert"}, UnknownNameError, "mean 'planner_1'"),
        ({"agent": "planner_1"}, ConfigError, "nobody plays proposer_0"),
        ({"agent": "planner_1", "others": "expet"}, UnknownNameError, "mean 'expert'"),
        ({"agent": "planner_1", "others": {}}, ConfigError, "nobody plays proposer_0"),
        (
            {"agent": "planner_1", "others": {"planner_1": "expert"}},
            UnknownNameError,
            "unknown agent in others 'planner_1'",
        ),
        ({"agent": "planner_1", "others": 3}, ConfigError, "proposer_0 is played by 3"),
    ],
)
def test_settings_that_mean_nothing(given, error, says):
    with pytest.raises(error, match=says):
        single_agent("sudoku_v0", **given)


def test_other_things_that_are_refused():
    with pytest.raises(ConfigError, match="discrete_to_text"):
        single_agent(Pile(), agent="a_0", others="random")
    with pytest.raises(ConfigError, match="is made already: leave out max_turns"):
        single_agent(Adder(), agent="a_0", others="random", max_turns=2)
    with pytest.raises(NoScriptedPolicyError):
        single_agent(Adder(), agent="b_1", others="expert").reset()


def test_a_payment_that_is_no_number():
    env = single_agent(Prepaid, agent="b_1", others=lambda text: "nan")
    with pytest.raises(ConfigError, match="rewards must be finite"):
        env.reset(seed=0)


# in other people's loops


@pytest.mark.slow
def test_the_example(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gymnasium_loop.py"])
    runpy.run_path(str(ROOT / "examples/adapters/gymnasium_loop.py"), run_name="__main__")
    assert capsys.readouterr().out.count("success") == 3


def test_gem_takes_it(capsys):
    """Its registry, its loop, two of its wrappers and its vector environment."""
    gem = pytest.importorskip("gem", reason="gem-llm is not installed")
    from gem.envs.registration import ENV_REGISTRY
    from gem.utils.debug import run_and_print_episode
    from gem.wrappers.wrapper_factory import get_wrapper_fns

    settings = {"env": "sudoku_v0", "agent": "planner_1", "others": "noisy_expert", "max_turns": 2}
    gem.register("llmzoo:sudoku", "llmzoo.adapters.single_agent:single_agent", **settings)
    try:
        env = gem.make("llmzoo:sudoku", seed=5)
        run_and_print_episode(env, lambda observation: env.sample_random_action())
        assert capsys.readouterr().out.rstrip().splitlines()[-2].strip("=") == ""
        wrappers = get_wrapper_fns("concat_with_action,episode_tracking")
        envs = gem.make_vec(["llmzoo:sudoku"] * 3, wrappers=wrappers, seed=5)
        observations, _ = envs.reset()
        alone = [single_agent(**settings) for _ in range(3)]
        for i, one in enumerate(alone):
            assert observations[i].rstrip("\n") == one.reset(seed=5 + i)[0].rstrip("\n")
        for text in ("no", "neither"):
            _, rewards, terminations, truncations, _ = envs.step([text] * 3)
            expected = [one.step(text) for one in alone]
            assert rewards.tolist() == [step[1] for step in expected]
            assert truncations.tolist() == [step[3] for step in expected]
        assert truncations.all()
        assert not terminations.any()
    finally:
        del ENV_REGISTRY["llmzoo:sudoku"]
