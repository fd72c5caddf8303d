"""Figures as files."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Literal

from matplotlib.figure import Figure

from llmzoo import files
from llmzoo.report import style
from llmzoo.report.figures import plots
from llmzoo.report.runs import Run
from llmzoo.report.series import groups

Format = Literal["png", "svg"]


def save_plots(runs: Sequence[Run], folder: Path, form: Format) -> list[Path]:
    """Each figure of the report as a file of its own, ``FOLDER/NAME.FORM``, with its title."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for plot in plots(groups(runs)):
        figure = plot.draw()
        path = folder / f"{plot.name}.{form}"
        with style.styled():
            figure.suptitle(plot.title, fontsize=10)
            save(figure, path)
        paths.append(path)
    return paths


def save(figure: Figure, path: Path) -> None:
    """Draw a figure into a file, in the format that its name ends with."""
    form = path.suffix[1:]
    drawn = BytesIO()
    figure.savefig(drawn, format=form, metadata={"Date": None} if form == "svg" else None)
    files.write(path, drawn.getvalue())
