"""Re-scores the saved actions of an evaluation with the current rewards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.errors import ConfigError
from llmzoo.policies import ScriptedPolicy
from llmzoo.policies.base import PolicyRequest
from llmzoo.records.episode_rows import read_rows, to_episode
from llmzoo.rollout.episodes import play_episodes
from llmzoo.runs import run_folder
from llmzoo.runs.trust import check_environment

_WORKERS = 8  # programs that run at once
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class RescoredEpisode:
    """A re-scored episode. ``why``: how it differs from the episode as played; "" if it does not.

    ``returns`` and ``success`` are given ``before``, as played, and ``after``, as re-scored.
    """

    task: int
    sample: int
    id: str
    success_before: bool
    success_after: bool
    returns_before: Mapping[str, float]
    returns_after: Mapping[str, float]
    why: str = ""

    @property
    def has_changed(self) -> bool:
        """Whether success or the return of an agent has changed."""
        before, after = self.returns_before, self.returns_after
        return (
            self.success_before != self.success_after
            or before.keys() != after.keys()
            or any(abs(before[agent] - after[agent]) > _ROUNDING for agent in before)
        )


def rescore(
    folder: str | Path, *, env: str | None = None, env_args: Mapping[str, Any] | None = None
) -> Iterator[RescoredEpisode]:
    """Re-score every episode in the folder of an evaluation, in order.

    Each episode is restarted, and its actions are played as they were saved, even if the prompts
    have changed. ``env`` and ``env_args``: the same as in the folder; needed only if they are code,
    to confirm that you trust it. Raises :class:`ConfigError` if the folder holds no evaluation of
    an environment with an id, if its tasks have changed, or if it names code, keys or servers that
    you do not name.
    """
    folder = Path(folder)
    config = run_folder.read_config(folder)
    if config is None or not {"env", "env_args", "split"} <= config.keys():
        raise ConfigError(f"{folder} contains no evaluation: llmzoo eval --out FOLDER writes one")
    check_environment(folder, config, env, env_args)
    played = {**config["env_args"], "env": config["env"]}
    for name, value in {**(env_args or {}), **({} if env is None else {"env": env})}.items():
        if value != played.get(name):
            raise ConfigError(
                f"{folder} was played with {name}={played.get(name)!r}, not {value!r}"
            )
    arguments = {**config["env_args"], "split": config["split"]}
    make = partial(registry.make, config["env"], **arguments)
    rows = sorted(read_rows(folder), key=lambda row: (row["task"], row["sample"]))
    workers = _WORKERS if make().metadata.get("slow_step") else 1
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(partial(_rescore_row, make), rows)


def _rescore_row(make: Callable[[], AECEnv], row: Mapping[str, Any]) -> RescoredEpisode:
    before = to_episode(row)
    remaining = {
        agent: [d.completion.text for d in before.decisions_of(agent)] for agent in before.agents
    }
    out_of_answers: list[str] = []

    def answer(request: PolicyRequest) -> str:
        if remaining.get(request.agent):
            return remaining[request.agent].pop(0)
        out_of_answers.append(request.agent)
        return ""

    (after,) = play_episodes(make, ScriptedPolicy(answer), [before.seed], tasks=[row["task"]])
    ids = [episode.info.get("task_id") for episode in (before, after)]
    if ids[0] != ids[1]:
        raise ConfigError(
            f"task {row['task']} was {ids[0]} and is {ids[1]} now: the set has changed, so its "
            "episodes cannot be re-scored"
        )
    why = "it ends earlier now" if any(remaining.values()) else ""
    return RescoredEpisode(
        task=row["task"],
        sample=row["sample"],
        id=row["id"],
        success_before=before.success,
        success_after=after.success,
        returns_before=dict(before.totals),
        returns_after=dict(after.totals),
        why=f"the episode now continues where {out_of_answers[0]} has no recorded answer"
        if out_of_answers
        else why,
    )
