"""What an iteration of a pretrained model costs, counted before it and measured in it.

    python examples/benchmark/pretrained_costs.py smollm2
    python examples/benchmark/pretrained_costs.py smollm2 --forms lora,lora_bf16 --episodes 2

One iteration of MAGRPO on ``coop_functions_v0`` with easy functions: two agents, 8 answers of 48
tokens to each prompt. Every form runs in a process of its own, on one thread, and prints a row:

* memory: the libraries of the process before it had a model (measured), the weights, what training
  keeps of each trained weight (16 bytes with AdamW, 12 where the model's own weights train), and the
  activations of one part of the update, by the count with which ``microbatch_tokens`` is chosen; beside
  it the most memory that the process ever held.
* seconds: 2 operations a weight for each token that is read or sampled, 4 for a token of the update
  through a frozen base and 6 where all weights train (one pass forward more with recomputation); at
  the rate of this core in a product of 1,024 rows with a layer's weights, which is measured in the
  same process. Decoding reads all weights for few rows, so it cannot reach that rate.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ENV_ARGS = {"source": "generator_easy"}
SETTINGS = {
    "max_new_tokens": 48,
    "temperature": 0.7,
    "steps": 1,
    "eval_tasks": 1,
    "record_every": 0,
}
FORMS: dict[str, dict[str, Any]] = {
    "lora": {"policies": "lora"},
    "lora_bf16": {"policies": "lora", "precision": "bf16"},
    "lora_recomputed": {"policies": "lora", "gradient_checkpointing": True},
    "full": {"policies": "shared"},
    "full_recomputed": {"policies": "shared", "gradient_checkpointing": True},
}
GB, GROUP_SIZE = 1e9, 8
HEAD = (
    "| form | memory, counted GB | of which activations | measured GB | sampling, counted s | measured s "
    "| update, counted s | measured s |\n|---|---|---|---|---|---|---|---|"
)


def measured(model: str, form: str, episodes: int) -> dict[str, Any]:
    """The row of one form; the process must not have held a model before."""
    import peft  # noqa: F401  counted with the libraries
    import torch

    import llmzoo
    import llmzoo.engine.local
    from llmzoo.models.memory import microbatch_tokens
    from llmzoo.policies import load

    torch.set_num_threads(1)
    libraries = _peak_bytes()
    options = FORMS[form]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        llmzoo.fit(
            "magrpo",
            "coop_functions_v0",
            model=model,
            out=str(out),
            env_args=ENV_ARGS,
            learner_args={"group_size": GROUP_SIZE, "mode": "cross"},
            episodes_per_step=episodes,
            **SETTINGS,
            **options,
        )
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    peak = _peak_bytes()
    (step,) = [line for line in lines if line["kind"] == "train"]

    base = load(model).model
    config = base.config
    weights = sum(p.numel() for p in base.parameters())
    full, recomputed = options["policies"] == "shared", "gradient_checkpointing" in options
    size = 2 if options.get("precision") == "bf16" else 4
    part = microbatch_tokens(base, recompute=recomputed) * 4 // size
    read = step["groups"] * (
        prompt_tokens(model, episodes) + GROUP_SIZE * step["completion_tokens"]
    )
    rate = operations_a_second(config.hidden_size, config.intermediate_size)
    passes = (6 if full else 4) + 2 * recomputed
    return {
        "form": form,
        "libraries_bytes": libraries,
        "weights_bytes": size * weights,
        "state_bytes": 12 * weights if full else 2 * 16 * adapter_weights(base),
        "activations_bytes": min(read, part) * _kept(config, recomputed) * size,
        "peak_bytes": peak,
        "sampled": step["tokens"],
        "read": read,
        "rate": rate,
        "sampling_counted_s": 2 * weights * read / rate,
        "sampling_s": step["sampling_seconds"],
        "update_counted_s": passes * weights * read / rate,
        "update_s": step["update_seconds"],
    }


def prompt_tokens(model: str, episodes: int) -> float:
    """The mean length of the prompts."""
    import llmzoo
    from llmzoo.policies import load

    policy = load(model)
    env = llmzoo.parallel("coop_functions_v0", **ENV_ARGS)
    lengths = []
    for seed in range(episodes):
        observations, _ = env.reset(seed=seed)
        lengths += [len(policy.encode(text)) for text in observations.values()]
    return statistics.mean(lengths)


def adapter_weights(base: Any) -> int:
    """Trained weights of one agent's adapter."""
    from peft import LoraConfig, get_peft_model

    from llmzoo.models.lora import DEFAULTS

    adapted = get_peft_model(base, LoraConfig(r=DEFAULTS["r"], target_modules="all-linear"))
    return sum(p.numel() for p in adapted.parameters() if p.requires_grad)


def operations_a_second(hidden: int, inner: int, rows: int = 1024) -> float:
    """Of this core, in float32: the median of products of ``rows`` tokens with a layer's weights."""
    import torch

    tokens, matrix = torch.randn(rows, hidden), torch.randn(hidden, inner)
    rates = []
    for _ in range(20):
        started = time.perf_counter()
        tokens @ matrix
        rates.append(2 * rows * hidden * inner / (time.perf_counter() - started))
    return statistics.median(rates)


def _kept(config: Any, recomputed: bool) -> float:
    """Numbers that one token keeps for the backward pass, as in ``llmzoo.models.memory``."""
    layer = 12 * config.hidden_size + 4 * config.intermediate_size
    if recomputed:
        return config.num_hidden_layers * config.hidden_size + layer
    return config.num_hidden_layers * layer


def _peak_bytes() -> int:
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(peak) * 1024


def table(rows: list[dict[str, Any]]) -> str:
    lines = [HEAD]
    for row in rows:
        parts = ("libraries_bytes", "weights_bytes", "state_bytes", "activations_bytes")
        lines.append(
            f"| {row['form'].replace('_', ', ')} | {sum(row[part] for part in parts) / GB:.2f} "
            f"| {row['activations_bytes'] / GB:.2f} | {row['peak_bytes'] / GB:.2f} "
            f"| {row['sampling_counted_s']:.0f} | {row['sampling_s']:.0f} "
            f"| {row['update_counted_s']:.0f} | {row['update_s']:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--episodes", type=int, default=4, help="of the iteration")
    parser.add_argument("--one", metavar="FORM", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print("row", json.dumps(measured(args.model, args.one, args.episodes)))
        return
    rows = []
    for form in args.forms.split(","):
        command = [sys.executable, __file__, args.model, "--one", form]
        done = subprocess.run(
            [*command, "--episodes", str(args.episodes)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        rows.append(json.loads(done.stdout.splitlines()[-1].removeprefix("row ")))
        print(json.dumps(rows[-1]), flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
