"""# Questions of Reasoning Gym

Each id ``reasoning_gym:NAME`` is one generator of Reasoning Gym: endless questions, scored from 0 to 1 by the
generator's own rule.

| | |
|---|---|
| agents | `solver_0`; with `num_agents` of 2 to 4 also `reviewer_1` and so on, who act after it |
| observation, action | text |
| success | the answer that counts, the last agent's, scores 1 |

**Actions.** Any text. The answer stands between the last `<answer>` and `</answer>`; in a text without them it
is the whole text, without space at its ends. It has at most 5,000 characters.

**Rewards.** The team is paid the score of the last agent's answer. With several agents each other agent is paid
the score of its own answer too.

| part | paid to | worth |
|---|---|---|
| team: score | all | the generator's score of the last agent's answer, 0 to 1 |
| own | all but the last agent, if there are several | the score of the own answer |

A reviewer reads the question and the answers of the agents before it, and no score.

**Arguments.** `num_agents` (1 to 4), `config` (settings of the generator, such as `{min_terms: 2}`), `prompt`
("full" or "terse"), `team_weight`, `split` ("train", "test", "all"), `render_mode`.

**Tasks.** Drawn by the generator; the split is by the text of the question.

**The scripted expert** writes the generator's answer, where it has one.

Some generators are refused, and of some the scorer is replaced, because it would evaluate a model's text:
:mod:`llmzoo.adapters.external.reasoning_gym_scores` names them.

Source: Stojanovski et al., "Reasoning Gym: Reasoning Environments for Reinforcement Learning with Verifiable
Rewards", 2025 ([arXiv 2505.24760](https://arxiv.org/abs/2505.24760)). The package is under Apache-2.0.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal

from llmzoo.adapters.external import ExternalTaskInfo
from llmzoo.adapters.external.global_random import GlobalRandomState
from llmzoo.adapters.external.printing import silence_prints
from llmzoo.adapters.external.reasoning_gym_scores import REFUSED_GENERATORS, score_answer
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.tasks import GeneratedTasks, describe_task
from llmzoo.envs.text import truncate
from llmzoo.errors import ConfigError, NoSolutionError, UnknownNameError

PACKAGE = "reasoning_gym"
EXTRA = "reasoning_gym"

MAX_AGENTS = 4
_MAX_SHOWN = 2_000  # characters of another agent's answer
_DATASET_SIZE = 2**31  # size of a generator that makes each question on demand
# these make all their questions when they are created, so each question has a generator of size 1
_EAGER_GENERATORS = frozenset({"acre", "gsm_symbolic", "list_functions"})
_SMALL_SIZES = {"word_ladder": 20_000}  # generators that allow fewer questions
_ANSWER_FORMAT = (
    "Give your final answer between <answer> and </answer>, and nothing else between them."
)
_REVIEWER_NOTE = "The others may be wrong. Yours is the answer that counts."


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedQuestion:
    """A question. ``item`` is the generator's own record, which its scorer reads."""

    text: str
    item: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GeneratedQuestion) and self.text == other.text


@dataclass(frozen=True, slots=True)
class QuestionState:
    """The state of an episode: the answers so far, "" for one that cannot be read."""

    task: GeneratedQuestion
    answers: Mapping[str, str] = field(default_factory=dict)


class Task(TextEnv[QuestionState]):
    """A generator's questions, for a solver and any reviewers."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "reasoning_gym",
        "team_components": ["score"],
    }

    def __init__(
        self,
        name: str,
        *,
        num_agents: int = 1,
        config: Mapping[str, Any] | None = None,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        render_mode: str | None = None,
    ):
        if not 1 <= num_agents <= MAX_AGENTS:
            raise ConfigError(f"num_agents must be 1 to {MAX_AGENTS}, got {num_agents}")
        agents = ["solver_0", *(f"reviewer_{number}" for number in range(1, num_agents))]
        super().__init__(agents, team_weight=team_weight, render_mode=render_mode)
        self.metadata = {
            **self.metadata,
            "name": f"reasoning_gym:{name}",
            "team_and_local": num_agents > 1,
            "delayed_reward_agents": agents[:-1],
            "immediate_credit_agents": agents[:-1],
        }
        self.prompt_style = prompt
        self.name = name
        self.dataset = _dataset(name, json.dumps(dict(config or {}), sort_keys=True))
        self.tasks = _questions(name, json.dumps(dict(config or {}), sort_keys=True), split)

    def reset_task(self, rng: random.Random, task: int | str | None) -> QuestionState:
        return QuestionState(self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        task = self.episode.task
        return {**describe_task(self.tasks, task.text, task), "source": "reasoning_gym"}

    def observation(self, state: QuestionState, agent: str) -> str:
        before = self.possible_agents[: self.possible_agents.index(agent)]
        earlier_answers = [
            f"The answer of {other}: {truncate(state.answers[other], _MAX_SHOWN)}"
            for other in before
            if other in state.answers
        ]
        if self.prompt_style == "terse":
            return "\n".join([state.task.text, *earlier_answers])
        last = [_REVIEWER_NOTE] if earlier_answers and agent == self.possible_agents[-1] else []
        return "\n\n".join([state.task.text, *earlier_answers, *last, _ANSWER_FORMAT])

    def apply(
        self, state: QuestionState, actions: Mapping[str, str]
    ) -> tuple[QuestionState, Outcome]:
        ((agent, text),) = actions.items()
        scored = score_answer(self.name, self.dataset, state.task.item, text)
        state = replace(state, answers={**state.answers, agent: scored.answer})
        errors = {agent: scored.error} if scored.error else {}
        if agent != self.possible_agents[-1]:
            return state, Outcome(local={agent: {"own": scored.score}}, errors=errors)
        right = scored.score >= 1.0
        return state, Outcome(team={"score": scored.score}, done=True, errors=errors, success=right)

    def expert(self, agent: str) -> str:
        return f"<answer>{self._correct_answer()}</answer>"

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """The right answer, or one with a mistake in it."""
        right = self._correct_answer()
        return rng.choice([right, right, right[::-1], right[:-1], "0", "No"])

    def _correct_answer(self) -> str:
        task = self.episode.task
        answer = task.item["answer"]
        if not isinstance(answer, str):
            raise NoSolutionError(f"{self.metadata['name']} gives no answer to its questions")
        return answer


def tasks() -> Mapping[str, ExternalTaskInfo]:
    known = import_module("reasoning_gym.factory").DATASETS
    return {name: _task_info(name) for name in sorted(known)}


def look_up(name: str) -> ExternalTaskInfo:
    known = import_module("reasoning_gym.factory").DATASETS
    if name not in known:
        raise UnknownNameError("generator of reasoning_gym", name, known)
    return _task_info(name)


def _task_info(name: str) -> ExternalTaskInfo:
    return ExternalTaskInfo(
        ("solver_0",), f"{name.replace('_', ' ')}: questions", REFUSED_GENERATORS.get(name, "")
    )


@lru_cache(maxsize=128)
def _questions(name: str, config: str, split: str) -> GeneratedTasks[GeneratedQuestion]:
    """The questions of a split; environments with the same arguments share them."""

    def sample(rng: random.Random) -> GeneratedQuestion:
        seed = rng.randrange(_DATASET_SIZE)
        with GlobalRandomState(seed).swap_in():
            if name in _EAGER_GENERATORS:
                item = _create_dataset(name, config, seed, 1)[0]
            else:
                item = _dataset(name, config)[seed % _SMALL_SIZES.get(name, _DATASET_SIZE)]
        return GeneratedQuestion(str(item["question"]), item)

    return GeneratedTasks(sample, _text, split=split, name=f"reasoning_gym:{name}, {config}")


def _text(task: GeneratedQuestion) -> str:
    return task.text


@lru_cache(maxsize=32)
def _dataset(name: str, config: str) -> Any:
    """The generator, which also scores."""
    with GlobalRandomState(0).swap_in():
        return _create_dataset(
            name,
            config,
            0,
            1 if name in _EAGER_GENERATORS else _SMALL_SIZES.get(name, _DATASET_SIZE),
        )


def _create_dataset(name: str, config: str, seed: int, size: int) -> Any:
    make = import_module("reasoning_gym").create_dataset
    silence_prints("reasoning_gym")
    try:
        return make(name, seed=seed, size=size, **json.loads(config))
    except (AssertionError, TypeError, ValueError) as error:
        raise ConfigError(f"reasoning_gym:{name} with config={config}: {error}") from error
