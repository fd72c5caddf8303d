"""A collection's own loop and ours over it, in one process; run by its interpreter, asked by ``neighbour_overhead.py``."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from games import rate
from serving import serve

import llmzoo

EPISODES = 50
TASKS = {
    "reasoning_gym": ("reasoning_gym:chain_sum", "<answer>1</answer>", 1),
    "textarena": ("textarena:KuhnPoker-v0", "[check]", 2),
    "openspiel": ("openspiel:kuhn_poker", "Move: Pass", 2),
    "gem": ("gem:game:GuessTheNumber-v0-easy", "\\boxed{3}", 2),
}


def ours(id: str, answer: str, most: int) -> Callable[[], int]:
    """Plays an episode of at most ``most`` answers; how many steps it took."""
    env = llmzoo.make(id, split="all")
    seeds = itertools.count()

    def play() -> int:
        env.reset(seed=next(seeds) % EPISODES)
        for step in range(most):
            _, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                return step
            env.step(answer)
        return most

    return play


def reasoning_gym(answer: str, most: int) -> Callable[[], int]:
    package: Any = import_module("reasoning_gym")
    read = import_module("reasoning_gym.utils").extract_answer
    dataset = package.create_dataset("chain_sum", seed=0, size=10**9)
    numbers = itertools.count()

    def play() -> int:
        item = dataset[next(numbers)]
        dataset.score_answer(read(answer), item)
        return 1

    return play


def textarena(answer: str, most: int) -> Callable[[], int]:
    env = import_module("textarena").make("KuhnPoker-v0")
    seeds = itertools.count()

    def play() -> int:
        env.reset(num_players=2, seed=next(seeds) % EPISODES)
        for step in range(most):
            env.get_observation()
            done, _ = env.step(answer)
            if done:
                return step + 1
        return most

    return play


def openspiel(answer: str, most: int) -> Callable[[], int]:
    environment = import_module("open_spiel.python.rl_environment").Environment("kuhn_poker")
    seeds = itertools.count()

    def play() -> int:
        environment.seed(next(seeds) % EPISODES)
        environment.reset()
        for step in range(most):
            if environment.step([0]).last():
                return step + 1
        return most

    return play


def gem(answer: str, most: int) -> Callable[[], int]:
    env = import_module("gem").make("game:GuessTheNumber-v0-easy")
    seeds = itertools.count()

    def play() -> int:
        env.reset(seed=next(seeds) % EPISODES)
        for step in range(most):
            _, _, terminated, truncated, _ = env.step(answer)
            if terminated or truncated:
                return step + 1
        return most

    return play


THEIRS = {
    "reasoning_gym": reasoning_gym,
    "textarena": textarena,
    "openspiel": openspiel,
    "gem": gem,
}
_works: dict[str, tuple[Callable[[], int], Callable[[], int]]] = {}


def answer(name: str, seconds: float) -> dict[str, Any]:
    if name not in _works:
        id, text, most = TASKS[name]
        _works[name] = ours(id, text, most), THEIRS[name](text, most)
    return {
        side: _steps(work, seconds)
        for side, work in zip(("ours", "theirs"), _works[name], strict=True)
    }


def _steps(work: Callable[[], int], seconds: float) -> float:
    """Steps per second, resets included."""
    steps, calls = 0, 0

    def counted() -> None:
        nonlocal steps, calls
        steps += work()
        calls += 1

    episodes = rate(counted, seconds)
    return episodes * steps / calls


serve(answer)
