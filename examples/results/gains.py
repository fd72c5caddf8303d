"""What training gave where the greedy answers improve too: the table and the figure of the README.

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

from llmzoo.training.run_statistics import paired_runs
from llmzoo.training.statistics import holm

SAMPLED, GREEDY = "#8ab4d8", "#1f5f99"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """Runs of one arm of a study, and what they are called."""

    name: str
    study: str
    task: str
    arm: str
    learner: str
    agents: int


GAINS = (
    Gain(
        name="signal: two agents invent a code",
        study="signals",
        task="signal_v0",
        arm="marloo",
        learner="MARLOO",
        agents=2,
    ),
    Gain(
        name="sums: one agent has the tool",
        study="several_longer",
        task="sums",
        arm="split",
        learner="MAGRPO",
        agents=2,
    ),
    Gain(
        name="equations: one agent has the tool",
        study="several_longer",
        task="equations",
        arm="split",
        learner="MAGRPO",
        agents=2,
    ),
    Gain(
        name="functions in two parts, SmolLM2",
        study="smollm2",
        task="coop_functions_v0",
        arm="joint",
        learner="MAGRPO",
        agents=2,
    ),
    Gain(
        name="sums, SmolLM2",
        study="smollm2",
        task="math_v0",
        arm="turns",
        learner="MAGRPO",
        agents=2,
    ),
    Gain(
        name="sudoku, 4 million tokens",
        study="games_long",
        task="sudoku_v0",
        arm="at_grpo_one_48",
        learner="AT-GRPO",
        agents=1,
    ),
    Gain(
        name="plan-path as cells",
        study="games_cells_long",
        task="plan_path_v0",
        arm="at_grpo_expert",
        learner="AT-GRPO",
        agents=1,
    ),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """The success of each run, greedy and sampled, before and after."""

    gain: Gain
    rows: Sequence[Row]

    def rates(self, when: str, *, greedy: bool) -> list[float]:
        found = [row[when]["greedy"] if greedy else row[when] for row in self.rows]
        return [one["success"] for one in found]

    @property
    def p_value(self) -> float:
        """Of no change in greedy success, with runs as units."""
        return paired_runs(self.rates("after", greedy=True), self.rates("before", greedy=True))


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
    for one, corrected in zip(gains, holm([gain.p_value for gain in gains]), strict=True):
        cells = []
        for greedy in (True, False):
            before, after = (one.rates(when, greedy=greedy) for when in ("before", "after"))
            cells.append(f"{fmean(before):.1%} → {', '.join(f'{rate:.1%}' for rate in after)}")
        count = len(one.rows)
        lines.append(
            [one.gain.name, one.gain.agents, one.gain.learner, count, *cells, _p(corrected)]
        )
    head = ["", "agents", "learner", "runs", "greedy, each run", "sampled, each run", "p"]
    return {"gains": markdown(head, lines)}


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


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
