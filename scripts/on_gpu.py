"""Measures this project on a GPU that is there for a quarter of an hour.

    python scripts/on_gpu.py --out gpu.jsonl
    python scripts/on_gpu.py --out gpu.jsonl --parts decode,update --minutes 4

Where nothing is installed, torch, transformers, peft, pettingzoo and gymnasium are needed. Each result is
appended to the file as soon as it is there, and printed. A second call with the same file
leaves out what this commit has measured on this device. Parts, in their order: ``tests`` (tests/gpu),
``decode`` (milliseconds a token, with and without CUDA graphs and adapters), ``kernels`` (of one step),
``update`` (a pass with gradients), ``trl`` (a training step beside TRL's). The model has SmolLM2-135M's
shape and random weights, so nothing is downloaded. A part that fails leaves a row that says why.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the machine may have nothing of ours installed

from llmzoo.policies import lora, static_rows  # noqa: E402
from llmzoo.policies.decode import sample  # noqa: E402
from llmzoo.policies.likelihood import likelihood  # noqa: E402
from llmzoo.policies.precision import cast_weights  # noqa: E402
from llmzoo.policies.sampling import Sampling  # noqa: E402

PARTS = ("tests", "decode", "kernels", "update", "trl")
SHAPE = {
    "vocab_size": 49_152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "tie_word_embeddings": True,
}
SMALL = {**SHAPE, "vocab_size": 300, "num_hidden_layers": 2}
PRECISIONS = ("float32", "bf16")
Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is measured. ``rows``: answers that are sampled together, over ``prompts`` prompts."""

    shape: Mapping[str, Any]
    rows: Sequence[int]
    prompts: int
    prompt: int  # tokens
    new: int  # tokens


WHOLE = Sizes(SHAPE, (32, 64, 128, 512), 4, 128, 64)
QUICK = Sizes(SMALL, (8,), 2, 12, 6)


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement; ``most``: seconds that it may need."""

    name: str
    most: float
    measure: Callable[[], Result]


def cells(parts: Sequence[str], sizes: Sizes) -> Iterator[Cell]:
    for part in PARTS:
        if part in parts:
            yield from _CELLS[part](sizes)


def _tests(sizes: Sizes) -> Iterator[Cell]:
    yield Cell("tests/gpu", 240, partial(run, ["-m", "pytest", "tests/gpu", "-m", "", "-q"], 240))


def _decoding(sizes: Sizes) -> Iterator[Cell]:
    for precision in PRECISIONS:
        for adapters in (0, 2):
            for rows in sizes.rows:
                for graphs in (True, False):
                    if not graphs and rows != sizes.rows[0]:
                        continue  # slow, and known
                    name = f"decode {precision} {adapters} adapters {rows} rows" + " graph" * graphs
                    yield Cell(name, 60, partial(decode, sizes, precision, adapters, rows, graphs))


def _kernels(sizes: Sizes) -> Iterator[Cell]:
    yield Cell("kernels bf16 graph", 60, partial(kernels, sizes))


def _updates(sizes: Sizes) -> Iterator[Cell]:
    for precision in PRECISIONS:
        yield Cell(f"update {precision}", 60, partial(update, sizes, precision))


def _beside_trl(sizes: Sizes) -> Iterator[Cell]:
    for new in (32, 128):
        args = ["examples/benchmark/training_step.py", "--millions", "135", "--only", str(new)]
        args += ["--k", "8", "--peers", "trl", "--threads", "4", "--plain", "--repeats", "3"]
        yield Cell(f"step beside TRL {new} new tokens", 200, partial(run, args, 200))


_CELLS: Mapping[str, Callable[[Sizes], Iterator[Cell]]] = {
    "tests": _tests,
    "decode": _decoding,
    "kernels": _kernels,
    "update": _updates,
    "trl": _beside_trl,
}


def a_model(sizes: Sizes, precision: str, adapters: int = 0) -> tuple[Any, list[str]]:
    """A model, and the names of its adapters."""
    torch.manual_seed(0)
    model: Any = LlamaForCausalLM(LlamaConfig(**sizes.shape)).eval()
    added: Mapping[str, str] = {}
    if adapters:
        names = [f"agent_{n}" for n in range(adapters)]
        model, added = lora.add_adapters(model, "base", names, seed=0, options={})
    cast_weights(model, precision)
    return model.to("cuda"), list(added.values())


def prompts_of(sizes: Sizes) -> list[tuple[int, ...]]:
    made = torch.Generator().manual_seed(0)
    shape = (sizes.prompts, sizes.prompt)
    ids = torch.randint(sizes.shape["vocab_size"], shape, generator=made)
    return [tuple(row) for row in ids.tolist()]


def decode(sizes: Sizes, precision: str, adapters: int, rows: int, graphs: bool) -> Result:
    """A call of the sampler in which no answer ends, of each adapter after the other."""
    model, names = a_model(sizes, precision, adapters)

    def call() -> float:
        torch.cuda.synchronize()
        started = time.monotonic()
        for name in names or [""]:
            if name:
                model.set_adapter(name)
            sample(
                model,
                prompts_of(sizes),
                rows // sizes.prompts // max(1, adapters),
                Sampling(max_new_tokens=sizes.new),
                eos_ids=[],
                pad_id=0,
                keys=range(sizes.prompts),
                cuda_graphs=graphs,
            )
        torch.cuda.synchronize()
        return time.monotonic() - started

    first = call()  # with the capture
    seconds = sorted(call() for _ in range(3))
    steps = static_rows.waiting_steps()
    count = sizes.new * max(1, adapters)
    return {
        "first_seconds": first,
        "seconds": seconds,
        "ms_a_step": 1000 * seconds[1] / count,
        "static": bool(steps),
        "captured": bool(steps) and all(step.is_captured for step in steps),
        "tokens_a_second": rows * sizes.new / seconds[1],
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
    }


def kernels(sizes: Sizes) -> Result:
    """The kernels of a call, and those that take longest."""
    model, _ = a_model(sizes, "bf16")
    call = partial(
        sample,
        model,
        prompts_of(sizes),
        sizes.rows[0] // sizes.prompts,
        Sampling(max_new_tokens=sizes.new),
        eos_ids=[],
        pad_id=0,
        keys=range(sizes.prompts),
    )
    call()
    both = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=both) as profile:
        call()
    found = [e for e in profile.key_averages() if e.device_type == torch.autograd.DeviceType.CUDA]
    found.sort(key=lambda event: -event.self_device_time_total)
    longest = [[e.key[:80], e.count, e.self_device_time_total] for e in found[:15]]
    return {"kernels_a_token": sum(e.count for e in found) / sizes.new, "longest_us": longest}


def update(sizes: Sizes, precision: str) -> Result:
    """A pass with gradients over the answers of every prompt, 8 each."""
    model, _ = a_model(sizes, precision)
    prompts = prompts_of(sizes)
    answers = [[prompt[: sizes.new]] * 8 for prompt in prompts]

    def call() -> float:
        torch.cuda.synchronize()
        started = time.monotonic()
        found = likelihood(model, prompts, answers, Sampling(), pad_id=0)
        found.logprobs.sum().backward()
        model.zero_grad()
        torch.cuda.synchronize()
        return time.monotonic() - started

    first = call()
    seconds = sorted(call() for _ in range(3))
    tokens = sum(map(len, prompts)) + sum(len(ids) for group in answers for ids in group)
    return {
        "first_seconds": first,
        "seconds": seconds,
        "tokens_a_second": tokens / seconds[1],
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
    }


def run(args: Sequence[str], seconds: float) -> Result:
    """Another program; what it printed last. It ends with all its processes when its time is over."""
    program = subprocess.Popen(
        [sys.executable, *args],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = program.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        said, _ = program.communicate()
    result = {"code": program.returncode, "said": said[-4000:]}
    return result if program.returncode == 0 else {**result, "error": "it failed or took too long"}


def where() -> dict[str, str]:
    """The device, the libraries and the commit of a row."""
    try:
        commit = subprocess.check_output(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True
        ).strip()
    except (OSError, subprocess.CalledProcessError):  # the files alone were copied here
        commit = f"unknown, of {time.time():.0f}"  # so nothing counts as measured already
    return {
        "device": torch.cuda.get_device_properties(0).name,
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "commit": commit,
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", default=",".join(PARTS), help=", ".join(PARTS))
    parser.add_argument("--minutes", type=float, default=9.0, help="none begins that may end later")
    parser.add_argument("--quick", action="store_true", help="a small model")
    args = parser.parse_args(argv)
    parts = args.parts.split(",")
    if not set(parts) <= set(PARTS):
        parser.error(f"--parts are of {', '.join(PARTS)}; got {args.parts}")
    if not torch.cuda.is_available():
        print("no GPU of CUDA is here", file=sys.stderr)
        return 2
    ends = time.monotonic() + 60 * args.minutes
    here = where()
    rows = (
        [json.loads(line) for line in args.out.read_text().splitlines()]
        if args.out.exists()
        else []
    )
    known = {row["name"] for row in rows if row["where"] == here and "error" not in row}
    for cell in cells(parts, QUICK if args.quick else WHOLE):
        if cell.name in known:
            continue
        if time.monotonic() + cell.most > ends:
            print(f"{cell.name}: no time left")
            continue
        row: dict[str, Any] = {"name": cell.name, "where": here}
        try:
            gc.collect()  # the model and the steps of the cell before
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            row |= cell.measure()
        except Exception as error:  # the other cells are worth their time
            row |= {"error": repr(error), "trace": traceback.format_exc()[-2000:]}
        with args.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(
            {key: value for key, value in row.items() if key not in ("where", "trace")}, flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
