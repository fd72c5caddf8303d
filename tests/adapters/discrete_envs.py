"""A game with numbered actions, small enough to be worked out by hand."""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv


class Pile(AECEnv, EzPickle):
    """Three agents take 1, 2 or 3 from a pile in turn. Its size is the seed, or 7.

    Who empties it is paid 2 and the others still there -1 each. Who takes 3 is out at once (or, with
    ``cut``, truncated) and is paid -0.5. The mask stands in the infos, and actions start at 1.
    """

    metadata = {"name": "pile_v0", "render_modes": [], "is_parallelizable": False}

    def __init__(self, cut: bool = False):
        EzPickle.__init__(self, cut)
        self.cut = cut
        self.possible_agents = ["a_0", "b_1", "c_2"]
        self._takes = {a: Discrete(3, start=1) for a in self.possible_agents}
        self._sizes = {a: Box(0, 2**31, (1, 1), np.int64) for a in self.possible_agents}

    def action_space(self, agent):
        return self._takes[agent]

    def observation_space(self, agent):
        return self._sizes[agent]

    def observe(self, agent):
        return np.array([[self.pile]])

    def reset(self, seed=None, options=None):
        self.pile = seed or 7
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.agent_selection = "a_0"
        self._mask()

    def _mask(self):
        mask = np.array([take <= self.pile for take in (1, 2, 3)], np.int8)
        self.infos = {a: {"action_mask": mask} for a in self.agents}

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert 1 <= action <= min(3, self.pile)
        self._cumulative_rewards[agent] = 0
        self._clear_rewards()
        self.pile -= action
        following = self.agents[(self.agents.index(agent) + 1) % len(self.agents)]
        if self.pile == 0:
            self.rewards = {a: 2 if a == agent else -1 for a in self.agents}
            self.terminations = dict.fromkeys(self.agents, True)
        elif action == 3:
            self.rewards[agent] = -0.5
            (self.truncations if self.cut else self.terminations)[agent] = True
        self._mask()
        self.agent_selection = following
        self._accumulate_rewards()
        self._deads_step_first()
