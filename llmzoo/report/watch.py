"""The page while runs go on: written again whenever their files have changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from llmzoo.report.episodes import stamp
from llmzoo.report.page import Report, write
from llmzoo.report.runs import find

FILES = ("config.json", "metrics.jsonl", "played.jsonl", "before.json", "after.json")
IDLE = 9  # seconds of waiting, at least, for each of computing: the machine is for the runs


def watch(
    report: Report,
    out: Path,
    *,
    every: float,
    sleep: Callable[[float], None] = time.sleep,
    written: Callable[[], None] = lambda: None,
) -> None:
    """Write the page now, and again after each ``every`` seconds in which a file has changed.

    Ends when all runs have ended, or at Ctrl-C. The page that is left does not renew itself any
    more. ``written`` is called after each writing.
    """
    seen: object = None
    try:
        while True:
            started = time.process_time()
            # what is on disk before it is read: a change meanwhile is seen the next time
            first, now = seen is None, _state(report.paths)
            if now != seen:
                seen = now
                report.read()
                if all(run.ended for run in report.runs):
                    break
                write(out, report.html(every=every))
                written()
            spent = time.process_time() - started
            # the first time modules are loaded, which takes longer than all else
            sleep(every if first else max(every, IDLE * spent))
        # the last evaluation is written to the metrics right after the file that says it has ended
        sleep(min(every, 1.0))
    except KeyboardInterrupt:
        pass
    report.read()
    write(out, report.html())
    written()


def _state(paths: Sequence[str | Path]) -> object:
    """What changes when a file of the runs does, or when the folders get a run more."""
    return [[folder, *(stamp(folder / name) for name in FILES)] for folder in find(paths)]
