"""``llmzoo train``"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from llmzoo.cli.arguments import check_agent_args, make_run_name
from llmzoo.cli.options import CommandOptions, parse_options, parse_seeds
from llmzoo.cli.output import (
    EVALUATION_COLUMNS,
    evaluation_row,
    print_json,
    print_table,
    redirect_stdout_to_stderr,
)
from llmzoo.cli.resuming import code_options, load_saved_settings
from llmzoo.cli.run_checks import check_run, check_stage_types, check_stages
from llmzoo.cli.train_seeds import train_seeds
from llmzoo.distributed import ranks
from llmzoo.errors import CheckpointError, ConfigError, require_extra
from llmzoo.fields import field_names, field_values
from llmzoo.runs import run_folder
from llmzoo.runs.named_policies import check_model
from llmzoo.runs.trust import check_trusted
from llmzoo.training import FitConfig


@dataclass(frozen=True, kw_only=True)
class TrainOptions(CommandOptions):
    """Where the run is saved, and what is printed.

    Args:
        out: the run folder; runs/ENV-LEARNER-SEED by default.
        resume: a run folder to continue with its saved settings. Only these may change: --steps
            (upwards), where the run executes (--engine, --device, --parallel, --cpu_offload) and what
            is recorded (--record_every, --record_tasks). Code that the folder names is imported only
            if its option (--env module:name, --learner module:name) is given again.
        stages: consecutive runs, each starting from the model of the previous one: a list of
            mappings in a configuration file, each with a learner and its own settings. Repeat the
            command to continue after an interruption.
        seeds: train once with each of these seeds, separated by commas, in OUT/seed_0 and so on, and
            print each run and their mean. Repeat the command to continue after an interruption.
        dry_run: print the completions, tokens, memory and minutes of one iteration, and exit without
            training. Memory and minutes are estimates from a short measurement of the model.
        quiet: show no progress on standard error.
        json: print one JSON object as the last line instead of a table.
    """

    POSITIONAL = ("env",)
    EXAMPLES = (
        "llmzoo train --env sudoku_v0 --env.max_turns 1 --learner magrpo --model tiny --steps 20",
        "llmzoo train --env math_v0 --learner at_grpo --learner.group_size 8 --model Qwen/Qwen2.5-0.5B-Instruct",
        "llmzoo train --config run.yaml --seed 1 --out runs/second",
        "llmzoo train --config run.yaml --seeds 0,1,2 --out runs/three",
        "llmzoo train --resume runs/second --steps 200",
        "llmzoo train sokoban_v0 --learner magrpo --dry_run",
    )

    out: str | None = None
    resume: str | None = None
    stages: list[dict[str, Any]] | None = None
    seeds: int | str | list[int] | None = None
    dry_run: bool = False
    quiet: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> None:
    given = parse_options("train", argv, TrainOptions, FitConfig)
    options = TrainOptions(
        **{name: given.pop(name) for name in field_names(TrainOptions) & set(given)}
    )
    if "agent_args" in given:
        given["agent_args"] = check_agent_args(given["agent_args"])
    if options.dry_run:
        _dry_run(options, given)
        return
    if options.stages is None and options.seeds is None:
        _run_one(options, given)
        return
    if options.resume is not None:
        raise ConfigError(
            "--resume does not apply to stages and seeds: repeat the same command to continue them"
        )
    try:
        if options.seeds is None:
            _run_stages(options.stages or [], given, options)
        else:
            _run_seeds(parse_seeds(options.seeds), given, options)
    except KeyboardInterrupt:
        _print_continue_command(["llmzoo", "train", *argv])
        raise


def _dry_run(options: TrainOptions, given: Mapping[str, Any]) -> None:
    """Print the estimated cost of one iteration."""
    if any(option is not None for option in (options.resume, options.stages, options.seeds)):
        raise ConfigError(
            "--dry_run is for a single new run: leave out --resume, stages and --seeds"
        )
    config = FitConfig(**given)
    check_run(config)
    check_model(config.model, trust_remote_code=config.trust_remote_code)
    with require_extra("llmzoo train", "train"):
        from llmzoo.training.estimate import estimate
    with redirect_stdout_to_stderr():
        result = estimate(**field_values(config))
    if options.json:
        print_json(result.to_dict())
        return
    print(
        f"one iteration: up to {result.answers:,} completions in "
        f"{config.episodes_per_step:,} episodes ({result.answers_per_episode:,} per episode)\n"
        f"tokens: up to {result.tokens:,} sampled, after {result.tokens_read:,} prompt tokens\n"
        f"memory: about {result.memory / 1e9:.1f} GB, with {result.microbatch_tokens:,} tokens per forward "
        "and backward pass (estimate)\n"
        f"time: about {result.minutes:.1f} minutes if all completions have the maximum length: "
        f"{result.sampling_seconds:.0f} s of sampling, {result.update_seconds:.0f} s of updates "
        "(estimate)\n"
        f"whole run: {result.steps:,} iterations, about {result.steps * result.minutes / 60:.1f} "
        "hours, without evaluations and slow environments"
    )


def _run_one(options: TrainOptions, given: Mapping[str, Any]) -> None:
    """Train once, and print the evaluations before and after."""
    resume = options.resume is not None
    if options.resume is not None:
        config = FitConfig(**merge_resume_settings(options, given, get_type_hints(FitConfig)))
        out = Path(options.resume)
    else:
        config = FitConfig(**given)
        out = Path(options.out or f"runs/{make_run_name(config.env, config.learner, config.seed)}")
    if ranks.is_first_process():  # an error on this rank ends the other ranks too
        if not resume:
            run_folder.check_new_folder(out)
        check_run(config, saved=resume)
        check_model(config.model, trust_remote_code=config.trust_remote_code)
    with require_extra("llmzoo train", "train"):
        from llmzoo.report.curves import plot_run
        from llmzoo.training import fit
    with redirect_stdout_to_stderr():
        settings = field_values(config)
        try:
            result = fit(**settings, out=out, resume=resume, quiet=options.quiet)
        except KeyboardInterrupt:
            if (out / "config.json").exists():
                code = code_options(config.env, config.learner)
                _print_continue_command(["llmzoo", "train", "--resume", str(out), *code])
            raise
        if ranks.is_first_process():
            plot_run(out)
    if options.json:
        print_json(result.to_dict())
        return
    title = f"{config.learner} on {config.env}"
    rows = [
        evaluation_row(f"{title}, before", result.before),
        evaluation_row(f"{title}, after {result.steps}", result.after),
    ]
    print_table(EVALUATION_COLUMNS, rows)
    for finding in result.findings:
        print(finding)
    print(f"{out}: metrics.jsonl, played.jsonl, curve.png, checkpoints")
    print(f"to view it: llmzoo report {out}")


def _run_seeds(seeds: Sequence[int], given: Mapping[str, Any], options: TrainOptions) -> None:
    if options.stages is not None or "seed" in given:
        raise ConfigError("--seeds replaces --seed, and cannot be combined with stages")
    defaults = FitConfig()
    env, learner = (given.get(name, getattr(defaults, name)) for name in ("env", "learner"))
    out = options.out or f"runs/{make_run_name(env, learner, 'seeds')}"
    train_seeds(seeds, given, Path(out), quiet=options.quiet, json=options.json)


def _run_stages(
    stages: Sequence[Mapping[str, Any]],
    given: Mapping[str, Any],
    options: TrainOptions,
) -> None:
    """Check all stages, run them, and print their results. ``given``: the common settings."""
    from llmzoo.report.curves import plot_run
    from llmzoo.training import fit_stages

    if "learner" in given:
        raise ConfigError("--learner has no effect with stages: each stage names its own learner")
    stages = check_stage_types(stages)
    common = {name: value for name, value in given.items() if name != "env"}
    env = given.get("env", FitConfig().env)
    learners = "-".join(str(stage.get("learner")) for stage in stages)
    folder = Path(
        options.out or f"runs/{make_run_name(env, learners, common.get('seed', FitConfig().seed))}"
    )
    check_stages(stages, env, common, folder)
    with redirect_stdout_to_stderr():
        results = fit_stages(stages, env, out=folder, resume=True, quiet=options.quiet, **common)
        for result in results:
            plot_run(Path(result.run))
    if options.json:
        print_json([result.to_dict() for result in results])
        return
    rows = [evaluation_row(f"{stages[0]['learner']} on {env}, before", results[0].before)]
    for stage, result in zip(stages, results, strict=True):
        rows.append(evaluation_row(f"after {result.steps} of {stage['learner']}", result.after))
    print_table(EVALUATION_COLUMNS, rows)
    print(f"{folder}: one run folder per stage")


def _print_continue_command(command: Sequence[str]) -> None:
    if ranks.is_first_process():
        print(f"to continue: {shlex.join(command)}", file=sys.stderr)


def merge_resume_settings(
    options: TrainOptions, given: Mapping[str, Any], hints: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings saved in a run folder, updated with those given settings that may change.

    ``hints``: the types of all settings. Raises :class:`ConfigError` for a saved setting of the
    wrong type, and for a given option that contradicts a saved one.
    """
    run = Path(options.resume or "")
    if options.out is not None and Path(options.out).resolve() != run.resolve():
        raise ConfigError(f"--out {options.out} and --resume {run} are different folders")
    if not (run / "config.json").exists():
        raise CheckpointError(f"{run} contains no run to resume")
    saved = load_saved_settings(run, hints)
    saved.pop("trust_remote_code", None)  # a run folder must not grant this permission itself
    for name, value in given.items():
        if name == "steps":
            if value < saved.get("steps", 0):
                raise ConfigError(
                    f"{run} has {saved['steps']} steps, and --steps cannot be lowered"
                )
        elif name in run_folder.CHANGEABLE_ON_RESUME:
            pass
        elif not _matches_saved(
            value, saved.get(name)
        ):  # runs of earlier versions lack some settings
            raise ConfigError(
                f"{run} was started with {name}={saved.get(name)!r}; "
                f"it cannot be resumed with {value!r}"
            )
    check_trusted(run, saved, given)
    changes = {
        name: value for name, value in given.items() if name in run_folder.CHANGEABLE_ON_RESUME
    }
    if changes.get("engine", saved.get("engine")) != saved.get("engine"):
        changes.setdefault("engine_args", {})  # the saved ones belong to the other engine
    return {**saved, **changes}


def _matches_saved(value: Any, saved: Any) -> bool:
    """Whether an option matches the saved one; of a mapping, only the given entries must match."""
    value = json.loads(json.dumps(value))  # in the form in which it would be saved
    if isinstance(value, Mapping) and isinstance(saved, Mapping):
        return all(key in saved and saved[key] == item for key, item in value.items())
    return bool(value == saved)
