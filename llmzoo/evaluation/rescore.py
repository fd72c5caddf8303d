"""Re-scores the saved actions of an evaluation with the current rewards."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.errors import ConfigError
from llmzoo.policies.base import OnComplete, PolicyRequest
from llmzoo.records import Completion, Episode
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
    after, why = replay_completions(make, before, row["task"])
    ids = [episode.info.get("task_id") for episode in (before, after)]
    if ids[0] != ids[1]:
        raise ConfigError(
            f"task {row['task']} was {ids[0]} and is {ids[1]} now: the set has changed, so its "
            "episodes cannot be re-scored"
        )
    return RescoredEpisode(
        task=row["task"],
        sample=row["sample"],
        id=row["id"],
        success_before=before.success,
        success_after=after.success,
        returns_before=dict(before.totals),
        returns_after=dict(after.totals),
        why=why,
    )


def replay_completions(
    make: Callable[[], AECEnv], episode: Episode, task: int
) -> tuple[Episode, str]:
    """Play task number ``task`` with the completions of ``episode``.

    Also returns how the two differ in length; "" if each agent acts as often as it did.
    """
    recorded = _RecordedPolicy(episode)
    (played,) = play_episodes(make, recorded, [episode.seed], tasks=[task], env_id=episode.env_id)
    if recorded.out_of_completions:
        agent = recorded.out_of_completions[0]
        return played, f"the episode now continues where {agent} has no recorded answer"
    return played, "it ends earlier now" if any(recorded.remaining.values()) else ""


class _RecordedPolicy:
    """Answers with the completions of an episode, and with an empty one where there are no more."""

    name = "recorded"
    prompt_style: str | None = None

    def __init__(self, episode: Episode):
        self.out_of_completions: list[str] = []  # agents that were asked once more
        self.remaining = {
            agent: deque(d.completion for d in episode.decisions_of(agent))
            for agent in episode.agents
        }

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        return [[self._next(request.agent)] for request in requests]

    def _next(self, agent: str) -> Completion:
        if self.remaining.get(agent):
            return self.remaining[agent].popleft()
        self.out_of_completions.append(agent)
        return Completion(text="")
