"""A run's learning curve as a picture."""

from __future__ import annotations

from pathlib import Path

from llmzoo.report import style
from llmzoo.report.plotting import plot_success
from llmzoo.report.runs import load_run
from llmzoo.report.series import group_runs


def plot_run(run: Path) -> Path:
    """Draw ``metrics.jsonl`` of a run folder into ``curve.png``; returns its path.

    It shows success in training, smoothed over a tenth of the run, and on held-out tasks with 95%
    intervals. For runs that learn from recorded episodes, success is that of these episodes; the
    line is left out if nothing was played.
    """
    played = load_run(run, run.name)
    config = played.config
    figure = plot_success(group_runs([played]))
    title = (
        f"{config['learner']} on {config['env']}, model {config['model']}, seed {config['seed']}"
    )
    path = run / "curve.png"
    with style.figure_style():
        figure.suptitle(title, fontsize=10)
        style.save_figure(figure, path)
    return path
