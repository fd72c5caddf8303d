"""What our environments over other collections cost beside the collections' own loops.

    python examples/benchmark/neighbour_overhead.py

Both sides run in one process in the collection's virtual environment, in turn, and give the same answers in the
same task: a question of Reasoning Gym (drawn and scored), and two answers each in Kuhn poker of TextArena and of
OpenSpiel and in GEM's game of guessing a number, resets included. Ours is the collection with more around it (a
state of chance of its own, agents, prompts, rewards by name, episodes that fork), so it cannot be faster than the
same code alone.
"""

from __future__ import annotations

import os
import site
import statistics

import peers
from environment_peers import SLICE, WORKERS
from timing import Row, row

COLLECTIONS = ("reasoning_gym", "textarena", "openspiel", "gem")


def compare(repeats: int = 15) -> list[Row]:
    """The rows of the collections that can be had; of the others, why not is printed."""
    rows = []
    # ours and what it imports
    path = os.pathsep.join([str(peers.ROOT), *site.getsitepackages()])
    for name in COLLECTIONS:
        try:
            with peers.Peer(
                name, WORKERS / "neighbours_beside.py", env={"PYTHONPATH": path}
            ) as peer:
                peer.ask(name=name, seconds=SLICE / 10)
                found = [peer.ask(name=name, seconds=SLICE) for _ in range(repeats)]
        except peers.PeerAbsent as absent:
            print(f"left out: {absent}")
            continue
        ours, theirs = (
            statistics.median(rates[side] for rates in found) for side in ("ours", "theirs")
        )
        rows.append(row(f"neighbour_{name}", ours, "steps/s, resets included", theirs=theirs))
    return rows


if __name__ == "__main__":
    for found in compare():
        more = 1e6 / found["ours"] - 1e6 / found["theirs"]
        print(
            f"{found['name']:<26}{found['ours']:>9,.0f} {found['unit']}, alone "
            f"{found['theirs']:>9,.0f}: {more:,.0f} microseconds more a step"
        )
