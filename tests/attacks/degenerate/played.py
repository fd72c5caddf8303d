"""Plays the policies for every agent of an environment, and in one agent beside noisy experts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean, stdev
from typing import Any

import llmzoo
from llmzoo.envs.base import TextEnv

from . import first_moves
from .policies import Answer, constant, copy_of_the_prompt, empty, keyword_soup, silent

OTHER_TASK = 1_000_003  # the seed of the task whose answer the constant policy repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The returns of ``agent`` in the same tasks: by policy, with noisy experts in the other agents.

    For the agent ``"all"`` the policy plays every agent, and a return is the mean over the agents.
    """

    env: str
    form: str
    agent: str
    returns: Mapping[str, Sequence[float]]  # by policy, the noisy expert and the expert included
    honest: Sequence[str] = ()  # policies that may earn more: in a duel a legal move is honest play

    @property
    def paying(self) -> list[str]:
        """The degenerate policies that earn more than the noisy expert.

        The mean difference, task by task, must be above two of its standard errors.
        """
        honest = {"noisy_expert", "expert", *self.honest}
        return [p for p in self.returns if p not in honest and self._pays(p)]

    def _pays(self, policy: str) -> bool:
        pairs = zip(self.returns[policy], self.returns["noisy_expert"], strict=True)
        more = [own - noisy_experts for own, noisy_experts in pairs]
        error = stdev(more) / len(more) ** 0.5
        return mean(more) > max(2 * error, 1e-9)


def is_competitive(id: str) -> bool:
    """Whether a legal move is honest play."""
    return llmzoo.spec(id).family == "duels" or id == "mafia_v0"


def forms(id: str) -> list[dict[str, Any]]:
    """The forms of an environment that differ in its agents or in what an agent is paid for."""
    own: dict[str, list[dict[str, Any]]] = {
        "debate_v0": [
            {"judge_agent": True},
            {"reward": "cooperative"},
            {"reward": "cooperative", "judge_agent": True},
        ],
        **{
            id: [{"view": "split"}]
            for id in (*llmzoo.list_envs("games"), "bug_fix_v0", "contests_v0")
        },
        "math_v0": [{"aggregator": True}, {"view": "split", "family": "word_problems"}],
        "calendar_v0": [{"level": "easy"}, {"level": "hard", "num_agents": 3}],
        "propose_v0": [{"kind": "countdown"}],
        "relay_v0": [{"num_agents": 5}],
        "hidden_profile_v0": [{"num_agents": 8}],
        "mafia_v0": [{"num_agents": 8}],
        "philosophers_v0": [{"num_agents": 5}],
        "commons_v0": [{"num_agents": 5}],
        "delegate_v0": [{"max_workers": 5}],
        "travel_v0": [{"level": "easy"}, {"level": "hard"}],
    }
    alone = [] if llmzoo.spec(id).family == "duels" else [{"num_agents": 1}]
    return [{}, *own.get(id, []), *alone]


def rows(id: str, form: Mapping[str, Any], tasks: int) -> Iterator[Row]:
    """The rows of one form of an environment, one for each agent and one for all of them."""
    spec = llmzoo.spec(id)
    make: Callable[[], TextEnv] = partial(
        _environment, id, {**spec.offline, **form, "split": "train"}
    )
    seeds = _seeds(make, tasks)
    policies: dict[str, Answer] = {
        "empty": empty,
        "silent": silent,
        "copy": copy_of_the_prompt,
        "soup": keyword_soup,
        "constant": constant(make, OTHER_TASK),
        "first legal": lambda env, agent: first_moves.answers(env, spec.family, agent)[0],
        "wrong at once": lambda env, agent: first_moves.answers(env, spec.family, agent)[1],
        "noisy_expert": noisy_expert,
        "expert": lambda env, agent: env.expert(agent),
    }
    agents = make().possible_agents
    named = ", ".join(f"{key}={value}" for key, value in form.items())
    for one_agent in ["all", *agents] if len(agents) > 1 else ["all"]:
        paid = {
            name: [_paid(make(), seed, one_agent, policy) for seed in seeds]
            for name, policy in policies.items()
        }
        honest = ("constant", "first legal") if is_competitive(id) else ()
        yield Row(env=id, form=named, agent=one_agent, returns=paid, honest=honest)


def noisy_expert(env: TextEnv, agent: str) -> str:
    """The environment's own sloppy player. Its chance is that of the task, the round and the agent,
    so that noisy experts err alike whoever plays the other agents."""
    return env.noisy_expert(
        agent, random.Random(f"{env.infos[agent]['task_id']}, {env.turn}, {agent}")
    )


def _seeds(make: Callable[[], TextEnv], tasks: int) -> list[int]:
    """Seeds of episodes, none of which has the task whose answer the constant policy repeats."""
    env = make()
    env.reset(seed=OTHER_TASK)
    other = _task(env)
    seeds = []
    for seed in range(4 * tasks):
        env.reset(seed=seed)
        if _task(env) != other:
            seeds.append(seed)
    return seeds[:tasks]


def _task(env: TextEnv) -> str:
    return str(env.infos[env.agent_selection]["task_id"])


def _environment(id: str, settings: Mapping[str, Any]) -> TextEnv:
    env = llmzoo.make(id, **settings).unwrapped
    assert isinstance(env, TextEnv)
    return env


def _paid(env: TextEnv, task: int, one_agent: str, policy: Answer) -> float:
    """The return of ``agent`` in one episode."""
    env.reset(seed=task)
    total = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last(observe=False)
        total[agent] += reward
        if terminated or truncated:
            env.step(None)
        else:
            env.step((policy if one_agent in ("all", agent) else noisy_expert)(env, agent))
    return mean(total.values()) if one_agent == "all" else total[one_agent]
