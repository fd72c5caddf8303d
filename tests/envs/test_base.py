"""The bookkeeping of ``TextEnv``, on a game small enough to compute by hand: matching a number."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Literal

import pytest
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from llmzoo import testing
from llmzoo.envs.base import FastOrderEnforcingWrapper, Outcome, TextEnv, make_env_fns
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.registry import to_parallel


class Match(TextEnv):
    """Agents say a number; saying the same pays 1 to the team, each digit costs its writer 0.1."""

    def __init__(self, agents=3, max_turns=2, **kwargs):
        super().__init__(
            [f"agent_{n}" for n in range(agents)], simultaneous=True, max_turns=max_turns, **kwargs
        )

    def reset_task(self, rng, task):
        return rng.randrange(1000), ()

    def observation(self, state, agent):
        return f"{agent}, secret {state[0]}, so far {state[1]}"

    def apply(self, state, actions):
        secret, said = state
        same = len(set(actions.values())) == 1
        return (secret, (*said, tuple(actions.values()))), Outcome(
            team=float(same),
            local={agent: {"digits": -0.1 * len(text)} for agent, text in actions.items()},
            done=same,
            errors={agent: "empty" for agent, text in actions.items() if not text},
            success=same,
        )


class InTurn(Match):
    """The same with each answer taking effect at once."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.simultaneous = False

    def apply(self, state, actions):
        secret, said = state
        ((agent, text),) = actions.items()
        return (secret, (*said, text)), Outcome(
            team=float(text == "all"), local={agent: {"digits": -0.1 * len(text)}}
        )


def started(env_class=Match, **kwargs):
    env = env_class(**kwargs)
    env.reset(seed=0)
    return env


def test_conforms():
    make = partial(Match, max_turns=3)
    testing.check_env(make)
    testing.check_seeds(make)
    testing.check_rewards(make)
    testing.check_fork(make)
    testing.check_hostile_text(make, testing.hostile_texts(50))
    testing.check_observations_do_not_grow(make)


def test_no_agent_sees_an_answer_of_the_same_round():
    env = started()
    before = {agent: env.observe(agent) for agent in env.agents}
    for text in ("1", "22"):
        env.step(text)
        assert {agent: env.observe(agent) for agent in env.agents} == before
        assert env.rewards == {"agent_0": 0.0, "agent_1": 0.0, "agent_2": 0.0}
    env.step("1")
    assert env.observe("agent_0").endswith("so far (('1', '22', '1'),)")


class Keeping(InTurn):
    """An agent that says "more" answers again."""

    def apply(self, state, actions):
        state, outcome = super().apply(state, actions)
        return state, outcome._replace(keeps_turn="more" in actions.values())


def test_an_agent_that_keeps_its_turn_answers_again_and_the_round_goes_on():
    testing.check_env(partial(Keeping, max_turns=3))
    env = started(Keeping, agents=2)
    seen = []
    for text in ("more", "1", "more", "more", "2", "3", "more", "4"):
        seen.append((env.agent_selection, env.turn))
        env.step(text)
    assert seen == [
        *(("agent_0", 0), ("agent_0", 0), ("agent_1", 0), ("agent_1", 0), ("agent_1", 0)),
        *(("agent_0", 1), ("agent_1", 1), ("agent_1", 1)),
    ]
    assert env.truncations == {"agent_0": True, "agent_1": True}


def test_a_round_is_paid_to_all_at_once():
    env = started(team_weight=2.0)
    for text in ("1", "22", ""):
        env.step(text)
    assert env.rewards == pytest.approx({"agent_0": -0.1, "agent_1": -0.2, "agent_2": 0.0})
    assert [env.infos[agent]["error"] for agent in env.agents] == [None, None, "empty"]
    for text in ("7", "7", "7"):
        env.step(text)
    assert env.rewards == pytest.approx(dict.fromkeys(env.agents, 2.0 - 0.1))
    assert env.infos["agent_1"]["reward_components"] == pytest.approx({"digits": -0.1, "team": 2.0})
    assert env.infos["agent_2"]["error"] is None
    assert set(env.terminations.values()) == {True}
    assert set(env.truncations.values()) == {False}
    assert [env.infos[agent]["success"] for agent in env.agents] == [True] * 3


def test_what_others_earn_for_an_agent_is_paid_at_its_next_visit():
    env = started(InTurn)
    env.step("all")  # agent_0: 1 - 0.3
    env.step("no")
    env.step("all")
    assert env.agent_selection == "agent_0"
    assert env.last()[1] == pytest.approx(1 - 0.3 + 1)
    assert env.infos["agent_0"]["reward_components"] == pytest.approx({"digits": -0.3, "team": 2.0})
    env.step("no")
    assert env.last()[1] == pytest.approx(-0.2 + 1)  # agent_1
    env.step("no")
    assert env.last()[1] == pytest.approx(-0.3 + 1)  # agent_2
    env.step("no")
    # truncated after two rounds; each agent finds what it was paid since its last answer
    paid = []
    for _ in range(3):
        paid.append(env.last()[1])
        env.step(None)
    assert paid == pytest.approx([-0.2, -0.2, -0.2])
    assert env.agents == []


def test_parallel_form_of_a_simultaneous_task_takes_all_answers():
    env = to_parallel(OrderEnforcingWrapper(Match()))
    observations, infos = env.reset(seed=0)
    assert list(observations) == list(infos) == ["agent_0", "agent_1", "agent_2"]
    _, rewards, terminations, _, infos = env.step({"agent_0": "5", "agent_1": "5", "agent_2": "5"})
    assert rewards == pytest.approx(dict.fromkeys(terminations, 0.9))
    assert terminations == {"agent_0": True, "agent_1": True, "agent_2": True}
    assert infos["agent_2"]["success"] is True
    assert env.agents == []


def test_episodes_without_a_seed_follow_from_the_last_seed():
    def secrets(env):
        env.reset(seed=3)
        result = [env.episode[0]]
        for _ in range(3):
            env.reset()
            result.append(env.episode[0])
        return result

    env = Match()
    assert secrets(env) == secrets(env) == secrets(Match())
    assert len(set(secrets(env))) > 1


def test_options_that_mean_nothing_here_are_ignored():
    env = started()
    first = env.observe("agent_0")
    env.reset(seed=0, options={"options": 1})
    assert env.observe("agent_0") == first


def test_a_fork_in_the_middle_of_a_round_keeps_the_answers_given():
    env = started()
    env.step("5")
    copied = env.fork()
    for text in ("5", "5"):
        copied.step(text)
    assert copied.infos["agent_0"]["success"] is True
    assert env.agent_selection == "agent_1"
    env.step("6")
    env.step("5")
    assert env.success is False
    assert env.episode[1] == (("5", "6", "5"),)


def test_forks_draw_the_same_next_episodes_without_disturbing_the_original():
    env = started()
    copied = env.fork()
    copied.reset()
    drawn = copied.episode[0]
    env.reset()
    assert env.episode[0] == drawn
    late = env.fork()  # of an episode that was drawn without a seed
    env.reset()
    late.reset()
    assert late.episode[0] == env.episode[0] != drawn


@pytest.mark.parametrize("wrapper", [OrderEnforcingWrapper, FastOrderEnforcingWrapper])
def test_calls_out_of_order_are_named(wrapper):
    env = wrapper(Match())
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before step"):
        env.step("1")
    with pytest.raises(AttributeError, match="agent_selection cannot be accessed before reset"):
        env.last()
    env.reset(seed=0)
    with pytest.raises(TypeError, match="an action is a str, got NoneType for 'agent_0'"):
        env.step(None)


def test_our_wrapper_says_what_pettingzoos_says():
    ours, theirs = (
        FastOrderEnforcingWrapper(Match(agents=2)),
        OrderEnforcingWrapper(Match(agents=2)),
    )
    said = []
    for env in (ours, theirs):
        env.reset(seed=0)
        said.append([str(env)])
        for agent in env.agent_iter():
            _, _, terminated, truncated, _ = result = env.last()
            said[-1].append(result)
            # apart in the first round, and together in the second
            env.step(None if terminated or truncated else "5" if env.turn else agent)
        env.step("nobody is left")  # a warning, no error
        said[-1].append(env.agents)
    assert said[0] == said[1]
    assert len(said[0]) == 1 + 6 + 1  # two rounds of two, and two closing steps


def test_a_closing_loop_without_a_step_is_named():
    env = FastOrderEnforcingWrapper(Match())
    env.reset(seed=0)
    agents = iter(env.agent_iter())
    next(agents)
    with pytest.raises(AssertionError, match="need to call step"):
        next(agents)


def test_a_team_reward_in_named_parts():
    env = started(team_weight=2.0)
    env.metadata["team_components"] = ("right", "neat")
    outcome = Outcome(team={"right": 0.5, "neat": 0.0}, local={"agent_0": {"own": 0.25}})
    env.apply = lambda state, actions: (state, outcome)
    for text in ("1", "1", "1"):
        env.step(text)
    assert env.infos["agent_0"]["reward_components"] == {"own": 0.25, "right": 1.0, "neat": 0.0}
    assert env.infos["agent_2"]["reward_components"] == {"right": 1.0, "neat": 0.0}
    assert env.rewards == {"agent_0": 1.25, "agent_1": 1.0, "agent_2": 1.0}


def test_agents_that_do_not_share_the_teams_reward_are_not_paid_it():
    env = started()
    env.team = ["agent_0", "agent_2"]
    env.apply = lambda state, actions: (state, Outcome(team=1.0))
    for text in ("1", "1", "1"):
        env.step(text)
    assert env.rewards == {"agent_0": 1.0, "agent_1": 0.0, "agent_2": 1.0}


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome(team={"loud": 1.0}), r"team component 'loud'.*metadata\['team_components'\]"),
        (Outcome(team={"team": 1.0}, local={"agent_0": {"team": 1.0}}), "both as a team component"),
        (Outcome(team=1.0, local={"agent_0": {"team": 5.0}}), "both as a team component"),
    ],
)
def test_a_team_part_that_is_not_declared_or_not_the_teams_alone_is_refused(outcome, message):
    env = started()
    env.apply = lambda state, actions: (state, outcome)
    env.step("1")
    env.step("1")
    with pytest.raises(ValueError, match=message):
        env.step("1")


def test_a_team_reward_without_a_name_is_the_part_team_and_is_declared_too():
    env = started()
    env.metadata["team_components"] = ("score",)
    env.apply = lambda state, actions: (state, Outcome(team=1.0))
    env.step("1")
    env.step("1")
    with pytest.raises(ValueError, match="does not list it"):
        env.step("1")


def test_what_an_info_said_stays():
    env = started(InTurn, agents=2)
    held = [env.infos["agent_0"], env.infos["agent_1"]]
    before = [dict(info) for info in held]
    env.step("all")
    assert held == before
    assert env.infos["agent_1"]["reward_components"] == {"team": 1.0}


def test_what_an_info_said_stays_when_a_round_finds_an_error():
    env = started(agents=2)
    env.apply = lambda state, actions: (state, Outcome(errors={"agent_0": "late"}))
    env.step("1")
    held = env.infos["agent_0"]
    env.step("1")
    assert held["error"] is None
    assert env.infos["agent_0"]["error"] == "late"


def test_render():
    assert started().render() is None
    env = started(render_mode="ansi")
    assert env.render() == env.observe("agent_0")


def test_human_rendering_prints_after_the_reset_and_every_step(capsys):
    env = started(render_mode="human", agents=1, max_turns=5)
    assert capsys.readouterr().out == env.observe("agent_0") + "\n"
    env.step("1")
    assert capsys.readouterr().out == env.observe("agent_0") + "\n"


def test_nothing_is_drawn_where_nobody_looks(monkeypatch):
    def never(self):
        raise AssertionError("drawn")

    monkeypatch.setattr(Match, "picture", never)
    monkeypatch.setattr(Match, "board", never)
    started(agents=1).step("1")
    with pytest.raises(AssertionError, match="drawn"):
        started(agents=1, render_mode="human")


def test_modes_that_are_not_there():
    with pytest.raises(
        ConfigError,
        match="text_env_v0 has no render_mode 'rgb_array'; it has None, 'ansi', 'human', and no "
        "board to make a picture of",
    ):
        Match(render_mode="rgb_array")


def test_a_picture_that_was_promised_and_is_not_there():
    class Promising(Match):
        metadata = {**Match.metadata, "render_modes": ["rgb_array"]}

    env = started(Promising, render_mode="rgb_array")
    with pytest.raises(
        NotImplementedError, match=r"has the render_mode rgb_array and no picture\(\)"
    ):
        env.render()


def test_state_is_what_all_agents_read():
    env = started(agents=2)
    assert (
        env.state() == f"[agent_0]\n{env.observe('agent_0')}\n\n[agent_1]\n{env.observe('agent_1')}"
    )


def test_scripted_players_are_optional():
    env = started()
    with pytest.raises(NotImplementedError, match="text_env_v0 has no scripted expert"):
        env.expert("agent_0")


def test_the_cost_of_a_round_grows_with_the_agents_and_not_with_their_square():
    env = started(agents=64)
    for number, agent in enumerate(env.possible_agents[:-1]):
        before = dict(env.infos)
        env.step("7")
        changed = {a for a in before if env.infos[a] is not before[a]}
        assert changed == {agent, env.possible_agents[number + 1]}
        assert env.infos[env.agent_selection]["active_agent"] == env.agent_selection
    env.step("7")  # the round is over: all infos name the agent that is next
    assert {info["active_agent"] for info in env.infos.values()} == {"agent_0"}


class Base(Match):
    """A base whose ``most`` is for its subclasses to give."""

    def __init__(self, tasks: int, *, most: int, prompt: str = "full", max_turns: int = 4):
        super().__init__(max_turns=max_turns)
        self.given = (tasks, most, prompt)


class Extended(Base):
    def __init__(self, *, level: float | None = None, max_turns: int = 2, **options):
        super().__init__(5, most=7, max_turns=max_turns, **options)


class ExtendedTwice(Extended):
    def __init__(self, *, view: str = "all", **options):
        super().__init__(**options)


class Unchanged(Extended):
    pass


@pytest.mark.parametrize(
    ("env_class", "names"),
    [
        (Base, ["tasks", "most", "prompt", "max_turns"]),
        (Extended, ["level", "max_turns", "prompt"]),
        (ExtendedTwice, ["view", "level", "max_turns", "prompt"]),
        (Unchanged, ["level", "max_turns", "prompt"]),
        (InTurn, ["kwargs"]),
    ],
)
def test_a_signature_has_the_arguments_that_options_pass_on(env_class, names):
    assert list(inspect.signature(env_class).parameters) == names


class Chosen(Base):
    def __init__(self, *, view: Literal["all", "half"] = "all", level: Literal[1, 2] | None = None):
        super().__init__(5, most=7)


class Opaque(Chosen):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)


@pytest.mark.parametrize("env_class", [Chosen, Opaque])
def test_a_literal_hint_is_a_check(env_class):
    for accepted in ({}, {"view": "half"}, {"level": None}, {"level": 2}):
        env_class(**accepted)
    with pytest.raises(ConfigError, match="view must be one of all, half; got 'most'"):
        env_class(view="most")
    with pytest.raises(ConfigError, match="level must be one of None, 1, 2; got 3"):
        env_class(level=3)


def test_arguments_that_are_passed_on_are_known_typed_and_checked():
    parameters = inspect.signature(ExtendedTwice).parameters
    assert (parameters["max_turns"].default, parameters["max_turns"].annotation) == (2, int)
    assert parameters["level"].annotation == float | None
    env, _ = make_env_fns(ExtendedTwice)
    assert env(prompt="terse").unwrapped.given == (5, 7, "terse")
    with pytest.raises(UnknownNameError, match=r"unknown argument of \w+ 'most'"):
        env(most=8)
    with pytest.raises(ConfigError, match="'max_turns' must be a whole number, got 'many'"):
        env(max_turns="many")
