"""The base class of all environments here: reasoners and tools solve one problem in rounds.

In each round every reasoner writes its answer in a box, and every tool writes a program, which is
run. Agents do not see the other answers of the same round, except the aggregator, if there is one:
the agents then act in turn, and it acts last. Rewards are potential differences with gamma 1, so an
episode's return depends only on the last answers. :mod:`llmzoo.envs.math.env` states the rules.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.math import answers, players, prompts, scoring
from llmzoo.envs.math.prompts import role_of
from llmzoo.envs.math.scoring import ParsedAnswer
from llmzoo.envs.math.tasks import MathTask, canonical
from llmzoo.envs.sources import PublicSet
from llmzoo.envs.tasks import Tasks, describe_task
from llmzoo.errors import ConfigError
from llmzoo.sandbox.limits import Limits

MAX_AGENTS = 8


@dataclass(frozen=True, slots=True)
class MathState:
    """The state of an episode.

    latest_answers: each agent's latest answer.
    round_answers: the answers of the last complete round, which every agent may read.
    correct_agents: the agents with a correct answer in that round.
    local_rewards: each agent's total local reward so far, by component.
    team_reward: 1 if the team's answer is correct, else 0.
    last_texts: each agent's last answer, as written.
    """

    task: MathTask
    latest_answers: Mapping[str, ParsedAnswer] = field(default_factory=dict)
    round_answers: Mapping[str, ParsedAnswer] = field(default_factory=dict)
    correct_agents: frozenset[str] = frozenset()
    local_rewards: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    team_reward: float = 0.0
    last_texts: Mapping[str, str] = field(default_factory=dict)


class ReasoningEnv(TextEnv[MathState]):
    """Reasoners, tools and an optional aggregator solve problems with one correct answer.

    A subclass sets ``public_set`` or overrides :meth:`find_tasks`.

    Parameters
    ----------
    num_agents: 2 (``reasoner_0``, ``tool_1``; the default) or 1 (``reasoner_0``).
    reasoners, tools, aggregator: the number of each (at most one aggregator), instead of
        ``num_agents``.
    max_turns: the number of rounds; every agent acts once per round.
    feedback: "none", or "verdict": the prompt says whether the agent's last answer is correct.
    time_limit: the time limit of a program, in seconds.
    """

    metadata: dict[str, Any] = {**TextEnv.metadata, "name": "reasoning", "slow_step": True}
    public_set: ClassVar[PublicSet[MathTask]]

    def __init__(
        self,
        *,
        source: str = "auto",
        on_bad_record: Literal["error", "skip"] = "error",
        split: str = "train",
        num_agents: int | None = None,
        reasoners: int | None = None,
        tools: int | None = None,
        aggregator: bool = False,
        max_turns: int = 4,
        feedback: Literal["none", "verdict"] = "none",
        prompt: Literal["full", "terse"] = "full",
        time_limit: float = 5.0,
        team_weight: float = 1.0,
        render_mode: str | None = None,
    ):
        answers.require_mpmath(self.metadata["name"])
        super().__init__(
            _agent_names(num_agents, reasoners, tools, aggregator=aggregator),
            simultaneous=not aggregator,
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.metadata["slow_step"] = any(role_of(a) == "tool" for a in self.possible_agents)
        if aggregator:  # the others receive the team reward at its step
            self.metadata["delayed_reward_agents"] = self.possible_agents[:-1]
        self.feedback = feedback
        self.prompt_style = prompt
        self.limits = Limits(time_limit=time_limit)
        self.tasks = self.find_tasks(source, split, on_bad_record)
        self.fallback = self.tasks.fallback

    def find_tasks(self, source: str, split: str, on_bad_record: str) -> Tasks[MathTask]:
        """The tasks of a split."""
        return self.public_set.load(source, on_bad_record).task_list(canonical, split)

    # Implementation of TextEnv

    def reset_task(self, rng: random.Random, task: int | str | None) -> MathState:
        return MathState(self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        task = self.episode.task
        shared = describe_task(self.tasks, task.question, task)
        return {**shared, "family": task.family, "level": task.level, "feedback": self.feedback}

    def observation(self, state: MathState, agent: str) -> str:
        round_number = min(self.turn + 1, self.max_turns)
        # the aggregator acts last, so it also reads the answers of this round
        is_aggregator = role_of(agent) == "aggregator"
        visible_answers = state.latest_answers if is_aggregator else state.round_answers
        verdict = agent in state.correct_agents if self.feedback == "verdict" else None
        if self.prompt_style == "terse":
            heading = f"{round_number}/{self.max_turns}"
            return prompts.terse(
                state.task, agent, self.possible_agents, visible_answers, heading, verdict
            )
        heading = f"Round {round_number} of {self.max_turns}."
        return prompts.full(
            state.task, agent, self.possible_agents, visible_answers, heading, verdict
        )

    def expert(self, agent: str) -> str:
        task = self.episode.task
        return (
            players.tool_program(task)
            if role_of(agent) == "tool"
            else players.reasoner_answer(task)
        )

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        task = self.episode.task
        if role_of(agent) == "tool":
            return players.sloppy_tool_program(task, rng)
        return players.sloppy_reasoner_answer(task, rng)

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """Includes the team's answer, so that it can be compared across episodes."""
        return {**super().final_info(agent), "answer": self._final_answer(self.episode) or None}

    # Scoring

    def apply(self, state: MathState, actions: Mapping[str, str]) -> tuple[MathState, Outcome]:
        """Score the new answers. The last agent's answer completes the round."""
        new = {
            agent: self._parse(agent, text, computed=state.task.computed)
            for agent, text in actions.items()
        }
        latest = {**state.latest_answers, **new}
        new_rewards = {
            agent: scoring.reward_components(
                answer, correct=scoring.is_correct(state.task, answer.value)
            )
            for agent, answer in new.items()
        }
        rewards = {
            agent: {
                name: reward - state.local_rewards.get(agent, {}).get(name, 0.0)
                for name, reward in components.items()
            }
            for agent, components in new_rewards.items()
        }
        after = replace(
            state,
            latest_answers=latest,
            local_rewards={**state.local_rewards, **new_rewards},
            last_texts={**state.last_texts, **actions},
        )
        complete = self.possible_agents[-1] in actions
        if complete:
            correct = frozenset(
                agent
                for agent, components in after.local_rewards.items()
                if components["right"] > 0
            )
            after = replace(
                after,
                round_answers=latest,
                correct_agents=correct,
                team_reward=float(self._is_solved(after)),
            )
        return after, Outcome(
            team=after.team_reward - state.team_reward,
            local=rewards,
            done=complete and self._is_over(state, after),
            errors={agent: answer.error for agent, answer in new.items() if answer.error},
            success=after.team_reward == 1.0,
        )

    def _parse(self, agent: str, text: str, *, computed: bool) -> ParsedAnswer:
        if role_of(agent) == "tool":
            return scoring.parse_tool_answer(text, self.limits, computed=computed)
        return scoring.parse_reasoner_answer(text, computed=computed)

    def _is_solved(self, state: MathState) -> bool:
        """Whether the team's answer is correct."""
        if not any(state.local_rewards[agent]["right"] > 0 for agent in self._deciding_agents()):
            return False  # then no majority can be correct
        return scoring.is_correct(state.task, self._final_answer(state))

    def _final_answer(self, state: MathState) -> str:
        """The team's answer, or "" if there is none.

        The answer of the aggregator, otherwise the majority of the reasoners, otherwise of the
        tools.
        """
        latest = state.latest_answers
        values = [latest[agent].value for agent in self._deciding_agents() if agent in latest]
        return scoring.majority_answer(values, computed=state.task.computed)

    def _deciding_agents(self) -> list[str]:
        agents = self.possible_agents
        roles = {role_of(agent) for agent in agents}
        deciding_role = next(role for role in ("aggregator", "reasoner", "tool") if role in roles)
        return [agent for agent in agents if role_of(agent) == deciding_role]

    def _is_over(self, before: MathState, after: MathState) -> bool:
        """Whether the episode is over.

        With verdicts it ends only on success. Without, it ends when all agents agree, or when a
        single agent repeats its answer.
        """
        if self.feedback == "verdict":
            return after.team_reward == 1.0
        answers = [after.latest_answers[agent] for agent in self.possible_agents]
        if len(answers) == 1:
            answers += before.round_answers.values()
        return scoring.all_agree([answer.value for answer in answers], computed=after.task.computed)


def _agent_names(
    num_agents: int | None, reasoners: int | None, tools: int | None, *, aggregator: bool
) -> list[str]:
    """The names of the agents, in the order of their turns."""
    if num_agents is not None:
        if reasoners is not None or tools is not None or aggregator:
            raise ConfigError(
                "num_agents means one reasoner and num_agents - 1 tools; give either num_agents or "
                "reasoners, tools and aggregator"
            )
        if num_agents not in (1, 2):
            raise ConfigError(
                f"num_agents must be 1 or 2, got {num_agents}; for more agents give reasoners, "
                "tools and aggregator"
            )
        reasoners, tools = 1, num_agents - 1
    reasoners = 1 if reasoners is None else reasoners
    tools = 1 if tools is None else tools
    agents = reasoners + tools
    if min(reasoners, tools) < 0 or agents < 1 or agents + aggregator > MAX_AGENTS:
        raise ConfigError(
            f"there must be at least one reasoner or tool, and at most {MAX_AGENTS} agents in all; "
            f"got reasoners={reasoners}, tools={tools}"
        )
    roles = ["reasoner"] * reasoners + ["tool"] * tools + ["aggregator"] * aggregator
    return [f"{role}_{number}" for number, role in enumerate(roles)]
