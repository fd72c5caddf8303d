"""A cost model of one iteration on paper: memory, seconds, bytes, and where more GPUs stop helping.

    python examples/benchmark/scaling.py
    python examples/benchmark/scaling.py --gpus 16 --episodes_per_step 1024 --answer 512 --cores 64
    python examples/benchmark/scaling.py --configurations      # those of configs/large_models

Counts are exact: weights of the model and of its adapters come from its configuration, tokens from
the batch. Rates are of two kinds. MEASURED ones are this project's, with the command that gave
them. ASSUMED ones are a data sheet's, times a share of it that is usually reached; nothing here has
been timed on a GPU.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, fields
from pathlib import Path

import torch
import yaml
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Qwen2Config, Qwen3Config

GB = 1e9
ROOT = Path(__file__).resolve().parents[2]
Config = Qwen2Config | Qwen3Config

# Qwen2.5-7B-Instruct, from its config.json on the hub
MODEL = Qwen2Config(
    hidden_size=3584,
    intermediate_size=18944,
    num_hidden_layers=28,
    num_attention_heads=28,
    num_key_value_heads=4,
    vocab_size=152064,
    tie_word_embeddings=False,
)
# the models of configs/large_models, each from its config.json on the hub
SMALL_MODELS: dict[str, Config] = {
    "Qwen/Qwen2.5-0.5B-Instruct": Qwen2Config(
        hidden_size=896,
        intermediate_size=4864,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
        vocab_size=151936,
        tie_word_embeddings=True,
    ),
    "Qwen/Qwen3-1.7B": Qwen3Config(
        hidden_size=2048,
        intermediate_size=6144,
        num_hidden_layers=28,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=128,
        vocab_size=151936,
        tie_word_embeddings=True,
    ),
}


@dataclass(frozen=True, slots=True)
class Assumed:
    """A GPU of the H100 SXM kind (NVIDIA's data sheet), and what of it is reached."""

    flops: float = 989e12  # a second, bfloat16, dense
    memory: float = 80e9  # bytes
    bandwidth: float = 3.35e12  # bytes a second, its own memory
    link: float = 450e9  # bytes a second to the other GPUs of the machine, one way
    network: float = 50e9  # bytes a second to other machines: 400 Gbit
    busy: float = 0.4  # share of flops in an update
    read: float = 0.6  # share of bandwidth in decoding


@dataclass(frozen=True, slots=True)
class Measured:
    """On two cores of a CPU; see docs/results/large_models.md for the commands."""

    wire_bytes: float = 7.8  # for each sampled token, of a batch that is told to all processes
    write_seconds: float = 0.52e-6  # of a core, to make these
    read_seconds: float = 0.24e-6  # of a core, to read them
    check_seconds: float = 2 / 367  # of a core, to judge one program of coop_humaneval_v0


@dataclass(frozen=True, slots=True)
class Batch:
    """One iteration of MAGRPO with full trees of one turn, or AT-GRPO of that many turns."""

    gpus: int = 8
    episodes_per_step: int = 64  # tasks in an iteration
    agents: int = 2
    k: int = 8  # answers of each agent to each prompt
    turns: int = 1
    prompt: int = 512  # tokens
    answer: int = 256
    cores: int = 64  # that judge programs

    @property
    def groups(self) -> int:
        return self.episodes_per_step * self.agents * self.turns

    @property
    def sampled_completions(self) -> int:
        """Tokens of all answers."""
        return self.groups * self.k * self.answer

    @property
    def read(self) -> int:
        """Tokens that the update reads, each prompt once for its answers."""
        return self.groups * (self.prompt + self.k * self.answer)


def weights(config: Config = MODEL, rank: int = 16) -> tuple[int, int]:
    """Parameters of the model, and of one agent's adapter on all its linear layers."""
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
        base = sum(p.numel() for p in model.parameters())
        lora = get_peft_model(model, LoraConfig(r=rank, target_modules="all-linear"))
    return base, sum(p.numel() for p in lora.parameters() if p.requires_grad)


def cache_bytes(config: Config = MODEL) -> int:
    """Of the keys and values of one token, in bfloat16."""
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    heads = (config.num_key_value_heads or config.num_attention_heads) * width
    return 2 * 2 * config.num_hidden_layers * heads


def sampling_seconds(
    batch: Batch, base: int, gpu: Assumed, config: Config = MODEL
) -> tuple[float, float]:
    """Reading prompts and writing answers on each GPU; and the share of it that rows do not change.

    A step of decoding reads all weights once and each row's keys and values: until the arithmetic of
    many rows takes as long as reading the weights, more rows cost next to nothing.
    """
    groups = math.ceil(batch.groups / batch.gpus / batch.turns)  # at a time, on one GPU
    rows = groups * batch.k
    arithmetic = 2 * base * rows / (gpu.flops * gpu.busy)
    reading = 2 * base / (gpu.bandwidth * gpu.read)
    # the prompt's keys and values are shared by its K rows, each row's own grow to its length
    kept = groups * (batch.prompt + batch.k * batch.answer / 2) * cache_bytes(config)
    step = max(arithmetic, reading) + kept / (gpu.bandwidth * gpu.read)
    prompts = 2 * base * groups * batch.prompt / (gpu.flops * gpu.busy)
    total = batch.turns * (prompts + batch.answer * step)
    return total, batch.turns * batch.answer * reading / total


def update_seconds(batch: Batch, base: int, gpu: Assumed, *, adapters: bool) -> float:
    """Forward and backward; a frozen base needs no gradient of its weights: 4 rather than 6 flops."""
    each = 4 if adapters else 6
    return each * base * batch.read / batch.gpus / (gpu.flops * gpu.busy)


def costs(
    batch: Batch, *, adapters: bool = True, gpu: Assumed | None = None, config: Config = MODEL
) -> dict[str, float]:
    """Seconds of an iteration by part, bytes that move, and memory on one GPU, in bytes."""
    gpu, told = gpu or Assumed(), Measured()
    base, adapter = weights(config)
    trained = batch.agents * (adapter if adapters else base)
    sampling, floor = sampling_seconds(batch, base, gpu, config)
    answers = batch.groups * batch.k
    gradients = 4 * trained * 2 * (batch.gpus - 1) / batch.gpus  # a ring's sum, each way
    tokens = batch.groups / batch.gpus * (batch.prompt + batch.k * batch.answer) / batch.turns
    state = 16 * trained  # weights, gradients and AdamW's two, float32
    shared = 2 * base if adapters else 2 * trained  # in bfloat16
    return {
        "sampling_seconds": sampling,
        "sampling_floor": floor,
        "update_seconds": update_seconds(batch, base, gpu, adapters=adapters),
        "environment_seconds": answers * told.check_seconds / batch.cores,
        "gradient_seconds": gradients / gpu.link,
        # each process writes what it has played, and reads everything
        "told_seconds": batch.sampled_completions * told.wire_bytes / gpu.network
        + batch.sampled_completions * (told.write_seconds / batch.gpus + told.read_seconds),
        "told_bytes": batch.sampled_completions * told.wire_bytes,
        "gradient_bytes": gradients,
        "sampled": batch.sampled_completions,
        "read": batch.read,
        "weights_bytes": shared,
        "state_bytes": state,
        "cache_bytes": tokens * cache_bytes(config),
        "memory_bytes": shared + state + tokens * cache_bytes(config),
        "memory_sharded_bytes": (shared + state) / batch.gpus
        + shared
        + tokens * cache_bytes(config),
    }


def table(batch: Batch, episodes_per_step: tuple[int, ...] = (8, 32, 128, 512, 2048)) -> str:
    """One row for each number of tasks: seconds of each part, and tokens a second."""
    lines = [
        "| tasks | sampling s | of which fixed | update s | programs s | told s | gradients s "
        "| sampled tokens/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for count in episodes_per_step:
        one = Batch(
            **{f.name: getattr(batch, f.name) for f in fields(Batch)} | {"episodes_per_step": count}
        )
        c = costs(one)
        # programs are judged while other answers are still being written, where there are any
        total = max(c["sampling_seconds"], c["environment_seconds"]) + c["update_seconds"]
        total += c["gradient_seconds"] + c["told_seconds"]
        lines.append(
            f"| {count} | {c['sampling_seconds']:.1f} | {c['sampling_floor']:.0%} "
            f"| {c['update_seconds']:.1f} | {c['environment_seconds']:.1f} "
            f"| {c['told_seconds']:.2f} | {c['gradient_seconds']:.3f} | {c['sampled'] / total:,.0f} |"
        )
    return "\n".join(lines)


def widths(batch: Batch, gpus: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)) -> str:
    """One row for each number of GPUs, the batch staying the same: speed, and the share of perfect."""
    lines = ["| GPUs | seconds | sampled tokens/s | of perfect |", "|---|---|---|---|"]
    first = 0.0
    for count in gpus:
        one = Batch(**{f.name: getattr(batch, f.name) for f in fields(Batch)} | {"gpus": count})
        c = costs(one)
        total = max(c["sampling_seconds"], c["environment_seconds"]) + c["update_seconds"]
        total += c["gradient_seconds"] + c["told_seconds"]
        first = first or total
        lines.append(
            f"| {count} | {total:.1f} | {c['sampled'] / total:,.0f} | {first / total / count:.0%} |"
        )
    return "\n".join(lines)


def configurations() -> str:
    """One row for each configuration of configs/large_models: memory and hours on one GPU.

    Prompts are taken to have 512 tokens and answers to be as long as they may, so time and cache
    are upper bounds.
    """
    lines = [
        "| configuration | weights, state, cache (GB) | sampling s | update s | programs s | hours |",
        "|---|---|---|---|---|---|",
    ]
    for path in sorted((ROOT / "configs" / "large_models").glob("*.yaml")):
        run = yaml.safe_load(path.read_text())
        adapters = run.get("policies") == "lora"
        batch = Batch(
            gpus=1,
            episodes_per_step=run["episodes_per_step"],
            k=run["learner_args"]["group_size"],
            turns=run["env_args"]["max_turns"],
            answer=run["max_new_tokens"],
            cores=16,
        )
        # one model that plays both agents is one state
        c = costs(batch, adapters=adapters, config=SMALL_MODELS[run["model"]])
        state = c["state_bytes"] / (1 if adapters else batch.agents)
        held = c["weights_bytes"] / (1 if adapters else batch.agents)
        programs = 0.0 if run["env"] == "plan_path_v0" else c["environment_seconds"]
        total = max(c["sampling_seconds"], programs) + c["update_seconds"]
        lines.append(
            f"| `{path.stem}` | {held / GB:.1f}, {state / GB:.1f}, {c['cache_bytes'] / GB:.1f} "
            f"| {c['sampling_seconds']:.1f} | {c['update_seconds']:.1f} | {programs:.1f} "
            f"| {total * run['steps'] / 3600:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for field in fields(Batch):
        parser.add_argument(f"--{field.name}", type=int, default=field.default)
    parser.add_argument("--configurations", action="store_true")
    given = vars(parser.parse_args())
    if given.pop("configurations"):
        print(configurations())
        return
    batch = Batch(**given)
    base, adapter = weights()
    print(f"{base / 1e9:.2f} billion weights, {adapter / 1e6:.1f} million in each agent's adapter")
    for name, adapters in (("two LoRA adapters", True), ("two full models", False)):
        c = costs(batch, adapters=adapters)
        print(
            f"{name}: weights {c['weights_bytes'] / GB:.1f} GB, training state "
            f"{c['state_bytes'] / GB:.1f} GB, cache of {batch.episodes_per_step} tasks on {batch.gpus} GPUs "
            f"{c['cache_bytes'] / GB:.1f} GB; on one GPU {c['memory_bytes'] / GB:.1f} GB, sharded "
            f"{c['memory_sharded_bytes'] / GB:.1f} GB"
        )
    print()
    print(table(batch))
    print()
    print(widths(batch))


if __name__ == "__main__":
    main()
