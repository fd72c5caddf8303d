"""Views: what was read is what the environment shows."""

from __future__ import annotations

import random

import numpy as np
import pytest
from pettingzoo import AECEnv

import llmzoo
from llmzoo.serve import protobuf_values, views
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

    def tell(self):
        view = pb.View()
        views.write_view(self.env, NUMBERS, view)
        self.seen = views.read_view(pb.View.FromString(view.SerializeToString()), NAMES)
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
        link.tell()
    assert link.seen.rewards == link.seen.infos == {}


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
    for agent in env.agent_iter():
        view = pb.View()
        views.write_view(env, numbers, view)
        seen = views.read_view(view, env.possible_agents)
        assert seen.infos == env.infos
        assert seen.observations[agent] == env.observe(agent)
        over = env.terminations[agent] or env.truncations[agent]
        env.step(None if over else "U")
