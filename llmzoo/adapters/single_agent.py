"""One agent of an AEC text environment, as a ``gymnasium.Env``; policies play the others."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text
from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.adapters.others import Others, fill_other_agents
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.models.noise import noise_key
from llmzoo.policies.base import Policy, PolicyRequest
from llmzoo.rollout.scheduler import Rollout, SampleRequest, has_slow_steps, run_rollouts
from llmzoo.rollout.stepping import StepRequest, step_each


class TurnResult(NamedTuple):
    """What an agent receives at its turn, or at its end.

    ``reward``: what it was paid since its last answer, or since the start.
    """

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated


class ControlledAgent:
    """The agent ``agent`` of ``env``.

    :meth:`begin` and :meth:`act` are rollouts (:mod:`llmzoo.rollout.scheduler`) that ask for the
    others' answers and return a :class:`TurnResult`. Any number of agents can run at once.
    """

    def __init__(self, env: AECEnv, agent: str | None = None):
        agents = list(env.possible_agents)
        if agent is None and len(agents) > 1:
            raise ConfigError(f"agent must be one of {', '.join(agents)}: {env} has several")
        if agent is not None and agent not in agents:
            raise UnknownNameError("agent", agent, agents)
        self.env = env
        self.agent = agent or agents[0]
        self.others = [other for other in agents if other != self.agent]
        for each in agents:
            if not isinstance(env.action_space(each), Text):
                raise ConfigError(
                    f"{each} of {env} acts in {env.action_space(each)}, not in text; "
                    "llmzoo.adapters.discrete_to_text helps where actions are numbered"
                )
        self._noise_seed = 0
        self._request_counts: Counter[str] = Counter()
        self._first_turn: TurnResult | None = None  # of the first turn, until it is answered

    def begin(self, seed: int | None, options: dict[str, Any] | None, noise_seed: int) -> Rollout:
        """Start an episode and play until the agent's first turn.

        ``noise_seed`` seeds the others. What the agent is paid before its first answer is added to the
        reward of that answer. If the others end the episode first, it is over at once.
        """
        self.env.reset(seed=seed, options=options)
        self._noise_seed = noise_seed
        self._request_counts.clear()
        yield from self._play_others()
        self._first_turn = self._turn_result()
        return self._first_turn

    def act(self, text: str) -> Rollout:
        """Answer with ``text``, and play until the agent's next turn or its end.

        In an episode that ended before the agent's first turn, this only returns that end.
        """
        first_turn, self._first_turn = self._first_turn, None
        if first_turn is not None and first_turn.over:
            return first_turn
        yield StepRequest(self.env, (text,), step_each)
        yield from self._play_others()
        result = self._turn_result()
        return result if first_turn is None else _add_earlier_reward(first_turn, result)

    def _play_others(self) -> Rollout:
        env = self.env
        while self.agent in env.agents and env.agent_selection != self.agent:
            agents = self._other_agents_to_act()
            if not agents:
                env.step(None)
                continue
            answers = yield [SampleRequest(self._request(agent)) for agent in agents]
            yield StepRequest(env, tuple(completion.text for (completion,) in answers), step_each)

    def _other_agents_to_act(self) -> list[str]:
        """The other agents whose turn it is: one, or several in a simultaneous task."""
        env = self.env
        first = env.agents.index(env.agent_selection)
        together = env.metadata.get("is_parallelizable", False)
        agents: list[str] = []
        for agent in env.agents[first:] if together else [env.agent_selection]:
            if agent == self.agent or env.terminations[agent] or env.truncations[agent]:
                break
            agents.append(agent)
        return agents

    def _request(self, agent: str) -> PolicyRequest:
        self._request_counts[agent] += 1
        return PolicyRequest(
            agent=agent,
            observation=str(self.env.observe(agent) or ""),
            env=self.env,
            seed=self._noise_seed,
            key=noise_key(self._noise_seed, agent, self._request_counts[agent]),
        )

    def _turn_result(self) -> TurnResult:
        if self.agent not in self.env.agents:
            raise ConfigError(f"{self.env} removed {self.agent} before it could read its end")
        observation, reward, terminated, truncated, info = self.env.last()
        if not math.isfinite(reward):
            raise ConfigError(f"{self.env} paid {self.agent} {reward}: rewards are finite numbers")
        return TurnResult(
            str(observation or ""),
            float(reward),
            bool(terminated),
            bool(truncated),
            copy.deepcopy(dict(info)),
        )


def _add_earlier_reward(before: TurnResult, after: TurnResult) -> TurnResult:
    """``after``, plus what was paid ``before``."""
    parts = dict(after.info.get("reward_components", {}))
    for name, value in before.info.get("reward_components", {}).items():
        parts[name] = parts.get(name, 0.0) + value
    info = {**after.info, "reward_components": parts} if parts else after.info
    return after._replace(reward=before.reward + after.reward, info=info)


def single_agent(
    env: str | AECEnv | Callable[..., AECEnv],
    *,
    agent: str | None = None,
    others: Others = None,
    seed: int | None = None,
    **env_args: Any,
) -> SingleAgentEnv:
    """The agent ``agent`` of an AEC text environment as a ``gymnasium.Env``.

    ``env``: an id, an environment, or a function that makes one; ids and functions receive
    ``env_args``. ``others``: who plays the other agents, see
    :func:`llmzoo.adapters.others.fill_other_agents`. ``seed``: of the first episode, if ``reset`` gets
    none.

    Raises :class:`ConfigError` for an agent without a player.
    """
    controlled = ControlledAgent(make_aec_env(env, **env_args), agent)
    return SingleAgentEnv(controlled, fill_other_agents(others, controlled.others), seed=seed)


def make_aec_env(env: str | AECEnv | Callable[..., AECEnv], **env_args: Any) -> AECEnv:
    """The AEC environment for an id, a function or an environment."""
    if isinstance(env, str):
        return registry.make(env, **env_args)
    if not isinstance(env, AECEnv):
        return env(**env_args)
    if env_args:
        raise ConfigError(f"{env} is made already: leave out {', '.join(env_args)}")
    return env


class SingleAgentEnv(gymnasium.Env[str, str]):
    """One agent of an AEC environment. ``policies`` play the others.

    ``reset`` returns the agent's first observation. ``step`` returns what the agent is paid until its
    next turn or its end; the first step also includes what it was paid before its first answer. So
    the rewards of an episode sum to what the AEC environment pays the agent. ``info`` is the agent's
    own, with ``reward_components`` that sum to the reward, ``error`` if something was wrong with the
    answer, and ``success`` at the end.

    A seed fixes the episode, including the other agents, and the unseeded episodes that follow. If
    the others end an episode before the agent's first turn, ``reset`` returns its end with
    ``info["over"]``, and the next ``step`` pays what is due for any action.
    """

    def __init__(
        self, agent: ControlledAgent, policies: Mapping[str, Policy], *, seed: int | None = None
    ):
        env = agent.env
        self.agent = agent
        self.policies = policies
        # Gymnasium requires a frame rate; a board changes once a turn
        self.metadata = {"render_modes": [], "render_fps": 1, **env.metadata}
        try:
            self.render_mode = env.unwrapped.render_mode
        except AttributeError:  # PettingZoo does not require it
            self.render_mode = None
        self.observation_space = env.observation_space(agent.agent)
        self.action_space = env.action_space(agent.agent)
        self._first_seed = seed
        self._playing = False

    # GEM's wrappers pass these arguments by position
    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode. ``options`` go to the environment (``{"task": i}`` plays task i)."""
        result = self._run(self.reset_rollout(seed, options))
        return result.observation, result.info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answer. Raises ``gymnasium.error.ResetNeeded`` if no episode is running."""
        return tuple(self._run(self.step_rollout(action)))  # type: ignore[return-value]

    def reset_rollout(self, seed: int | None, options: dict[str, Any] | None) -> Rollout:
        """:meth:`reset` as a rollout that returns a :class:`TurnResult`."""
        if seed is None:
            seed, self._first_seed = self._first_seed, None
        super().reset(seed=seed)
        noise_seed = int(self.np_random.integers(2**31)) if seed is None else int(seed)
        self._playing = False
        result: TurnResult = yield from self.agent.begin(seed, options, noise_seed)
        self._playing = True
        if result.over:
            return result._replace(info={**result.info, "over": True})
        return result

    def step_rollout(self, action: str) -> Rollout:
        """:meth:`step` as a rollout that returns a :class:`TurnResult`."""
        if not self._playing:
            raise ResetNeeded("no episode is going on: call reset() before step()")
        result: TurnResult = yield from self.agent.act(action)
        self._playing = not result.over
        return result

    def _run(self, rollout: Rollout) -> TurnResult:
        result: TurnResult = run_env_rollouts([rollout], [self])[0]
        return result

    def render(self) -> Any:
        """The environment's picture."""
        return self.agent.env.render()

    def close(self) -> None:
        self.agent.env.close()

    def sample_random_action(self) -> str:
        """A short random text. GEM's environments have this method too."""
        return self.action_space.sample()


def run_env_rollouts(rollouts: list[Rollout], envs: list[SingleAgentEnv]) -> list[TurnResult]:
    """Play these rollouts of ``envs``, which share their policies, with batched requests."""
    early = has_slow_steps(env.agent.env for env in envs)
    results: list[TurnResult] = run_rollouts(rollouts, envs[0].policies, early=early)
    return results
