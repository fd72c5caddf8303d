"""The table and the heatmap of ``llmzoo bench``, which compare learners.

A row is one run: ``env, learner, seed, token_budget, steps, tokens, tasks, split_tasks, before, before_ci95, after,
after_ci95, solved, gain, return_before, return_after, ids, returns, seconds``. A run that diverged has ``error``
instead of results. ``steps``: iterations done. ``tokens``: sampled tokens, and for ``sft`` the
demonstrated ones. ``split_tasks``: tasks of the split, null if it is endless. ``solved``: 0 or 1 for
each task after training, ``ids``: the tasks, ``returns``: of each agent in each task. ``self_play``: see
:func:`is_self_play`. Rows of earlier versions lack the last six.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from llmzoo.evaluation.evaluate import format_task_count
from llmzoo.evaluation.statistics import pool_success
from llmzoo.report.style import save_figure

Row = Mapping[str, Any]
SELF_PLAY = (
    "Self-play: what a model wins against itself says nothing of its play. Give --policies with the name of the "
    "first agent, which then plays against --others, or compare the runs with llmzoo eval league."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCell:
    """The runs of one learner on one environment, as means over the seeds."""

    before: float
    after: float
    after_ci95: tuple[float, float]  # by distinct tasks
    failed: int  # diverged runs, which the means leave out


def is_self_play(settings: Mapping[str, Any], evaluation: Mapping[str, Any]) -> bool:
    """Whether agents played against each other and others than the first learned too.

    ``success`` is then what the first agent wins against itself, and says nothing of what was learned.
    """
    won = list(evaluation.get("win_rate") or ())
    return bool(won) and settings.get("policies") != won[0]


def summarize_cell(rows: Sequence[Row], env: str, learner: str) -> BenchCell | None:
    """The cell of an environment and a learner; None if every run failed or is self-play."""
    runs = [row for row in rows if row["env"] == env and row["learner"] == learner]
    good = [row for row in runs if "error" not in row and not row.get("self_play")]
    if not good:
        return None
    trials = sum(row["tasks"] for row in good)
    after, after_ci95 = pool_success([{**row, "success": row["after"]} for row in good])
    return BenchCell(
        before=sum(row["before"] * row["tasks"] for row in good) / trials,
        after=after,
        after_ci95=after_ci95,
        failed=len(runs) - len(good),
    )


def mean_tokens(rows: Sequence[Row], learner: str) -> float | None:
    """The mean tokens of a learner's runs; None if a run has no number."""
    good = [row for row in rows if row["learner"] == learner and "error" not in row]
    if not good or any("tokens" not in row for row in good):
        return None
    return fmean(row["tokens"] for row in good)


def below_budget_notes(rows: Sequence[Row]) -> list[str]:
    """A sentence for each run that reached its number of steps before its token budget."""
    return [
        f"{row['learner']} on {row['env']}, seed {row['seed']}, had its {row['steps']} steps after "
        f"{row['tokens']:,} of {row['token_budget']:,} tokens: raise --steps for a fair comparison"
        for row in rows
        if "error" not in row and row.get("tokens", 0) < (row.get("token_budget") or 0)
    ]


def table_grid(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The head and the lines of the table: a line per learner, a column per environment."""
    envs, learners = _distinct_values(rows, "env"), _distinct_values(rows, "learner")
    means = {learner: mean_tokens(rows, learner) for learner in learners}
    counted = any(mean is not None for mean in means.values())
    lines = []
    for learner, mean in means.items():
        cells = [
            _format_cell(summarize_cell(rows, env, learner), _empty_cell_text(rows, env, learner))
            for env in envs
        ]
        last = ["" if mean is None else f"{mean:,.0f}"] if counted else []
        lines.append([learner, *cells, *last])
    return ["learner", *envs, *(["tokens a run"] if counted else [])], lines


def table_caption(rows: Sequence[Row]) -> str:
    """What a cell of the table says."""
    seeds = ", ".join(map(str, _distinct_values(rows, "seed")))
    return (
        "Success on held-out tasks after training, sampled, with its 95% interval by distinct tasks, "
        f"the mean over seeds ({seeds}); in brackets the same before."
    )


def markdown_table(rows: Sequence[Row], command: str) -> str:
    """The table in Markdown."""
    good = [row for row in rows if "error" not in row]
    head, body = table_grid(rows)
    lines = [
        f"`{command}`",
        "",
        table_caption(rows),
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *(f"| {' | '.join(line)} |" for line in body),
    ]
    if good:
        lines += [
            "",
            f"{_format_range(good, 'steps')} iterations a run, {_format_tasks(good)} tasks an evaluation.",
            *(f"\n**{note[0].upper()}{note[1:]}.**" for note in below_budget_notes(good)),
            *(["", SELF_PLAY] if any(row.get("self_play") for row in good) else []),
            *_single_agent_note(good),
        ]
    return "\n".join(lines) + "\n"


def _format_range(rows: Sequence[Row], key: str) -> str:
    """``"20"``, ``"20 or 40"``, or ``"20 to 60"`` for more values."""
    values = sorted({row[key] for row in rows})
    if len(values) > 2:
        values, word = [values[0], values[-1]], " to "
    else:
        word = " or "
    return word.join(map(str, values))


def _format_tasks(rows: Sequence[Row]) -> str:
    """``"50"``, or ``"50 of 779"`` with the size of the split, for each environment."""
    if all(row.get("split_tasks") is None for row in rows):
        return _format_range(rows, "tasks")
    return " or ".join(dict.fromkeys(map(format_task_count, rows)))


def _single_agent_note(rows: Sequence[Row]) -> list[str]:
    """A line that names the single-agent learners, if only some learners are."""
    run_counts = dict.fromkeys(_distinct_values(rows, "learner"), 0)
    for row in rows:
        run_counts[row["learner"]] = max(run_counts[row["learner"]], len(row["return_after"]))
    alone = [learner for learner, count in run_counts.items() if count == 1]
    if not alone or len(alone) == len(run_counts):
        return []
    return ["", f"One agent alone, which is another task: {', '.join(alone)}."]


def save_heatmap(rows: Sequence[Row], path: Path) -> Path:
    """Draw success after training, with the gain in percentage points."""
    envs, learners = _distinct_values(rows, "env"), _distinct_values(rows, "learner")
    cells = [[summarize_cell(rows, env, learner) for env in envs] for learner in learners]
    size = 2.2 + 1.6 * len(envs), 1.4 + 0.6 * len(learners)
    figure = Figure(figsize=size, dpi=130, layout="constrained")
    axes = figure.subplots()
    values = [[float("nan") if c is None else c.after for c in line] for line in cells]
    image = axes.imshow(values, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    axes.set_xticks(range(len(envs)), envs)
    axes.set_yticks(range(len(learners)), [_label(rows, learner) for learner in learners])
    for y, line in enumerate(cells):
        for x, entry in enumerate(line):
            text = _empty_cell_text(rows, envs[x], learners[y])
            if entry is not None:
                text = f"{entry.after:.0%}\n{100 * (entry.after - entry.before):+.0f}"
            dark = entry is not None and entry.after > 0.6
            axes.text(
                x, y, text, ha="center", va="center", fontsize=8, color="white" if dark else "black"
            )
    axes.set_title("success after training, and points gained", fontsize=9)
    figure.colorbar(image, ax=axes)
    save_figure(figure, path)
    return path


def _label(rows: Sequence[Row], learner: str) -> str:
    mean = mean_tokens(rows, learner)
    return learner if mean is None else f"{learner}\n{mean / 1000:,.1f}k tokens"


def _empty_cell_text(rows: Sequence[Row], env: str, learner: str) -> str:
    """The text of an empty cell: all runs diverged or played themselves, or there was none."""
    tried = [row for row in rows if row["env"] == env and row["learner"] == learner]
    if any(row.get("self_play") for row in tried):
        return "self-play"
    return "failed" if tried else "not run"


def _format_cell(cell: BenchCell | None, absent: str) -> str:
    if cell is None:
        return absent
    low, high = cell.after_ci95
    failed = f", {cell.failed} failed" if cell.failed else ""
    return f"{cell.after:.1%} [{low:.1%}, {high:.1%}] ({cell.before:.1%}){failed}"


def _distinct_values(rows: Sequence[Row], key: str) -> list[Any]:
    """The distinct values of a key, in order of first appearance."""
    return list(dict.fromkeys(row[key] for row in rows if key in row))
