"""Pictures of a league: ratings, and who beats whom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from llmzoo.evaluation.standings import League, PlayerStanding
from llmzoo.report import style

_MAX_OPACITY = 0.6  # opacity of a cell where every game was won
_MAX_LABELLED_PLAYERS = 14  # players with numbers in the cells; of more they would not be read


def save_league_plots(league: League, folder: Path) -> None:
    """Write ``ratings.png`` and ``wins.png``."""
    for name, figure in (("ratings", plot_ratings(league)), ("wins", plot_wins(league))):
        with style.figure_style():
            figure.suptitle(league.env, fontsize=10)
            style.save_figure(figure, folder / f"{name}.png")


def plot_ratings(league: League, size: tuple[float, float] = style.WIDE) -> Figure:
    """Ratings with 95% intervals: over the iterations of runs, and as lines for other players.

    A league without runs has one line for each player, the strongest first.
    """
    runs = list(dict.fromkeys(p.run for p in league.players if p.run is not None))
    others = [player for player in league.players if player.run is None]
    if not runs:
        return _plot_rating_list(league.ranking(), size[0])
    with style.figure_style():
        figure, axes = style.make_figure(size, x=style.ITERATION, y="rating (openskill)")
        for number, run in enumerate(runs):
            own = sorted(
                (player for player in league.players if player.run == run),
                key=lambda player: player.iteration or 0,
            )
            at, values = [float(p.iteration or 0) for p in own], [p.rating for p in own]
            colour = style.series_colour(number)
            axes.plot(at, values, color=colour, linewidth=1.4, linestyle=style.series_dash(number))
            label = own[0].name.rpartition("@")[0] if len(runs) > 1 or others else None
            ends = [player.rating_ci95 for player in own]
            style.plot_intervals(axes, at, values, ends, colour=colour, label=label)
        for number, player in enumerate(others, start=len(runs)):
            colour = style.series_colour(number)
            axes.axhspan(*player.rating_ci95, color=colour, alpha=0.12, linewidth=0)
            axes.axhline(player.rating, color=colour, linewidth=1.2, label=player.name)
        style.draw_legend(axes)
    return figure


def _plot_rating_list(players: Sequence[PlayerStanding], width: float) -> Figure:
    with style.figure_style():
        figure, axes = style.make_figure(
            (width, 1.0 + 0.3 * len(players)), x="rating (openskill)", y=""
        )
        for place, player in enumerate(players):
            low, high = player.rating_ci95
            error = [[player.rating - low], [high - player.rating]]
            axes.errorbar(
                player.rating, place, xerr=error, fmt="o", capsize=3, color=style.SERIES[0]
            )
        axes.set_yticks(range(len(players)), [style.shorten(p.name) for p in players])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
    return figure


def plot_wins(league: League, size: tuple[float, float] = style.WIDE) -> Figure:
    """The share of points of each player (row) against each other (column), a draw being half a point.

    Players stand in the order in which they were named, those of a run by iteration. Blue: the row
    won more; orange: the column did.
    """
    names = [player.name for player in league.players]
    score = {(match.first, match.second): match.score for match in league.matches}
    score |= {(second, first): 1 - share for (first, second), share in score.items()}
    width = size[0]
    with style.figure_style():
        figure, axes = style.make_figure(
            (width, 0.9 + min(0.42, 4 / len(names)) * len(names)), x="", y=""
        )
        for y, row in enumerate(names):
            for x, column in enumerate(names):
                if row == column:
                    continue
                lead = 2 * score[row, column] - 1
                axes.add_patch(
                    Rectangle(
                        (x - 0.48, y - 0.48),
                        0.96,
                        0.96,
                        facecolor=style.SERIES[0 if lead > 0 else 1],
                        alpha=_MAX_OPACITY * abs(lead),
                        linewidth=0,
                    )
                )
                if len(names) <= _MAX_LABELLED_PLAYERS:
                    cell_text = f"{score[row, column]:.0%}"
                    axes.text(
                        x, y, cell_text, ha="center", va="center", fontsize=7, color=style.INK
                    )
        axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5))
        labels = [style.shorten(name) for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=45, ha="right", fontsize=7)
        axes.set_yticks(range(len(names)), labels, fontsize=7)
        axes.grid(visible=False)
    return figure
