"""``llmzoo report``"""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json
from llmzoo.errors import ConfigError, require_extra


@dataclass(frozen=True, kw_only=True)
class ReportOptions(CommandOptions):
    """Write one HTML page of training runs: learning curves, settings, and every recorded episode.

    The page needs neither a server nor a network. Runs that differ only in their seeds are drawn
    as one curve with an interval.

    Args:
        runs: run folders of llmzoo train, or folders that contain some (of a bench or of stages);
            given first, without --runs.
        out: the page to write; by default report.html in the run folder, or in the working
            directory if several are given.
        watch: rewrite the page while the runs continue, until they end or Ctrl-C; an open page
            refreshes itself.
        every: seconds between two checks of the files, with watch.
        plots: a folder for the figures as separate files.
        format: format of these files.
        open: show the page in a browser.
        json: print one JSON object as the last line.
    """

    POSITIONAL = ("runs",)
    USAGE = "llmzoo report RUN [RUN...] [options]"
    EXAMPLES = (
        "llmzoo report runs/demo",
        "llmzoo report runs/demo --watch --open",
        "llmzoo report runs/first runs/second --out compared.html --plots figures --format svg",
    )

    runs: list[str] = field(default_factory=list)
    out: str | None = None
    watch: bool = False
    every: float = 5.0
    plots: str | None = None
    format: Literal["png", "svg"] = "png"
    open: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = ReportOptions(**_parse_report_options(argv))
    with require_extra("llmzoo report", "train"):
        from llmzoo.report.figures import save_plots
        from llmzoo.report.page import RunReport, watch_runs, write_page

    report = RunReport(options.runs)
    report.read()
    out = Path(options.out) if options.out is not None else _default_out(options.runs)
    opened = [out] if options.open else []

    def show() -> None:
        while opened:
            webbrowser.open(opened.pop().resolve().as_uri())

    if options.watch:
        print(f"watching; the page is {out}", file=sys.stderr, flush=True)
        watch_runs(report, out, every=options.every, written=show)
    else:
        write_page(out, report.render_html())
        show()
    if options.plots is not None:
        save_plots(report.runs, Path(options.plots), options.format)
    summary = {"page": str(out), "runs": len(report.runs), "episodes": report.episodes}
    if options.json:
        print_json(summary)
    else:
        print(
            f"{out}: {_format_count(summary['runs'], 'run')}, {_format_count(summary['episodes'], 'episode')}"
        )


def _parse_report_options(argv: Sequence[str]) -> dict[str, Any]:
    """The options that were given, checked."""
    given = parse_options("report", argv, ReportOptions)
    if not given.get("runs"):
        raise ConfigError(f"name at least one run folder: {ReportOptions.USAGE}")
    if given.get("every", 1.0) < 0.5:
        raise ConfigError(f"--every must be at least 0.5 seconds, got {given['every']}")
    return given


def _default_out(runs: Sequence[str]) -> Path:
    return Path(runs[0] if len(runs) == 1 else ".") / "report.html"


def _format_count(number: Any, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
