"""What the lines of a study say: rates, intervals and curves, for tables and figures alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from logs import Row

from llmzoo.evaluation.statistics import paired_test_over_seeds, pool_success

# ways to train in the games: the arm, what it is called, how many agents play, what is compared:
# the measurement after training, or one in other conditions
TRAINED: Sequence[tuple[str, str, int, str | None]] = (
    ("grpo_one_turn", "GRPO on single answers", 1, "four_turns"),
    ("grpo", "GRPO over all rounds", 1, None),
    ("at_grpo_one", "AT-GRPO, 4 rounds", 1, None),
    ("at_grpo_one_8", "AT-GRPO, 8 rounds", 1, None),
    ("at_grpo_one_8", "AT-GRPO, 8 rounds, then played in 48", 1, "rounds_48"),
    ("at_grpo_one_24", "AT-GRPO, 24 rounds", 1, None),
    ("at_grpo_one_48", "AT-GRPO, 48 rounds", 1, None),
    ("magrpo", "MAGRPO", 2, None),
    ("at_grpo", "AT-GRPO, one model for both agents", 2, None),
    ("at_grpo_separate", "AT-GRPO, a model for each agent", 2, None),
)
# what is measured before training: what it is called, how many agents play, an arm that begins so
STARTS = (
    ("no RL", 1, "grpo"),
    ("no RL, 8 rounds", 1, "at_grpo_one_8"),
    ("no RL, 24 rounds", 1, "at_grpo_one_24"),
    ("no RL, 48 rounds", 1, "at_grpo_one_48"),
    ("no RL", 2, "at_grpo"),
)
# settings: their values, and the arms that have them
CURVES: Mapping[str, Mapping[float, str]] = {
    "K": {2: "k2", 4: "k4", 8: "base", 16: "k16"},
    "rounds": {1: "turns1", 2: "base", 4: "turns4"},
    "alpha": {0: "alpha0", 0.5: "alpha05", 1: "alpha1", 2: "alpha2"},
    "agents": {1: "agents1", 2: "agents2", 3: "agents3", 4: "agents4"},
}


def of_arm(rows: Sequence[Row], arm: str) -> list[Row]:
    """The runs of an arm that ended well, by seed."""
    found = [row for row in rows if row["arm"] == arm and "error" not in row]
    return sorted(found, key=lambda row: row["seed"])


def controlled(rows: Sequence[Row]) -> list[Row]:
    """The runs of the games that one agent with AT-GRPO, the control of two, has played too."""
    games = {row["task"] for row in of_arm(rows, "at_grpo_one")}
    return [row for row in rows if row["task"] in games]


def by_task(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The runs of each task, tasks by first appearance."""
    return {task: [row for row in rows if row["task"] == task] for task in in_order(rows, "task")}


def after(row: Row, also: str | None = None) -> Row:
    """What was measured after training, or under another condition."""
    found: Row = row["also"][also] if also else row["after"]
    return found


@dataclass(frozen=True, slots=True)
class Way:
    """One way to play the games: without RL or trained by one of the arms.

    ``measured``: what compares with the other ways, of each of the ``runs``, and ``greedy`` its
    twin with the likeliest answers, where there is one.
    """

    name: str
    agents: int
    trained: bool
    runs: Sequence[Row]
    measured: Sequence[Row]
    greedy: Sequence[Row]


def ways(rows: Sequence[Row]) -> Iterator[Way]:
    """Those of one agent, then those of two, each beginning with no RL; in 4 rounds if not said."""
    for agents in (1, 2):
        for name, number, arm in STARTS:
            if number == agents:
                runs = of_arm(rows, arm)
                before = [row["before"] for row in runs]
                yield Way(name, agents, False, runs, before, [one["greedy"] for one in before])
        for arm, name, number, also in TRAINED:
            if number == agents:
                runs = of_arm(rows, arm)
                found = [after(row, also) for row in runs]
                greedy = [] if also else [one["greedy"] for one in found]
                yield Way(name, agents, True, runs, found, greedy)


def marks(
    rows: Sequence[Row], also: str | None = None, *, before: bool = False
) -> list[list[bool]]:
    """Which tasks each run solved after training, or before it; runs in the order of their seeds."""
    ordered = sorted(rows, key=lambda row: row["seed"])
    return [_marks(row["before"] if before else after(row, also)) for row in ordered]


def _marks(measured: Row) -> list[bool]:
    return [mark == "1" for mark in measured["solved"]]


def with_equal_seeds(first: Sequence[Row], second: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The runs of both whose seeds the other has too."""
    seeds = {row["seed"] for row in first} & {row["seed"] for row in second}
    mine, theirs = ([row for row in runs if row["seed"] in seeds] for runs in (first, second))
    return mine, theirs


def verdict(first: Sequence[Sequence[bool]], second: Sequence[Sequence[bool]]) -> list[str]:
    """Tasks solved more often by the first, by the second, and p; of :func:`marks` with equal seeds."""
    found = paired_test_over_seeds(first, second)
    return [str(found.only_first), str(found.only_second), p_value(found.p_value)]


def p_value(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def play(found: Sequence[Row]) -> tuple[float | None, float]:
    """Answers and sampled tokens that a task costs in play, in the mean over all evaluations.

    Logs of earlier versions do not hold the answers: None.
    """
    tasks = sum(len(one["solved"]) for one in found)
    tokens = sum(one["tokens"] for one in found) / tasks
    if any("answers" not in one for one in found):
        return None, tokens
    return sum(one["answers"] for one in found) / tasks, tokens


def curves(rows: Sequence[Row]) -> dict[str, list[tuple[float, float, tuple[float, float]]]]:
    """The points of each curve: the setting's value, success, its interval."""
    return {
        name: [
            (value, *pool_success([row["after"] for row in of_arm(rows, arm)]))
            for value, arm in arms.items()
            if of_arm(rows, arm)
        ]
        for name, arms in CURVES.items()
    }


def in_order(rows: Sequence[Row], key: str) -> list[str]:
    """The values of a key, each once, by first appearance."""
    return list(dict.fromkeys(row[key] for row in rows))


def rate(found: Sequence[Row]) -> str:
    success, (low, high) = pool_success(found)
    return f"{success:.1%} [{low:.1%}, {high:.1%}]"


def markdown(head: Sequence[object], lines: Sequence[Sequence[object]]) -> str:
    table = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in table)
