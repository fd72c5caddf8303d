"""How the cost of an iteration grows with agents, turns, K, prompt length and environments.

    python examples/benchmark/growth.py --plots docs/images
    python examples/benchmark/growth.py --kinds agents --plots docs/images --memory

One thing grows at a time, from 8 environments of 1 agent and 1 turn, K=8 answers of 16 tokens to
prompts of 128: sampling, stepping and the update are timed apart, and the slope of the whole on
logarithmic axes says how it grows (1: in proportion). The model is that of sampling.py (Qwen2,
random weights, vocabulary 512), shared by all agents, in one thread; the environment costs next to
nothing; the learner is MAGRPO. Every value is played three times in turn with the others of its
kind, and medians are reported. With ``--memory`` each value is also played once in a process of its own,
which says how much memory that took beyond what was held before.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import resource
import statistics
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from matplotlib.figure import Figure
from sampling import VOCABULARY, build_model
from timing import Row, row
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from llmzoo.engine.local import LocalEngine
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.learners import learner_class
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy

NEW_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Size:
    """One iteration: what is played and how much of it."""

    agents: int = 1
    turns: int = 1
    k: int = 8
    prompt: int = 128
    environments: int = 8


GROWING: Mapping[str, tuple[int, ...]] = {
    "agents": (1, 2, 4, 8, 16, 32, 64),
    "turns": (1, 2, 4),
    "k": (2, 4, 8, 16, 32),
    "prompt": (128, 256, 512, 1024, 2048 - NEW_TOKENS),
    "environments": (1, 4, 16, 64, 256, 1024),
}


class Words(TextEnv):
    """Each turn every agent reads random words and answers; all are paid a checksum of the answers."""

    metadata = {**TextEnv.metadata, "name": "words_v0"}

    def __init__(self, size: Size):
        agents = [f"writer_{i}" for i in range(size.agents)]
        super().__init__(agents, simultaneous=size.agents > 1, max_turns=size.turns)
        self._size = size

    def reset_task(self, rng: random.Random, task: int | str | None) -> str:
        words = [f"w{rng.randrange(VOCABULARY)}" for _ in range(self._size.prompt - 1)]
        return " ".join(words)

    def observation(self, state: str, agent: str) -> str:
        return f"w{self.turn} {state}"

    def apply(self, state: str, actions: Mapping[str, str]) -> tuple[str, Outcome]:
        paid = zlib.crc32("\n".join(actions.values()).encode()) / 2**32
        return state, Outcome(team=paid, done=self.turn + 1 == self._size.turns)


class Bench:
    """An engine for one size; :meth:`play` gives seconds of sampling, of stepping, of the update."""

    def __init__(self, size: Size):
        self._size = size
        words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w0"))
        words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        policy = TransformersPolicy(
            build_model(),
            PreTrainedTokenizerFast(tokenizer_object=words, pad_token="w0"),
            sampling=Sampling(max_new_tokens=NEW_TOKENS),
        )
        policy.eos_ids = ()
        agent_policies = {f"writer_{i}": policy for i in range(size.agents)}
        cls = learner_class("magrpo")
        learner = cls(cls.Config(group_size=size.k, learning_rate=1e-6))
        self._engine = LocalEngine(learner, {"writer": policy}, agent_policies, total_steps=1000)

    def play(self, seed: int) -> tuple[float, float, float]:
        seeds = [1000 * seed + i for i in range(self._size.environments)]
        began = time.perf_counter()
        batch = self._engine.collect(lambda: Words(self._size), seeds)
        played = time.perf_counter()
        self._engine.update(batch, seed=seed)
        ended = time.perf_counter()
        sampling = self._engine.clock.sampling_seconds
        return sampling, played - began - sampling, ended - played


def measure(kind: str, repeats: int) -> dict[int, tuple[float, float, float]]:
    """Of each value of what grows: median seconds of sampling, stepping and updating."""
    benches = {value: Bench(replace(Size(), **{kind: value})) for value in GROWING[kind]}
    found: dict[int, list[tuple[float, float, float]]] = {value: [] for value in benches}
    for seed in range(repeats + 1):
        for value, bench in benches.items():
            times = bench.play(seed)
            if seed:  # the first one makes what is made once
                found[value].append(times)
    return {value: _medians(times) for value, times in found.items()}


def _medians(times: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    sampling, stepping, update = (statistics.median(part) for part in zip(*times, strict=True))
    return sampling, stepping, update


def slope(found: Mapping[int, tuple[float, float, float]]) -> float:
    """Of the whole's logarithm over the value's, from the first to the last."""
    (low, first), *_, (high, last) = found.items()
    return math.log(sum(last) / sum(first)) / math.log(high / low)


def fit_exponent(values: Mapping[int, float], least: int = 2) -> float:
    """The least-squares slope of the logarithm of a cost over that of what grows, from ``least`` on.

    >>> round(fit_exponent({2: 8.0, 4: 16.0, 8: 32.0}), 9)
    1.0
    """
    points = [(math.log(value), math.log(cost)) for value, cost in values.items() if value >= least]
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def measure_memory(kind: str) -> dict[int, float]:
    """Of each value: MB that one iteration adds to the most memory that a new process holds."""
    found = {}
    for value in GROWING[kind]:
        receiving, sending = multiprocessing.get_context("fork").Pipe(duplex=False)
        size = replace(Size(), **{kind: value})
        child = multiprocessing.get_context("fork").Process(target=_play_once, args=(size, sending))
        child.start()
        found[value] = receiving.recv()
        child.join()
    return found


def _play_once(size: Size, sending: Connection) -> None:
    """Send the MB of one iteration."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    Bench(size).play(seed=1)
    sending.send((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def plot(kind: str, found: Mapping[int, tuple[float, float, float]], path: Path) -> None:
    figure = Figure(figsize=(4.5, 3.2), layout="constrained")
    axes = figure.subplots()
    values = list(found)
    for number, name in enumerate(("sampling", "stepping", "update")):
        axes.plot(values, [times[number] for times in found.values()], marker="o", label=name)
    whole = [sum(times) for times in found.values()]
    axes.plot(values, whole, marker="o", color="black", label="iteration")
    axes.plot(values, [whole[0] * v / values[0] for v in values], ls=":", color="gray", label="1:1")
    axes.set(xscale="log", yscale="log", xlabel=kind, ylabel="seconds")
    axes.set_xticks(values, labels=map(str, values))
    axes.minorticks_off()
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def compare(
    repeats: int = 3,
    plots: Path | None = None,
    kinds: Sequence[str] = tuple(GROWING),
    *,
    memory: bool = False,
) -> list[Row]:
    torch.set_num_threads(1)
    rows = []
    for kind in kinds:
        held = measure_memory(kind) if memory else {}  # first: what is played later adds nothing
        found = measure(kind, repeats)
        for value, (sampling, stepping, update) in found.items():
            print(
                f"{kind:<13}{value:>6}{sampling:>9.3f} s sampling{stepping:>9.3f} s stepping"
                f"{update:>9.3f} s update",
                flush=True,
            )
        print(f"{kind:<13} slope {slope(found):.2f}", flush=True)
        terms = {
            name: {value: times[number] for value, times in found.items()}
            for number, name in enumerate(("sampling", "stepping", "update"))
        }
        terms |= {"memory": held} if memory else {}
        for name, costs in terms.items():
            print(
                f"{kind:<13} exponent of {name}, from 2 on: {fit_exponent(costs):.2f}", flush=True
            )
        if memory:
            print(f"{kind:<13} MB: {held}", flush=True)
        (low, first), *_, (high, last) = found.items()
        growth = row(f"growth_{kind}", sum(last) / sum(first), f"times from {low} to {high}")
        rows.append({**growth, "higher_is_better": False})
        if plots is not None:
            plot(kind, found, plots / f"growth_{kind}.png")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--plots", type=Path, help="folder for a plot of each")
    parser.add_argument("--kinds", nargs="+", choices=list(GROWING), default=list(GROWING))
    parser.add_argument("--memory", action="store_true", help="measure memory too")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    found = compare(args.repeats, args.plots, args.kinds, memory=args.memory)
    if args.out is not None:
        args.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
