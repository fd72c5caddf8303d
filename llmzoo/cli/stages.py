"""``llmzoo train`` with several stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llmzoo.cli.arguments import run_name
from llmzoo.cli.checks import check_stages, typed_stages
from llmzoo.cli.output import EVALUATION_COLUMNS, apart, as_json, as_table, evaluation_row
from llmzoo.errors import ConfigError


def run_stages(
    stages: Sequence[Mapping[str, Any]],
    given: Mapping[str, Any],
    *,
    out: str | None,
    quiet: bool,
    json: bool,
) -> None:
    """Check all stages, run them, and print each one's result. ``given``: settings of all."""
    from llmzoo.report.curves import plot_run
    from llmzoo.training import FitConfig, fit_stages

    if "learner" in given:
        raise ConfigError("--learner has no effect with stages: each stage names its own learner")
    stages = typed_stages(stages)
    common = {name: value for name, value in given.items() if name != "env"}
    env = given.get("env", FitConfig().env)
    learners = "-".join(str(stage.get("learner")) for stage in stages)
    folder = Path(out or f"runs/{run_name(env, learners, common.get('seed', FitConfig().seed))}")
    check_stages(stages, env, common, folder)
    with apart():
        results = fit_stages(stages, env, out=folder, resume=True, quiet=quiet, **common)
        for result in results:
            plot_run(Path(result.run))
    if json:
        as_json([result.to_dict() for result in results])
        return
    rows = [evaluation_row(f"{stages[0]['learner']} on {env}, before", results[0].before)]
    for stage, result in zip(stages, results, strict=True):
        rows.append(evaluation_row(f"after {result.steps} of {stage['learner']}", result.after))
    as_table(EVALUATION_COLUMNS, rows)
    print(f"{folder}: a run folder for each stage")
