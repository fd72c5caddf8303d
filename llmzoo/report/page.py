"""Writes the page: one HTML file that needs no server and no network.

Texts of runs, models and environments are escaped or packed. The page's security policy allows only
the script and the style with the given hashes, and no connections.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from llmzoo import files
from llmzoo.policies.run_models import shortest_unique_names
from llmzoo.report import svg
from llmzoo.report.episodes import RecordedEpisodes, file_stamp, pack_index
from llmzoo.report.figures import Plot, make_plots
from llmzoo.report.outcomes import outcome_tables
from llmzoo.report.run_settings import settings_table
from llmzoo.report.runs import LEAGUE_FILE, RunData, find_runs, load_run
from llmzoo.report.series import group_runs, sort_agents
from llmzoo.report.summary import gain_findings, page_heading, run_row, summary_tiles
from llmzoo.version import __version__

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("data.js", "episode.js", "page.js")  # in this order one script
SECTIONS = {  # title -> the text below it
    "Success": "Solved tasks: in play, and held-out ones with 95% intervals by distinct tasks.",
    "League": "Matches between the run's checkpoints and opponent copies, as last played by llmzoo eval league: ratings "
    "with 95% intervals, and the points of each row against each column. A draw is half a point.",
    "Rewards": "Return: the sum of an agent's rewards along one line of play. Parts: the reward components of an "
    "answer at its own step.",
    "Answers": "",
    "Learning": "Numbers of the updates. The size of a loss says nothing about progress.",
    "Time": "",
}
SEEDS_TEXT = "A line is the mean over seeds, its band the 95% interval of Student's t (none of fewer than three seeds)."
NO_EPISODES_TEXT = "No episodes were recorded in what is shown here. Training records them unless record_every is 0."
# files that a run writes while it is running
WATCHED_FILES = (
    "config.json",
    "metrics.jsonl",
    "played.jsonl",
    "before.json",
    "after.json",
    LEAGUE_FILE,
)
IDLE_FACTOR = (
    9  # minimum seconds of waiting per second of computing, to leave the machine to the runs
)


@dataclass(slots=True)
class RunReport:
    """The page of some runs. Each :meth:`read` reads only what was added.

    ``paths`` are run folders or folders that contain some (:func:`llmzoo.report.runs.find_runs`). They
    are searched again each time, because a running bench adds runs. ``runs``: those last read.
    """

    paths: Sequence[str | Path]
    runs: list[RunData] = field(default_factory=list)
    _played: dict[Path, RecordedEpisodes] = field(default_factory=dict)

    def read(self) -> None:
        """Read the folders. Raises :class:`llmzoo.errors.ConfigError` if one contains no run."""
        folders = find_runs(self.paths)
        named = zip(folders, shortest_unique_names(folders), strict=True)
        self.runs = [load_run(folder, name) for folder, name in named]
        for run in self.runs:
            if run.folder not in self._played:
                self._played[run.folder] = RecordedEpisodes(run.folder / "played.jsonl")
            self._played[run.folder].update()

    @property
    def episodes(self) -> int:
        return sum(len(played.index) for played in self._recorded_episodes())

    def render_html(self, *, every: float | None = None) -> str:
        """The page. ``every``: seconds between refreshes of an open page; None for none."""
        css, script = read_asset("page.css"), "".join(read_asset(name) for name in SCRIPTS)
        played = self._recorded_episodes()
        title, subtitle = page_heading(self.runs)
        template = Environment(
            loader=FileSystemLoader(ASSETS), autoescape=True, trim_blocks=True, lstrip_blocks=True
        ).get_template("page.html.j2")
        return template.render(
            every=None if every is None else f"{every:g}",
            policy=content_security_policy(css, script),
            version=__version__,
            written=datetime.now().strftime("%Y-%m-%d %H:%M:%S"),
            title=title,
            subtitle=subtitle,
            notes=self._notes(),
            tiles=summary_tiles(self.runs[0]) if len(self.runs) == 1 else [],
            findings=gain_findings(self.runs[0]) if len(self.runs) == 1 else (),
            tables=outcome_tables(group_runs(self.runs)),
            sections=self._sections(),
            runs=[run_row(run) for run in self.runs],
            settings=settings_table(self.runs),
            episodes=self.episodes,
            css=Markup(css),
            script=Markup(script),
            facts=to_script_json(self._facts(played)),
            index=pack_index(played),
            chunks=[chunk for one in played for chunk in one.all_chunks()],
        )

    def _recorded_episodes(self) -> list[RecordedEpisodes]:
        return [self._played[run.folder] for run in self.runs]

    def _notes(self) -> list[str]:
        notes = [f"{run.name}: {note}." for run in self.runs for note in run.notes]
        for run, played in zip(self.runs, self._recorded_episodes(), strict=True):
            if played.unreadable:
                notes.append(
                    f"{run.name}: {played.unreadable} lines of played.jsonl cannot be read."
                )
        return notes

    def _sections(self) -> list[dict[str, Any]]:
        run_groups = group_runs(self.runs)
        drawn = [(plot, _inline_svgs(plot)) for plot in make_plots(run_groups)]
        several = f" {SEEDS_TEXT}" if any(len(group.runs) > 1 for group in run_groups) else ""
        return [
            {
                "title": name,
                "about": f"{about}{several if name == 'Success' else ''}",
                "figures": [
                    {"title": plot.title, "wide": plot.narrow is not None, "svgs": pictures}
                    for plot, pictures in drawn
                    if plot.section == name
                ],
            }
            for name, about in SECTIONS.items()
            if any(plot.section == name for plot, _ in drawn)
        ]

    def _facts(self, played: Sequence[RecordedEpisodes]) -> dict[str, Any]:
        return {
            "runs": [
                {"name": run.name, "agents": acting_agents(one)}
                for run, one in zip(self.runs, played, strict=True)
            ],
            "absent": NO_EPISODES_TEXT,
        }


def write_page(path: Path, text: str) -> None:
    """Replace the page at once; readers see the old page or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, text)


def watch_runs(
    report: RunReport,
    out: Path,
    *,
    every: float,
    sleep: Callable[[float], None] = time.sleep,
    written: Callable[[], None] = lambda: None,
) -> None:
    """Write the page now, and again after each ``every`` seconds in which a file has changed.

    Ends when all runs have ended, or at Ctrl-C. The last page does not refresh itself. ``written``
    is called after each writing.
    """
    last_state: object = None
    try:
        while True:
            started = time.process_time()
            # taken before reading, so that the next round sees changes made meanwhile
            first, now = last_state is None, _files_state(report.paths)
            if now != last_state:
                last_state = now
                report.read()
                if all(run.has_ended for run in report.runs):
                    break
                write_page(out, report.render_html(every=every))
                written()
            spent = time.process_time() - started
            # the first round loads modules, which takes longer than the rest
            sleep(every if first else max(every, IDLE_FACTOR * spent))
        # the last evaluation reaches the metrics just after the file that marks the end
        sleep(min(every, 1.0))
    except KeyboardInterrupt:
        pass
    report.read()
    write_page(out, report.render_html())
    written()


def read_asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def content_security_policy(css: str, script: str) -> str:
    """The Content-Security-Policy: this style, this script, the empty icon, and nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(css)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def to_script_json(value: Mapping[str, Any]) -> Markup:
    """JSON that cannot end the script element around it."""
    return Markup(json.dumps(value).replace("<", "\\u003c"))


def acting_agents(played: RecordedEpisodes) -> list[str]:
    """The agents that act in the episodes of a run."""
    return sort_agents({agent for row in played.index for agent in row["acted"]})


def _inline_svgs(plot: Plot) -> list[Markup]:
    """The figure for every window or, of a wide figure, that for a wide one and that for a phone."""
    pictures = [Markup(svg.to_inline_svg(plot.draw(), plot.name, plot.title))]
    if plot.narrow is not None:
        pictures.append(Markup(svg.to_inline_svg(plot.narrow(), f"{plot.name}-narrow", plot.title)))
    return pictures


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _files_state(paths: Sequence[str | Path]) -> object:
    """A value that changes with the files of the runs, and when a run is added."""
    return [
        [folder, *(file_stamp(folder / name) for name in WATCHED_FILES)]
        for folder in find_runs(paths)
    ]
