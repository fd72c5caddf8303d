"""The tables of the runs that settings were looked for with."""

from __future__ import annotations

from collections.abc import Sequence

from by_learner import of_last_third
from logs import Row
from readings import by_task, in_order, markdown, of_arm, rate


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """A table for each game of the single runs that settings were looked for with, and one of what
    more tokens gave."""
    tables = {}
    for task, mine in by_task(rows).items():
        lines = []
        for row in mine:
            measured = row["evaluations"]
            first, last = measured[0], measured[-1]
            if first is last:  # stopped before it was measured again
                continue
            cells = [rate([first]), *_single(last)]
            settings = {
                **row["settings"]["learner_args"],
                "episodes_per_step": row["settings"]["episodes_per_step"],
            }
            told = ", ".join(f"{key} {settings[key]}" for key in sorted(settings))
            tokens = _tokens_until(row, last)
            tasks = f"{row['settings']['eval_tasks']} {row['settings']['eval_split']}"
            learner = f"`{row['settings']['learner']}`"
            lines.append([learner, told, tasks, *cells, tokens])
        head = ["learner", "settings", "tasks", "before", "after, sampled", "greedy", "tokens"]
        tables[f"tuning {task}"] = markdown(head, lines)
    for row in of_arm(rows, "budget"):
        lines = [[_tokens_until(row, one), *_single(one)] for one in row["evaluations"]]
        tables["budget"] = markdown(["tokens", "success, sampled", "greedy"], lines)
    return tables


def grid(rows: Sequence[Row]) -> dict[str, str]:
    """What each setting of a study gave each arm: success of play in the last third of its tokens."""
    tried = in_order(rows, "task")
    lines = []
    for arm in in_order(rows, "arm"):
        found = {row["task"]: f"{of_last_third(row):.1%}" for row in of_arm(rows, arm)}
        best = max(found.values(), key=lambda share: float(share[:-1]))
        marked = {task: f"**{best}**" if share == best else share for task, share in found.items()}
        lines.append([f"`{arm}`", *(marked.get(task, "not run") for task in tried)])
    table = markdown(["", *(_said(rows, task) for task in tried)], lines)
    return {f"grid {rows[0]['settings']['env']}": table}


def _said(rows: Sequence[Row], task: str) -> str:
    """The settings that a task of a grid has of its own."""
    args = next(row["settings"]["learner_args"] for row in rows if row["task"] == task)
    updates = f", {args['minibatches']} updates a batch" if "minibatches" in args else ""
    return f"rate {args['learning_rate']:g}, KL {args['kl']:g}{updates}"


def _single(measured: Row) -> list[str]:
    return [rate([measured]), rate([{"solved": measured["greedy"]}])]


def _tokens_until(row: Row, measured: Row) -> str:
    tokens = sum(point["tokens"] for point in row["curve"][: measured["step"]])
    return f"{tokens / 1000:,.0f}k"
