"""The titles, main numbers and rows of the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from llmzoo.evaluation.evaluate import format_task_count
from llmzoo.report.bench import is_self_play
from llmzoo.report.run_settings import effective_settings
from llmzoo.report.runs import Row, RunData, is_finite
from llmzoo.training.sharpening import findings


def page_heading(runs: Sequence[RunData]) -> tuple[str, str]:
    """The title of a report, and the line below it."""
    if len(runs) == 1:
        run = runs[0]
        config = run.config
        state = "" if run.has_ended else ", not ended"
        details = [
            f"model {config.get('model', 'unknown')}",
            f"seed {config.get('seed', 'unknown')}",
            f"{run.steps:,} of {config.get('steps', run.steps):,} iterations{state}",
            str(run.folder),
        ]
        return f"{config['learner']} on {config['env']}", " · ".join(details)
    envs, learners = (
        [*dict.fromkeys(str(r.config[key]) for r in runs)] for key in ("env", "learner")
    )
    ended = sum(run.has_ended for run in runs)
    state = "all ended" if ended == len(runs) else f"{ended} of them ended"
    return (
        f"{len(runs)} runs on {_join_names(envs)}",
        f"{_join_names(learners)} · {state}",
    )


def summary_tiles(run: RunData) -> list[dict[str, str]]:
    """The main numbers of one run."""
    last = run.after or (run.evals[-1] if run.evals else None)
    before, after = rate_texts(run.before), rate_texts(last)
    alone = last is None or not is_self_play(run.config, last)
    main = {
        "label": "Success on held-out tasks" if alone else "Won by the first agent, in self-play",
        "value": after["rate"],
        "detail": after["interval"],
    }
    if last is not run.before and run.before is not None and last is not None:
        main["value"] = f"{before['rate']} → {after['rate']}"
        main["detail"] = (
            f"{before['interval']} → {after['interval']}, on {format_task_count(last)} tasks"
        )
    tiles = [main]
    if last is not None and "greedy" in last:
        greedy = rate_texts(last["greedy"])
        if last is not run.before and run.before is not None and "greedy" in run.before:
            first = rate_texts(run.before["greedy"])
            greedy = {name: f"{first[name]} → {greedy[name]}" for name in greedy}
        tiles.append({"label": "Greedy", "value": greedy["rate"], "detail": greedy["interval"]})
    tiles.append({"label": "Tokens sampled", "value": format_count(run.tokens), "detail": ""})
    tiles.append({"label": "Time", "value": format_duration(run.seconds), "detail": ""})
    return tiles


def gain_findings(run: RunData) -> tuple[str, ...]:
    """What moved in a run and what explains it; nothing while it goes on or if its files are damaged."""
    if run.before is None or run.after is None:
        return ()
    try:
        return findings(run.before, run.after)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        return ()


def run_row(run: RunData) -> dict[str, Any]:
    """A row of the table of runs."""
    config = run.config
    steps = config.get("steps", run.steps)
    return {
        "name": run.name,
        "env": config["env"],
        "learner": config["learner"],
        "seed": config.get("seed", "–"),
        "steps": f"{run.steps:,}" + ("" if run.steps == steps else f" of {steps:,}"),
        "before": {**rate_texts(run.before), "greedy": greedy_rate_text(run.before)},
        "after": {**rate_texts(run.after), "greedy": greedy_rate_text(run.after)},
        "tokens": f"{run.tokens:,}",
        "time": format_duration(run.seconds),
        "starts": json.dumps(run.starts, indent=2, ensure_ascii=False) if run.starts else "",
        "config": json.dumps(effective_settings(run), indent=2, ensure_ascii=False, default=str),
    }


def rate_texts(evaluation: Row | None) -> dict[str, str]:
    """``{"rate": "65.0%", "interval": "[58.2%, 71.3%]"}``; a dash where there is no evaluation."""
    if evaluation is None or not is_finite(evaluation.get("success")):
        return {"rate": "–", "interval": ""}
    low, high = evaluation["success_ci95"]
    return {"rate": f"{evaluation['success']:.1%}", "interval": f"[{low:.1%}, {high:.1%}]"}


def greedy_rate_text(evaluation: Row | None) -> str:
    """The success of the most likely answers; nothing where it was not measured."""
    return (
        ""
        if evaluation is None or "greedy" not in evaluation
        else rate_texts(evaluation["greedy"])["rate"]
    )


def format_duration(seconds: float) -> str:
    """``"52 s"``, ``"4 min 12 s"``, ``"3 h 20 min"``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def format_count(count: int) -> str:
    """``"950"``, ``"12.3k"``, ``"4.57M"``."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1e3:.1f}k" if count < 1_000_000 else f"{count / 1e6:.2f}M"


def _join_names(names: Sequence[str]) -> str:
    """``"a, b and c"``; long lists are cut after three names."""
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
