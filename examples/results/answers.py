"""The short tables of docs/results: what training gave, and who was ahead, with runs as units.

Intervals resample runs and tasks together. p-values are those of Student's paired t test over runs with the
same seeds, corrected by Holm's method within a page. With three runs only large and steady differences show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from by_learner import ALONE
from logs import Row, read_log
from questions import QUESTIONS, compared
from readings import by_task, in_order, markdown, marks, of_arm, p_value, with_equal_seeds

from llmzoo.evaluation.run_statistics import crossed_bootstrap_interval, paired_t_test
from llmzoo.evaluation.statistics import holm_correction


@dataclass(frozen=True, slots=True)
class Arm:
    """The runs of one arm of a study."""

    study: str
    task: str
    arm: str
    agents: int
    name: str


LEVEL = 0.05  # corrected p-values below are bold
SHORT = {
    "agents": "two or one, same completions",
    "answers": "two or one",
    "commits": "two or one, same commits",
    "weights": "models",
}

SUDOKU = "games", "sudoku_v0"
CELLS = "games_cells", "plan_path_v0"
ONE_4 = Arm(*SUDOKU, "at_grpo_one", 1, "sudoku, AT-GRPO, 4 rounds")
ONE_8 = Arm(*SUDOKU, "at_grpo_one_8", 1, "sudoku, AT-GRPO, 8 rounds")
ONE_24 = Arm(*SUDOKU, "at_grpo_one_24", 1, "sudoku, AT-GRPO, 24 rounds")
ONE_GRPO = Arm(*SUDOKU, "grpo", 1, "sudoku, GRPO, 4 rounds")
TWO = Arm(*SUDOKU, "at_grpo", 2, "sudoku, AT-GRPO, 4 rounds")
TWO_EACH = Arm(*SUDOKU, "at_grpo_separate", 2, "sudoku, AT-GRPO, a model for each agent, 4 rounds")
TWO_MAGRPO = Arm(*SUDOKU, "magrpo", 2, "sudoku, MAGRPO, 4 rounds")
CELLS_ONE = Arm(*CELLS, "at_grpo_one", 1, "plan-path as cells, AT-GRPO")
CELLS_TWO = Arm(*CELLS, "at_grpo", 2, "plan-path as cells, AT-GRPO")
CELLS_EACH = Arm(
    *CELLS, "at_grpo_separate", 2, "plan-path as cells, AT-GRPO, a model for each agent"
)
CELLS_MAGRPO = Arm(*CELLS, "magrpo", 2, "plan-path as cells, MAGRPO")

GAMES = (
    *(ONE_GRPO, ONE_4, ONE_8, ONE_24, TWO_MAGRPO, TWO, TWO_EACH),
    Arm("games_long", "sudoku_v0", "at_grpo_one_48", 1, "sudoku, AT-GRPO, 48 rounds, 4M tokens"),
    Arm("games_long", "sudoku_v0", "at_grpo", 2, "sudoku, AT-GRPO, 24 rounds, 5.5M tokens"),
    *(CELLS_ONE, CELLS_TWO, CELLS_EACH, CELLS_MAGRPO),
    Arm("games_cells_long", "plan_path_v0", "at_grpo_expert", 1, "plan-path as cells, 2.6M tokens"),
    Arm("games_cells_long", "sokoban_v0", "at_grpo_expert", 1, "sokoban as cells, 0.8M tokens"),
    Arm("games", "sokoban_v0", "grpo_one_turn", 1, "sokoban drawn, GRPO, 1 round"),
    Arm("games", "sokoban_v0", "at_grpo", 2, "sokoban drawn, AT-GRPO"),
    Arm("games", "plan_path_v0", "grpo", 1, "plan-path drawn, GRPO"),
    Arm("games", "plan_path_v0", "at_grpo", 2, "plan-path drawn, AT-GRPO"),
)
GAMES_PAIRS = (
    ("sudoku: two agents, against one in the same number of rounds", TWO, ONE_4),
    ("sudoku: two agents, against one with the same number of completions", TWO, ONE_8),
    ("sudoku: two agents, against one with the same tokens in play", TWO, ONE_24),
    ("sudoku: a model for each agent, against one for both", TWO_EACH, TWO),
    ("sudoku: AT-GRPO, against MAGRPO, two agents", TWO, TWO_MAGRPO),
    ("sudoku: AT-GRPO, against GRPO, one agent", ONE_4, ONE_GRPO),
    ("plan-path as cells: two agents, against one", CELLS_TWO, CELLS_ONE),
    ("plan-path as cells: a model for each agent, against one for both", CELLS_EACH, CELLS_TWO),
    ("plan-path as cells: AT-GRPO, against MAGRPO, two agents", CELLS_TWO, CELLS_MAGRPO),
)
SMOLLM2 = tuple(
    Arm("smollm2", *found)
    for found in (
        ("coop_functions_v0", "joint", 2, "functions in two parts, MAGRPO"),
        ("coop_functions_v0", "joint_one", 1, "functions, both parts in one completion, GRPO"),
        ("math_v0", "turns", 2, "sums, a reasoner and a tool, AT-GRPO"),
        ("math_v0", "turns_one", 1, "sums, the reasoner alone, AT-GRPO"),
        ("math_v0", "tool_one", 1, "sums, the tool alone, AT-GRPO"),
        ("plan_path_v0", "turns", 2, "plan-path 4x4, AT-GRPO"),
        ("plan_path_v0", "turns_one", 1, "plan-path 4x4, AT-GRPO"),
        ("tldr_v0", "joint", 2, "summaries, MAGRPO"),
        ("tldr_v0", "author_one", 1, "summaries, both in one completion, GRPO"),
    )
)
SMOLLM2_PAIRS = (
    ("functions: two agents, against one agent with the same tokens", SMOLLM2[0], SMOLLM2[1]),
    ("sums: a reasoner and a tool, against the tool alone", SMOLLM2[2], SMOLLM2[4]),
    ("sums: a reasoner and a tool, against the reasoner alone", SMOLLM2[2], SMOLLM2[3]),
)
SIGNALS = tuple(
    Arm("signals", "signal_v0", arm, 2, f"signal, {name}")
    for arm, name in (("marloo", "MARLOO"), ("magrpo", "MAGRPO"), ("at_grpo", "AT-GRPO"))
)


_rows = cache(read_log)  # the arms of a study are read one by one


def runs_of(logs: Path, arm: Arm) -> list[Row]:
    """The runs that ended well, by seed."""
    rows = [row for row in _rows(logs / f"{arm.study}.jsonl.gz") if row["task"] == arm.task]
    return of_arm(rows, arm.arm)


def gains_of(logs: Path, arms: Sequence[Arm]) -> str:
    """An arm a line: mean success before and after, in percent, greedy and sampled."""
    lines = []
    for arm in arms:
        runs = runs_of(logs, arm)
        before, after = ([row[when] for row in runs] for when in ("before", "after"))
        greedy, sampled = (
            " → ".join(f"{_mean(of):.1f}" for of in ends)
            for ends in ([[one["greedy"] for one in of] for of in (before, after)], [before, after])
        )
        if len(runs) > 2:
            low, high = crossed_bootstrap_interval(marks(runs), after[0].get("ids"))
            sampled += f" [{100 * low:.1f}, {100 * high:.1f}]"
        each = ", ".join(f"{100 * one['success']:.1f}" for one in after)
        lines.append([arm.name, arm.agents, greedy, sampled, each])
    return markdown(["", "agents", "greedy", "sampled", "each run, sampled"], lines)


def pairs_of(logs: Path, pairs: Sequence[tuple[str, Arm, Arm]]) -> str:
    """A comparison a line: the difference of sampled success in points, by runs with the same seeds."""
    found = []
    for name, *arms in pairs:
        first, second = with_equal_seeds(*(runs_of(logs, arm) for arm in arms))
        ids = first[0]["after"].get("ids")
        found.append((name, *_difference(marks(first), marks(second), ids)))
    lines = []
    for (name, points, each, p), both in zip(
        found, holm_correction([p for *_, p in found]), strict=True
    ):
        lines.append([name, points, each, p_value(p), p_value(both)])
    return markdown(["", "difference, points", "each pair of runs", "p", "p, corrected"], lines)


def several_tasks(logs: Path) -> str:
    """A task a line, a question of :mod:`questions` a column, in the study with more tokens: points."""
    rows = read_log(logs / "several_longer.jsonl.gz")
    found = {}
    for question in QUESTIONS:
        for one in compared(rows, question):
            both = [marks(runs) for runs in (one.first, one.second)]
            found[one.task, question.name] = _difference(*both, one.first[0]["after"]["ids"])
    corrected = holm_correction([p for _, _, p in found.values()])
    cells = {
        place: f"**{points}**" if p < LEVEL else points
        for (place, (points, _, _)), p in zip(found.items(), corrected, strict=True)
    }
    names = [question.name for question in QUESTIONS]
    lines = [[task, *(cells.get((task, n), "") for n in names)] for task in by_task(rows)]
    return markdown(["", *(SHORT.get(name, name) for name in names)], lines)


def several_arms(logs: Path) -> str:
    """A task a line, an arm a column: mean sampled success before and after."""
    rows = read_log(logs / "several_longer.jsonl.gz")
    arms = ("one", "one_more", "two", "two_more", "lone", "split")
    lines = []
    for task, mine in by_task(rows).items():
        found = [of_arm(mine, arm) for arm in arms]
        cells = [
            " → ".join(f"{_mean([row[when] for row in runs]):.0f}" for when in ("before", "after"))
            if runs
            else ""
            for runs in found
        ]
        lines.append([task, *cells])
    return markdown(["", *(f"`{arm}`" for arm in arms)], lines)


def learners(logs: Path) -> str:
    """Sampled and greedy success after training, by learner and environment."""
    rows = read_log(logs / "learners.jsonl.gz")
    lines = []
    for name, alone in (("two agents, before", False), ("one agent, before", True)):
        starts = [
            [row["before"] for row in mine if "before" in row and (row["arm"] in ALONE) == alone]
            for mine in by_task(rows).values()
        ]
        lines.append([name, "", *map(_sampled_and_greedy, starts)])
    for arm in in_order(rows, "arm"):
        found = [[row["after"] for row in of_arm(mine, arm)] for mine in by_task(rows).values()]
        lines.append([f"`{arm}`", max(map(len, found)), *map(_sampled_and_greedy, found)])
    return markdown(["", "runs", *(f"`{task}`" for task in by_task(rows))], lines)


def tables(logs: Path) -> dict[str, str]:
    """The tables whose logs are all there, by name."""
    found: dict[str, str] = {}
    made: dict[str, tuple[Sequence[str], Callable[[], str]]] = {
        "answers games": (_studies(GAMES), lambda: gains_of(logs, GAMES)),
        "answers games pairs": (_studies(GAMES), lambda: pairs_of(logs, GAMES_PAIRS)),
        "answers smollm2": (_studies(SMOLLM2), lambda: gains_of(logs, SMOLLM2)),
        "answers smollm2 pairs": (_studies(SMOLLM2), lambda: pairs_of(logs, SMOLLM2_PAIRS)),
        "answers signals": (_studies(SIGNALS), lambda: gains_of(logs, SIGNALS)),
        "answers several": (["several_longer"], lambda: several_arms(logs)),
        "answers several pairs": (["several_longer"], lambda: several_tasks(logs)),
        "answers learners": (["learners"], lambda: learners(logs)),
    }
    for name, (studies, make) in made.items():
        if all((logs / f"{study}.jsonl.gz").exists() for study in studies):
            found[name] = make()
    return found


def _studies(arms: Sequence[Arm]) -> list[str]:
    return [arm.study for arm in arms]


def _mean(measured: Sequence[Row]) -> float:
    return 100 * fmean(one["success"] for one in measured)


def _sampled_and_greedy(measured: Sequence[Row]) -> str:
    if not measured:
        return "not run"
    return f"{_mean(measured):.0f} / {_mean([one['greedy'] for one in measured]):.0f}"


def _difference(
    first: Sequence[Sequence[bool]],
    second: Sequence[Sequence[bool]],
    ids: Sequence[str] | None,
) -> tuple[str, str, float]:
    """The mean with its interval, that of each pair of runs, and p."""
    both = zip(first, second, strict=True)
    apart = [[a - b for a, b in zip(one, other, strict=True)] for one, other in both]
    each = [100 * fmean(of) for of in apart]
    shown = f"{fmean(each):+.1f}"
    if len(apart) > 2:
        low, high = crossed_bootstrap_interval(apart, ids)
        shown += f" [{100 * low:+.1f}, {100 * high:+.1f}]"
    p = paired_t_test([fmean(of) for of in first], [fmean(of) for of in second])
    return shown, ", ".join(f"{points:+.1f}" for points in each), p
