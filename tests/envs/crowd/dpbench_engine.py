"""Compares the table of philosophers_v0 with the engine of DPBench, and records episodes of that engine.

    python tests/envs/crowd/dpbench_engine.py --compare 1000
    python tests/envs/crowd/dpbench_engine.py --record 200

It needs ``pip install dpbench==0.2.1``; test_dpbench.py, which replays the record, does not. A record is a line
of JSON: the number of philosophers, and for each step the actions, who holds each fork, who eats and the meals
(one character for each philosopher or fork), and whether it ended in a deadlock.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from llmzoo.envs.crowd.philosophers.table import Guest, Table, is_deadlock, lay_table, play_round

FILE = Path(__file__).with_name("dpbench_episodes.jsonl")
STEPS = 16
LETTERS = {"l": "left", "r": "right", "x": "release", "w": "wait"}
ALWAYS_HUNGRY = Guest(hungry_from=0, meals=1000, eating=1)
Step = tuple[str, str, str]  # who holds each fork, who eats, the meals
PHANTOM: Step = ("a fork that is on the table and held", "", "")
Play = Callable[[str], tuple[Step, bool]]  # the actions -> the state, and whether it is a deadlock


def our_table(count: int) -> Play:
    """Steps of llmzoo's engine."""
    table, number = lay_table(count), 0

    def play(actions: str) -> tuple[Step, bool]:
        nonlocal table, number
        guests = [ALWAYS_HUNGRY] * count
        table = play_round(table, guests, number, [LETTERS[letter] for letter in actions])
        number += 1
        return describe(table), is_deadlock(table)

    return play


def describe(table: Table) -> Step:
    holders = "".join("." if holder is None else str(holder) for holder in table.holders)
    eating = "".join("e" if rounds else "." for rounds in table.eating)
    return holders, eating, "".join(map(str, table.meals))


def dpbench_table(count: int) -> Play:
    """Steps of DPBench's engine."""
    from dpbench.core import environment
    from dpbench.core.types import Action, AgentDecision, PhilosopherState

    names = {"l": "grab_left", "r": "grab_right", "x": "release", "w": "wait"}
    state: Any = environment.create_initial_state(count)

    def play(actions: str) -> tuple[Step, bool]:
        nonlocal state
        decisions = [AgentDecision(i, Action(names[a])) for i, a in enumerate(actions)]
        result = environment.step(state, decisions, "simultaneous")
        state = result.new_state
        for number, philosopher in enumerate(state.philosophers):
            forks = number, (number + 1) % count
            held = tuple(state.forks[fork].holder == number for fork in forks)
            if held != (philosopher.has_left_fork, philosopher.has_right_fork):
                return PHANTOM, False
        holders = "".join("." if f.holder is None else str(f.holder) for f in state.forks)
        eats = (p.state is PhilosopherState.EATING for p in state.philosophers)
        meals = "".join(str(p.meals_eaten) for p in state.philosophers)
        return (holders, "".join("e" if e else "." for e in eats), meals), result.deadlock

    return play


def sample_actions(
    rng: random.Random, step: Step, purpose: float, *, eaters_release: bool = False
) -> str:
    """Random actions; with probability ``purpose`` a philosopher takes a fork that it lacks."""
    holders, eating, _ = step
    actions = ""
    for number in range(len(holders)):
        held = [holders[fork] == str(number) for fork in (number, (number + 1) % len(holders))]
        letters = "lrw" if eating[number] == "e" and not eaters_release else "lrxw"
        if not all(held) and rng.random() < purpose:
            letters = "l" * (not held[0]) + "r" * (not held[1])
        actions += rng.choice(letters)
    return actions


def record(seed: int) -> dict[str, Any]:
    """An episode of DPBench's engine, in which nobody releases while eating."""
    rng = random.Random(seed)
    count, purpose = rng.randint(2, 8), rng.random()
    play, step = dpbench_table(count), describe(lay_table(count))
    steps, deadlock = [], False
    while len(steps) < STEPS and not deadlock:
        actions = sample_actions(rng, step, purpose)
        step, deadlock = play(actions)
        steps.append((actions, *step))
    return {"philosophers": count, "steps": steps, "deadlock": deadlock}


def compare(seed: int) -> str:
    """Plays both engines with the same actions, eaters that release included. "" if all states are equal.

    Otherwise what differs: "released while eating" if somebody did so in the first step that differs, and DPBench's
    engine then has a fork on the table that a neighbour holds.
    """
    rng = random.Random(seed)
    count, purpose = rng.randint(2, 8), rng.random()
    ours, theirs = our_table(count), dpbench_table(count)
    step = describe(lay_table(count))
    for _ in range(STEPS):
        actions = sample_actions(rng, step, purpose, eaters_release=True)
        released = any(a == "x" and e == "e" for a, e in zip(actions, step[1], strict=True))
        (step, deadlock), found = ours(actions), theirs(actions)
        if found != (step, deadlock):
            if released and found[0] == PHANTOM:
                return "released while eating"
            return f"seed {seed}: {found} for {step}"
        if deadlock:
            break
    return ""


def replay(episode: dict[str, Any]) -> Iterator[tuple[tuple[Step, bool], tuple[Step, bool]]]:
    """Each step of a recorded episode: the state by llmzoo's engine, and the recorded one."""
    play = our_table(episode["philosophers"])
    last = len(episode["steps"]) - 1
    for number, (actions, *step) in enumerate(episode["steps"]):
        yield play(actions), (tuple(step), episode["deadlock"] and number == last)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", type=int, metavar="EPISODES")
    parser.add_argument("--record", type=int, metavar="EPISODES")
    args = parser.parse_args()
    if args.record:
        lines = (json.dumps(record(seed), separators=(",", ":")) for seed in range(args.record))
        FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if args.compare:
        clean = [record(seed) for seed in range(args.compare)]
        same = sum(all(own == their for own, their in replay(episode)) for episode in clean)
        deadlocks = sum(episode["deadlock"] for episode in clean)
        meals = sum(int(meal) for episode in clean for meal in episode["steps"][-1][3])
        print(f"{same} of {len(clean)} equal; {deadlocks} deadlocks, {meals} meals")
        found = [compare(seed) for seed in range(args.compare)]
        allowed = found.count("released while eating")
        print(f"with releases while eating: {found.count('')} equal, {allowed} differ by them")
        assert same == len(clean), "the engines differ"
        assert found.count("") + allowed == len(found), found


if __name__ == "__main__":
    main()
