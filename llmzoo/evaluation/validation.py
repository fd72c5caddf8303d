"""Checks a set of tasks for faults before training.

Faults are unreadable records, reference solutions that are scored as wrong, wrong answers that are scored as
right, duplicate tasks, and tasks of the test split that also occur in the training split.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.envs.base import TextEnv
from llmzoo.errors import ConfigError
from llmzoo.policies import ScriptedPolicy
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.scripted import expert
from llmzoo.records import Episode
from llmzoo.rollout.episodes import play_episodes

MAX_GENERATED_TASKS = 200  # tasks that are checked if their number is unlimited
_BATCH_SIZE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault. ``kind`` is one of :data:`KINDS`, ``where`` is the record or task that has it."""

    kind: str
    where: str
    what: str


KINDS = {
    "bad record": "it cannot be read and is not played",
    "reference fails": "the known solution is scored as wrong",
    "no reference": "no solution is known, so neither expert nor noisy expert can play it",
    "wrong answer passes": "a wrong answer is scored as right",
    "duplicate": "another task has the same content",
    "leak": "a task of the test split is nearly identical to one of the training split",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """``tasks``: the number of tasks checked, of ``split_tasks`` (None if unlimited)."""

    env: str
    source: str
    tasks: int
    split_tasks: int | None
    left_out: int
    faults: tuple[Fault, ...]


def validate(
    env: str,
    *,
    env_args: Mapping[str, Any] | None = None,
    tasks: int | None = None,
    on_episode_end: Callable[[Episode], object] | None = None,
) -> Validation:
    """Play the tasks of all splits with the reference solutions and with wrong answers.

    ``tasks``: how many, by default all of a set and 200 of a generator. Raises :class:`ConfigError`
    for a source that cannot be opened and for an environment without scripted players.
    """
    arguments = {**(env_args or {}), "split": "all"}
    if "on_bad_record" in (registry.argument_types(registry.spec(env)) or {}):
        arguments["on_bad_record"] = "skip"
    make = partial(registry.make, env, **arguments)
    first = make()
    game = first.unwrapped
    if not isinstance(game, TextEnv):
        raise ConfigError(f"{env} has no tasks with reference solutions: validate needs a TextEnv")
    first.reset(seed=0)
    info = first.infos[first.agents[0]]
    count = info.get("tasks")
    task_count = min(
        n for n in (tasks, count, None if count else MAX_GENERATED_TASKS) if n is not None
    )
    source = getattr(game, "tasks", None)
    bad = [
        Fault(kind="bad record", where=w, what=x)
        for w, x in _parse_bad_records(getattr(source, "bad", ()))
    ]
    references = _play_tasks(make, task_count, expert().answer, on_episode_end)
    faults = [
        *bad,
        *_check_references(references),
        *_check_wrong_answers(make, references, on_episode_end),
        *_find_duplicates(references),
        *_find_leaks(make, references, count),
    ]
    return Validation(
        env=env,
        source=str(info.get("source")),
        tasks=task_count,
        split_tasks=count,
        left_out=info.get("left_out", 0),
        faults=tuple(faults),
    )


def _parse_bad_records(messages: Sequence[str]) -> Iterator[tuple[str, str]]:
    for message in messages:
        where, _, what = message.partition(": ")
        yield where, what


def _play_tasks(
    make: Callable[[], AECEnv],
    task_count: int,
    answer: Callable[[PolicyRequest], str],
    on_episode_end: Callable[[Episode], object] | None,
) -> list[Episode]:
    """The episodes of the first ``task_count`` tasks."""
    played: list[Episode] = []
    for start in range(0, task_count, _BATCH_SIZE):
        numbers = range(start, min(task_count, start + _BATCH_SIZE))
        note = None if on_episode_end is None else (lambda _, episode: on_episode_end(episode))
        played += play_episodes(
            make, ScriptedPolicy(answer), numbers, tasks=numbers, on_episode_end=note
        )
    return played


def _task_name(episode: Episode) -> str:
    return str(episode.info.get("task_name", episode.seed))


def _check_references(references: Sequence[Episode]) -> Iterator[Fault]:
    for episode in references:
        if any(decision.completion.refused for decision in episode.decisions):
            yield Fault(kind="no reference", where=_task_name(episode), what=KINDS["no reference"])
        elif not episode.success:
            reason = "; ".join(_errors(episode)) or "it is accepted but does not solve the task"
            yield Fault(kind="reference fails", where=_task_name(episode), what=reason)


def _errors(episode: Episode) -> list[str]:
    errors = (decision.info.get("error") for decision in episode.decisions)
    return list(dict.fromkeys(str(error) for error in errors if error))


def _check_wrong_answers(
    make: Callable[[], AECEnv],
    references: Sequence[Episode],
    on_episode_end: Callable[[Episode], object] | None,
) -> Iterator[Fault]:
    """Tasks that are solved by an empty answer or by a spoiled reference.

    In a spoiled reference the functions return nothing, or, for tasks with a final answer, the numbers are
    changed.

    Tasks in which agents play against each other are not checked, because they have no wrong answers.
    """
    if any("outcomes" in episode.info for episode in references):
        return
    spoiled = {
        episode.seed: {
            d.agent: _spoil(d.completion.text, answer="answer" in episode.info)
            for d in episode.decisions
        }
        for episode in references
    }
    answers: dict[str, Callable[[PolicyRequest], str]] = {
        "nothing": lambda request: "",
        "the reference, spoiled": lambda request: spoiled[request.seed].get(request.agent, ""),
    }
    for description, answer in answers.items():
        for episode, reference in zip(
            _play_tasks(make, len(references), answer, on_episode_end), references, strict=True
        ):
            texts = {d.completion.text for d in reference.decisions}
            same = texts.issuperset(d.completion.text for d in episode.decisions)
            if episode.success and not same:
                yield Fault(kind="wrong answer passes", where=_task_name(episode), what=description)


def _spoil(text: str, *, answer: bool) -> str:
    """A program with functions that return nothing; an answer with other numbers; any other text
    unchanged."""
    if re.search(r"^\s*return\b", text, re.MULTILINE):
        return re.sub(r"^(\s*)return\b.*$", r"\1return None", text, flags=re.MULTILINE)
    return re.sub(r"\d+", lambda number: str(int(number[0]) + 1), text) if answer else text


def _find_duplicates(references: Sequence[Episode]) -> Iterator[Fault]:
    first: dict[Any, str] = {}
    for episode in references:
        id = episode.info.get("task_id")
        if id is not None and id in first and first[id] != _task_name(episode):
            yield Fault(
                kind="duplicate", where=_task_name(episode), what=f"the same as {first[id]}"
            )
        first.setdefault(id, _task_name(episode))


def _find_leaks(
    make: Callable[..., AECEnv], references: Sequence[Episode], count: int | None
) -> Iterator[Fault]:
    """Tasks of the test split whose prompt equals that of a training task, ignoring case and punctuation."""
    if (
        count is None
    ):  # generators separate the splits by task content, and the test kit checks that
        return
    names = {_task_name(episode): _normalized_prompt(episode) for episode in references}
    tests = _task_names(make, "test")
    trained = {names[name]: name for name in names if name not in tests}
    for name in names:
        if name in tests and names[name] in trained:
            yield Fault(kind="leak", where=name, what=f"nearly identical to {trained[names[name]]}")


def _normalized_prompt(episode: Episode) -> str:
    prompts = chain(*(d.observation for d in episode.decisions[:1]))
    return re.sub(r"[\W_]+", " ", "".join(prompts)).casefold()


def _task_names(make: Callable[..., AECEnv], split: str) -> set[str]:
    try:
        game = make(split=split).unwrapped
    except ConfigError:  # a small set may have no task in a split
        return set()
    return set(game.tasks.names)
