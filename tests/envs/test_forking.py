"""Copies of environments that we did not write."""

import threading

import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import BaseWrapper

from llmzoo.errors import ConfigError
from llmzoo.rollout import fork


class Foreign(AECEnv, EzPickle):
    """As most environments of PettingZoo: ``copy.deepcopy`` of it is a new one."""

    def __init__(self, held=None):
        EzPickle.__init__(self, held)
        self.possible_agents = self.agents = ["a_0"]
        self.spaces = {"a_0": Discrete(2)}
        self.rng = np.random.default_rng(3)
        self.log = [{"moves": ()}]
        self.held = held
        self.me = [self]


class Counting(BaseWrapper):
    def __init__(self, env):
        super().__init__(env)
        self.counts = {"a_0": [0]}


def test_a_fork_stands_where_the_original_stands():
    env = Foreign()
    env.log[0]["moves"] = (1, 2)
    env.rng.random()
    copied = fork(env)
    assert copied.log == [{"moves": (1, 2)}]
    assert copied.agents is copied.possible_agents  # one list before, one list after
    assert copied.me[0] is copied
    copied.log[0]["moves"] = (9,)
    copied.rng.random()
    assert env.log == [{"moves": (1, 2)}]
    again = fork(env)
    assert env.rng.random() == again.rng.random()
    assert copied.spaces["a_0"] is env.spaces["a_0"]


def test_environments_within_environments():
    inner = Foreign()
    env = Counting(Foreign(held={"inner": [inner]}))
    inner.log[0]["moves"] = (7,)
    env.counts["a_0"][0] = 5
    copied = fork(env)
    assert copied.unwrapped.held["inner"][0].log == [{"moves": (7,)}]
    assert copied.counts == {"a_0": [5]}
    copied.counts["a_0"][0] = 6
    copied.unwrapped.held["inner"][0].log[0]["moves"] = ()
    assert env.counts == {"a_0": [5]}
    assert inner.log == [{"moves": (7,)}]


def test_an_environment_that_says_how_to_copy_it():
    class Own(Foreign):
        def __deepcopy__(self, memo):
            copied = Own()
            copied.log = ["copied by itself"]
            return copied

    assert fork(Own()).log == ["copied by itself"]
    assert fork(Counting(Own())).unwrapped.log == ["copied by itself"]


def test_what_cannot_be_copied_is_named():
    with pytest.raises(
        ConfigError, match="holds a lock cannot be copied in the middle of an episode"
    ):
        fork(Foreign(held=threading.Lock()))


def test_a_copy_that_fails_in_its_own_way_is_named_with_the_remedies():
    class Stubborn:
        def __deepcopy__(self, memo):
            raise RuntimeError("not while it is open")

    with pytest.raises(ConfigError, match=r"not while it is open.*__deepcopy__.*--learner ippo"):
        fork(Foreign(held=Stubborn()))
