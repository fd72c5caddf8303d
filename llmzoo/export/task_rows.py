"""The tasks of an environment as rows of a data set."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from pettingzoo import AECEnv

from llmzoo.adapters.single_agent import ControlledAgent, SingleAgentEnv
from llmzoo.errors import ConfigError, LlmzooError, NoScriptedPolicyError
from llmzoo.evaluation.collect import collect, count_tasks, refuse_fallback
from llmzoo.policies.base import Policy

SPLITS = ("train", "test")
MEASURED_TASKS = 5  # for the range of rewards
GENERATED_TASKS = 100  # rows of a split whose tasks have no end
# column -> what it is; ``observation`` is left out where tasks come from the hub
COLUMNS: Mapping[str, str] = {
    "split": "train or test; the splits share no task",
    "task": "number of the task in its split, from 0",
    "seed": "seed of the episode; it fixes all that is random, the other agents included",
    "task_id": "hash of the task's content; empty if the environment gives none",
    "agent": "the agent that reads the observation",
    "observation": "what the model reads first",
}


def read_task_rows(
    make: Callable[..., AECEnv],
    name: str,
    agents: list[str],
    policies: Mapping[str, Policy],
    tasks: int | None,
) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """The rows of each split, and where the tasks come from (``source`` in the infos).

    ``agents``: those that the model plays; ``policies`` play the others. ``tasks``: rows of a split; None
    is all tasks, or ``GENERATED_TASKS`` of a generator. Raises :class:`ConfigError` if the
    environment raises, and if the agent has no turn in an episode.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    source = "unknown"
    for split in SPLITS:
        env = make(split=split)
        refuse_fallback(env, name)
        try:
            rows[split] = [
                {"split": split, **_row(env, task, agents, policies)}
                for task in range(_count(env, name, tasks))
            ]
            source = str(next(iter(env.infos.values())).get("source", source))
        except LlmzooError:
            raise
        except Exception as error:
            raise _environment_error(name, split, error) from error
        finally:
            env.close()
    if source == "hub":  # the texts belong to the authors of the set
        rows = {
            split: [{k: v for k, v in row.items() if k != "observation"} for row in split_rows]
            for split, split_rows in rows.items()
        }
    return rows, source


def measure_return_range(
    make: Callable[..., AECEnv], name: str, agent: str, policies: Mapping[str, Policy]
) -> tuple[int, int] | None:
    """Whole numbers around the returns of ``agent`` if it is silent and if it is the expert.

    Both play the first ``MEASURED_TASKS`` training tasks. None if the environment has no expert, or if the
    two earn the same. Raises :class:`ConfigError` if the environment raises.
    """
    try:
        returns = [
            episode.totals[agent]
            for player in ("silent", "expert")
            for episode in collect(
                lambda: make(split="train"), {**policies, agent: player}, tasks=MEASURED_TASKS
            )
        ]
    except NoScriptedPolicyError:
        return None
    except LlmzooError:
        raise
    except Exception as error:
        raise _environment_error(name, "train", error) from error
    low, high = math.floor(min(returns)), math.ceil(max(returns))
    return (low, high) if low < high else None


def _environment_error(name: str, split: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"{name} raises in split {split!r} ({type(error).__name__}: {error}): llmzoo check says more"
    )


def _count(env: AECEnv, name: str, tasks: int | None) -> int:
    env.reset(seed=0)
    known = next(iter(env.infos.values())).get("tasks")
    if tasks is None:
        tasks = GENERATED_TASKS if known is None else known
    return count_tasks(env, name, tasks, 0, numbered=True)


def _row(
    env: AECEnv, task: int, agents: list[str], policies: Mapping[str, Policy]
) -> dict[str, Any]:
    """The row of a task. Its seed is its number, as in ``llmzoo eval --seed 0``."""
    options = {"task": task}
    if len(agents) == 1:
        player = SingleAgentEnv(ControlledAgent(env, agents[0]), policies)
        agent = agents[0]
        observation, info = player.reset(seed=task, options=options)
        if info.get("over"):
            raise ConfigError(f"task {task} ends before {agent} has a turn: choose another agent")
    else:
        env.reset(seed=task, options=options)
        agent = env.agent_selection
        observation, info = str(env.observe(agent) or ""), env.infos[agent]
    return {
        "task": task,
        "seed": task,
        "task_id": str(info.get("task_id", "")),
        "agent": agent,
        "observation": observation,
    }
