"""A training step (sampling, reward, update) against those of TRL and comlrl.

    python examples/benchmark/training_step.py --out steps.json            # all: three hours
    python examples/benchmark/training_step.py --only 32 --k 8 --vocabulary 100 --peers trl

GRPO with one agent against TRL's ``GRPOTrainer`` (rows ``step_vs_trl_32``), and MAGRPO with two
agents that have a model each against comlrl's ``MAGRPOTrainer`` (``step_vs_comlrl_32``): 32, 128
and 256 new tokens a completion; ``_k2``: 2 completions of a prompt instead of 8; ``_vocab50k``:
50,000 words instead of 100; ``_135m``: a model of the shape of SmolLM2-135M, with its 49,152 words,
and 4 prompts instead of 16.

The same on all sides: the model (Qwen2, random weights, float32; 0.80 million parameters, 7.2 with
50,000 words, whose embedding has 6.4), torch and transformers, the 16 prompts of 128 tokens, K, the
length of every completion (nothing ends one early), sampling from the full distribution, a reward
that takes no time and makes every group informative, and one AdamW step of each model on all
completions. A worker's first step is counted, not timed: it must have sampled all those tokens and
read them again with gradients.

Not the same, besides how the work is done: each has its own loss (clipped in TRL and our GRPO, the
plain policy gradient in comlrl and our MAGRPO, of which only ours leaves out the division by the
group's deviation; no KL anywhere); ours returns the log-probability of every sampled token, theirs
do not; ours steps a PettingZoo environment for each completion, theirs call a function. TRL
computes in bfloat16 and checkpoints gradients by default; here it does neither, since both make it
slower on a CPU. With checkpoints it would need less memory. comlrl samples one prompt at a time,
whatever its settings; its buffer and batch are set to all 16, for one optimiser step an agent.

Every side has a process of its own and steps when it is its turn, so that a busy machine hits all
alike. All start with the machine's malloc settings; ours keeps freed memory, as its engine does by
itself on a CPU. In ``_tuned`` rows theirs keeps it too (by the Makefile's settings), and comlrl has
a thread for each agent. Each has one thread or two for its arithmetic, whichever is faster for it.
Medians of seconds are compared; the range is printed, and ``memory_vs_...`` compares the most memory
that a process ever held, libraries included.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path

from peers import PeerAbsent, Worker, interpreter
from step_sides import Side, take_turns
from timing import Row, row
from workers.step_task import SMALL, SMOLLM2, SMOLLM2_WORDS, Task

WORKERS = Path(__file__).resolve().parent / "workers"
PEERS = {"trl": 1, "comlrl": 2}  # agents
# what the Makefile exports, and much what llmzoo.engine.setup sets in a process of ours
KEPT_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "268435456",
}
THREADS = (1, 2)


class StepRow(Row):
    """Also the least and the most of ours and of theirs; of both, the threads that each had, and
    the median seconds of CPU time of a step, which say more than the clock's on a busy machine."""

    ours_range: list[float]
    theirs_range: list[float]
    threads: list[int]
    cpu_seconds: list[float]


def measure(
    task: Task,
    peer: str,
    repeats: int,
    *,
    choices: Sequence[int] = THREADS,
    tuned: bool = True,
) -> list[StepRow]:
    """The rows of one task against one peer, ``tuned`` ones too. Raises :class:`PeerAbsent`."""
    if peer == "trl" and importlib.util.find_spec("trl") is None:
        raise PeerAbsent("trl is not installed: pip install 'llmzoo-marl[train]'")
    here = Path(sys.executable)
    there = here if peer == "trl" else interpreter(peer)
    agents = PEERS[peer]
    completions = agents * task.prompts * task.k
    sampled = completions * task.new_tokens
    # not even what make has set
    plain = {n: v for n, v in os.environ.items() if n not in (*KEPT_MEMORY, "OMP_NUM_THREADS")}
    with ExitStack() as stack:

        def start(
            name: str, python: Path, env: Mapping[str, str], threads: Sequence[int], *args: str
        ) -> Side:
            command = [str(python), str(WORKERS / f"step_{name}.py"), *task.arguments(), *args]
            return Side(stack.enter_context(Worker(name, command, env)), threads)

        ours = start("ours", here, plain, choices, f"--agents={agents}")
        theirs = {"": start(peer, there, plain, choices)}
        kept = plain | KEPT_MEMORY
        if tuned and peer == "trl":
            theirs["_tuned"] = start(peer, there, kept, choices)
        elif tuned:
            theirs["_tuned"] = start(peer, there, kept, [1], "--parallel")
        take_turns([ours, *theirs.values()], repeats, sampled, completions)
    return [
        found
        for label, other in theirs.items()
        for found in (
            _row(f"step_vs_{peer}_{_suffix(task)}{label}", ours, other, "s"),
            _row(f"memory_vs_{peer}_{_suffix(task)}{label}", ours, other, "MB"),
        )
    ]


def large(new_tokens: int, k: int = 8) -> Task:
    """A step of a model of 135 million parameters."""
    return Task(new_tokens=new_tokens, k=k, vocabulary=SMOLLM2_WORDS, prompts=4, millions=SMOLLM2)


def _suffix(task: Task) -> str:
    few = "" if task.k == 8 else f"_k{task.k}"
    if task.millions == SMOLLM2:
        return f"{task.new_tokens}{few}_135m"
    many = "" if task.vocabulary == 100 else f"_vocab{task.vocabulary // 1000}k"
    return f"{task.new_tokens}{few}{many}"


def _row(name: str, ours: Side, theirs: Side, unit: str) -> StepRow:
    mine, other = (side.seconds if unit == "s" else [side.megabytes] for side in (ours, theirs))
    middle = statistics.median(other)
    return StepRow(
        **row(name, statistics.median(mine), unit, theirs=middle, higher_is_better=False),
        ours_range=[min(mine), max(mine)],
        theirs_range=[min(other), max(other)],
        threads=[ours.threads, theirs.threads],
        cpu_seconds=[statistics.median(side.cpu_seconds) for side in (ours, theirs)],
    )


def compare(repeats: int = 5, *, large_too: bool = True) -> list[Row]:
    """The rows of ``make bench``: K=8, 32 new tokens and 100 words against all peers; 32 and 128
    with the larger model against TRL. A quarter of an hour."""
    small = Task(new_tokens=32, k=8, vocabulary=100)
    pairs = [(small, peer, repeats) for peer in PEERS]
    if large_too:
        pairs += [(large(32), "trl", 2), (large(128), "trl", 1)]
    rows: list[Row] = []
    for task, peer, times in pairs:
        try:
            found = measure(task, peer, times, tuned=task is small)
        except PeerAbsent as reason:
            print(f"step_vs_{peer}_{_suffix(task)} skipped: {reason}", file=sys.stderr)
            continue
        rows += [
            row(
                each["name"],
                each["ours"],
                each["unit"],
                theirs=each["theirs"],
                higher_is_better=False,
            )
            for each in found
        ]
    return rows


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=_numbers, default=[32, 128, 256], help="new tokens")
    parser.add_argument("--k", type=_numbers, default=[8, 2])
    parser.add_argument("--vocabulary", type=_numbers, default=[100, 50_000])
    parser.add_argument(
        "--millions", type=_numbers, default=[SMALL], help="1, 135: size of the model"
    )
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(PEERS))
    parser.add_argument("--threads", type=_numbers, default=THREADS, help="1 on a busy machine")
    parser.add_argument("--plain", action="store_true", help="without the tuned rows")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="rows are added to it; what it has is left out")
    args = parser.parse_args()

    rows = json.loads(args.out.read_text()) if args.out and args.out.exists() else []
    known = {each["name"] for each in rows}
    tasks = [
        Task(new_tokens=new_tokens, k=k, vocabulary=vocabulary)
        for new_tokens, k, vocabulary in product(args.only, args.k, args.vocabulary)
        # one thing is changed at a time, unless it is asked for
        if SMALL in args.millions and (k == 8 or vocabulary == 100 or len(args.vocabulary) == 1)
    ]
    if SMOLLM2 in args.millions:
        tasks += [large(new_tokens, k) for new_tokens, k in product(args.only, args.k)]
    for task in tasks:
        for peer in args.peers:
            if f"step_vs_{peer}_{_suffix(task)}" in known:
                continue
            try:
                found = measure(
                    task, peer, args.repeats, choices=args.threads, tuned=not args.plain
                )
            except PeerAbsent as reason:
                print(f"step_vs_{peer}_{_suffix(task)} skipped: {reason}", file=sys.stderr)
                continue
            for each in found:
                print(_line(each), flush=True)
            rows += found
            if args.out:
                args.out.write_text(json.dumps(rows, indent=2) + "\n")


def _line(found: StepRow) -> str:
    digits = ".2f" if found["unit"] == "s" else ",.0f"
    (least, most), (their_least, their_most) = found["ours_range"], found["theirs_range"]
    text = (
        f"{found['name']}: {found['ours']:{digits}} {found['unit']} "
        f"({least:{digits}} to {most:{digits}}, threads: {found['threads'][0]}), "
        f"theirs {found['theirs']:{digits}} "
        f"({their_least:{digits}} to {their_most:{digits}}, threads: {found['threads'][1]}): "
        f"{found['ratio']:.2f} times"
    )
    if found["unit"] == "s":
        ours, theirs = found["cpu_seconds"]
        text += f"; of CPU time {ours:.2f} and {theirs:.2f} s: {theirs / ours:.2f} times"
    return text


if __name__ == "__main__":
    main()
