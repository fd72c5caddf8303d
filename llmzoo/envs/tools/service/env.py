"""The turns of a call between a service agent and a customer."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.tasks import Tasks, describe_task
from llmzoo.envs.tools.service import conversations, prompts
from llmzoo.envs.tools.service.conversations import AnyConversation
from llmzoo.envs.tools.service.tools import Side
from llmzoo.envs.tools.toolbox import Toolbox
from llmzoo.errors import ConfigError

AGENT, USER = "agent_0", "user_1"
VERDICT = "verdict"  # the part that is paid for success
_SIDES: Mapping[str, Side] = {AGENT: "assistant", USER: "user"}


class Domain(NamedTuple):
    """What makes one service differ from another."""

    tools: Mapping[Side, Toolbox]
    begin: Callable[[Any], AnyConversation]  # the call of a task at its start
    content: Callable[[Any], str]  # all of a task but its name
    # what a step pays, and what is done after it. Reads what was done before it (None: nothing was judged yet)
    # and the talk
    parts: Callable[[Any, Any], tuple[dict[str, float], Any]]
    prompt: Callable[..., str]  # of a side, its talk, the rounds that are left, terse=
    # the scripted players
    agent: Callable[[Any], str]
    expert_customer: Callable[[Any], str]
    sloppy_agent: Callable[[Any, random.Random], str]
    sloppy_customer: Callable[[Any, random.Random], str]


@dataclass(frozen=True, slots=True)
class ServiceState:
    """The state of an episode. progress: what of the task was done at the last step, as the scoring counts it."""

    conversation: AnyConversation
    progress: Any


class ServiceEnv(TextEnv[ServiceState]):
    """Base of the environments in which a customer calls a service agent.

    A subclass sets ``domain`` and ``tasks``. With one agent, the scripted customer answers after each message
    of the agent.
    """

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "team_and_local": False,
        "delayed_reward_agents": [AGENT, USER],
    }
    domain: Domain
    tasks: Tasks[Any]

    def __init__(
        self,
        *,
        num_agents: int = 2,
        max_turns: int = 20,
        max_steps: int = 10,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        render_mode: str | None = None,
    ):
        check_choice("num_agents", num_agents, (1, 2))
        for name, value in (("max_turns", max_turns), ("max_steps", max_steps)):
            if value < 1:
                raise ConfigError(f"{name} must be at least 1, got {value}")
        super().__init__(
            [AGENT, USER][:num_agents],
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.max_steps = max_steps
        self.terse = prompt == "terse"

    def reset_task(self, rng: random.Random, task: int | str | None) -> ServiceState:
        sampled = self.tasks.sample(rng) if task is None else self.tasks[task]
        conversation = self.domain.begin(sampled)
        return ServiceState(conversation, self.domain.parts(None, conversation)[1])

    def task_info(self) -> Mapping[str, Any]:
        task = self.episode.conversation.task
        return {**describe_task(self.tasks, self.domain.content(task), task), "intent": task.goal}

    def apply(
        self, state: ServiceState, actions: Mapping[str, str]
    ) -> tuple[ServiceState, Outcome]:
        ((agent, text),) = actions.items()
        side = _SIDES[agent]
        conversation, error = conversations.apply_action(
            state.conversation, self.domain.tools[side], side, text, self.max_steps
        )
        malformed = error.startswith("malformed")
        conversation = replace(
            conversation,
            answers=conversation.answers + 1,
            malformed=conversation.malformed + malformed,
        )
        keeps_turn = conversation.steps > 0 and not conversation.over
        if not keeps_turn and USER not in self.possible_agents and not conversation.over:
            conversation = self._run_customer(conversation)
        last = not keeps_turn and agent == self.possible_agents[-1]
        if last and self.turn + 1 >= self.max_turns:
            conversation = replace(conversation, over=True)
        rewards, progress = self.domain.parts(state.progress, conversation)
        return ServiceState(conversation, progress), Outcome(
            team=rewards,
            done=conversation.over,
            errors={agent: error} if error else {},
            success=conversation.over and rewards[VERDICT] > 0,
            keeps_turn=keeps_turn,
        )

    def observation(self, state: ServiceState, agent: str) -> str:
        left = self.max_turns - self.turn
        return self.domain.prompt(_SIDES[agent], state.conversation, left, terse=self.terse)

    def board(self) -> str:
        return prompts.transcript(self.episode.conversation)

    def expert(self, agent: str) -> str:
        player = self.domain.agent if agent == AGENT else self.domain.expert_customer
        return player(self.episode.conversation)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        player = self.domain.sloppy_agent if agent == AGENT else self.domain.sloppy_customer
        return player(self.episode.conversation, rng)

    def _run_customer(self, conversation: AnyConversation) -> AnyConversation:
        """The talk after the scripted customer's turn."""
        for _ in range(self.max_steps):
            action = self.domain.expert_customer(conversation)
            conversation, _ = conversations.apply_action(
                conversation, self.domain.tools["user"], "user", action, self.max_steps
            )
            if conversation.over or not conversation.steps:
                break
        return conversation
