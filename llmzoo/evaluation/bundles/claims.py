"""What a bundle claims: one result for each group of evaluations that differ in the training run only.

The unit of a claim is the run. So the interval of several runs resamples runs and tasks together, and that
of a single run, which covers the choice of tasks only, says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from statistics import fmean
from typing import Any

from llmzoo.evaluation.bundles.layout import StoredEvaluation
from llmzoo.evaluation.run_statistics import crossed_bootstrap_interval

# settings of a run that differ between the runs of a claim, or have no influence on its result
_OWN_SETTINGS = ("seed", "out", "device", "engine", "engine_args", "record_every", "record_tasks")


def group_runs(evaluations: Sequence[StoredEvaluation]) -> list[list[StoredEvaluation]]:
    """The evaluations of each claim, in order: those that differ in seeds and trained weights only."""
    groups: dict[str, list[StoredEvaluation]] = {}
    for evaluation in evaluations:
        groups.setdefault(_group_key(evaluation), []).append(evaluation)
    return [*groups.values()]


def compute_claims(
    evaluations: Sequence[StoredEvaluation], price: tuple[float, float] | None
) -> list[dict[str, Any]]:
    """The claims of a bundle with these evaluations, from their results.

    ``price``: of a million tokens that endpoints read and write; None: the claims have no cost.
    """
    return [_compute_claim(runs, price) for runs in group_runs(evaluations)]


def _compute_claim(
    runs: Sequence[StoredEvaluation], price: tuple[float, float] | None
) -> dict[str, Any]:
    results = [run.result for run in runs]
    first = results[0]
    interval = first["success_ci95"]
    if len(runs) > 1:
        solved = [[float(mark) for mark in result["solved"]] for result in results]
        interval = [*crossed_bootstrap_interval(solved, first["ids"])]
    usage = [result["usage"] for result in results if result["usage"] is not None]
    tokens_used = {name: sum(used[name] for used in usage) for name in ("read", "written")}
    return {
        "name": _common_start([run.name for run in runs]),
        "evaluations": [run.name for run in runs],
        "runs": len(runs),
        "episodes": sum(len(run.rows) for run in runs),
        "success": fmean(result["success"] for result in results),
        "success_ci95": interval,
        "interval_over": "runs and tasks" if len(runs) > 1 else "tasks",
        "tokens": sum(result["tokens"] for result in results),
        "usage": tokens_used if usage else None,
        "cost": None
        if price is None
        else (price[0] * tokens_used["read"] + price[1] * tokens_used["written"]) / 1e6,
        "seconds": sum(result["seconds"] for result in results),
    }


def _common_start(names: Sequence[str]) -> str:
    """What all names begin with, up to a separator; the first name if they have nothing in common."""
    equal = takewhile(lambda characters: len({*characters}) == 1, zip(*names, strict=False))
    return "".join(characters[0] for characters in equal).rstrip("_.=,-") or names[0]


def _group_key(evaluation: StoredEvaluation) -> str:
    """What is equal in all evaluations of a claim."""
    config = {
        name: value
        for name, value in evaluation.config.items()
        if name not in ("seed", "policy", "policies", "concurrency")
    }
    policies = {
        agent: _policy_key(settings, evaluation.training)
        for agent, settings in evaluation.config["policies"].items()
    }
    training = (evaluation.training or {}).get("config", {})
    learned = {name: value for name, value in training.items() if name not in _OWN_SETTINGS}
    return json.dumps([config, policies, learned, evaluation.result["ids"]], sort_keys=True)


def _policy_key(settings: Mapping[str, Any], training: Mapping[str, Any] | None) -> dict[str, Any]:
    """A policy's settings; without its name and weights if it was trained, as every run has its own."""
    is_trained = training is not None and settings["weights"] is not None
    own = ("policy", "weights") if is_trained else ()
    return {name: value for name, value in settings.items() if name not in own}
