"""What a command says: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from llmzoo.evaluation.evaluate import format_task_count
from llmzoo.evaluation.statistics import wilson_interval
from llmzoo.records import Episode
from llmzoo.terminal_text import escape_unprintable


@contextmanager
def redirect_stdout_to_stderr() -> Iterator[None]:
    """Whatever is printed meanwhile goes to standard error; standard output is for the result."""
    with redirect_stdout(sys.stderr):
        yield


class _Rate(ProgressColumn):
    """The number of items per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s")


@contextmanager
def show_progress(
    title: str, total: int | None, *, quiet: bool = False
) -> Iterator[Callable[..., None]]:
    """Progress on standard error. Call what it yields once per finished item, with the episode if it is one.

    In a terminal it is a bar with success, its interval, tokens, rate and remaining time; in a file
    a line each minute. ``total``: None if it is not known.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[status]}"),
        _Rate(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    hidden = quiet or not console.is_terminal  # in a file the bar would be an empty line
    solved = done = tokens = 0
    last_printed = time.monotonic()
    with Progress(*columns, console=console, disable=hidden, transient=True) as bar:
        task = bar.add_task(title, total=total, status="")

        def update_progress(episode: Episode | None = None) -> None:
            nonlocal solved, done, tokens, last_printed
            done += 1
            status = ""
            if episode is not None:
                solved += episode.success
                tokens += sum(len(decision.completion.ids) for decision in episode.decisions)
                status = f"success {format_rate(solved / done, wilson_interval(solved, done))}, {tokens:,} tokens"
            bar.update(task, advance=1, status=status)
            if hidden and not quiet and time.monotonic() - last_printed >= _PROGRESS_INTERVAL_S:
                last_printed = time.monotonic()
                of = "" if total is None else f" of {total}"
                print(f"{title}: {done}{of} {status}", file=sys.stderr, flush=True)

        yield update_progress


def print_json(value: Any) -> None:
    """The last line of output."""
    print(json.dumps(value), flush=True)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, as wide as the terminal; in a file or a pipe with a fixed width."""
    table = Table(*map(escape_unprintable, columns))
    for row in rows:
        table.add_row(*map(escape_unprintable, row))
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    Console(markup=False, highlight=False, width=width).print(table)


def print_markdown(text: str) -> None:
    """Print a page: formatted in a terminal, as Markdown in a file or a pipe."""
    if sys.stdout.isatty():
        Console().print(Markdown(text))
    else:
        print(text)


def evaluation_row(name: str, evaluation: Mapping[str, Any]) -> list[str]:
    """An evaluation as a row under :data:`EVALUATION_COLUMNS`."""
    return [
        name,
        _win_rates_text(evaluation)
        if evaluation.get("win_rate")
        else "\n".join(_success_lines(evaluation)),
        f"{format_task_count(evaluation)} ({evaluation['split']})",
        format_by_agent(evaluation["mean_return"]),
        f"{evaluation['mean_turns']:.2f}",
        f"{_total_tokens(evaluation):,}",
        f"{evaluation['seconds']:.1f}",
    ]


def _total_tokens(evaluation: Mapping[str, Any]) -> int:
    """The tokens that models sampled here, and those that endpoints wrote as they count them."""
    usage = evaluation.get("usage") or {}
    tokens: int = evaluation["tokens"] + usage.get("written", 0)
    return tokens


_PIPE_WIDTH = 140  # columns
_PROGRESS_INTERVAL_S = 60.0  # between lines of progress where there is no terminal
EVALUATION_COLUMNS = ("", "success [95%]", "tasks", "mean return", "turns", "tokens", "seconds")


def format_by_agent(values: Mapping[str, float]) -> str:
    """A line for each agent."""
    return "\n".join(f"{agent} {value:.3f}" for agent, value in values.items())


def _success_lines(evaluation: Mapping[str, Any]) -> Iterator[str]:
    """Success and, of several samples, pass@k and what the most common answer gives."""
    yield format_rate(evaluation["success"], evaluation["success_ci95"])
    for k, rate in (evaluation.get("pass_at") or {}).items():
        if int(k) > 1:
            interval = evaluation["pass_at_ci95"][k]
            yield (
                f"pass@{k} {rate:.1%}"
                if interval is None
                else f"pass@{k} {format_rate(rate, interval)}"
            )
    if evaluation.get("majority") is not None:
        yield f"majority {evaluation['majority']:.1%}"


def _win_rates_text(evaluation: Mapping[str, Any]) -> str:
    """Who won how often, with intervals, where agents play against each other."""
    tasks = evaluation["tasks"]
    lines = [
        f"{agent} won {format_rate(won, wilson_interval(won * tasks, tasks))}"
        for agent, won in evaluation["win_rate"].items()
    ]
    return "\n".join(
        [
            *lines,
            f"drawn {format_rate(evaluation['draws'], wilson_interval(evaluation['draws'] * tasks, tasks))}",
        ]
    )


def format_rate(success: float, interval: Sequence[float]) -> str:
    """``65.0% [58.2%, 71.3%]``."""
    return f"{success:.1%} [{interval[0]:.1%}, {interval[1]:.1%}]"
