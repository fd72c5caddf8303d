"""An environment on a server is the one in this process, seen through PettingZoo's API."""

from __future__ import annotations

import copy
import gc
import random
from functools import partial

import numpy as np
import pytest
from env_servers import hosted, registered
from gymnasium.spaces import Text
from pettingzoo import AECEnv
from toy_envs import Adder, Matcher

import llmzoo
from llmzoo import registry, testing
from llmzoo.envs.base import FastOrderEnforcingWrapper
from llmzoo.errors import NoScriptedPolicyError
from llmzoo.rollout import fork
from llmzoo.serve.remote import RemoteEnv
from llmzoo.spaces import FreeText

pytestmark = pytest.mark.filterwarnings("ignore::llmzoo.errors.FallbackWarning")

slow = pytest.mark.slow
CODE = set(llmzoo.list_envs("coding")) | {"gsm8k_v0", "math_v0", "tool_use_v0"}


@pytest.fixture(scope="module")
def server():
    with hosted(players=True) as running:
        yield running


def offline(id):
    return llmzoo.spec(id).offline


# PettingZoo's tests


# in turns and at once, with hidden cards, tools, shipped data, and code that a sandbox runs
SOME = (
    *("sudoku_v0", "plan_path_v0", "debate_v0", "tiny_hanabi_v0"),
    *("bfcl_v0", "house_build_v0", "coop_functions_v0"),
)


@pytest.mark.slow
@pytest.mark.parametrize("id", SOME)
def test_pettingzoos_own_tests_through_the_wire(server, id):
    made = partial(server.make, id, **offline(id))
    parallel = partial(llmzoo.parallel, server.at(id), **offline(id))
    testing.check_env(made, cycles=6 if id in CODE else 30, parallel_fn=parallel)


@pytest.mark.parametrize(
    "id",
    ["sudoku_v0", "debate_v0", "tldr_v0", "bfcl_v0"],
)
@pytest.mark.slow
def test_the_conformance_kit_through_the_wire(server, id):
    made = partial(server.make, id, **offline(id))
    testing.check_text_spaces(made)
    testing.check_seeds(made, seeds=range(2))
    testing.check_rewards(made, episodes=3)
    testing.check_hostile_text(made, testing.hostile_texts(60))
    testing.check_observations_do_not_grow(made, episodes=4)
    testing.check_fork(made)
    testing.check_splits(partial(server.make, id, **offline(id)), 8)
    testing.check_expert(made, range(2))


# The same as here


def seen(env):
    """All that can be seen of an environment, types included."""
    everything = {
        "agents": env.agents,
        "selection": env.agent_selection,
        "rewards": {a: float(r) for a, r in env.rewards.items()},
        "terminations": {a: bool(over) for a, over in env.terminations.items()},
        "truncations": {a: bool(over) for a, over in env.truncations.items()},
        "infos": env.infos,
        "observations": {agent: env.observe(agent) for agent in env.agents},
    }
    return repr(copy.deepcopy(everything)).replace("(", "[").replace(")", "]")  # tuples are lists


def played(env, texts, seed, with_state):
    env.reset(seed=seed)
    record = [seen(env)]
    for text in texts:
        agent = env.agent_selection
        observation, reward, terminated, truncated, info = env.last()
        record.append(repr([observation, float(reward), bool(terminated), bool(truncated), info]))
        over = env.terminations[agent] or env.truncations[agent]
        if text in ("expert", "noisy_expert") and not over:
            game = env.unwrapped
            text = (
                game.expert(agent)
                if text == "expert"
                else game.noisy_expert(agent, random.Random(7))
            )
        env.step(None if over else text)
        if not env.agents:
            break
        record.append(seen(env))
        if with_state:
            record.append(env.state())
    return record


@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=() if id in SOME else slow) for id in llmzoo.list_envs()]
)
def test_every_environment_plays_as_it_does_here(server, id):
    here, there = llmzoo.make(id, **offline(id)), server.make(id, **offline(id))
    assert isinstance(there.unwrapped, RemoteEnv)
    assert str(there) == str(here)
    assert there.metadata == {**here.metadata, "render_modes": ["ansi"]}
    assert there.possible_agents == here.possible_agents
    for agent in here.possible_agents:
        assert there.observation_space(agent) == here.observation_space(agent)
        assert there.action_space(agent) == here.action_space(agent)
    scripts = [["noisy_expert", "nonsense", "", "expert", "noisy_expert"], ["expert"] * 5]
    if id not in CODE:
        scripts.append(["U", "\ud800 lone", "x" * 30_000, "Größe 🙂"])
    for seed, script in enumerate(scripts):
        texts = script * 8
        games = id not in CODE  # a state is long, and the same work each time
        assert played(there, texts, seed, games) == played(here, texts, seed, games)


def test_tasks_by_number_and_episodes_that_follow_from_a_seed(server):
    here, there = llmzoo.make("sokoban_v0"), server.make("sokoban_v0")
    for how in ({"seed": 3}, {}, {}, {"options": {"task": 4}}, {}, {"seed": 2**70, "options": {}}):
        here.reset(**how)
        there.reset(**how)
        assert there.last() == here.last()


class Odd(AECEnv):
    """Somebody else's environment: numpy in its infos and rewards, agents that die one by one."""

    metadata = {
        "name": "odd_v0",
        "render_modes": ["ansi", "rgb_array"],
        "is_parallelizable": False,
        "of": (1, 2),
    }

    def __init__(self, render_mode: str | None = None):
        self.render_mode = render_mode
        self.possible_agents = ["x", "y", "z"]
        self.spaces = {a: Text(9, min_length=1, charset="ab") for a in self.possible_agents}

    def observation_space(self, agent):
        return self.spaces[agent]

    action_space = observation_space

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, np.False_)
        self.infos = {a: {"seen": [], "at": np.zeros(2)} for a in self.agents}
        self.agent_selection = "x"

    def observe(self, agent):
        return "ab"

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0
        self._clear_rewards()
        self.rewards[agent] = np.float64(len(action))
        self.infos[agent]["seen"].append(action)  # changed in place
        self.infos[agent]["at"][0] += 1
        self.terminations[agent] = action == "b"
        self._accumulate_rewards()
        self.agent_selection = self.agents[(self.agents.index(agent) + 1) % len(self.agents)]
        self._deads_step_first()

    def state(self):
        return np.arange(3)

    def render(self):
        return "a picture"

    def close(self):
        pass


def test_somebody_elses_environment():
    with registered(odd_v0=Odd), hosted(envs=["odd_v0"]) as server:
        here, there = Odd(render_mode="ansi"), server.make("odd_v0", render_mode="ansi")
        assert there.action_space("x") == here.action_space("x")
        assert there.metadata == {**here.metadata, "of": [1, 2], "render_modes": ["ansi"]}
        texts = ["a", "b", "ab", "a", "a", "b", "b"]
        assert played(there, texts, 1, False) == played(here, texts, 1, False)
        there.reset()
        assert there.render() == "a picture"
        assert np.array_equal(there.state(), [0, 1, 2])
        assert there.unwrapped.render_mode == "ansi"
        for call in (lambda: there.unwrapped.expert("x"), lambda: there.unwrapped.board()):
            with pytest.raises(NoScriptedPolicyError):
                call()


def test_an_info_that_cannot_be_sent_is_an_error_and_no_guess():
    class Holder(Adder):
        def task_info(self):
            return {"net": object()}

    with registered(holder_v0=Holder), hosted(envs=["holder_v0"]) as server:
        env = server.make("holder_v0")
        env.reset(seed=1)
        with pytest.raises(TypeError, match=r"'net'.*builtins.object cannot be sent"):
            env.last()


# Players, pictures, forks


def test_scripted_players_answer_where_the_server_lets_them(server):
    here, there = llmzoo.make("sokoban_v0"), server.make("sokoban_v0")
    rngs = random.Random(5), random.Random(5)
    for env in (here, there):
        env.reset(seed=5)
    agent = here.agent_selection
    assert there.unwrapped.expert(agent) == here.unwrapped.expert(agent)
    answers = [e.unwrapped.noisy_expert(agent, r) for e, r in zip((here, there), rngs, strict=True)]
    assert answers[0] == answers[1]
    assert rngs[0].getstate() == rngs[1].getstate()  # it has been used as much
    with hosted(envs=["sokoban_v0"]) as discreet:
        env = discreet.make("sokoban_v0")
        env.reset(seed=5)
        for ask in (
            env.unwrapped.expert,
            partial(env.unwrapped.noisy_expert, rng=random.Random(1)),
        ):
            with pytest.raises(NoScriptedPolicyError, match="gives no answers to clients"):
                ask(agent)
        assert env.last()[0] == here.last()[0]  # the episode goes on


def test_pictures(server):
    here, there = (make("sokoban_v0", render_mode="ansi") for make in (llmzoo.make, server.make))
    for env in (here, there):
        env.reset(seed=1)
    assert there.render() == here.render()
    assert there.unwrapped.board() == here.unwrapped.board()
    plain = server.make("sokoban_v0")
    plain.reset(seed=1)
    assert plain.render() is None


def test_a_fork_goes_its_own_way(server):
    env = server.make("sokoban_v0")
    env.reset(seed=1)
    before = seen(env)
    forked = fork(env)
    assert isinstance(forked, FastOrderEnforcingWrapper)
    assert seen(forked) == before
    forked.step("U")
    grandchild = fork(forked)  # of one whose step is only noted
    assert seen(forked) != before
    assert seen(grandchild) == seen(forked)
    grandchild.step("D")
    assert seen(forked) != seen(grandchild)
    assert seen(env) == before
    env.reset(seed=2)
    assert seen(env) != before


def test_forks_of_forks_in_one_call_are_as_here(server):
    def tree(make):
        root = make("plan_path_v0")
        root.reset(seed=4)
        grown = [root]
        rng = random.Random(3)
        for _ in range(40):
            env = rng.choice(grown)
            if rng.random() < 0.5:
                grown.append(fork(env))
            else:
                env.step(rng.choice("UDLR"))
        return [seen(env) for env in grown]

    def never_over(make):
        return partial(make, max_turns=50, num_agents=1)

    calls = server.connection.calls
    there = tree(lambda id: never_over(server.make)(id))
    assert there == tree(lambda id: never_over(llmzoo.make)(id))
    assert server.connection.calls - calls < 60


# Order and misuse


def test_calls_out_of_order_are_named(server):
    env = server.make("sudoku_v0")
    for call in (lambda: env.agents, lambda: env.rewards, lambda: env.unwrapped.agents):
        with pytest.raises(AttributeError, match="reset"):
            call()
    with pytest.raises(AttributeError, match="reset"):
        fork(env)
    env.reset(seed=1)
    with pytest.raises(TypeError, match=r"an action is a str, got int for 'proposer_0'"):
        env.step(3)
    assert env.last()[0]


def test_a_dead_agent_takes_none_only(server):
    env = server.make("sudoku_v0", max_turns=1, num_agents=1)
    env.reset(seed=1)
    env.step("nothing")
    assert env.truncations == {"planner_0": True}
    env.step("something")
    with pytest.raises(ValueError, match="the only valid action is None"):
        assert env.agents
    assert env.truncations == {"planner_0": True}  # told once, and nothing was done
    env.step(None)
    assert env.agents == []
    env.step(None)  # PettingZoo's wrapper warns, and does nothing
    assert env.agents == []


def test_an_error_in_the_environment_is_raised_here(server):
    class Fragile(Adder):
        def apply(self, state, actions):
            if "exit" in actions.values():
                raise SystemExit(3)
            return super().apply(state, actions)

    with registered(fragile_v0=Fragile), hosted(envs=["fragile_v0"]) as host:
        env = host.make("fragile_v0")
        env.reset(seed=1)
        env.step("no number")
        with pytest.raises(ValueError, match="could not convert string to float: 'no number'"):
            env.last()
        env.step("exit")
        with pytest.raises(RuntimeError, match="SystemExit: 3"):
            env.last()
        env.step("1")
        assert env.agent_selection == "b_1"


def test_what_is_dropped_is_closed_on_the_server():
    with hosted(envs=["sudoku_v0"]) as server:
        drop(server)


def drop(server):
    env = server.make("sudoku_v0")
    env.reset(seed=1)
    assert env.agents
    gc.collect()
    before = len(server.service.sessions)
    forks = [fork(env) for _ in range(5)]
    for forked in forks:
        forked.step("x")
    assert [forked.agent_selection for forked in forks] == ["planner_1"] * 5
    assert len(server.service.sessions) == before + 5
    del forked, forks
    env.step("x")
    assert env.agents  # the next call closes them
    assert len(server.service.sessions) == before
    env.close()
    other = server.make("sudoku_v0")
    other.reset()
    assert other.agents
    assert len(server.service.sessions) == before


def test_making_environments_and_asking_for_their_spaces_costs_no_call(server):
    server.make("sudoku_v0", size=9, difficulty=None)  # the server is asked once what it is like
    with server.calls() as calls:
        made = [server.make("sudoku_v0", size=9, difficulty=None) for _ in range(20)]
        for env in made:
            assert isinstance(env.observation_space("planner_1"), FreeText)
            assert env.metadata["name"] == "sudoku_v0"
    assert calls == []


def test_the_registry_knows_an_address(server):
    spec = registry.spec(server.at("sudoku_v0"))
    here = registry.spec("sudoku_v0")
    assert spec.id == server.at("sudoku_v0")
    assert (spec.terse, spec.offline) == (here.terse, here.offline)
    assert (spec.agents, spec.summary, spec.family) == (here.agents, here.summary, here.family)
    assert not registry.is_import_path(server.at("sudoku_v0"))
    assert registry.argument_types(spec) is None


def test_a_parallel_form(server):
    with registered(matcher_v0=Matcher), hosted(envs=["matcher_v0"]) as host:
        env = llmzoo.parallel(host.at("matcher_v0"))
        env.reset(seed=1)
        _, rewards, *_ = env.step({"a_0": "2", "b_1": "3"})
        assert rewards == {"a_0": 8.0, "b_1": 9.0}
