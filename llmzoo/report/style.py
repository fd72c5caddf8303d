"""How figures look, in the page and in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no screen is needed
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from llmzoo import files

ITERATION = "iteration"  # the label of an axis that counts them

INK, MUTED, GRID, SURFACE = "#24292f", "#59636e", "#e4e7eb", "#ffffff"
# the first is the page's accent colour
SERIES = (
    *("#3355cc", "#c2570c", "#2a7d46", "#8438a8", "#0f7285", "#a83232", "#7a6a1f", "#5b6470"),
)
DASHES = ("-", "--", "-.", ":")
WIDE, SMALL = (6.6, 3.3), (3.3, 2.3)  # inches
NARROW = (3.6, 3.0)  # what is WIDE elsewhere, on a phone

_STYLE: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.facecolor": SURFACE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.facecolor": SURFACE,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "llmzoo",  # makes files reproducible
    "text.parse_math": False,  # names of metrics and agents may hold dollar signs
}


@contextmanager
def figure_style() -> Iterator[None]:
    with matplotlib.rc_context(_STYLE):
        yield


def make_figure(size: tuple[float, float], *, x: str, y: str) -> tuple[Figure, Axes]:
    """A figure with one pair of axes and their labels."""
    figure = Figure(figsize=size, dpi=144, layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=x, ylabel=y)
    if x == ITERATION:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, steps=[1, 2, 5, 10]))
        # "2e-9" at each tick, because a common factor would cover the legend
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "\u2212"))
    return figure, axes


def series_colour(number: int) -> str:
    return SERIES[number % len(SERIES)]


def series_dash(number: int) -> str:
    """Solid for the first round of colours, dashed for the next."""
    return DASHES[number // len(SERIES) % len(DASHES)]


def shorten(label: str) -> str:
    """The label, cut to the available room."""
    return label if len(label) <= 44 else f"{label[:43]}…"


def plot_intervals(
    axes: Axes,
    at: Sequence[float],
    values: Sequence[float],
    ends: Sequence[tuple[float, float]],
    *,
    colour: str,
    label: str | None = None,
) -> None:
    """Points with their intervals [low, high], above the lines."""
    below = [value - low for value, (low, _) in zip(values, ends, strict=True)]
    above = [high - value for value, (_, high) in zip(values, ends, strict=True)]
    axes.errorbar(
        at,
        values,
        yerr=[below, above],
        fmt="o",
        markersize=5,
        capsize=3,
        elinewidth=1.4,
        color=colour,
        label=label,
        zorder=4,
    )


def draw_legend(axes: Axes) -> None:
    """Draw the legend above the axes, in as many columns as fit; no legend without labels.

    The figure grows with the rows of the legend.
    """
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches()
    short = [shorten(label) for label in labels]
    # in points: an entry's line with its margins, and a character
    widths = [32 + 4.6 * len(label) for label in short]
    room = 72 * width - 24
    columns = len(short) if sum(widths) <= room else max(1, int(room / max(widths)))
    rows = -(-len(short) // columns)
    figure.set_size_inches(width, height + 0.16 * (rows - 1))
    axes.legend(
        handles,
        short,
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        ncols=columns,
        handlelength=1.6,
        columnspacing=1.4,
        labelspacing=0.25,
        borderaxespad=0.2,
    )


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure in the format of the file's ending."""
    form = path.suffix[1:]
    drawn = BytesIO()
    figure.savefig(drawn, format=form, metadata={"Date": None} if form == "svg" else None)
    files.write(path, drawn.getvalue())
