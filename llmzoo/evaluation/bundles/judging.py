"""Judges the stored episodes again: the completions are played from the task and the seed."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pettingzoo import AECEnv

from llmzoo import files, registry
from llmzoo.errors import ConfigError, FallbackWarning, LlmzooError
from llmzoo.evaluation.bundles.checks import Finding, differences, name_some, ok, wrong
from llmzoo.evaluation.bundles.layout import StoredEvaluation, row_key
from llmzoo.evaluation.collect import refuse_fallback, task_label
from llmzoo.evaluation.rescore import replay_completions
from llmzoo.records.episode_rows import to_episode, to_row
from llmzoo.runs.trust import check_environment

_WORKERS = 8  # programs that run at once

EnvFactory = Callable[[], AECEnv]


def env_factory(
    folder: Path,
    evaluation: StoredEvaluation,
    env: str | None,
    env_args: Mapping[str, Any] | None,
) -> EnvFactory:
    """What makes the environment of an evaluation.

    ``env`` and ``env_args``: the user's own, which name code and servers that the user trusts. Raises
    :class:`llmzoo.errors.LlmzooError` if the environment cannot be made here, or should not be.
    """
    config = evaluation.config
    if registry.is_remote(config["env"]) and env != config["env"]:
        raise ConfigError(
            f"the environment is on a server, {config['env']}: pass --env with this address to call it"
        )
    if env is not None and env != config["env"]:
        raise ConfigError(f"the bundle was played in {config['env']}, not {env}")
    check_environment(folder, config, env, env_args)
    _check_env_args(config["env_args"], env_args or {})
    make = partial(registry.make, config["env"], **{**config["env_args"], "split": config["split"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)  # the error below says the same
        try:
            refuse_fallback(make(), config["env"])
        except (ValueError, TypeError, OSError, ImportError) as error:  # arguments do not fit
            if isinstance(error, LlmzooError):
                raise
            raise ConfigError(f"{config['env']} cannot be made: {error!r:.200}") from error
    return make


def _check_env_args(stored: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise :class:`ConfigError` for other arguments than the stored ones, and for servers that are not given."""
    for name, value in given.items():
        if stored.get(name) != value:
            raise ConfigError(
                f"the bundle was played with {name}={stored.get(name)!r:.200}, not {value!r:.200}"
            )
    for name, value in stored.items():
        text = json.dumps(value)
        if name not in given and (name == "endpoint" or "://" in text):
            option = shlex.join([f"--env.{name}", text])
            raise ConfigError(
                f"the environment asks a server, {text:.200}: pass {option} to call it"
            )


def check_episodes(
    evaluation: StoredEvaluation, make: EnvFactory, on_episode: Callable[[], object]
) -> Finding:
    """The tasks, observations, rewards, infos and outcomes of all episodes are what the environment gives.

    An episode that is judged differently is judged twice, because a slow machine can stop a program.
    ``on_episode`` is called after each.
    """

    def judge(row: Mapping[str, Any]) -> str:
        if row["task"] >= len(evaluation.rows):  # a generator would draw all tasks up to it
            found = f"task {row['task']} of an evaluation with {len(evaluation.rows)} episodes"
        else:
            found = judge_row(make, row) and judge_row(make, row)
        on_episode()
        return found

    _find_last_task(evaluation, make)
    workers = _WORKERS if make().metadata.get("slow_step") else 1
    with ThreadPoolExecutor(workers) as pool:
        found = [*pool.map(judge, evaluation.rows)]
    failed = [row_key(row) for row, why in zip(evaluation.rows, found, strict=True) if why]
    if failed:
        return wrong(
            f"{len(failed)} of {len(found)} episodes are judged differently, as (task, sample): "
            f"{name_some(failed)}; the first: {next(filter(None, found))}"
        )
    return ok(f"{len(found)} episodes: tasks, observations, rewards, infos and outcomes")


def _find_last_task(evaluation: StoredEvaluation, make: EnvFactory) -> None:
    """Let a generator find the end of its split, if the evaluation was long enough to find it.

    From then on its infos have the number of tasks, as the stored ones do.
    """
    size = evaluation.rows[0]["info"].get("tasks")
    if type(size) is int and 0 <= size <= len(evaluation.rows):
        with suppress(IndexError):
            make().reset(seed=0, options={"task": size})


def judge_row(make: EnvFactory, row: Mapping[str, Any]) -> str:
    """How an episode differs from what the environment gives for its completions; "" if it does not."""
    stored = to_episode(row)
    try:
        episode, why = replay_completions(make, stored, row["task"])
    except (IndexError, ValueError) as error:  # the split has no such task
        return f"task {row['task']} cannot be played: {error!r:.120}"
    label = task_label(episode, row["task"])
    judged = json.loads(files.dump_json(to_row(episode, row_key(row), label)))
    if row["info"].get("tasks") is None and episode.info.get("source") == "generator":
        for info in (judged["info"], *(decision["info"] for decision in judged["decisions"])):
            if "tasks" in info:  # another evaluation in this process found the end of the split
                info["tasks"] = None
    found = [*differences(dict(row), judged)]
    return why or "; ".join(found[:1])
