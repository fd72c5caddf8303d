"""Runs a study: the training runs that answer one question, from a file beside this one.

    python examples/results/study.py games --jobs 2
    python examples/results/study.py games --quick --out runs/results-quick

A study file has ``seeds``; ``settings`` of ``llmzoo.fit`` for all runs; ``tasks``, each with the
settings of one environment and the models that runs on it start from (``starts``); and ``arms``,
each with the settings of what is compared. There is a run for each task, arm and seed, whose
settings are those of the study, the task and the arm, the later ones going before. A task may name its
own ``arms``: those that are run on it, each with settings that go before the arm's. An arm says from
which of the task's starts it begins (``start``), on which tasks it is run (``tasks``, all where it
says nothing) and under which other conditions it is measured as well (``also``). ``transcripts`` is
the number of test tasks whose episodes are kept, before training and after.
A study lies over the one that it names as its ``base``. With ``--quick``, ``quick`` lies over all of this.
The starts are ``tiny``, a fetched model such as
``smollm2``, or models of ``models.yaml``, which are made first: trained, each with the settings of one
``fit``; or with ``random``, ``cells`` or
``stranger``, of random weights (:mod:`words`, :mod:`cell_model`, :mod:`strangers`); or with
``taught`` (:mod:`taught_model`), ``lookups`` (:mod:`lookup_model`) or ``reader``
(:mod:`reader_model`). ``stages`` of an arm are trained one after another, as in a configuration; each begins with the
model that the last one left, and is measured when it ends (``after_stages``). With ``averages`` the
frozen copies of a run's opponents are measured together, see :func:`averages_of`, and with ``copies``
as many of them one by one, see :func:`measured_copies`.

Runs go on where they were cut off, and those that have ended are not repeated, nor those in the log
that ``--known`` names. What a run gave is kept as one line of JSON, and all lines of a study in
``NAME.jsonl.gz``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cell_model
import strangers
import words
import yaml
from logs import read_log, row_name, write_log

from llmzoo.models.model_catalog import MODEL_CATALOG

HERE = Path(__file__).resolve().parent
GIVEN = ("tiny", *MODEL_CATALOG)  # models that no run here makes
Settings = dict[str, Any]
_NEARLY_GREEDY = 0.05  # a temperature
_EXACT = ("exploitability", "legal", "draws", "losses")
_MEASURED = (
    "step",
    "split",
    "tasks",
    "success",
    "success_ci95",
    "solved",
    "mean_return",
    "return_ci95",
)
_CURVE = ("step", "success", "return", "tokens", "rollout_seconds", "update_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One training run. ``also``: other conditions in which it is measured, see :func:`measured`.
    ``transcripts``: see :func:`episodes_of`. ``stages``: what each stage sets; none: one run.
    ``averages``: see :func:`averages_of`. ``copies``: see :func:`measured_copies`."""

    task: str
    arm: str
    seed: int
    settings: Settings
    also: Mapping[str, Settings]
    transcripts: int = 0
    stages: Sequence[Settings] = ()
    averages: bool = False
    copies: int = 0

    @property
    def name(self) -> str:
        return f"{self.task}-{self.arm}-{self.seed}"


def read(name: str, *, quick: bool) -> Settings:
    """A study, or the models that studies start from, by the name of its file."""
    study = _whole(name)
    over = study.pop("quick", {})
    return merged(study, over) if quick else study


def _whole(name: str) -> Settings:
    study: Settings = yaml.safe_load((HERE / f"{name}.yaml").read_text())
    base = study.pop("base", None)
    return study if base is None else merged(_whole(base), study)


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> Settings:
    """Both mappings, ``over`` going before; mappings in them alike; null in ``over`` takes away."""
    both = {**under, **over}
    for key in under.keys() & over.keys():
        if isinstance(under[key], Mapping) and isinstance(over[key], Mapping):
            both[key] = merged(under[key], over[key])
    return {key: value for key, value in both.items() if value is not None}


def runs_of(study: Settings, models: Path) -> Iterator[Run]:
    """The runs of a study, one seed after another, so that one cut short has whole seeds."""
    for seed in study["seeds"]:
        for task, of_task in study["tasks"].items():
            starts = of_task.get("starts", {})
            own = {key: value for key, value in of_task.items() if key not in ("starts", "arms")}
            its_arms = of_task.get("arms", study["arms"])
            for arm, of_arm in study["arms"].items():
                if task not in of_arm.get("tasks", study["tasks"]) or arm not in its_arms:
                    continue
                settings = merged(merged(study["settings"], own), of_arm)
                settings = merged(settings, its_arms[arm])
                start = starts.get(settings.pop("start", None), "tiny")
                settings["model"] = start if start in GIVEN else str(models / start)
                settings["seed"] = seed
                settings.pop("tasks", None)
                also, transcripts = settings.pop("also", {}), settings.pop("transcripts", 0)
                stages, averages = settings.pop("stages", ()), settings.pop("averages", False)
                copies = settings.pop("copies", 0)
                yield Run(
                    task=task,
                    arm=arm,
                    seed=seed,
                    settings=settings,
                    also=also,
                    transcripts=transcripts,
                    stages=stages,
                    averages=averages,
                    copies=copies,
                )


def train_model(settings: Settings, out: Path) -> None:
    """Train one of the models that runs start from, where it is not there yet."""
    from llmzoo import fit
    from llmzoo.policies import load, run_models

    if (out / "config.json").exists():
        return
    if "random" in settings:
        words.build_model(out, **settings["random"])
        return
    if "cells" in settings:
        cell_model.build_model(out, **settings["cells"])
        return
    if "stranger" in settings:
        strangers.build_model(out, **settings["stranger"])
        return
    if "taught" in settings:
        from taught_model import build_model  # needs torch

        build_model(out, **settings["taught"])
        return
    if "lookups" in settings:
        import lookup_model  # needs torch

        lookup_model.build_model(out, **settings["lookups"])
        return
    if "reader" in settings:
        from reader_model import build_model  # needs torch

        build_model(out, start=Path(settings["model"]), **settings["reader"])
        return
    run = out.with_name(f"{out.name}-run")
    result = fit(
        out=run, resume=(run / "config.json").exists(), quiet=True, trackers=(), **settings
    )
    (found,) = run_models.list_policy_names(run_models.newest_checkpoint(run))
    load(str(run_models.newest_checkpoint(run) / found)).save(out)  # with its own tokenizer
    row = {"model": out.name, "settings": told(settings), **told_of([run])}
    row |= {"before": dict(result.before), "after": dict(result.after)}
    _keep(out.with_name(f"{out.name}.json"), json.dumps(row))


def train(run: Run, out: Path) -> Settings:
    """Train and measure; the run's line."""
    import torch

    from llmzoo.errors import DivergedError
    from llmzoo.policies import load

    line = out / "lines" / f"{run.name}.json"
    if line.exists():
        found: Settings = json.loads(line.read_text())
        if (found["settings"], found["also_args"]) != (told(run.settings), told(run.also)):
            raise SystemExit(f"{line} is of other settings: remove it, or choose another --out")
        return found
    folder = out / "runs" / run.name
    row: Settings = {"task": run.task, "arm": run.arm, "seed": run.seed}
    row |= {"settings": told(run.settings), "also_args": told(run.also)}
    if run.stages:
        row["stages"] = json.loads(json.dumps(run.stages))
    started = time.monotonic()
    try:
        before = out / "before" / f"{_key(run)}.json"
        if before.exists() and not folder.exists():  # of the same start, tasks and seed
            folder.mkdir(parents=True)
            (folder / "before.json").write_text(before.read_text())
        results = fitted(run, folder)
    except DivergedError as error:
        row["error"] = str(error)
    else:
        result = results[-1]
        _keep(before, json.dumps(results[0].before))
        row |= {"before": dict(results[0].before), "after": dict(result.after)}
        row |= told_of([Path(each.run) for each in results])
        if run.stages:
            row["after_stages"] = [_measurements(each.after) for each in results]
        row["also"] = {
            name: measured(run, result.policies, args) for name, args in run.also.items()
        }
        if run.averages:
            row["averages"] = averages_of(run, result)
        if run.copies:
            row["copies"] = measured_copies(run, results)
        if run.transcripts:
            untrained = load(run.settings["model"], sampling=settings_of(run).sampling())
            row["transcripts"] = {
                "before": episodes_of(run, untrained),
                "after": episodes_of(run, result.policies),
            }
    if torch.cuda.is_available():
        row["device"] = torch.cuda.get_device_name()
    row["wall_seconds"] = round(time.monotonic() - started, 1)
    _keep(line, json.dumps(row))
    return row


def fitted(run: Run, folder: Path) -> list[Any]:
    """The results of the run's stages, or of the run itself; they go on where they were cut off."""
    from llmzoo import fit
    from llmzoo.training.stages import fit_stages

    options = {"out": folder, "quiet": True, "trackers": (), **run.settings}
    if run.stages:
        return list(fit_stages(run.stages, resume=True, **options))
    return [fit(resume=(folder / "config.json").exists(), **options)]


def told_of(folders: Sequence[Path]) -> Settings:
    """What the metrics of a run's stages say: its curve, sampled tokens, and seconds without evaluations.

    ``evaluations``: those of held-out tasks during the run, if there were any. Where they measured exactly,
    ``exact`` has what they found and the tokens sampled before.
    """
    curve: list[Settings] = []
    exact: list[Settings] = []
    held_out: list[Settings] = []
    tokens, seconds = 0, 0.0
    for folder in folders:
        before = len(curve)
        for line in (folder / "metrics.jsonl").read_text().splitlines():
            found = json.loads(line)
            if found["kind"] == "train":
                point = {key: found.get(key) for key in _CURVE} | {"step": before + found["step"]}
                flat = {
                    agent: numbers["flat_groups"]
                    for agent, numbers in found.get("agents", {}).items()
                    if "flat_groups" in numbers
                }
                curve.append(point | ({"flat_groups": flat} if flat else {}))
                tokens += found["tokens"]
                seconds += found["rollout_seconds"] + found["update_seconds"]
            elif "exact" in found and (found["step"] or not exact):
                told = {key: found["exact"][key] for key in _EXACT}
                exact.append({"step": before + found["step"], "tokens": tokens, **told})
            elif found["kind"] == "eval" and "exact" not in found:
                held_out.append(
                    {**_measurements(found), "step": before + found["step"], "tokens": tokens}
                )
    row = {"curve": curve, "tokens": tokens, "seconds": round(seconds, 1)}
    row |= {"exact": exact} if exact else {}
    return row | ({"evaluations": held_out} if len(held_out) > 2 else {})


def _measurements(evaluation: Mapping[str, Any]) -> Settings:
    """The main numbers of an evaluation, and of its greedy twin."""
    greedy = evaluation["greedy"]
    found = {key: evaluation[key] for key in _MEASURED if key in evaluation}
    return found | {"greedy": {key: greedy[key] for key in _MEASURED if key in greedy}}


def averages_of(run: Run, result: Any) -> list[Settings]:
    """The frozen copies of the run's opponents, measured as one player who draws one of them for each game.

    For 20 points of the run: ``all`` copies made until then, and the ``newest`` half of them.
    """
    from llmzoo import make
    from llmzoo.evaluation.exploit import exploit_copies, load_copies

    env = make(run.settings["env"], **env_args_of(run))
    copies = load_copies(env, result.policies, result.run)
    found = []
    for count in sorted({max(1, len(copies) * part // 20) for part in range(1, 21)}):
        parts = {"all": copies[:count], "newest": copies[count // 2 : count]}
        told = {name: exploit_copies(env, part).exploitability for name, part in parts.items()}
        found.append({"step": copies[count - 1].step, **told})
    return found


def measured_copies(run: Run, results: Sequence[Any]) -> list[Settings]:
    """Exact measures of ``run.copies`` of the frozen copies, evenly over all stages, and of the end.

    ``likeliest``: the draws of the likeliest move alone, which tells a better player from a surer one.
    """
    from llmzoo import make
    from llmzoo.evaluation.exploit import exploit

    env = make(run.settings["env"], **env_args_of(run))
    (policy,) = {id(policy): policy for policy in results[-1].policies.values()}.values()

    def measured_at(step: int) -> Settings:
        surest = exploit(env, policy.with_sampling(temperature=_NEARLY_GREEDY))
        return {"step": step, **_exact(exploit(env, policy)), "likeliest": surest.draws}

    copies: list[tuple[int, Path]] = []  # the iterations before each
    before = 0
    for result in results:
        folders = sorted((Path(result.run) / "opponents").glob("[0-9]*"))
        copies += [(before + int(folder.name), folder) for folder in folders]
        before += result.steps
    chosen = [copies[len(copies) * part // run.copies] for part in range(run.copies)]
    found = []
    trained = {name: weights.clone() for name, weights in policy.model.state_dict().items()}
    for step, folder in chosen:
        (weights,) = folder.iterdir()
        policy.load_weights(weights)
        found.append(measured_at(step))
    policy.model.load_state_dict(trained)
    return [*found, measured_at(before)]


def _exact(found: Any) -> Settings:
    return {key: found.to_dict()[key] for key in _EXACT}


def measured(run: Run, agent_policies: Mapping[str, Any], args: Settings) -> Settings:
    """The trained policies in other conditions: arguments of the environment, ``greedy``, or ``swap``: each
    agent played by the policy of the next."""
    from llmzoo import evaluate

    args = dict(args)
    greedy = args.pop("greedy", False)
    if args.pop("swap", False):
        agents = list(agent_policies)
        agent_policies = {
            a: agent_policies[b] for a, b in zip(agents, agents[1:] + agents[:1], strict=True)
        }
    found = evaluate(
        run.settings["env"],
        agent_policies,
        tasks=run.settings["eval_tasks"],
        seed=run.seed,
        env_args={**env_args_of(run), **args},
        greedy=greedy,
    )
    return found.to_dict()


def settings_of(run: Run) -> Any:
    """The run's settings as ``fit`` reads them."""
    from llmzoo.training.config import FitConfig

    return FitConfig(**run.settings)


def episodes_of(run: Run, policy: Any) -> list[Settings]:
    """What is written in the first test tasks of the run: prompts of first turns, and all answers."""
    from llmzoo import collect

    return [
        {
            "task": episode.info.get("task_id"),
            "success": episode.success,
            "returns": dict(episode.totals),
            "prompt": episode.decisions[0].observation,
            "answers": [[d.agent, d.completion.text] for d in episode.decisions],
        }
        for episode in collect(
            run.settings["env"],
            policy,
            tasks=run.transcripts,
            split="test",
            seed=run.seed,
            env_args=env_args_of(run),
        )
    ]


def env_args_of(run: Run) -> Settings:
    """The arguments of the run's environment, those that its learner needs among them."""
    from llmzoo.learners import env_defaults

    return {**env_defaults(run.settings["learner"]), **run.settings.get("env_args", {})}


def told(settings: Mapping[str, Any]) -> Settings:
    """Settings as a line holds them: a start by its name, not by where it lies."""
    found = json.loads(json.dumps(settings))
    if "model" in found:
        found["model"] = Path(found["model"]).name
    return found


def _key(run: Run) -> str:
    """What the measurement before training hangs on."""
    args = env_args_of(run)
    parts = [run.task, Path(run.settings["model"]).name, run.seed]
    alone = run.settings.get("policies", "shared")
    if isinstance(alone, str) and alone not in ("shared", "separate", "lora"):  # others play too
        parts += [alone, run.settings.get("others", "expert")]
    return "-".join(map(str, [*parts, *(f"{k}={args[k]}" for k in sorted(args))]))


def _keep(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(text)
    partial.replace(path)


def run_study(
    name: str,
    out: Path,
    *,
    quick: bool = False,
    jobs: int = 1,
    only: str = "",
    known_runs: Path | None = None,
    memory_share: float = 1.0,
) -> list[Settings]:
    """Do what is not done yet, in ``jobs`` processes at a time; the lines of all runs, in their order.

    A model or a run begins when the model that it starts from is there, models before runs.
    ``only``: those runs whose names hold this. ``known_runs``: a log of runs not to be repeated. The
    log has all runs that have ended. ``memory_share``: of a GPU, that all runs together may use.
    """
    if known_runs is not None and known_runs.exists():
        for row in read_log(known_runs):
            line = out / name / "lines" / f"{row_name(row)}.json"
            if not line.exists():
                _keep(line, json.dumps(row))
    study, known = read(name, quick=quick), read("models", quick=quick)
    models = out / "models"
    planned = list(runs_of(study, models))
    runs = [run for run in planned if only in run.name]
    needed = set()
    bases = {model: settings.get("model", "tiny") for model, settings in known.items()}
    for model in (Path(run.settings["model"]).name for run in runs):
        while model not in GIVEN:
            needed.add(model)
            model = bases[model]
    waiting: dict[str, tuple[str, Any]] = {}  # what is to be done: the model it waits for, the work
    for model, settings in known.items():
        base = bases[model]
        settings = {**settings, "model": base if base in GIVEN else str(models / base)}
        if model in needed:
            waiting[model] = base, (train_model, settings, models / model)
    for run in runs:
        waiting[run.name] = Path(run.settings["model"]).name, (train, run, out / name)
    rows: dict[str, Settings] = {}
    under_way: dict[Future[Any], str] = {}
    absent = set(needed)
    with ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_limit_gpu_memory,
        initargs=(memory_share / jobs,),
    ) as pool:
        while waiting or under_way:
            ready = [what for what, (base, _) in waiting.items() if base not in absent]
            for what in ready[: jobs - len(under_way)]:
                _, work = waiting.pop(what)
                under_way[pool.submit(*work)] = what
            for ended in wait(under_way, return_when=FIRST_COMPLETED).done:
                what = under_way.pop(ended)
                if what in absent:
                    ended.result()
                    absent.remove(what)
                    print(f"{name}: model {what}", file=sys.stderr, flush=True)
                    continue
                rows[what] = ended.result()
                count = f"{len(rows)}/{len(runs)}"
                print(f"{name}: {count} {_say(rows[what])}", file=sys.stderr, flush=True)
    kept = [models / f"{model}.json" for model in known]
    write_log(out / "models.jsonl.gz", [json.loads(k.read_text()) for k in kept if k.exists()])
    lines = [out / name / "lines" / f"{run.name}.json" for run in planned]
    ended_runs = [json.loads(line.read_text()) for line in lines if line.exists()]
    write_log(out / f"{name}.jsonl.gz", ended_runs)
    return ended_runs


def _limit_gpu_memory(share: float) -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(share)


def _say(row: Settings) -> str:
    label = f"{row['task']} {row['arm']} {row['seed']}"
    if "error" in row:
        return f"{label}: {row['error']}"
    before, after = row["before"]["success"], row["after"]["success"]
    return f"{label}: {before:.1%} -> {after:.1%}, {row['tokens']} tokens, {row['wall_seconds']} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="+", help="names of the files beside this one")
    parser.add_argument("--out", type=Path, default=Path("runs/results"))
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each on one core")
    parser.add_argument("--memory_share", type=float, default=1.0, help="of a GPU, for all runs")
    parser.add_argument("--only", default="", help="runs whose names (TASK-ARM-SEED) hold this")
    parser.add_argument("--known", type=Path, help="log of a study, whose runs are not repeated")
    parser.add_argument("--quick", action="store_true", help="the small version")
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in args.studies:
        run_study(
            name,
            args.out,
            quick=args.quick,
            jobs=args.jobs,
            only=args.only,
            known_runs=args.known,
            memory_share=args.memory_share,
        )


if __name__ == "__main__":
    main()
