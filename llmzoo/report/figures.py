"""Lists the figures of a report, for the page and for files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from matplotlib.figure import Figure

from llmzoo.report import style
from llmzoo.report.league import plot_ratings, plot_wins
from llmzoo.report.plotting import (
    MetricLine,
    plot_group_time,
    plot_lines,
    plot_mean_times,
    plot_success,
    time_keys,
)
from llmzoo.report.runs import Row, RunData, is_finite
from llmzoo.report.series import RunGroup, group_runs, sort_agents


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """``unit`` is empty for a pure number that no unit is needed for."""

    title: str
    unit: str
    section: str = "Learning"

    @property
    def axis(self) -> str:
        """The label of an axis."""
        return f"{self.title.lower()} ({self.unit})" if self.unit else self.title.lower()


# in the order in which they are shown
MEASURES = {
    "loss": Measure(title="Loss", unit=""),
    "entropy": Measure(title="Entropy", unit="nats per token"),
    "grad_norm": Measure(title="Gradient norm", unit="before clipping"),
    "drift": Measure(title="Drift from the sampler", unit="nats"),
    "sampler_kl": Measure(title="KL from the sampler, before the update", unit="nats"),
    "update_kl": Measure(title="KL of the update", unit="nats"),
    "step_kl": Measure(title="KL of a step", unit="nats per token"),
    "step_scale": Measure(title="Shortening of steps", unit="factor"),
    "kl": Measure(title="KL to the start", unit="nats per token"),
    "ratio": Measure(title="Probability ratio", unit="mean"),
    "clip_fraction": Measure(title="Clipped tokens", unit="share"),
    "informative": Measure(title="Informative groups", unit="share"),
    "dropped_groups": Measure(title="Dropped groups", unit="groups"),
    "advantage_std": Measure(title="Spread of advantages", unit="standard deviation"),
    "value_loss": Measure(title="Value loss", unit=""),
    "explained_variance": Measure(title="Explained variance of returns", unit=""),
    "explained_target_variance": Measure(title="Explained variance of targets", unit=""),
    "value_grad_norm": Measure(title="Critic's gradient norm", unit="before clipping"),
    "mean_token_accuracy": Measure(title="Token accuracy", unit="share"),
    "learning_rate": Measure(title="Learning rate", unit=""),
    "completion_tokens": Measure(title="Length of answers", unit="tokens", section="Answers"),
    "truncated": Measure(title="Truncated answers", unit="share", section="Answers"),
    "tokens_per_second": Measure(title="Speed", unit="tokens per second", section="Time"),
}

# of the numbers of each agent
AGENT_SHARES = {
    "invalid": Measure(title="Answers with an error", unit="share", section="Answers"),
    "flat_groups": Measure(title="Groups without differences", unit="share", section="Learning"),
}

# counts, and what has a figure of its own
HIDDEN = {
    *("step", "success", "groups", "completions", "tokens", "env_steps", "env_steps_per_second"),
    *("rollout_seconds", "sampling_seconds", "stepping_seconds", "update_seconds"),
    *("demonstrated_tokens", "steps", "examples", "world_examples", "too_long", "pairs"),
    "refused",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One figure. ``name`` is unique in the report and can be a file name. ``narrow`` draws a wide
    figure for a phone; the others fit as they are."""

    name: str
    section: str
    title: str
    draw: Callable[[], Figure]
    narrow: Callable[[], Figure] | None = None


def make_plots(groups: Sequence[RunGroup]) -> list[Plot]:
    """All figures of the runs: for each environment success, rewards, answers, learning, time."""
    envs = list(dict.fromkeys(group.env for group in groups))
    plots = []
    for env in envs:
        for plot in _env_plots([group for group in groups if group.env == env]):
            several = len(envs) > 1
            name = f"{env} {plot.name}" if several else plot.name
            title = f"{plot.title}, {env}" if several else plot.title
            plots.append(replace(plot, name=re.sub(r"[^\w.-]+", "-", name), title=title))
    return plots


def save_plots(runs: Sequence[RunData], folder: Path, form: Literal["png", "svg"]) -> list[Path]:
    """Save each figure of the report as ``FOLDER/NAME.FORM``, with its title."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for plot in make_plots(group_runs(runs)):
        figure = plot.draw()
        path = folder / f"{plot.name}.{form}"
        with style.figure_style():
            figure.suptitle(plot.title, fontsize=10)
            style.save_figure(figure, path)
        paths.append(path)
    return paths


def _env_plots(groups: Sequence[RunGroup]) -> list[Plot]:
    narrow = partial(plot_success, groups, style.NARROW)
    draw = partial(plot_success, groups)
    return [
        Plot(name="success", section="Success", title="Success", draw=draw, narrow=narrow),
        *_league_plots(groups),
        *_return_plots(groups),
        *_reward_component_plots(groups),
        *_measure_plots(groups),
        *_agent_plots(groups),
        *_time_plots(groups),
    ]


def _league_plots(groups: Sequence[RunGroup]) -> list[Plot]:
    """Ratings and results of each run's own league."""
    runs = [run for group in groups for run in group.runs]
    panels = []
    for number, run in enumerate(runs, start=1):
        if run.league is None:
            continue
        for name, title, draw in (
            ("ratings", "Ratings", plot_ratings),
            ("wins", "Share of points", plot_wins),
        ):
            several = len(runs) > 1
            panels.append(
                Plot(
                    name=f"league-{name}" + (f"-{number}" if several else ""),
                    section="League",
                    title=f"{title}, {run.name}" if several else title,
                    draw=partial(draw, run.league),
                    narrow=partial(draw, run.league, style.NARROW),
                )
            )
    return panels


def _return_plots(groups: Sequence[RunGroup]) -> list[Plot]:
    """One figure with all agents of a group, or one for each agent with all groups."""
    agents = _sorted_agents(groups, lambda row: row.get("return", {}))
    y = "return (reward, undiscounted)"
    if len(groups) == 1:
        drawn = [_make_line(agent, groups[0], "return", agent) for agent in agents]
        title = "Return of each agent"
        plot = Plot(
            name="return", section="Rewards", title=title, draw=partial(plot_lines, drawn, y)
        )
        return [plot] if drawn else []
    return [
        Plot(
            name=f"return-{agent}",
            section="Rewards",
            title=f"Return of {agent}",
            draw=partial(plot_lines, [_make_line(g.label, g, "return", agent) for g in groups], y),
        )
        for agent in agents
    ]


def _reward_component_plots(groups: Sequence[RunGroup]) -> list[Plot]:
    """A figure for each agent of each group, with a line for each part."""
    panels = []
    for number, group in enumerate(groups, start=1):
        for agent in _sorted_agents([group], lambda row: row.get("agents", {})):
            path = ("agents", agent, "reward_components")
            parts = _distinct_names([group], partial(_get_path, path=path))
            drawn = [_make_line(part, group, *path, part) for part in parts]
            several = len(groups) > 1
            if drawn:
                panels.append(
                    Plot(
                        name=f"reward-parts-{agent}" + (f"-{number}" if several else ""),
                        section="Rewards",
                        title=f"Reward components of {agent}"
                        + (f", {group.label}" if several else ""),
                        draw=partial(plot_lines, drawn, "reward (mean per answer)"),
                    )
                )
    return panels


def _measure_plots(groups: Sequence[RunGroup]) -> list[Plot]:
    """The other numbers of the rows; of several policies a line for each."""
    keys = [k for k in _distinct_names(groups, _numeric_keys) if k.rpartition("/")[2] not in HIDDEN]
    by_name: dict[str, list[str]] = {}
    for key in keys:
        by_name.setdefault(_metric_name(key, groups), []).append(key)
    others = [name for name in by_name if name not in MEASURES]
    panels = []
    for name in [*(known for known in MEASURES if known in by_name), *others]:
        measure = MEASURES.get(name, Measure(title=name, unit=""))
        drawn = [
            _make_line(_line_label(group, key.removesuffix(name).rstrip("/"), groups), group, key)
            for group in groups
            for key in by_name[name]
            if any(is_finite(row.get(key)) for run in group.runs for row in run.train)
        ]
        if drawn:
            panels.append(_make_measure_plot(f"learning-{name}", measure, drawn))
    return panels


def _agent_plots(groups: Sequence[RunGroup]) -> list[Plot]:
    panels = []
    for key, measure in AGENT_SHARES.items():
        drawn = [
            _make_line(_line_label(group, agent, groups), group, "agents", agent, key)
            for group in groups
            for agent in _sorted_agents([group], partial(_agents_with, key=key))
        ]
        if drawn:
            panels.append(_make_measure_plot(f"agents-{key}", measure, drawn))
    return panels


def _make_measure_plot(name: str, measure: Measure, drawn: Sequence[MetricLine]) -> Plot:
    draw = partial(plot_lines, drawn, measure.axis)
    return Plot(name=name, section=measure.section, title=measure.title, draw=draw)


def _time_plots(groups: Sequence[RunGroup]) -> list[Plot]:
    timed = [group for group in groups if time_keys(group)]
    if not timed:
        return []
    alone = len(timed) == 1
    draw = partial(plot_group_time, timed[0]) if alone else partial(plot_mean_times, timed)
    narrow = None if alone else partial(plot_mean_times, timed, style.NARROW)
    title = "Time of an iteration"
    return [Plot(name="time", section="Time", title=title, draw=draw, narrow=narrow)]


def _metric_name(key: str, groups: Sequence[RunGroup]) -> str:
    """``loss`` of ``planner_1/loss``; names that have a slash in TRL too, ``logps/chosen``, stay."""
    policy, slash, name = key.partition("/")
    agents = {a for g in groups for r in g.runs for row in r.train for a in row.get("return", {})}
    return name if slash and policy in agents else key


def _line_label(group: RunGroup, agent: str, groups: Sequence[RunGroup]) -> str:
    """The label of a line: the agent, preceded by the group if there are several."""
    return agent if len(groups) == 1 else ", ".join(filter(None, [group.label, agent]))


def _make_line(label: str, group: RunGroup, *path: str) -> MetricLine:
    return MetricLine(label=label, runs=group.runs, value=partial(_value, path=path))


def _value(row: Row, path: Sequence[str]) -> Any:
    return _get_path(row, path[:-1]).get(path[-1])


def _get_path(row: Row, path: Sequence[str]) -> Any:
    """The value at a path of keys; an empty mapping if there is none."""
    value: Any = row
    for key in path:
        value = value.get(key, {})
    return value


def _agents_with(row: Row, key: str) -> list[str]:
    """The agents of which a row has the number ``key``."""
    return [agent for agent, numbers in row.get("agents", {}).items() if key in numbers]


def _numeric_keys(row: Row) -> list[str]:
    return [key for key, value in row.items() if type(value) in (int, float)]


def _sorted_agents(groups: Sequence[RunGroup], of_row: Callable[[Row], Any]) -> list[str]:
    return sort_agents(_distinct_names(groups, of_row))


def _distinct_names(groups: Sequence[RunGroup], of_row: Callable[[Row], Any]) -> list[str]:
    """All names that rows have, each once, by first appearance."""
    rows = (row for group in groups for run in group.runs for row in run.train)
    return list(dict.fromkeys(name for row in rows for name in of_row(row)))
