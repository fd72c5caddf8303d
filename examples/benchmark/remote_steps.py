"""Environment steps per second of games that another process plays, over gRPC.

    python examples/benchmark/remote_steps.py

``llmzoo serve envs`` runs in a process of its own on the loopback, with a token; it and this process are
bound to a core each. Of each game 512 environments are stepped, one move an answer as in
environment_peers.py. After each step its observation, reward, flags and info are here, and are read.
They are divided into two halves, as ``cohorts=2`` divides lines of play: while the server makes the
256 steps of one call (``StepBatch``), the last outcomes of the other half are read and its next
moves noted. ``_in_turn``: one call for all 512, and client and server wait for each other.

Moves are random and written down beforehand. Episodes that end begin again, which is not timed.
``theirs`` is the same game stepped in this process, by the same moves, so that the ratio says what
distance costs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from pettingzoo import AECEnv
from timing import Row, row

import llmzoo
from llmzoo.rollout.stepping import RemoteHost, StepRequest, get_remote_host, is_over, step_each

GAMES = {"sokoban": {"boxes": 3, "size": 8}, "plan_path": {"size": 12}}
ENVIRONMENTS = 512
ROUNDS = 20  # steps of each environment before it begins again
Stepper = Callable[[Sequence[AECEnv], random.Random], int]  # plays on; returns how many steps
SETTINGS = {"num_agents": 1, "max_turns": ROUNDS + 1, "split": "train"}


def compare(repeats: int = 14) -> list[Row]:
    rows = []
    with server() as address, own_core(0):
        for game, level in GAMES.items():
            here = [llmzoo.make(f"{game}_v0", **level, **SETTINGS)]
            there = [
                llmzoo.make(f"{address}/{game}_v0", **level, **SETTINGS)
                for _ in range(ENVIRONMENTS)
            ]
            alone = _median(repeats, here, _step_here)
            beside = _median(repeats, there, _step_by_halves)
            in_turn = _median(repeats, there, _step_in_turn)
            unit = "steps/s over gRPC"
            rows.append(row(f"remote_steps_{game}", beside, unit, theirs=alone))
            rows.append(row(f"remote_steps_{game}_in_turn", in_turn, unit, theirs=alone))
    return rows


@contextmanager
def server() -> Iterator[str]:
    """A server of the games in a process of its own, on the second core; gives its address."""
    ids = ",".join(f"{game}_v0" for game in GAMES)
    command = [sys.executable, "-m", "llmzoo", "serve", "envs", ids, "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address: str = json.loads(process.stdout.readline())["address"]
        _bind(process.pid, 1)
        yield address
    finally:
        process.terminate()
        process.wait()


@contextmanager
def own_core(number: int) -> Iterator[None]:
    """This process on one core meanwhile."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    _bind(os.getpid(), number)
    yield
    os.sched_setaffinity(0, before)


def _bind(pid: int, number: int) -> None:
    """All threads of a process to one of the cores that the machine has for us, on Linux."""
    if sys.platform != "linux":
        return
    cores = sorted(os.sched_getaffinity(os.getppid()))
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), {cores[number % len(cores)]})


def _median(repeats: int, envs: Sequence[AECEnv], step: Stepper) -> float:
    """Steps per second."""
    rates = []
    for repeat in range(repeats + 1):
        moves = random.Random(repeat)
        for number, env in enumerate(envs):
            env.reset(seed=1000 * repeat + number)
        is_over(envs[0])  # sends the resets
        started = time.perf_counter()
        steps = step(envs, moves)
        rates.append(steps / (time.perf_counter() - started))
    return statistics.median(rates[1:])  # what is made at the first time is not timed


def _step_here(envs: Sequence[AECEnv], moves: random.Random) -> int:
    steps = 0
    for _ in range(ROUNDS):
        for act in _acts(envs, moves):
            act.step_fn(act.env, act.texts)
            act.env.observe(act.env.agent_selection)
            steps += 1
    return steps


def _step_in_turn(envs: Sequence[AECEnv], moves: random.Random) -> int:
    steps = 0
    for _ in range(ROUNDS):
        acts = _acts(envs, moves)
        _host(acts).step_all(acts)
        steps += len(acts)
    return steps


def _step_by_halves(envs: Sequence[AECEnv], moves: random.Random) -> int:
    steps = 0
    halves = [envs[::2], envs[1::2]]
    with ThreadPoolExecutor(len(halves)) as pool:
        calls = [pool.submit(list, ()) for _ in halves]
        for _ in range(ROUNDS):
            for number, half in enumerate(halves):
                calls[number].result()
                acts = _acts(half, moves)
                calls[number] = pool.submit(_host(acts).act, acts)
                steps += len(acts)
        for call in calls:
            call.result()
    return steps


def _acts(envs: Sequence[AECEnv], moves: random.Random) -> list[StepRequest]:
    acts = []
    for env in envs:
        if not is_over(env):
            observation = env.observe(env.agent_selection)
            assert observation
            acts.append(StepRequest(env, (moves.choice("UDLR"),), step_each))
    return acts


def _host(acts: Sequence[StepRequest]) -> RemoteHost:
    host = get_remote_host(acts[0])
    assert host is not None
    return host


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=14)
    for found in compare(parser.parse_args().repeats):
        here = found["theirs"] or 0.0
        print(f"{found['name']:<32}{found['ours']:>10,.0f} steps/s ({here:,.0f} in this process)")


if __name__ == "__main__":
    main()
