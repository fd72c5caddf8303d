"""A run's learning curve as a picture."""

from __future__ import annotations

from pathlib import Path

from llmzoo.report import style
from llmzoo.report.drawing import success
from llmzoo.report.runs import read
from llmzoo.report.series import groups


def plot_run(run: Path) -> Path:
    """Draw ``metrics.jsonl`` of a run folder into ``curve.png``; returns its path.

    It shows success in training, smoothed over a tenth of the run, and on held-out tasks with 95%
    intervals. For runs that learn from recorded episodes, success is that of these episodes; the
    line is left out if nothing was played.
    """
    played = read(run, run.name)
    config = played.config
    figure = success(groups([played]))
    title = (
        f"{config['learner']} on {config['env']}, model {config['model']}, seed {config['seed']}"
    )
    path = run / "curve.png"
    with style.styled():
        figure.suptitle(title, fontsize=10)
        style.save(figure, path)
    return path
