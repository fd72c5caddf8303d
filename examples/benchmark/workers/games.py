"""The one clock for games played step by step: ours and the peers' are timed by this same loop.

Seconds are those of the processor: nothing here waits, and a busy machine slows no side more.
It needs the standard library alone, since it runs in a peer's environment.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


def puzzle_text(grid: Sequence[Sequence[int]]) -> str:
    """A sudoku as one run of digits, a dot for each blank."""
    return "".join(str(number or ".") for line in grid for number in line)


def room_text(state: Any, fixed: Any, player: tuple[int, int]) -> str:
    """A room of gym-sokoban's code, on which both peers build, in XSB text."""
    symbols = {0: "#", 1: " ", 2: ".", 3: "*", 4: "$", 5: "@"}
    room = [[symbols[cell] for cell in line] for line in state]
    row, column = player
    if fixed[row][column] == 2:
        room[row][column] = "+"
    return "\n".join(map("".join, room))


def rate(work: Callable[[], object], seconds: float) -> float:
    """Calls of ``work`` a second, for at least ``seconds``."""
    calls, began = 0, time.process_time()
    while True:
        work()
        calls += 1
        spent = time.process_time() - began
        if spent >= seconds:
            return calls / spent


@dataclass
class Games:
    """Episodes of one game, each from a start of its own with moves written down beforehand.

    ``starts[e]`` gives a fresh environment at the start of episode e; ``step`` plays one move and
    reads what the environment says next, and returns whether the episode has ended. Only steps are
    timed. ``reset(number)`` makes a new level and its first observation.
    """

    step: Callable[[Any, str], bool]
    reset: Callable[[int], object]
    starts: Sequence[Callable[[], Any]]
    episodes: list[tuple[Callable[[], Any], Sequence[str]]] = field(default_factory=list)
    _turns: itertools.count = field(default_factory=itertools.count)
    _levels: itertools.count = field(default_factory=itertools.count)

    def play_by(self, scripts: Sequence[Sequence[str] | None]) -> None:
        """Give each start its moves; without any (None), a start is left out."""
        pairs = zip(self.starts, scripts, strict=True)
        self.episodes = [(start, script) for start, script in pairs if script is not None]

    def steps(self, seconds: float) -> float:
        """Steps per second. An episode that does not end with its last move is an error."""
        steps, spent = 0, 0.0
        while spent < seconds:
            number = next(self._turns) % len(self.episodes)
            start, script = self.episodes[number]
            env, step = start(), self.step
            began = time.process_time()
            ended = [step(env, move) for move in script]
            spent += time.process_time() - began
            if [number for number, end in enumerate(ended) if end] != [len(script) - 1]:
                raise RuntimeError(f"episode {number} does not end with its last move: {ended}")
            steps += len(script)
        return steps / spent

    def levels(self, seconds: float) -> float:
        """Levels made per second, first observation included."""
        return rate(lambda: self.reset(next(self._levels)), seconds)


def answering(
    make: Callable[[str, dict[str, Any]], tuple[Games, list[str]]],
) -> Callable[..., dict[str, Any]]:
    """A worker's answers: ``make(env_id, settings)`` gives the games and their starts as text."""
    games: dict[str, Games] = {}

    def answer(do: str, env_id: str, **details: Any) -> dict[str, Any]:
        if do == "make":
            games[env_id], boards = make(env_id, details["settings"])
            return {"boards": boards}
        if do == "moves":
            games[env_id].play_by(details["scripts"])
            return {}
        if do == "steps":
            return {"rate": games[env_id].steps(details["seconds"])}
        if do == "levels":
            return {"rate": games[env_id].levels(details["seconds"])}
        raise ValueError(f"unknown request {do!r}")

    return answer
