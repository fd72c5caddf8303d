"""Our environments in CoMLRL's trainers: formatters, a reward function and a transition.

CoMLRL's agents answer at the same time, share one reward per turn, and know no environment. A
trainer calls one formatter per agent for the prompts of the first turn, a reward function for the
answers of a turn, and ``external_transition`` for the prompts of the next turn. It walks its tree
of answers depth first and scores all answers of a node before it continues from the first of them.
It tells neither the reward function nor the formatters where in the tree they are, so
:class:`Bridge` keeps track.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from pettingzoo import AECEnv

from llmzoo.adapters.single_agent import make_aec_env
from llmzoo.envs.forking import fork
from llmzoo.errors import ConfigError
from llmzoo.rollout.stepping import agents_to_act, is_over, step_joint_action
from llmzoo.thoughts import strip_thoughts

SharedReward = Callable[
    [Mapping[str, float]], float
]  # from the rewards of all agents to the shared one


def mean_reward(rewards: Mapping[str, float]) -> float:
    """The mean of the agents' rewards; exact if all are paid the same."""
    return sum(rewards.values()) / len(rewards)


def bridge(
    env: str | Callable[..., AECEnv], *, shared: SharedReward = mean_reward, **env_args: Any
) -> Bridge:
    """An environment as arguments of CoMLRL's trainers.

    ``env``: an id, or a function that makes an AEC text environment whose agents answer at the same
    time; it receives ``env_args``. ``shared``: computes the one reward that CoMLRL's agents share
    from what each of ours is paid in a turn.

    Raises :class:`ConfigError` for an environment whose agents take turns.
    """
    return Bridge(make_aec_env(env, **env_args), shared)


class Bridge:
    """``formatters``, ``reward_func`` and ``external_transition`` of one environment.

    Only one trainer at a time may use a bridge. Each node of its tree is a copy of the environment.
    Joint answers are played in copies, once per tree.
    """

    def __init__(self, env: AECEnv, shared: SharedReward = mean_reward):
        agents = list(env.possible_agents)
        if len(agents) > 1 and not env.metadata.get("is_parallelizable", False):
            raise ConfigError(
                f"in {env} {', '.join(agents)} take turns; CoMLRL's agents answer at the same time"
            )
        self.agents = agents
        self.num_agents = len(agents)
        self.formatters = [self._formatter(agent) for agent in agents]
        self._env = env
        self._shared = shared
        self._seed: int | None = None  # of the current task
        self._first: dict[str, str] = {}  # what each agent reads at its first turn
        self._node = env  # where the agents answer now
        self._transitioned = False  # a transition led here, and no answer has been scored yet
        # joint answers so far -> the environment after them
        self._env_after: dict[tuple[tuple[str, ...], ...], AECEnv] = {}
        self._history: tuple[tuple[str, ...], ...] = ()  # joint answers that led to the node
        self._lock = Lock()  # a trainer with one device per agent calls formatters in threads

    def dataset(self, seeds: Sequence[int]) -> list[dict[str, Any]]:
        """One row per seed: ``seed``, and ``prompt``, the first agent's observation.

        A trainer that saves checkpoints needs it as ``datasets.Dataset.from_list(rows)``.
        """
        rows = []
        for seed in seeds:
            self._env.reset(seed=seed)
            rows.append({"prompt": str(self._env.observe(self.agents[0])), "seed": seed})
        self._seed = None
        return rows

    def reward_func(
        self, *completions: Sequence[str], batch_items: Sequence[Mapping[str, Any]]
    ) -> list[float]:
        """The shared reward of each joint answer: the i-th of every agent's list.

        Answers after the end of an episode are paid 0.
        """
        if len(completions) != self.num_agents or len({len(own) for own in completions}) != 1:
            raise ConfigError(
                f"{self.num_agents} agents answer together, each with as many answers; got lists of "
                f"{', '.join(str(len(own)) for own in completions) or 'none'}"
            )
        if int(batch_items[0]["seed"]) != self._seed:
            self._begin(batch_items[0])
        self._transitioned = False
        return [self._score_joint(joint) for joint in zip(*completions, strict=True)]

    def external_transition(
        self,
        prompt: str,
        agent_completions: Sequence[str],
        num_agents: int,
        prompt_history_per_agent: Sequence[Sequence[str]],
        response_history_per_agent: Sequence[Sequence[str]],
    ) -> list[str]:
        """Move to the node that the answers lead to; returns what each agent reads there."""
        if self._seed is None:
            raise ConfigError("external_transition was called before any answer was judged")
        history = tuple(zip(*response_history_per_agent, strict=True))
        self._node = self._env_at(history)
        self._history = history
        self._transitioned = True
        return [str(self._node.observe(agent)) for agent in self.agents]

    def _formatter(self, agent: str) -> Callable[..., str]:
        def format(item: Mapping[str, Any], external_prompts: str | None = None) -> str:
            if external_prompts is not None:
                return external_prompts
            with self._lock:
                # after a transition, an evaluation asks for the first turn's prompt again
                if not self._transitioned or int(item["seed"]) != self._seed:
                    self._begin(item)
                return self._first[agent]

        return format

    def _begin(self, item: Mapping[str, Any]) -> None:
        """Move to the first turn of a row's task."""
        seed = int(item["seed"])
        if seed != self._seed:
            self._env.reset(seed=seed)
            self._first = {agent: str(self._env.observe(agent)) for agent in self.agents}
            self._seed = seed
        self._node, self._history, self._transitioned = self._env, (), False
        self._env_after = {}

    def _score_joint(self, joint: tuple[str, ...]) -> float:
        if is_over(self._node):
            return 0.0
        after = fork(self._node)
        rewards = dict.fromkeys(self.agents, 0.0) | _step_jointly(after, joint, self.agents)
        self._env_after[(*self._history, joint)] = after
        return float(self._shared(rewards))

    def _env_at(self, history: tuple[tuple[str, ...], ...]) -> AECEnv:
        """The environment after these joint answers."""
        if not history:
            return self._env
        known = self._env_after.get(history)
        if known is None:
            known = fork(self._env_at(history[:-1]))
            if not is_over(known):
                _step_jointly(known, history[-1], self.agents)
            self._env_after[history] = known
        return known


def _step_jointly(env: AECEnv, joint: tuple[str, ...], agents: Sequence[str]) -> dict[str, float]:
    """Step with the joint answer of all agents, except those that are out of the game.

    Only what follows a model's thoughts is its answer. An unclosed thought is none.
    """
    texts = {agent: strip_thoughts(text) or "" for agent, text in zip(agents, joint, strict=True)}
    return step_joint_action(env, [texts[agent] for agent in agents_to_act(env)])
