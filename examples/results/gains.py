"""What training gave where the greedy answers improve too: a table of docs/results and its figure.

A gain that a lower temperature explains raises sampled success alone. These are the results that are more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from logs import Row, read_log
from matplotlib.figure import Figure
from readings import markdown, of_arm

SAMPLED, GREEDY = "#8ab4d8", "#1f5f99"


@dataclass(frozen=True, slots=True)
class Gain:
    """Runs of one arm of a study, and what they are called."""

    name: str
    study: str
    task: str
    arm: str
    learner: str
    agents: int


GAINS = (
    Gain("signal: two agents invent a code", "signals", "signal_v0", "marloo", "MARLOO", 2),
    Gain("sums: one agent has the tool", "several_longer", "sums", "split", "MAGRPO", 2),
    Gain("equations: one agent has the tool", "several_longer", "equations", "split", "MAGRPO", 2),
    Gain("functions in two parts, SmolLM2", "smollm2", "coop_functions_v0", "joint", "MAGRPO", 2),
    Gain("sums, SmolLM2", "smollm2", "math_v0", "turns", "AT-GRPO", 2),
    Gain("sudoku, 4 million tokens", "games_long", "sudoku_v0", "at_grpo_one_48", "AT-GRPO", 1),
    Gain("plan-path as cells", "games_cells_long", "plan_path_v0", "at_grpo_expert", "AT-GRPO", 1),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """The success of each run, greedy and sampled, before and after."""

    gain: Gain
    rows: Sequence[Row]

    def rates(self, when: str, *, greedy: bool) -> list[float]:
        found = [row[when]["greedy"] if greedy else row[when] for row in self.rows]
        return [one["success"] for one in found]


def measured(logs: Path) -> list[Measured]:
    """The gains whose logs are there."""
    found = []
    for gain in GAINS:
        log = logs / f"{gain.study}.jsonl.gz"
        if log.exists():
            rows = [row for row in read_log(log) if row["task"] == gain.task]
            found.append(Measured(gain, of_arm(rows, gain.arm)))
    return found


def table(logs: Path) -> dict[str, str]:
    gains = measured(logs)
    if not gains:
        return {}
    lines = []
    for one in gains:
        cells = []
        for greedy in (True, False):
            before, after = (one.rates(when, greedy=greedy) for when in ("before", "after"))
            cells.append(f"{fmean(before):.1%} → {', '.join(f'{rate:.1%}' for rate in after)}")
        lines.append([one.gain.name, one.gain.agents, one.gain.learner, len(one.rows), *cells])
    head = ["", "agents", "learner", "runs", "greedy, each run", "sampled, each run"]
    return {"gains": markdown(head, lines)}


def figure(logs: Path, path: Path) -> None:
    """Success before (open) and after (filled), a dot a run, greedy and sampled one below the other."""
    gains = measured(logs)
    if not gains:
        return
    drawn = Figure(figsize=(9, 0.62 * len(gains) + 1.1), dpi=130, layout="constrained")
    axes = drawn.subplots()
    for place, one in enumerate(gains):
        for greedy, shift, colour in ((True, -0.14, GREEDY), (False, 0.14, SAMPLED)):
            before, after = (one.rates(when, greedy=greedy) for when in ("before", "after"))
            height = place + shift
            ends = [min(before + after), max(before + after)]
            axes.plot(ends, [height] * 2, color=colour, linewidth=1, alpha=0.5, zorder=1)
            axes.scatter(
                before, [height] * len(before), s=34, facecolor="white", edgecolor=colour, zorder=2
            )
            label = ("greedy" if greedy else "sampled") if place == 0 else None
            axes.scatter(after, [height] * len(after), s=34, color=colour, zorder=3, label=label)
    names = [
        f"{one.gain.name} ({one.gain.agents} agent{'s' * (one.gain.agents > 1)})" for one in gains
    ]
    axes.set_yticks(range(len(gains)), names)
    axes.invert_yaxis()
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel(
        "success on held-out tasks; open: before training, filled: after, a dot for each run"
    )
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower left", fontsize=8)
    drawn.savefig(str(path))
