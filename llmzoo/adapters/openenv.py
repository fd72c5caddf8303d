"""Our environments as OpenEnv environments: a server, its types, and a client.

``create_app("sudoku_v0", agent="planner_1", others="expert")`` is the web application that OpenEnv's
own tools serve. :class:`TextClient` plays on it over a WebSocket. The client plays one agent, and
policies on the server play the others.

* Each session has its own environment, and sessions run concurrently. They share the policies, which
  answer one session at a time.
* ``reset(seed=, split=, index=)``: the seed fixes everything random in the episode, and ``index``
  names a task of the split. OpenEnv's task routes list the splits and their tasks.
* An observation is the agent's text; ``reward`` is what the agent was paid since its last answer,
  ``reward_components`` are its parts, and ``error`` says what was wrong with the answer.
* Any text is an answer. The environment defines the penalty for one that it cannot use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

from llmzoo import registry
from llmzoo.adapters.others import Others, fill_other_agents, with_shared_lock
from llmzoo.adapters.single_agent import ControlledAgent, SingleAgentEnv
from llmzoo.errors import ConfigError, UnknownNameError, require_extra
from llmzoo.evaluation.collect import refuse_fallback
from llmzoo.policies.base import Policy

with require_extra("the adapter for OpenEnv", "openenv"):
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server import create_app as openenv_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
    from pydantic import Field, field_validator

SPLITS = ("train", "test")
MAX_INDEX = 100_000  # task i is generated after all tasks before it; seeds have no such cost


class TextAction(Action):
    """An answer."""

    text: str = Field(description="the answer, in words")

    @field_validator("text", mode="before")
    @classmethod
    def _unicode(cls, text: Any) -> Any:
        """Replace lone surrogates, which JSON may carry but which cannot be sent back."""
        return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


class TextObservation(Observation):
    """What the agent reads, also at the end of an episode.

    ``metadata`` identifies the task: its source, split, number and id.
    """

    text: str
    error: str | None = None  # what was wrong with the last answer
    reward_components: dict[str, float] = {}  # they sum to the reward
    success: bool | None = None  # known at the end
    truncated: bool = False  # a time limit ended the episode


class EpisodeState(State):
    """The state of an episode, in addition to OpenEnv's own fields."""

    agent: str = ""
    split: str = ""
    seed: int | None = None
    total: float = 0.0  # paid so far
    done: bool = False


class TextEnvironment(Environment[TextAction, TextObservation, EpisodeState]):
    """One agent of our environment.

    ``make(split=...)`` makes the AEC environment; ``policies`` play the other agents.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self,
        make: Callable[..., Any],
        agent: str,
        policies: dict[str, Policy],
        *,
        name: str,
        split: str = "train",
    ):
        super().__init__()
        self._make, self._agent, self._policies = make, agent, policies
        self._name, self._split = name, split
        self._played: dict[str, SingleAgentEnv] = {}  # by split
        self._state = EpisodeState(agent=agent, split=split)

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str | None = None,
        index: int | None = None,
        **_: Any,
    ) -> TextObservation:
        """Start an episode: task ``index`` of a split, or one that the seed draws."""
        split = self._split if split is None else split
        if index is not None and (type(index) is not int or not 0 <= index <= MAX_INDEX):
            raise ConfigError(f"index is a whole number from 0 to {MAX_INDEX}, got {index!r:.40}")
        options = None if index is None else {"task": index}
        text, info = self._game(split).reset(seed=seed, options=options)
        self._state = EpisodeState(
            episode_id=episode_id or str(uuid4()), agent=self._agent, split=split, seed=seed
        )
        return _observation(text, None, False, False, info)

    def step(self, action: TextAction, timeout_s: float | None = None, **_: Any) -> TextObservation:
        """Answer, and play until the agent's next turn or its end."""
        state = self._state
        if state.done or state.episode_id is None:
            raise ConfigError("no episode is going on: reset before the next step")
        text, reward, terminated, truncated, info = self._game(state.split).step(action.text)
        self._state = state.model_copy(
            update={
                "step_count": state.step_count + 1,
                "total": state.total + reward,
                "done": terminated or truncated,
            }
        )
        return _observation(text, reward, terminated, truncated, info)

    @property
    def state(self) -> EpisodeState:
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        return EnvironmentMetadata(
            name=self._name, description=f"{self._name}: the agent {self._agent}, in words"
        )

    def close(self) -> None:
        for game in self._played.values():
            game.close()
        self._played.clear()

    # OpenEnv's task routes; generated tasks have no number

    def list_splits(self) -> list[str]:
        return list(SPLITS)

    def num_tasks(self, split: str) -> int:
        """Raises ``NotImplementedError`` if tasks are generated, since every index is then valid."""
        game = self._game(split)
        game.reset(seed=0)
        size = game.agent.env.infos[self._agent].get("tasks")
        if size is None:
            raise NotImplementedError(f"{self._name} generates its tasks")
        return int(size)

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return self.get_task_range(split)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        if index < 0 or (self._has_task_count(split) and index >= self.num_tasks(split)):
            raise IndexError(index)
        return {"split": split, "index": index}

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        if stop is None or self._has_task_count(split):
            indices = range(self.num_tasks(split))[start:stop]
        else:
            indices = range(start or 0, stop)
        return [{"split": split, "index": index} for index in indices]

    def _has_task_count(self, split: str) -> bool:
        try:
            self.num_tasks(split)
        except NotImplementedError:
            return False
        return True

    def _game(self, split: str) -> SingleAgentEnv:
        if split not in SPLITS:
            raise UnknownNameError("split", split, SPLITS)
        if split not in self._played:
            agent = ControlledAgent(self._make(split=split), self._agent)
            self._played[split] = SingleAgentEnv(agent, self._policies)
        return self._played[split]


class TextClient(EnvClient[TextAction, TextObservation, EpisodeState]):
    """Plays on a server of :func:`create_app`: ``await client.step(TextAction(text="..."))``."""

    def _step_payload(self, action: TextAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[TextObservation]:
        reward, done = payload.get("reward"), payload["done"]
        observation = TextObservation(reward=reward, done=done, **payload["observation"])
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> EpisodeState:
        return EpisodeState(**payload)


def create_app(
    env_id: str,
    *,
    agent: str | None = None,
    others: Others = None,
    split: str = "train",
    max_concurrent_envs: int = 64,
    **env_args: Any,
) -> Any:
    """The FastAPI application that serves ``env_id``. Run it with uvicorn or in a container.

    ``agent``: the client's. ``others``: who plays the other agents
    (:func:`llmzoo.adapters.others.fill_other_agents`). ``split``: the default for ``reset``.
    ``max_concurrent_envs``: concurrent sessions; more are refused.

    Raises :class:`ConfigError` or :class:`UnknownNameError` for unknown names and invalid settings.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    make = partial(registry.make, env_id, **env_args)
    first = make(split=split)
    refuse_fallback(first, env_id)
    controlled = ControlledAgent(first, agent)
    policies = with_shared_lock(fill_other_agents(others, controlled.others))
    first.close()
    factory = partial(TextEnvironment, make, controlled.agent, policies, name=env_id, split=split)
    return openenv_app(
        factory,
        TextAction,
        TextObservation,
        env_name=env_id,
        max_concurrent_envs=max_concurrent_envs,
        state_cls=EpisodeState,
    )


def _observation(
    text: str, reward: float | None, terminated: bool, truncated: bool, info: dict[str, Any]
) -> TextObservation:
    task = {k: info[k] for k in ("source", "split", "task", "task_id") if k in info}
    return TextObservation(
        text=text,
        reward=reward,
        done=terminated or truncated,
        error=info.get("error"),
        reward_components=info.get("reward_components", {}),
        success=info.get("success"),
        truncated=truncated,
        metadata=task,
    )
