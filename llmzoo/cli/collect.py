"""``llmzoo collect``"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from llmzoo import files
from llmzoo.cli.arguments import PolicyOptions
from llmzoo.cli.options import parse_options
from llmzoo.cli.output import print_json, redirect_stdout_to_stderr, show_progress
from llmzoo.distributed import ranks
from llmzoo.errors import ConfigError, EndpointError
from llmzoo.evaluation.collect import collect_chunks, has_no_solution, scripted_agents, task_label
from llmzoo.policies import run_models
from llmzoo.policies.base import Policy
from llmzoo.records import Episode, trajectories
from llmzoo.terminal_text import escape_unprintable
from llmzoo.version import __version__


@dataclass(frozen=True, kw_only=True)
class CollectOptions(PolicyOptions):
    """Play tasks of a split and save the episodes as trajectories, one row per decision.

    llmzoo train --learner sft and --learner dpo learn from the file, given as --learner.source
    FILE. NAME.provenance.json beside it records where the rows come from. Ctrl-C saves what has
    been played, in parts of --concurrency episodes.

    Args:
        out: the file to write, .jsonl or .parquet. An existing file is not overwritten.
        repeats: episodes of each task.
        min_return: keep only the decisions of agents whose episode return is at least this.
        top: keep only this share of each agent's episodes, those with the highest returns; above 0
            and at most 1.
        success: keep only episodes that succeeded.
    """

    POSITIONAL = ("env",)
    EXAMPLES = (
        "llmzoo collect --env sudoku_v0 --policy expert --tasks 500 --out data/sudoku.jsonl",
        "llmzoo collect --env plan_path_v0 --policy tiny --repeats 4 --top 0.25 --out data/best.parquet",
    )

    policy: str = "expert"
    split: str = "train"
    out: str
    repeats: int = 1
    min_return: float | None = None
    top: float | None = None
    success: bool = False


def run(argv: Sequence[str]) -> int:
    options = CollectOptions(**parse_options("collect", argv, CollectOptions))
    out, provenance_path = _output_files(options)
    if options.top is not None and not 0 < options.top <= 1:
        raise ConfigError(f"--top must be above 0 and at most 1, got {options.top}")
    if ranks.launched_process_count() > 1:
        raise ConfigError("collect runs in one process, not under torchrun or accelerate launch")
    with redirect_stdout_to_stderr():
        env, agent_policies, env_args = options.load_policies(options.split)
        episodes, stopped = _play_episodes(options, env, agent_policies, env_args)
    scripted = scripted_agents(agent_policies, agent_policies)
    without_solution = [
        task_label(e, n) for n, e in enumerate(episodes) if has_no_solution(e, scripted)
    ]
    failed = sum(map(_has_failed, episodes))
    usable_episodes = [
        e for e in episodes if not has_no_solution(e, scripted) and not _has_failed(e)
    ]
    rows = trajectories.to_rows(usable_episodes, policy=options.policy)
    kept = trajectories.filter_rows(
        rows, min_return=options.min_return, top=options.top, success=options.success
    )
    if not kept:
        raise ConfigError(f"none of {len(episodes)} episodes pass the filters; nothing was written")
    out.parent.mkdir(parents=True, exist_ok=True)
    trajectories.save(out, kept)
    provenance = {
        **_provenance(options, argv, env, env_args, episodes),
        "rows_played": len(rows),
        "rows": len(kept),
        "no_solution": without_solution,
        "stopped": stopped is not None,
    }
    provenance_path.write_text(json.dumps(provenance, indent=2) + "\n")
    if options.json:
        print_json(provenance)
    else:
        print(
            f"{out}: {len(kept)} of {len(rows)} decisions, {len(episodes)} episodes; {provenance_path}"
        )
    if without_solution:
        print(
            f"note: {len(without_solution)} of {len(episodes)} episodes are left out because their tasks "
            f"have no known solution: {escape_unprintable(', '.join(without_solution))}",
            file=sys.stderr,
        )
    if failed:
        print(
            f"note: {failed} of {len(episodes)} episodes are left out because the call of an endpoint "
            "failed",
            file=sys.stderr,
        )
    if isinstance(stopped, EndpointError):
        raise stopped
    return 130 if stopped else 0


def _has_failed(episode: Episode) -> bool:
    """Whether the call of an endpoint failed in this episode."""
    return any(decision.completion.failure for decision in episode.decisions)


def _play_episodes(
    options: CollectOptions,
    env: str,
    agent_policies: Mapping[str, Policy],
    env_args: Mapping[str, Any],
) -> tuple[list[Episode], BaseException | None]:
    """The episodes, and the error that stopped play early: Ctrl-C, a dead endpoint, or None."""
    total = options.tasks * options.repeats if isinstance(options.tasks, int) else None
    episodes: list[Episode] = []
    with show_progress("episodes", total, quiet=options.quiet) as on_episode_end:
        parts = collect_chunks(
            env,
            agent_policies,
            tasks=options.tasks,
            repeats=options.repeats,
            split=options.split,
            seed=options.seed,
            greedy=options.greedy,
            env_args=env_args,
            concurrency=options.concurrency,
            on_episode_end=on_episode_end,
        )
        try:
            for part in parts:
                episodes += part
        except (KeyboardInterrupt, EndpointError) as error:
            if not any(not _has_failed(episode) for episode in episodes):
                raise
            return episodes, error
    return episodes, None


def _output_files(options: CollectOptions) -> tuple[Path, Path]:
    """The files of rows and provenance; neither may exist yet."""
    out = Path(options.out)
    if out.suffix not in (".jsonl", ".parquet"):
        raise ConfigError(f"--out must end in .jsonl or .parquet, got {options.out}")
    provenance_path = out.with_suffix(".provenance.json")
    for path in (out, provenance_path):
        if path.exists():
            raise ConfigError(f"{path} exists: choose another --out")
    why = files.unwritable_reason(out.parent)
    if why:  # before anything is played
        raise ConfigError(f"{why}: choose another --out")
    return out, provenance_path


def _provenance(
    options: CollectOptions,
    argv: Sequence[str],
    env: str,
    env_args: Mapping[str, Any],
    episodes: Sequence[Episode],
) -> dict[str, Any]:
    trained = run_models.is_run(options.policy)
    return {
        "command": shlex.join(["llmzoo", "collect", *argv]),
        "llmzoo": __version__,
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "env": env,
        "env_args": dict(env_args),
        "source": str(episodes[0].info.get("source", "environment")),
        "split": options.split,
        "policy": options.policy,
        "checkpoint": run_models.newest_checkpoint(options.policy).name if trained else None,
        "sampling": {"greedy": options.greedy, **options.sampling()},
        "chat": options.chat(),
        "seed": options.seed,
        "repeats": options.repeats,
        "filters": {
            "min_return": options.min_return,
            "top": options.top,
            "success": options.success,
        },
        "episodes": len(episodes),
        "tasks": len({task_label(episode, n) for n, episode in enumerate(episodes)}),
        "split_tasks": episodes[0].info.get("tasks"),
        "success": sum(episode.success for episode in episodes) / len(episodes),
    }
