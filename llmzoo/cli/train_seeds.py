"""``llmzoo train --seeds``: one run for each seed, and their combined result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from llmzoo.cli.output import format_rate, print_json, print_table, redirect_stdout_to_stderr
from llmzoo.cli.run_checks import check_run
from llmzoo.distributed import ranks
from llmzoo.errors import ConfigError, require_extra
from llmzoo.fields import field_values
from llmzoo.runs.named_policies import check_model
from llmzoo.training import FitConfig

if TYPE_CHECKING:
    from llmzoo.training.loop import FitResult


def train_seeds(
    seeds: Sequence[int], given: Mapping[str, Any], out: Path, *, quiet: bool, json: bool
) -> None:
    """Train with each seed in ``out/seed_N``, and print each run and their mean.

    Runs that have ended are left as they are, and one that was interrupted is resumed. ``given``: the
    settings of all.
    """
    if ranks.launched_process_count() > 1:
        raise ConfigError("--seeds runs in one process: start a run for each --seed instead")
    configs = [FitConfig(**given, seed=seed) for seed in seeds]
    check_run(configs[0])
    check_model(configs[0].model, trust_remote_code=configs[0].trust_remote_code)

    with require_extra("llmzoo train", "train"):
        from llmzoo.report.curves import plot_run
        from llmzoo.training import fit

    results = []
    for config in configs:
        run = out / f"seed_{config.seed}"
        settings = field_values(config)
        with redirect_stdout_to_stderr():
            resume = (run / "config.json").exists()
            results.append(fit(**settings, out=run, resume=resume, quiet=quiet))
            plot_run(run)
    evaluations_by_seed = [_evaluations_by_name(result) for result in results]
    combined = {
        name: _combine_seeds([one[name] for one in evaluations_by_seed])
        for name in evaluations_by_seed[0]
    }
    if json:
        print_json({"runs": [result.to_dict() for result in results], "together": combined})
        return
    rows = [
        [f"seed {seed}", *(f"{found['success']:.1%}" for found in one.values())]
        for seed, one in zip(seeds, evaluations_by_seed, strict=True)
    ]
    mean = [format_rate(found["success"], found["success_ci95"]) for found in combined.values()]
    print_table(["success", *combined], [*rows, ["mean [95%]", *mean]])
    print(f"{out}: a run folder for each seed")


def _evaluations_by_name(result: FitResult) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for when, evaluation in (("before", result.before), ("after", result.after)):
        found[f"sampled {when}"] = evaluation
        found[f"greedy {when}"] = {"ids": evaluation["ids"], **evaluation["greedy"]}
    return found


def _combine_seeds(evaluations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean success of runs and its interval: over runs and tasks, or over runs alone where each run
    was evaluated on tasks of its own."""
    from llmzoo.evaluation.run_statistics import crossed_bootstrap_interval

    ids = evaluations[0]["ids"]
    success = [one["success"] for one in evaluations]
    if all(one["ids"] == ids for one in evaluations):
        successes = [[float(solved) for solved in one["solved"]] for one in evaluations]
        interval = crossed_bootstrap_interval(successes, ids)
    else:
        interval = crossed_bootstrap_interval([[one] for one in success])
    return {"success": fmean(success), "success_ci95": interval}
