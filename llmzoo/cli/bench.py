"""``llmzoo bench``"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from llmzoo import files
from llmzoo.cli.arguments import make_run_name
from llmzoo.cli.options import CommandOptions, parse_names, parse_options, parse_seeds
from llmzoo.cli.output import print_json, redirect_stdout_to_stderr
from llmzoo.cli.run_checks import check_run
from llmzoo.distributed import ranks
from llmzoo.errors import ConfigError, DivergedError, PromptsTooLongError, require_extra
from llmzoo.evaluation.bundles.write import write_bundle
from llmzoo.evaluation.collect import make_env
from llmzoo.evaluation.evaluate import evaluate
from llmzoo.fields import field_names, field_values
from llmzoo.learners import LEARNERS
from llmzoo.policies.settings import LoadSettings
from llmzoo.runs import run_folder
from llmzoo.runs.named_policies import check_model, load_policy_for_agents
from llmzoo.runs.run_folder import flatten
from llmzoo.training import FitConfig


@dataclass(frozen=True, kw_only=True)
class BenchOptions(CommandOptions):
    """Train every learner on every environment with every seed, and compare.

    Each run ends after the iteration in which it has sampled --token_budget tokens, 100,000 where
    neither it nor --steps is given. Runs that have ended are not repeated, and interrupted runs
    continue, so the same command can be given again.

    Args:
        envs: ids of environments, separated by commas. In a configuration file an entry may be a
            mapping {env, env_args}.
        learners: names of learners, separated by commas; all is every learner of llmzoo. In a
            configuration file an entry may be a mapping {learner, learner_args}.
        seeds: integers, separated by commas.
        out: folder for results.json, table.md, tests.json (paired tests), heatmap.png, a picture of
            success by tokens for each environment, the runs, and bundle: the evaluations after training,
            which llmzoo eval verify checks.
        json: print the rows of results.json instead of the table.
    """

    EXAMPLES = (
        "llmzoo bench --envs sudoku_v0,plan_path_v0 --learners magrpo,ippo --seeds 0,1,2 --token_budget 100000",
    )

    envs: str | list[str | dict[str, Any]] = "sudoku_v0,sokoban_v0,plan_path_v0"
    learners: str | list[str | dict[str, Any]] = "all"
    seeds: int | str | list[int] = "0,1,2"
    out: str = "runs/bench"
    json: bool = False


VARIED_SETTINGS = {"env", "learner", "seed"}
DEFAULT_TOKEN_BUDGET = 100_000  # sampled tokens of a run where neither a budget nor steps are given
MAX_STEPS = 10_000  # at most, where only a budget ends a run


@dataclass(frozen=True, kw_only=True)
class BenchEntry:
    """An environment or a learner of a bench. ``label``: its name in tables and folders."""

    name: str
    args: Mapping[str, Any]
    label: str


def run(argv: Sequence[str]) -> None:
    if ranks.launched_process_count() > 1:
        raise ConfigError("bench runs in one process: start several with different --seeds instead")
    given = parse_options("bench", argv, BenchOptions, FitConfig, without=VARIED_SETTINGS)
    options = BenchOptions(
        **{name: given.pop(name) for name in field_names(BenchOptions) & set(given)}
    )
    if "steps" not in given:
        given = {"token_budget": DEFAULT_TOKEN_BUDGET, **given, "steps": MAX_STEPS}
    learners = [*LEARNERS] if options.learners == "all" else options.learners
    common = {name: given.pop(name, {}) for name in ("env_args", "learner_args")}
    runs = [
        (
            env,
            learner,
            FitConfig(
                **given,
                env=env.name,
                env_args={**common["env_args"], **env.args},
                learner=learner.name,
                learner_args={**common["learner_args"], **learner.args},
                seed=seed,
            ),
        )
        for env in _parse_entries(options.envs, "env")
        for learner in _parse_entries(learners, "learner")
        for seed in parse_seeds(options.seeds)
    ]
    for *_, config in runs:
        check_run(config)
    first = runs[0][-1]
    check_model(first.model, trust_remote_code=first.trust_remote_code)
    with require_extra("llmzoo bench", "train"):
        from llmzoo.report.bench import below_budget_notes, markdown_table, save_heatmap
        from llmzoo.report.bench_tests import markdown_section, run_paired_tests
        from llmzoo.report.token_curves import save_curves
    out = Path(options.out)
    (out / "runs").mkdir(parents=True, exist_ok=True)
    rows, folders = [], []
    for number, (env, learner, config) in enumerate(runs, start=1):
        name = make_run_name(env.label, learner.label, config.seed)
        folders.append(out / "runs" / name)
        print(f"run {number} of {len(runs)}: {name}", file=sys.stderr)
        try:
            with redirect_stdout_to_stderr():
                row = _train_row(config, folders[-1])
        except KeyboardInterrupt:
            print(f"to continue: {shlex.join(['llmzoo', 'bench', *argv])}", file=sys.stderr)
            raise
        rows.append({**row, "env": env.label, "learner": learner.label})
        for note in below_budget_notes(rows[-1:]):
            print(f"note: {note}", file=sys.stderr)
        files.write(out / "results.json", json.dumps(rows, indent=2) + "\n")
    pairs = run_paired_tests(rows)
    text = markdown_table(rows, shlex.join(["llmzoo", "bench", *argv])) + markdown_section(pairs)
    files.write(out / "table.md", text)
    pairs_by_env = {env: list(map(asdict, found)) for env, found in pairs.items()}
    files.write(out / "tests.json", json.dumps(pairs_by_env, indent=2) + "\n")
    save_heatmap(rows, out / "heatmap.png")
    save_curves(folders, out)
    with redirect_stdout_to_stderr():
        _write_bundle(out, folders, shlex.join(["llmzoo", "bench", *argv]))
    if options.json:
        print_json(rows)
    else:
        print(text, end="")


def _parse_entries(given: str | Sequence[str | Mapping[str, Any]], kind: str) -> list[BenchEntry]:
    """The environments or learners of a bench: names, or mappings with ``kind`` and ``kind_args``.

    Raises :class:`ConfigError` for another mapping, and for an entry that is given twice.
    """
    entries: list[BenchEntry] = []
    for one in parse_names(given) if isinstance(given, str) else given:
        values: Mapping[str, Any] = one if isinstance(one, Mapping) else {kind: one}
        args = values.get(f"{kind}_args", {})
        if (
            kind not in values
            or {*values} - {kind, f"{kind}_args"}
            or not isinstance(args, Mapping)
        ):
            raise ConfigError(
                f"an entry of --{kind}s is a name or {{{kind}: NAME, {kind}_args: {{...}}}}, got {one!r}"
            )
        arg_texts = [f"{name}={value}" for name, value in flatten(args, ".")]
        label = " ".join([str(values[kind]), *arg_texts])
        if any(label == entry.label for entry in entries):
            raise ConfigError(f"--{kind}s has {label} twice")
        entries.append(BenchEntry(name=str(values[kind]), args=args, label=label))
    return entries


def _train_row(config: Any, run: Path) -> dict[str, Any]:
    """Train, or read the result that an earlier call of the same bench left."""
    from llmzoo.report.bench import is_self_play
    from llmzoo.training import fit

    row = {"seed": config.seed, "token_budget": config.token_budget}
    try:
        if not _is_finished(config, run):
            settings = field_values(config)
            fit(**settings, out=run, resume=(run / "config.json").exists())
    except (DivergedError, PromptsTooLongError) as error:
        return {**row, "steps": config.steps, "error": str(error)}
    before, after = (run_folder.read_evaluation(run, name) for name in ("before", "after"))
    train_rows = run_folder.read_metrics(run, "train")
    return {
        **row,
        "steps": max(
            (p["step"] for p in train_rows), default=0
        ),  # fewer than were asked for where a token budget ended it
        "tokens": sum(p["tokens"] for p in train_rows),
        "tasks": after["tasks"],
        "split_tasks": after.get("split_tasks"),
        "before": before["success"],
        "before_ci95": before["success_ci95"],
        "after": after["success"],
        "after_ci95": after["success_ci95"],
        "self_play": is_self_play(asdict(config), after),
        "solved": after["solved"],
        "ids": after["ids"],
        "returns": after["returns"],
        "gain": after["success"] - before["success"],
        "return_before": before["mean_return"],
        "return_after": after["mean_return"],
        # of rollouts and updates, without evaluations
        "seconds": round(sum(p["rollout_seconds"] + p["update_seconds"] for p in train_rows), 2),
    }


def _write_bundle(out: Path, runs: Sequence[Path], title: str) -> None:
    """Play the evaluation after each run again, with its episodes saved, and put them into a bundle.

    It gives the numbers that the run has. Diverged runs have no evaluation.
    """
    evaluations = {}
    for run in runs:
        ended = run / "after.json"
        if not ended.exists():
            continue
        saved = evaluations[run.name] = out / "evaluations" / run.name
        result = saved / "result.json"
        # a run that was continued has a later end, and other weights
        if not result.exists() or result.stat().st_mtime_ns < ended.stat().st_mtime_ns:
            files.remove(saved)
            _evaluate_run(run, saved)
    files.remove(out / "bundle")
    if evaluations:
        write_bundle(out / "bundle", evaluations, title=title)


def _evaluate_run(run: Path, out: Path) -> None:
    """The evaluation after a run, with its episodes."""
    config = run_folder.require_config(run)
    env_args = config["env_args"]
    agents = make_env(config["env"], {**env_args, "split": config["eval_split"]}).possible_agents
    evaluate(
        config["env"],
        load_policy_for_agents(
            str(run), agents, LoadSettings(device=config.get("device")), seed=config["seed"]
        ),
        tasks=config["eval_tasks"],
        split=config["eval_split"],
        seed=config["seed"],
        env_args=env_args,
        out=out,
    )


def _is_finished(config: Any, run: Path) -> bool:
    """Whether a run with these settings has ended."""
    if not (run / "after.json").exists():
        return False
    wanted = run_folder.as_json(asdict(config))
    saved = run_folder.without_self_play_defaults(run_folder.require_config(run), wanted)
    other = run_folder.changed_settings(saved, wanted, without=run_folder.CHANGEABLE_ON_RESUME)
    if other or saved["steps"] > wanted["steps"]:
        differ = ", ".join(other or ["steps"])
        raise ConfigError(f"{run} belongs to a bench with another {differ}: choose another --out")
    return bool(saved["steps"] == wanted["steps"])
