"""Tasks made and answers checked a second, beside reasoning-gym's, of the same kinds.

    python examples/benchmark/generation_peers.py

The peer runs in a process of its own, asked in turn with ours; seconds are those of the processor
(``workers/games.py``), and medians of the rates are compared.

Generation. A task is what a user gets for one more number: ours from ``tasks.sample`` over all
splits, theirs as ``dataset[i]``. Sudoku 9x9 with 31 to 45 cells to fill and 4x4 with 6 to 10, one
solution each (reasoning-gym may stop short of that many cells, ours starts over); sokoban 6x6 with
one box. Their text of the question is made with the task, ours at the first observation. Sums and
equations are alike but not the same: theirs have 2 to 6 terms of up to 4 digits, and one unknown
linearly; ours are drawn from the medium sums (integers, fractions, decimals, brackets) and the easy
equations, and each comes with a program that computes the answer.

Verification. Both check the same answers to the peer's tasks, every second one spoilt, and must
agree on every one. An answer stands in a sentence, in ``<answer>`` tags for theirs, in a box or as
a grid or moves for ours. Theirs compares texts first, and has done with a grid or number that is
spelt as its own. Ours reads whatever form a grid or number has, checks the grid by the rules, and is
several times slower at both; in sokoban both carry out the moves.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import peers
from timing import Row, row
from workers.games import rate

import llmzoo
from llmzoo.envs.games.sokoban import scoring as sokoban
from llmzoo.envs.games.sudoku import scoring as sudoku
from llmzoo.envs.math import scoring as math
from llmzoo.envs.math.generator import sample_task
from llmzoo.envs.math.tasks import MathTask

WORKER = Path(__file__).parent / "workers" / "tasks_reasoning_gym.py"
SLICE = 0.3  # seconds that a side works before the other one's turn
AT_ONCE = 10
XSB = str.maketrans("+-*%@X$", "# @+$.*")  # from the letters of reasoning-gym's sokoban

Entry = dict[str, Any]  # a task of reasoning-gym
Check = Callable[[Entry, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of task on both sides.

    ``wrong`` spoils an answer; ``write`` puts one into a sentence for ours, ``check`` reads it.
    """

    name: str
    theirs: str
    settings: dict[str, Any]
    ours: Callable[[random.Random], object]
    wrong: Callable[[str], str]
    write: Callable[[str], str]
    check: Check


def compare(repeats: int = 15) -> list[Row]:
    """The rows, or none where reasoning-gym cannot be had, which is printed."""
    try:
        with peers.Peer("reasoning_gym", WORKER) as peer:
            return [row for kind in kinds() for row in _measure(kind, peer, repeats)]
    except peers.PeerAbsent as absent:
        print(f"left out: {absent}")
        return []


def _measure(kind: Kind, peer: peers.Peer, repeats: int) -> list[Row]:
    ask = partial(peer.ask, name=kind.theirs)
    entries = ask(do="open", settings=kind.settings)["entries"]
    answers = [
        (number, kind.wrong(entry["answer"]) if number % 2 else entry["answer"])
        for number, entry in enumerate(entries)
    ]
    texts = [(number, f"It is <answer>{answer}</answer>") for number, answer in answers]
    pairs = [(entries[number], kind.write(answer)) for number, answer in answers]
    rng = random.Random(0)

    def generate() -> None:
        for _ in range(AT_ONCE):
            kind.ours(rng)

    def verify() -> list[bool]:
        return [kind.check(entry, text) for entry, text in pairs]

    rights = ask(do="verify", texts=texts, seconds=0)["rights"]
    if rights != verify() or not all(rights[::2]) or all(rights[1::2]):
        raise RuntimeError(f"{kind.name}: the verdicts differ: {rights}, ours {verify()}")
    made, checked = [], []
    for _ in range(repeats):
        theirs = ask(do="generate", seconds=SLICE)["rate"]
        made.append((AT_ONCE * rate(generate, SLICE), theirs))
        theirs = ask(do="verify", texts=texts, seconds=SLICE)["rate"]
        checked.append((len(pairs) * rate(verify, SLICE), theirs))
    return [
        _row(f"generation_{kind.name}_vs_reasoning_gym", made, "tasks/s"),
        _row(f"verification_{kind.name}_vs_reasoning_gym", checked, "checks/s"),
    ]


def _row(name: str, rates: Sequence[tuple[float, float]], unit: str) -> Row:
    ours, theirs = zip(*rates, strict=True)
    return row(name, statistics.median(ours), unit, theirs=statistics.median(theirs))


# The kinds


def kinds() -> list[Kind]:
    grid = Kind(
        name="sudoku",
        theirs="sudoku",
        settings={"min_empty": 31, "max_empty": 45},
        ours=_game("sudoku_v0", size=9),
        wrong=lambda answer: answer.translate(str.maketrans("12", "21")),
        write=lambda answer: f"My grid:\n{answer}",
        check=_check_sudoku,
    )
    small = replace(
        grid,
        name="sudoku_4x4",
        theirs="mini_sudoku",
        settings={"min_empty": 6, "max_empty": 10},
        ours=_game("sudoku_v0", size=4),
    )
    boxes = Kind(
        name="sokoban",
        theirs="sokoban",
        settings={"min_w": 6, "max_w": 6, "min_h": 6, "max_h": 6, "min_boxes": 1, "max_boxes": 1},
        ours=_game("sokoban_v0", size=6, boxes=1),
        wrong=lambda answer: answer[: (len(answer) + 1) // 2],  # now and then enough
        write=lambda answer: f"Answer: {answer}",
        check=_check_sokoban,
    )
    sums = Kind(
        name="sums",
        theirs="basic_arithmetic",
        settings={},
        ours=partial(sample_task, family="arithmetic", level="medium"),
        wrong=lambda answer: str(int(answer) + 1),
        write=lambda answer: f"It is \\boxed{{{answer}}}",
        check=_check_number,
    )
    equations = replace(
        sums,
        name="equations",
        theirs="simple_equations",
        ours=partial(sample_task, family="algebra", level="easy"),
    )
    return [grid, small, boxes, sums, equations]


def _game(env_id: str, **settings: Any) -> Callable[[random.Random], object]:
    return llmzoo.make(env_id, split="all", **settings).unwrapped.tasks.sample


def _check_sudoku(entry: Entry, text: str) -> bool:
    puzzle = "".join(str(n or ".") for line in entry["metadata"]["puzzle"] for n in line)
    fills = sudoku.parse_fills(text, sudoku.grid_side(puzzle))
    if sudoku.find_broken_given(puzzle, fills) is not None:
        return False
    return sudoku.is_solved(puzzle, sudoku.fill_in(puzzle, fills))


def _check_sokoban(entry: Entry, text: str) -> bool:
    rows = entry["metadata"]["gamestr"].replace(" ", "").strip().translate(XSB)
    return sokoban.is_solved(
        sokoban.run_moves(sokoban.start_position(rows), sokoban.parse(text)).world
    )


def _check_number(entry: Entry, text: str) -> bool:
    task = MathTask(question=entry["question"], answer=entry["answer"], computed=True)
    return math.is_correct(task, math.parse_reasoner_answer(text, computed=True).value)


if __name__ == "__main__":
    for found in compare():
        print(
            f"{found['name']:<46}{found['ours']:>10,.0f} {found['unit']:<9}"
            f"theirs {found['theirs']:>9,.0f}: {found['ratio']:.2f} times"
        )
