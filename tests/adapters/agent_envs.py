"""Environments in which an agent is paid, or the episode ends, before it has said anything."""

from __future__ import annotations

from llmzoo.envs.base import Outcome, TextEnv


class Prepaid(TextEnv):
    """In turns: what a_0 writes is paid to b_1, before b_1 has said anything."""

    metadata = {**TextEnv.metadata, "name": "prepaid_v0"}

    def __init__(self, end=False):
        super().__init__(["a_0", "b_1"], max_turns=2)
        self.end = end

    def reset_task(self, rng, task):
        return rng.random()

    def observation(self, state, agent):
        return f"{agent} {self.turn} {state}"

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        local = {"b_1": {"gift": float(text)}} if agent == "a_0" else {"b_1": {"own": 1.0}}
        return state, Outcome(local=local, done=self.end and agent == "a_0")


class Ended(TextEnv):
    """The first agent ends the episode; the second has no turn."""

    def __init__(self):
        super().__init__(["a_0", "b_1"])

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return agent

    def apply(self, state, actions):
        return state, Outcome(done=True)
