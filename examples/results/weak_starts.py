"""What the learners make of weak models of other makes, each with its own defaults: :mod:`strangers`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce

from logs import Row
from readings import by_task, in_order, markdown, of_arm

MAKES = {"gpt2": "GPT-2", "llama": "Llama", "neox": "GPT-NeoX"}
KUHN = "kuhn"  # its runs are measured exactly: by exploitability, in chips a hand
# what ends the name of an arm, for each set of options
OPTIONS = {"as shipped": "", "former defaults": "_free", "former, `kl: 0.05`": "_kl"}
BOUND = "_bound"  # of the embedded model, in a study of its own
CHANGED = 0.02  # exploitability that counts as a change
VERDICTS = BETTER, SAME, WORSE = "better", "same", "worse"


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """What each run reached, and how many runs of a learner ended better or worse than they began."""
    return {
        "weak starts": _reached(rows, kuhn=False),
        "weak starts kuhn": _reached(rows, kuhn=True),
        "weak starts counted": _counted(rows),
    }


def of_bound(rows: Sequence[Row]) -> dict[str, str]:
    """What the embedded model reached with a bound on its steps and without one."""
    lines = []
    for task, runs in by_task(rows).items():
        for learner in _learners(runs):
            free, bound = of_arm(runs, learner), of_arm(runs, learner + BOUND)
            start = ", ".join(_percent(row, "before") for row in free)
            cells = [_each(found, kuhn=False) for found in (free, bound)]
            lines.append([task, f"`{learner}`", start, *cells])
    return {
        "step bound": markdown(
            ["task", "learner", "before", "no bound", "`max_update_kl: 0.001`"], lines
        )
    }


def _reached(rows: Sequence[Row], *, kuhn: bool) -> str:
    rows = [row for row in rows if row["task"].endswith(KUHN) == kuhn]
    learners = _learners(rows)
    lines = []
    for task, runs in by_task(rows).items():
        make, _, name = task.partition("_")
        for options, ending in OPTIONS.items():
            own = [of_arm(runs, learner + ending) for learner in learners]
            if any(own):
                start = (_chips if kuhn else _percent)(next(filter(None, own))[0], "before")
                cells = [_each(found, kuhn=kuhn) for found in own]
                lines.append([name, MAKES[make], options, start, *cells])
    head = ["task", "model", "options", "before", *(f"`{learner}`" for learner in learners)]
    return markdown(head, lines)


def _learners(rows: Sequence[Row]) -> list[str]:
    """The learners of all arms, whatever the options."""
    ends = (BOUND, *filter(None, OPTIONS.values()))
    arms = in_order(rows, "arm")
    return list(dict.fromkeys(reduce(str.removesuffix, ends, arm) for arm in arms))


def _each(runs: Sequence[Row], *, kuhn: bool) -> str:
    return ", ".join((_chips if kuhn else _percent)(row, "after") for row in runs) or "not run"


def _percent(row: Row, when: str) -> str:
    """Sampled and greedy success."""
    found = row[when]
    return f"{100 * found['success']:.0f} / {100 * found['greedy']['success']:.0f}"


def _chips(row: Row, when: str) -> str:
    return f"{_exploited(row, when):.2f}"


def _exploited(row: Row, when: str) -> float:
    found: float = row["exact"][0 if when == "before" else -1]["exploitability"]
    return found


def _counted(rows: Sequence[Row]) -> str:
    learners = _learners(rows)
    counts = Counter(
        (row["task"].partition("_")[2], kind, row["arm"], verdict)
        for row in rows
        for kind, verdict in verdicts(row)
    )
    lines = []
    for task, kind in dict.fromkeys((task, kind) for task, kind, _, _ in counts):
        for options, ending in OPTIONS.items():
            own = [[counts[task, kind, lr + ending, v] for v in VERDICTS] for lr in learners]
            if any(map(any, own)):
                cells = [" / ".join(map(str, each)) if any(each) else "not run" for each in own]
                lines.append([task, kind, options, *cells])
    return markdown(["task", "measure", "options", *(f"`{name}`" for name in learners)], lines)


def verdicts(row: Row) -> Iterator[tuple[str, str]]:
    """Each measure of a run and whether it ended better, the same or worse than it began.

    Success has changed where the 95% intervals over tasks, before and after, lie apart, and
    exploitability where it differs by more than ``CHANGED``.
    """
    if row["task"].endswith(KUHN):
        gained = _exploited(row, "before") - _exploited(row, "after")
        yield "exploitability", _verdict(gained - CHANGED, -gained - CHANGED)
        return
    for kind in ("sampled", "greedy"):
        before, after = (
            row[when]["greedy"] if kind == "greedy" else row[when] for when in ("before", "after")
        )
        (low, high), (lowest, highest) = before["success_ci95"], after["success_ci95"]
        yield kind, _verdict(lowest - high, low - highest)


def _verdict(above: float, below: float) -> str:
    return BETTER if above > 0 else WORSE if below > 0 else SAME
