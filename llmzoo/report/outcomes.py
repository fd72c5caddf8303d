"""Compares runs of several settings: the tables of ``llmzoo bench``, made from run folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmzoo.report import bench, bench_tests
from llmzoo.report.runs import RunData
from llmzoo.report.series import RunGroup, differing_settings, group_labels
from llmzoo.runs.run_folder import flatten

_TASK_FIELDS = ("ids", "solved", "returns")


def outcome_tables(groups: Sequence[RunGroup]) -> list[dict[str, Any]]:
    """The success table and the table of paired tests, from the runs that have ended.

    Each table is ``{"about", "head", "rows"}``. A single group has no tables. The paired tests are
    left out if files are damaged or from an earlier version.
    """
    names = _env_and_learner_names(groups)
    rows = [
        _bench_row(run, env, learner)
        for group, (env, learner) in zip(groups, names, strict=True)
        for run in group.runs
        if run.has_ended
    ]
    if len(groups) < 2 or not rows:
        return []
    head, lines = bench.table_grid(rows)
    tables = [{"about": bench.table_caption(rows), "head": head, "rows": lines}]
    try:
        about, head, lines = bench_tests.tests_grid(bench_tests.run_paired_tests(rows))
    except (LookupError, TypeError, ValueError, ArithmeticError):
        return tables
    return [*tables, *([{"about": about, "head": head, "rows": lines}] if about else [])]


def _env_and_learner_names(groups: Sequence[RunGroup]) -> list[tuple[str, str]]:
    """The environment and the learner of each group, with the settings that differ."""
    configs = [group.runs[0].config for group in groups]
    envs = []
    for config in configs:
        same_env = [c.get("env_args", {}) for c in configs if c["env"] == config["env"]]
        env_args = dict(flatten(config.get("env_args", {}), "."))
        differing_args = [
            f"{name}={env_args[name]}" for name in differing_settings(same_env) if name in env_args
        ]
        envs.append(" ".join([str(config["env"]), *differing_args]))
    learners = [
        {**{k: v for k, v in config.items() if k != "env_args"}, "env": env}
        for config, env in zip(configs, envs, strict=True)
    ]
    return [*zip(envs, group_labels(learners, [group.label for group in groups]), strict=True)]


def _bench_row(run: RunData, env: str, learner: str) -> Mapping[str, Any]:
    """A run that has ended, as a row for :mod:`llmzoo.report.bench`."""
    after: Mapping[str, Any] = run.after or {}
    before: Mapping[str, Any] = run.before or {}
    return {
        "env": env,
        "learner": learner,
        "seed": run.config.get("seed"),
        "steps": run.steps,
        "tokens": run.tokens,
        "tasks": after["tasks"],
        "split_tasks": after.get("split_tasks"),
        "before": before.get("success", float("nan")),
        "after": after["success"],
        "after_ci95": after["success_ci95"],
        "self_play": bench.is_self_play(run.config, after),
        **{name: after[name] for name in _TASK_FIELDS if name in after},
    }
