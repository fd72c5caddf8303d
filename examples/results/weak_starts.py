"""What the learners make of weak models of other makes, each with its own defaults: :mod:`strangers`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from logs import Row
from readings import by_task, in_order, markdown, of_arm

MAKES = {"gpt2": "GPT-2", "llama": "Llama", "neox": "GPT-NeoX"}
KUHN = "kuhn"  # its runs are measured exactly: by exploitability, in chips a hand
FREE = "_free"  # ends the name of an arm whose learner nothing holds to its start
HELD = "_kl"  # of one that is held by more than its defaults
CHANGED = 0.02  # exploitability that counts as a change
BETTER, SAME, WORSE = "better", "same", "worse"


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """What each run reached, and how many runs of a learner ended better or worse than they began."""
    return {
        "weak starts": _reached(rows, kuhn=False),
        "weak starts kuhn": _reached(rows, kuhn=True),
        "weak starts counted": _counted(rows),
    }


def _reached(rows: Sequence[Row], *, kuhn: bool) -> str:
    rows = [row for row in rows if row["task"].endswith(KUHN) == kuhn]
    learners = [arm for arm in in_order(rows, "arm") if not arm.endswith(FREE)]
    kinds = {"as shipped": "", "without an anchor": FREE} if kuhn else {"": ""}
    lines = []
    for task, runs in by_task(rows).items():
        make, _, name = task.partition("_")
        start = (_chips if kuhn else _percent)(runs[0], "before")
        for options, kind in kinds.items():
            cells = [_each(of_arm(runs, learner + kind), kuhn=kuhn) for learner in learners]
            lines.append([options or name, MAKES[make], start, *cells])
    head = ["options" if kuhn else "task", "model", "before", *map(_called, learners)]
    return markdown(head, lines)


def _called(arm: str) -> str:
    learner = arm.removesuffix(FREE).removesuffix(HELD)
    options = " without an anchor" if arm.endswith(FREE) else ", `kl: 0.05`" * (learner != arm)
    return f"`{learner}`{options}"


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
    lines = []
    for arm in in_order(rows, "arm"):
        counts = Counter(pair for row in of_arm(rows, arm) for pair in verdicts(row))
        cells = [
            " / ".join(str(counts[kind, verdict]) for verdict in (BETTER, SAME, WORSE))
            for kind in ("sampled", "greedy", "exploitability")
        ]
        lines.append([_called(arm), *cells])
    head = ["better / same / worse", "sampled", "greedy", "exploitability"]
    return markdown(head, lines)


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
