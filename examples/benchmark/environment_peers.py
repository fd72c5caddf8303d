"""Sudoku and sokoban beside gem-llm's and textarena's: steps a second, and levels made a second.

    python examples/benchmark/environment_peers.py

The peers run in processes of their own, asked in turn with ours, a third of a second each; medians
of the rates are compared. One loop, ``workers/games.py``, times all three.

Steps. The same: the boards, which the peer makes and ours reads from a file; the moves, one at a
time, which are right and written down beforehand (a cell of a sudoku in the order of reading, a
step of the player from a shortest solution in pushes); one agent; an observation after each move,
which is text; no reset is timed. Not the same: ours shows the whole task again at each step and
names each part of the reward, and an episode's closing ``step(None)``, which PettingZoo asks for,
is counted as time but not as a step. gem-llm is wrapped as in its own script for games (``concat``:
its rules, what each move did, and the board; bare, it takes 15% less time and shows no board),
textarena as its ``-train`` ids are (its rules and the last board; sokoban's messages too). What
ours remembers of positions is thrown away before each episode. Sudoku is 9x9 with 41 cells to fill (gem-llm also 4x4, as
registered), sokoban 6x6 with as many boxes as the peer registers: 2 with gem-llm, 3 with textarena.

Levels. A reset with a new seed and the first observation, at the same size, boxes and blanks (gem
and textarena leave more clues where a cell cannot be blanked; ours starts over). Ours draws from its
train split, so that one level in five is thrown away. A sokoban level of theirs is the best that a
search backwards finds, ours one that the player pulled apart. Both can be solved, and need about as
many pushes (means over 12 of theirs and 200 of ours: 3.3 and 2.9 with two boxes, 3.7 and 4.1 with
three; 11 and 9, and 17 and 12 moves).
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import peers
from pettingzoo import AECEnv
from timing import Row, row
from workers.games import Games

import llmzoo
from llmzoo.envs.games.sokoban import players, scoring
from llmzoo.envs.games.sudoku.tasks import solve

WORKERS = Path(__file__).parent / "workers"
SLICE = 0.3  # seconds that a side works before the other one's turn
MOST_MOVES = 200  # more than any script has; the moves of an episode are not what ends it

Moves = list[list[str] | None]  # of each board; None: no solution is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A game of ours and the same one of a peer."""

    name: str  # of the rows, such as sudoku_vs_gem
    peer: str
    theirs: str  # the peer's id
    settings: dict[str, Any]  # what differs from what is registered under that id
    ours: str
    level: dict[str, Any]  # ours at the same size


SUDOKU = {"size": 9, "clues": 81 - 41, "num_agents": 1}
SOKOBAN = {"size": 6, "num_agents": 1}
TURNS = {"max_turns": MOST_MOVES}
MATCHES = (
    Match(
        name="sudoku_vs_gem",
        peer="gem",
        theirs="game:Sudoku-v0-hard",
        settings={"clues": 41, **TURNS},  # of this many cells to fill, in spite of its name
        ours="sudoku_v0",
        level=SUDOKU,
    ),
    Match(
        name="sudoku_4x4_vs_gem",
        peer="gem",
        theirs="game:Sudoku-v0-easy",
        settings=TURNS,
        ours="sudoku_v0",
        level={"size": 4, "clues": 6, "num_agents": 1},
    ),
    Match(
        name="sudoku_vs_textarena",
        peer="textarena",
        theirs="Sudoku-v0-medium-train",
        settings=TURNS,
        ours="sudoku_v0",
        level=SUDOKU,
    ),
    Match(
        name="sokoban_vs_gem",
        peer="gem",
        theirs="game:Sokoban-v0-easy",
        settings=TURNS,
        ours="sokoban_v0",
        level={"boxes": 2, **SOKOBAN},
    ),
    Match(
        name="sokoban_vs_textarena",
        peer="textarena",
        theirs="Sokoban-v0-train",
        settings=TURNS,
        ours="sokoban_v0",
        level={"boxes": 3, **SOKOBAN},
    ),
)
LEVELS = {"sokoban_vs_gem", "sokoban_vs_textarena", "sudoku_vs_gem", "sudoku_vs_textarena"}


def compare(repeats: int = 15) -> list[Row]:
    """The rows of all peers that can be had; of the others, why not is printed."""
    rows = []
    for name in ("gem", "textarena"):
        try:
            with peers.Peer(name, WORKERS / f"games_{name}.py") as peer:
                for match in MATCHES:
                    if match.peer == name:
                        rows += _play(match, peer, repeats)
        except peers.PeerAbsent as absent:
            print(f"left out: {absent}")
    return rows


def _play(match: Match, peer: peers.Peer, repeats: int) -> Iterator[Row]:
    ask = partial(peer.ask, env_id=match.theirs)
    boards = ask(do="make", settings=match.settings)["boards"]
    read, ours_write, theirs_write = GAMES[match.ours]
    solutions = [read(board) for board in boards]
    ask(do="moves", scripts=_written(solutions, theirs_write))
    with _ours(match, boards) as games:
        games.play_by(_written(solutions, ours_write))
        ours, theirs = _medians(games.steps, ask, "steps", repeats)
        yield row(f"steps_{match.name}", ours, "steps/s", theirs=theirs)
        if match.name in LEVELS:
            ours, theirs = _medians(games.levels, ask, "levels", repeats)
            yield row(f"levels_{match.name}", ours, "levels/s", theirs=theirs)


def _medians(
    ours: Callable[[float], float], ask: Callable[..., dict[str, Any]], do: str, repeats: int
) -> tuple[float, float]:
    ours(SLICE / 10)  # whatever is made at the first call is not timed
    ask(do=do, seconds=SLICE / 10)
    rates = [(ours(SLICE), ask(do=do, seconds=SLICE)["rate"]) for _ in range(repeats)]
    mine, others = zip(*rates, strict=True)
    return statistics.median(mine), statistics.median(others)


# Our side


@contextmanager
def _ours(match: Match, boards: Sequence[str]) -> Iterator[Games]:
    """Our game on the peer's boards, and our own levels of their size."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n\n".join(boards))
        file.flush()
        env = llmzoo.make(
            match.ours, source=file.name, split="all", num_agents=1, max_turns=MOST_MOVES
        )
        starts = [partial(_start, env, number) for number in range(len(boards))]
        yield Games(_step, partial(_level, llmzoo.make(match.ours, **match.level)), starts)


def _start(env: AECEnv, task: int) -> AECEnv:
    scoring.min_pushes_left.cache_clear()  # every position of an episode is met for the first time
    scoring.measure_standing.cache_clear()
    env.reset(options={"task": task})
    env.last()
    return env


def _step(env: AECEnv, move: str) -> bool:
    env.step(move)
    _, _, terminated, truncated, _ = env.last()
    if terminated or truncated:
        env.step(None)
    return terminated or truncated


def _level(env: AECEnv, seed: int) -> object:
    env.reset(seed=seed)
    return env.last()


# The moves, as (row, column, digit) or a letter, and how they are written


def _written(solutions: Sequence[Sequence[Any] | None], write: Callable[[Any], str]) -> Moves:
    return [None if moves is None else [write(move) for move in moves] for moves in solutions]


def _cells(puzzle: str) -> list[tuple[int, int, int]]:
    (solution,) = solve(puzzle, limit=2)
    size = 4 if len(puzzle) == 16 else 9
    return [
        (cell // size + 1, cell % size + 1, int(digit))
        for cell, digit in enumerate(solution)
        if puzzle[cell] == "."
    ]


def _walk(level: str) -> str | None:
    return players.solve(scoring.start_position(level))


GAMES: dict[str, tuple[Callable[[str], Any], Callable[[Any], str], Callable[[Any], str]]] = {
    "sudoku_v0": (_cells, lambda move: str(list(move)), lambda move: "{} {} {}".format(*move)),
    "sokoban_v0": (
        _walk,
        str,
        {"U": "up", "D": "down", "L": "left", "R": "right"}.__getitem__,
    ),
}


if __name__ == "__main__":
    for found in compare():
        print(
            f"{found['name']:<32}{found['ours']:>10,.0f} {found['unit']:<9}"
            f"theirs {found['theirs']:>8,.0f}: {found['ratio']:.2f} times"
        )
