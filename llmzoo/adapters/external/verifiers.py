"""# Tasksets of verifiers

Each id ``verifiers:NAME`` is an installed package for verifiers 0.4: a module NAME (with ``_`` for ``-``) that
exports one ``vf.Taskset``, and perhaps a ``vf.Env`` whose ``run`` holds an exchange of several turns.

| | |
|---|---|
| agent | `solver_0` |
| observation, action | text |
| success | the rewards reach the sum of the weights above 0 |

**Observations.** The task's system prompt and prompt. After an answer that the package's ``run`` responds to:
the exchange so far, with the agent's own answers cut to 200 characters.

**Rewards.** Each ``@vf.reward`` of the task by its own name, weighted, paid at the end. An episode in which
one of them raises, or is not finite, pays nothing and names the error.

**Arguments.** `config` (settings of the taskset, such as `{difficulty: hard}`), `max_tasks` (the first so
many; without it all, and 1,000 of a taskset without end), `max_turns` (20 answers, after which the exchange
is ended for the package), `time_limit` (10 seconds for a run and its scores), `prompt` ("full" or "terse",
which are alike here), `split` ("train", "test", "all"), `render_mode`.

**Tasks.** Those of the taskset, split by the text of the prompts.

**Forks.** An answer plays the exchange again from its start; it raises if that shows something else.

**Refused** when they are made: packages with several agents, tool servers, a harness of their own, containers
or images, judges, and rewards that take more than the task and the trace.

The package's own code runs in this process, as that of every package. A model's text is only given to it.

The package verifiers is under the MIT licence; a taskset has its own.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import distributions
from importlib.util import find_spec
from itertools import islice
from typing import Any, Literal

from llmzoo.adapters.external import ExternalTaskInfo
from llmzoo.adapters.external.replayed import ReplayError
from llmzoo.adapters.external.verifiers_refusals import refusal_reason
from llmzoo.adapters.external.verifiers_runs import (
    TIME_LIMIT_S,
    RunTranscript,
    TranscriptLine,
    message_text,
    run_with_replies,
)
from llmzoo.envs import tasks as splits
from llmzoo.envs.base import MAX_OBSERVATION_CHARS, Outcome, TextEnv, find_length_errors
from llmzoo.envs.text import replace_surrogates, truncate
from llmzoo.errors import ConfigError, UnknownNameError

PACKAGE = "verifiers"
EXTRA = "verifiers"

_MAX_SHOWN = 200  # characters of an earlier answer
_AGENT = "solver_0"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_SEEDS = 2**31
_MAX_UNBOUNDED_TASKS = 1_000  # tasks of a taskset without end
_INSTALL_HINT = "prime env install OWNER/NAME, or pip install its package, adds one"
# verifiers' own, which wrap other collections
_REFUSED_TASKSETS = {
    "harbor": "its tasks run in containers",
    "nemo_gym": "its tasks run behind servers of their own",
    "openenv": "its tasks run behind servers of their own",
    "textarena": "it downloads word lists (nltk.download); use textarena:NAME",
}


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A task: the text by which it is split, and verifiers' own task."""

    text: str
    task: Any

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.text == other.text


@dataclass(frozen=True, slots=True)
class Exchange:
    """The state of an episode: its task and seed, the answers, and what the last run showed."""

    row: Row
    seed: int
    answers: tuple[str, ...]
    shown: RunTranscript


class Task(TextEnv[Exchange]):
    """The tasks of an installed taskset."""

    def __init__(
        self,
        name: str,
        *,
        config: Mapping[str, Any] | None = None,
        max_tasks: int | None = None,
        max_turns: int = 20,
        time_limit: float = TIME_LIMIT_S,
        prompt: Literal["full", "terse"] = "full",
        split: str = "train",
        render_mode: str | None = None,
    ):
        if max_turns < 1 or time_limit <= 0 or (max_tasks is not None and max_tasks < 1):
            raise ConfigError(
                f"max_turns and max_tasks are at least 1 and time_limit above 0, got "
                f"max_turns={max_turns}, max_tasks={max_tasks}, time_limit={time_limit}"
            )
        super().__init__([_AGENT], max_turns=max_turns, render_mode=render_mode)
        self.metadata = {
            **self.metadata,
            "name": f"verifiers:{name}",
            "team_components": [],
            "team_and_local": False,
            "delayed_reward_agents": [],
        }
        self.time_limit = time_limit
        settings = json.dumps(dict(config or {}), sort_keys=True)
        self.vf_env, rows = _load_taskset(name, settings, max_tasks)
        self.tasks = splits.TaskList(
            rows,
            lambda row: row.text,
            split=split,
            source=f"verifiers:{name}",
            names=[row.task.data.id or row.task.data.name or "" for row in rows],
        )

    def reset_task(self, rng: random.Random, task: int | str | None) -> Exchange:
        row = self.tasks.sample(rng) if task is None else self.tasks[task]
        seed = rng.randrange(_SEEDS)
        shown = self._run(row, seed, ())
        if shown.parts is not None:
            why = shown.detail or shown.error or "it ends before it asks"
            raise ConfigError(f"{self.metadata['name']} begins no exchange: {why}")
        return Exchange(row, seed, (), shown)

    def task_info(self) -> Mapping[str, Any]:
        row = self.episode.row
        return {**splits.describe_task(self.tasks, row.text, row), "source": "verifiers"}

    def observation(self, state: Exchange, agent: str) -> str:
        return "\n\n".join(map(_format_line, state.shown.lines)).strip()[-MAX_OBSERVATION_CHARS:]

    def apply(self, state: Exchange, actions: Mapping[str, str]) -> tuple[Exchange, Outcome]:
        ((agent, text),) = actions.items()
        errors = find_length_errors(actions)
        answers = (*state.answers, "" if errors else replace_surrogates(text))
        shown = self._run(state.row, state.seed, answers)
        before = (*state.shown.lines, TranscriptLine("you", answers[-1]))
        if not shown.late and shown.lines[: len(before)] != before:
            raise ReplayError(
                f"{self.metadata['name']} showed something else when the same answers were played again: "
                f"{shown.detail or 'its run depends on more than the task, the answers and the seed'}"
            )
        state = replace(state, answers=answers, shown=shown)
        if shown.error:
            errors = {agent: f"malformed: {shown.error}"}
        if shown.parts is None:
            return state, Outcome(errors=errors)
        return state, Outcome(
            local={agent: shown.parts}, done=True, errors=errors, success=shown.success
        )

    def _run(self, row: Row, seed: int, answers: tuple[str, ...]) -> RunTranscript:
        return run_with_replies(
            self.vf_env, row.task, answers, seed, self.max_turns, self.time_limit
        )


def _format_line(line: TranscriptLine) -> str:
    if line.role == "you":
        return f"You: {truncate(line.text, _MAX_SHOWN)}"
    return f"Assistant: {line.text}" if line.role == "assistant" else line.text


def tasks() -> Mapping[str, ExternalTaskInfo]:
    """The tasksets of installed packages that depend on verifiers, and verifiers' own, which are refused."""
    found = dict.fromkeys(_REFUSED_TASKSETS)
    for package in distributions():
        name = package.metadata["Name"] or ""
        needs = [re.match(r"[\w.-]+", need) for need in package.requires or ()]
        theirs = any(need and need[0].lower() == PACKAGE for need in needs)
        if theirs and find_spec(_module(name)) is not None:
            found[name] = None
    return {name: _task_info(name) for name in sorted(found)}


def look_up(name: str) -> ExternalTaskInfo:
    if _module(name) not in _REFUSED_TASKSETS:
        _check_importable(name)
    return _task_info(name)


def _task_info(name: str) -> ExternalTaskInfo:
    return ExternalTaskInfo(
        (_AGENT,), f"{name}: a taskset for one agent", _REFUSED_TASKSETS.get(_module(name), "")
    )


def _module(name: str) -> str:
    return name.replace("-", "_").lower()


def _check_importable(name: str) -> None:
    """Raises :class:`UnknownNameError` or :class:`ConfigError` if there is no taskset of this name."""
    if _NAME.fullmatch(name) is None or find_spec(_module(name)) is None:
        raise UnknownNameError(f"taskset of verifiers ({_INSTALL_HINT})", name, tasks())
    try:
        module = import_module(_module(name))
        import_module("verifiers.v1.utils.loaders").taskset_class(name)
    except ImportError as error:  # of something that the package needs
        raise ConfigError(f"verifiers:{name} cannot be imported: {error}") from error
    except (AttributeError, TypeError, ValueError) as error:
        old = "its load_environment is of verifiers below 0.4, which is not played; "
        why = old if "load_environment" in vars(module) else ""
        raise ConfigError(f"verifiers:{name} exports no taskset: {why}{error}") from error


@lru_cache(maxsize=32)
def _load_taskset(name: str, settings: str, max_tasks: int | None) -> tuple[Any, tuple[Row, ...]]:
    """The environment of a package, and its tasks. Environments with the same arguments share them."""
    module = _module(name)
    loaders = import_module("verifiers.v1.utils.loaders")
    try:
        config = loaders.resolve_env_config({"taskset": {**json.loads(settings), "id": module}})
        env = loaders.load_environment(config)
    except (TypeError, ValueError) as error:  # pydantic's too
        raise ConfigError(f"verifiers:{name} with config={settings}: {error}") from error
    without_end = max_tasks is None and not env.taskset.bounded
    first = list(islice(env.taskset, _MAX_UNBOUNDED_TASKS if without_end else max_tasks))
    if not first:
        raise ConfigError(f"verifiers:{name} with config={settings} has no tasks")
    reason = refusal_reason(env, first[0])
    if reason:
        raise ConfigError(f"verifiers:{name} is refused: {reason}")
    try:
        return env, tuple(Row(_task_text(task), task) for task in first)
    except ValueError as error:
        raise ConfigError(f"verifiers:{name} is refused: {error}") from error


def _task_text(task: Any) -> str:
    """The texts that a task shows. A task without a prompt has all its data instead."""
    data = task.data
    if data.prompt is None:
        return json.dumps(data.model_dump(mode="json", exclude={"idx"}), sort_keys=True)
    if isinstance(data.prompt, str):
        return str(data.prompt)
    return "\n\n".join(message_text(message) for message in data.prompt)
