"""Several runs in sequence, each from the weights of the previous one: SFT, then any learner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pettingzoo import AECEnv

from llmzoo.errors import ConfigError
from llmzoo.runs import run_folder
from llmzoo.training.loop import FitResult, fit


def fit_stages(
    stages: Sequence[Mapping[str, Any]],
    env: str | Callable[[], AECEnv] = "sudoku_v0",
    *,
    out: str | Path,
    resume: bool = False,
    quiet: bool = False,
    **common: Any,
) -> list[FitResult]:
    """Run each stage with :func:`llmzoo.fit`, each starting from the model of the previous stage.

    A stage is a mapping of settings of ``fit`` (``learner``, ``steps``, ``learner_args``, ...) that
    override the ``common`` ones. Its run folder is ``out/1-sft``, ``out/2-magrpo`` and so on.
    With ``resume`` completed stages are not run again, and their results hold no policies.

    Raises :class:`ConfigError` for a stage without a learner, and for a model in any stage but the first.
    """
    if not stages:
        raise ConfigError("stages must have at least one mapping of settings, got an empty list")
    merged = [merge_stage(number, stage, common) for number, stage in enumerate(stages, start=1)]
    results: list[FitResult] = []
    for number, settings in enumerate(merged, start=1):
        run = stage_folder(out, number, settings["learner"])
        if number > 1:
            settings["model"] = str(stage_folder(out, number - 1, merged[number - 2]["learner"]))
        if resume and (run / "after.json").exists():
            results.append(_load_result(run))
            continue
        resume_stage = resume and (run / "config.json").exists()
        results.append(fit(env=env, out=run, resume=resume_stage, quiet=quiet, **settings))
    return results


def merge_stage(number: int, stage: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of stage ``number``, counted from 1."""
    if "learner" not in stage:
        raise ConfigError(f"stage {number} has no learner: set learner")
    if not isinstance(stage["learner"], str):
        raise ConfigError(
            f"stage {number}: learner must be a name, with its options in learner_args"
        )
    if number > 1 and "model" in stage:
        raise ConfigError(
            f"stage {number} starts from the model of stage {number - 1}: leave out model"
        )
    for name in ("env", "out", "resume"):
        if name in stage:
            raise ConfigError(
                f"stage {number} sets {name}, which all stages share: set it for all of them"
            )
    return {**common, **stage}


def stage_folder(out: str | Path, number: int, learner: str) -> Path:
    """The run folder of a stage, counted from 1."""
    return Path(out) / f"{number}-{learner.replace(':', '.')}"


def _load_result(run: Path) -> FitResult:
    return FitResult(
        run=str(run),
        before=run_folder.read_evaluation(run, "before"),
        after=run_folder.read_evaluation(run, "after"),
        steps=max((row["step"] for row in run_folder.read_metrics(run, "eval")), default=0),
        seconds=0.0,
        policies={},
    )
