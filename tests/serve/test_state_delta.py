"""Views: what was read is what the environment shows, and only what has changed is sent."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest
from pettingzoo import AECEnv

import llmzoo
from llmzoo.serve import protobuf_values, state_delta
from llmzoo.serve.generated import environments_pb2 as pb

NAMES = ["a", "b", "c"]
NUMBERS = {name: number for number, name in enumerate(NAMES)}


class Board(AECEnv):
    """Attributes that a test sets as it likes."""

    metadata = {"name": "board_v0", "is_parallelizable": False}
    possible_agents = NAMES

    def __init__(self):
        self.agents = list(NAMES)
        self.agent_selection = "a"
        self.rewards = dict.fromkeys(NAMES, 0.0)
        self._cumulative_rewards = dict.fromkeys(NAMES, 0.0)
        self.terminations = dict.fromkeys(NAMES, False)
        self.truncations = dict.fromkeys(NAMES, False)
        self.infos = {name: {"n": 0, "parts": {}, "tags": ["x"]} for name in NAMES}
        self.texts = dict.fromkeys(NAMES, "here")

    def observe(self, agent):
        return self.texts[agent]


class Link:
    """An environment's server and client: what :meth:`tell` sends is read again."""

    def __init__(self, env):
        self.env = env
        self.told = None
        self.seen = None

    def tell(self):
        view = pb.View()
        self.told = state_delta.write_view(self.env, self.told, NUMBERS, view)
        view = pb.View.FromString(view.SerializeToString())
        self.seen = state_delta.read_view(view, self.seen, NAMES)
        self.check()
        return view

    def check(self):
        env, seen = self.env, self.seen
        live = [a for a in env.agents if not (env.terminations[a] or env.truncations[a])]
        for held, known in (
            (env.rewards, seen.rewards),
            (env._cumulative_rewards, seen.cumulative_rewards),
            (env.terminations, seen.terminations),
            (env.truncations, seen.truncations),
        ):
            assert list(known.items()) == [(a, held[a]) for a in env.agents]
        assert (seen.agents, seen.selection) == (env.agents, env.agent_selection)
        assert list(seen.infos) == env.agents
        for agent in env.agents:
            assert repr(seen.infos[agent]) == repr(dict(env.infos[agent]))
            if agent not in live or agent == env.agent_selection:
                assert seen.observations[agent] == env.observe(agent)


def fields(message):
    return sorted(field.name for field, _ in message.ListFields())


def test_the_first_view_tells_all_and_a_second_nothing():
    link = Link(Board())
    first = link.tell()
    assert first.since == 0
    assert len(first.infos) == 3
    again = link.tell()
    assert fields(again) == ["number", "same_observations", "since"]
    assert again.ByteSize() < 15 < first.ByteSize()


def test_only_what_has_changed_is_sent():
    link = Link(Board())
    link.tell()
    env = link.env
    env.rewards["b"] = 1.0
    env.infos["b"] = {**env.infos["b"], "n": 1}
    view = link.tell()
    assert fields(view) == ["infos", "number", "rewards", "same_observations", "since"]
    assert list(view.rewards) == [0.0, 1.0, 0.0]
    (info,) = view.infos
    assert (info.agent, [entry.key for entry in info.set]) == (1, ["n"])
    env.agent_selection = "b"
    env.texts["b"] = "there"
    view = link.tell()
    assert fields(view) == ["number", "observations", "selection", "since"]


def test_what_is_changed_in_place_is_noticed():
    link = Link(Board())
    link.tell()
    link.env.infos["a"]["tags"].append("y")
    link.env.infos["a"]["parts"]["team"] = 1.0
    (info,) = link.tell().infos
    assert [entry.key for entry in info.set] == ["parts", "tags"]
    assert link.seen.infos["a"]["tags"] == ["x", "y"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1, True),
        (True, 1),
        (0, 0.0),
        (1.0, 1),
        (None, False),
        ("1", 1),
        ([1], [True]),
        ([1, 2], [1]),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        (np.zeros(2), np.zeros((1, 2))),
    ],
)
def test_a_change_of_type_or_order_is_one(before, after):
    link = Link(Board())
    link.env.infos["c"]["it"] = before
    link.tell()
    link.env.infos["c"]["it"] = after
    (info,) = link.tell().infos
    assert [entry.key for entry in info.set] == ["it"]


def test_what_is_told_before_stays_as_it_was():
    link = Link(Board())
    link.tell()
    earlier = link.seen
    kept = copy.deepcopy(earlier)
    link.env.infos["a"] = {"n": 5}
    link.env.rewards["a"] = 2.0
    link.env.agents.remove("c")
    link.tell()
    assert earlier == kept


def test_infos_that_go_and_come():
    link = Link(Board())
    link.tell()
    link.env.infos["a"] = {"n": 0}
    (info,) = link.tell().infos
    assert list(info.removed) == ["parts", "tags"]
    link.env.infos["a"] = {}
    link.tell()
    link.env.infos["a"] = {"new": 1}
    link.tell()


def test_agents_leave_one_by_one_until_nobody_is_left():
    link = Link(Board())
    link.tell()
    env = link.env
    for agent in ("b", "c", "a"):
        env.terminations[agent] = True
        link.tell()
        for held in (env.rewards, env._cumulative_rewards, env.infos):
            del held[agent]
        del env.terminations[agent]
        del env.truncations[agent]
        env.agents.remove(agent)
        if env.agents:
            env.agent_selection = env.agents[0]
        view = link.tell()
        assert view.nobody == (not env.agents)
    assert link.seen.rewards == link.seen.infos == {}


def test_a_view_since_another_one_is_refused():
    link = Link(Board())
    link.tell()
    view = link.tell()
    with pytest.raises(ValueError, match="has not seen"):
        state_delta.read_view(view, state_delta.read_view(pb.View(number=7), None, NAMES), NAMES)


def test_an_info_that_cannot_be_sent_is_named():
    link = Link(Board())
    link.env.infos["b"]["net"] = object()
    with pytest.raises(protobuf_values.UntypedError, match=r"agent 1.*'net'.*builtins.object"):
        link.tell()


def test_random_changes():
    rng = random.Random(1)
    for _ in range(30):
        link = Link(Board())
        env = link.env
        for _ in range(25):
            agent = rng.choice(NAMES)
            change = rng.randrange(8)
            if change == 0:
                env.rewards[agent] = rng.choice([0.0, 1, np.float32(0.5), -2.5])
            elif change == 1:
                env._cumulative_rewards[agent] += 1.0
            elif change == 2:
                env.terminations[agent] = not env.terminations[agent]
            elif change == 3:
                env.truncations[agent] = rng.random() < 0.3
            elif change == 4:
                env.agent_selection = agent
            elif change == 5:
                env.infos[agent][rng.choice("nxyz")] = rng.choice([1, True, 1.0, "1", None, [], {}])
            elif change == 6 and env.infos[agent]:
                del env.infos[agent][rng.choice(list(env.infos[agent]))]
            else:
                env.texts[agent] = rng.choice(["here", "there", "\ud800", ""])
            if rng.random() < 0.6:
                link.tell()


def test_a_game_to_its_end():
    env = llmzoo.make("sokoban_v0").unwrapped
    numbers = {name: number for number, name in enumerate(env.possible_agents)}
    env.reset(seed=2)
    told = seen = None
    sizes = []
    for agent in env.agent_iter():
        view = pb.View()
        told = state_delta.write_view(env, told, numbers, view)
        sizes.append(view.ByteSize())
        seen = state_delta.read_view(view, seen, env.possible_agents)
        assert seen.infos == env.infos
        assert seen.observations[agent] == env.observe(agent)
        over = env.terminations[agent] or env.truncations[agent]
        env.step(None if over else "U")
    assert max(sizes[1:]) < 2.2 * sizes[0]  # two observations at the end, one otherwise
