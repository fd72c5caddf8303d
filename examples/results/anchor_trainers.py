"""The three trainers that :mod:`anchors` compares, on the same tasks in the same order.

Each function trains in this process, gives a point of the learning curve after every optimiser step and
saves the weights of each agent. A peer runs as it comes, except for the settings that :class:`Task` and the
sampling distribution fix for all, and for the switches of :mod:`anchors`: each replaces one rule of the
peer by ours.

A ``tape`` replaces sampling: it holds the completions of each task and agent, so that two trainers can be
compared on equal tokens (:mod:`anchor_updates`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from llmzoo.adapters.comlrl import Bridge, bridge
from llmzoo.engine.base import IterationSeeds, iteration_seeds
from llmzoo.models.model_catalog import TINY
from llmzoo.policies import load_model
from llmzoo.policies.settings import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch

ENV = "coop_functions_v0"
Tape = Mapping[tuple[int, str], Sequence[Sequence[int]]]  # (seed, agent) -> ids of K completions


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What all trainers share. ``prompts``: tasks of an optimiser step; ``k``: completions of each."""

    agents: int
    model: str = TINY
    steps: int = 20
    prompts: int = 8
    k: int = 8
    rate: float = 3e-4
    new_tokens: int = 64
    seed: int = 0

    @property
    def env_args(self) -> dict[str, Any]:
        """The embedded model was taught the small functions of ``generator``; they are too hard for SmolLM2."""
        source = "generator" if self.model == TINY else "generator_easy"
        return {"source": source, "num_agents": self.agents}

    def iteration_seeds(self, step: int) -> IterationSeeds:
        """The seeds of iteration ``step`` of ``llmzoo.fit``."""
        return iteration_seeds(self.seed, step, models=self.agents, envs=self.prompts)

    def seeds(self, step: int) -> tuple[int, ...]:
        """Those of the tasks that the iteration plays."""
        return self.iteration_seeds(step).seeds

    def all_seeds(self) -> list[int]:
        return [seed for step in range(self.steps) for seed in self.seeds(step)]

    def load(self, *, exact: bool = False) -> TransformersPolicy:
        """The initial model as a policy; ``exact``: in float64."""
        sampling = Sampling(max_new_tokens=self.new_tokens)
        policy = load_model(self.model, sampling=sampling, precision="float32", device="cpu")
        if exact:
            policy.model.double()
        return policy

    def styled_args(self, policy: TransformersPolicy) -> dict[str, Any]:
        """The arguments of the environment, with the prompt style of the model."""
        style = {"prompt": policy.prompt_style} if policy.prompt_style else {}
        return {**self.env_args, **style}

    def bridge(self, policy: TransformersPolicy) -> Bridge:
        return bridge(ENV, **self.styled_args(policy))


@dataclass(slots=True)
class Curve:
    """Collects the points of a run: after each step its tokens and mean return, and times since the start.

    ``cpu_seconds`` are those of this process; the environment runs its programs in others.
    """

    points: list[dict[str, Any]] = field(default_factory=list)
    tokens: int = 0  # sampled in this step so far
    padding: int = 0  # tokens of padding after completions, in this step so far
    returns: list[float] = field(default_factory=list)  # of this step so far
    started: float = 0.0
    worked: float = 0.0

    def start(self) -> None:
        self.started, self.worked = time.perf_counter(), time.process_time()

    def end_step(self) -> None:
        point: dict[str, Any] = {"step": len(self.points) + 1, "tokens": self.tokens}
        point |= {"padding": self.padding} if self.padding else {}
        point |= {"return": round(fmean(self.returns), 5)}
        point |= {"seconds": round(time.perf_counter() - self.started, 2)}
        point |= {"cpu_seconds": round(time.process_time() - self.worked, 2)}
        self.points.append(point)
        self.tokens, self.padding, self.returns = 0, 0, []


@dataclass(slots=True, kw_only=True)
class Trained:
    """The models after training, one an agent, and the points of the curve."""

    policies: dict[str, TransformersPolicy]
    curve: list[dict[str, Any]]

    def save(self, out: Path) -> None:
        """A folder for each agent, with the model and its tokenizer."""
        for agent, policy in self.policies.items():
            policy.save(out / agent)


def train_ours(
    task: Task,
    *,
    exact: bool = False,
    on_batch: Callable[[Batch], None] | None = None,
    **learner_args: Any,
) -> Trained:
    """What ``llmzoo.fit`` does: MAGRPO with a model for each of two agents, or GRPO for one.

    ``on_batch`` is called with each batch after its update.
    """
    from llmzoo import make
    from llmzoo.engine.local import LocalEngine
    from llmzoo.learners import learner_class

    first = task.load(exact=exact)
    names = task.bridge(first).agents
    policies = {name: task.load(exact=exact) for name in names}
    env_args = task.styled_args(first)
    cls = learner_class("magrpo" if task.agents > 1 else "grpo")
    args = {"group_size": task.k, "learning_rate": task.rate, **learner_args}
    engine = LocalEngine(cls(cls.Config(**args)), policies, policies, total_steps=task.steps)

    curve = Curve()
    curve.start()
    for step in range(task.steps):
        last = step + 1 == task.steps
        found = engine.iterate(lambda: make(ENV, **env_args), task.iteration_seeds, step, last=last)
        curve.tokens = found.tokens
        curve.returns = [value for group in found.batch.groups for value in group.returns]
        curve.end_step()
        if on_batch is not None:
            on_batch(found.batch)
    return Trained(policies=policies, curve=curve.points)


def train_comlrl(
    task: Task, *, switches: Sequence[str] = (), tape: Tape | None = None, exact: bool = False
) -> Trained:
    """comlrl's ``MAGRPOTrainer``: a model for each agent, joint actions aligned as it does by default."""
    from comlrl.trainers.reinforce import MAGRPOConfig, MAGRPOTrainer
    from datasets import Dataset

    policies = [task.load(exact=exact) for _ in range(task.agents)]
    tokenizer = policies[0].tokenizer
    env = task.bridge(policies[0])
    curve = Curve()

    class Trainer(MAGRPOTrainer):  # type: ignore[misc]
        """Counts tokens and steps; with the switch ``mask`` it trains on the sampled tokens and no others."""

        def _generate_completions(
            self, agent: Any, batch_items: Any, agent_idx: int = 0, *args: Any, **kwargs: Any
        ) -> dict[str, Any]:
            if tape is None:
                found = super()._generate_completions(
                    agent, batch_items, agent_idx, *args, **kwargs
                )
            else:
                name = env.agents[agent_idx]
                found = replayed(
                    tokenizer,
                    self.formatters[agent_idx](batch_items[0]),
                    tape[batch_items[0]["seed"], name],
                )
            rows = found["completion_input_ids"][0]
            lengths = [len(sampled(row.tolist(), policies[0])) for row in rows]
            curve.tokens += sum(lengths)
            curve.padding += sum(map(len, rows)) - sum(lengths)
            return dict(found)

        def _pack_completions_for_buffer(self, data: dict[str, Any]) -> dict[str, Any]:
            packed = super()._pack_completions_for_buffer(data)
            if "mask" in switches:
                # its loss leaves the last token of each row out: one more makes room for the real last one
                packed["completion_input_ids"] = [
                    [
                        torch.tensor([*sampled(row.tolist(), policies[0]), policies[0].pad_id])
                        for row in packed["completion_input_ids"][0]
                    ]
                ]
            return dict(packed)

        def _drain_ready_buffers(self, ready_agents: list[int]) -> None:
            super()._drain_ready_buffers(ready_agents)
            if ready_agents:
                curve.end_step()

    def paid(*completions: list[str], batch_items: Sequence[Mapping[str, Any]]) -> list[float]:
        rewards = env.reward_func(*completions, batch_items=batch_items)
        curve.returns += rewards
        return rewards

    torch.manual_seed(task.seed)
    trainer = Trainer(
        agents=[policy.model for policy in policies],
        num_agents=task.agents,
        tokenizer=[tokenizer] * task.agents,
        formatters=[chat_formatter(policies[0], each) for each in env.formatters],
        reward_func=paid,
        train_dataset=Dataset.from_list(env.dataset(task.all_seeds())),
        args=MAGRPOConfig(
            num_agents=task.agents,
            num_turns=1,
            num_train_epochs=1,
            num_generations=task.k,
            max_new_tokens=task.new_tokens,
            temperature=1.0,  # its defaults are 0.6, 0.6 and 50
            top_p=1.0,
            top_k=0,
            agent_learning_rate=task.rate,
            rollout_buffer_size=task.prompts,
            train_batch_size=task.prompts,
            advantage_normalization="std" not in switches,
            eval_interval=0,
        ),
    )
    trainer.verbose = False
    if "adam" in switches:
        trainer.optimizers = [
            torch.optim.AdamW(m.parameters(), lr=task.rate, betas=(0.9, 0.99), weight_decay=0.0)
            for m in trainer.agents
        ]
    if "clip" in switches:
        for model, optimizer in zip(trainer.agents, trainer.optimizers, strict=True):
            optimizer.register_step_pre_hook(clip_gradient(model))
    curve.start()
    trainer.train()
    return Trained(policies=dict(zip(env.agents, policies, strict=True)), curve=curve.points)


def train_trl(
    task: Task,
    out: Path,
    *,
    switches: Sequence[str] = (),
    tape: Tape | None = None,
    exact: bool = False,
) -> Trained:
    """TRL's ``GRPOTrainer`` for one agent. Its defaults, but in float32 and without checkpointing."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer
    from trl.trainer import grpo_trainer

    policy = task.load(exact=exact)
    env = task.bridge(policy)
    (agent,) = env.agents
    curve = Curve()

    class Trainer(GRPOTrainer):  # type: ignore[misc]
        """Takes the completions of the tape if there is one."""

        def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
            if tape is None:
                return super()._generate_single_turn(*args, **kwargs)
            seeds = task.seeds(self.state.global_step)
            return [list(ids) for seed in seeds for ids in tape[seed, agent]], None

    class Recorder(TrainerCallback):  # type: ignore[misc]
        """Notes the time of each step."""

        def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
            curve.start()

        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            curve.end_step()

    def paid(
        completions: list[Any], completion_ids: list[list[int]], seed: list[int], **_: Any
    ) -> list[float]:
        curve.tokens += sum(map(len, completion_ids))
        texts = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
        rewards = [
            env.reward_func([text], batch_items=[{"seed": each}])[0]
            for text, each in zip(texts, seed, strict=True)
        ]
        curve.returns += rewards
        return rewards

    rows = env.dataset(task.all_seeds())
    if policy.tokenizer.chat_template:
        rows = [{**row, "prompt": [{"role": "user", "content": row["prompt"]}]} for row in rows]
    changed: dict[str, Any] = {}
    changed |= {"loss_type": "grpo"} if "loss" in switches else {}
    changed |= {"lr_scheduler_type": "constant"} if "schedule" in switches else {}
    changed |= {"adam_beta2": 0.99} if "adam" in switches else {}
    trainer = Trainer(
        model=policy.model,
        reward_funcs=paid,
        processing_class=policy.tokenizer,
        train_dataset=Dataset.from_list(rows),
        callbacks=[Recorder()],
        args=GRPOConfig(
            output_dir=str(out),
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=task.prompts * task.k,
            num_generations=task.k,
            max_completion_length=task.new_tokens,
            learning_rate=task.rate,
            max_steps=task.steps,
            shuffle_dataset=False,
            seed=task.seed,
            logging_strategy="no",
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            **changed,
        ),
    )
    with patch.object(grpo_trainer, "nanstd", biased_std) if "std" in switches else nullcontext():
        trainer.train()
    return Trained(policies={agent: policy}, curve=curve.points)


def biased_std(rewards: Tensor, dim: int | None = None, **options: Any) -> Tensor:
    """In place of TRL's ``nanstd``, to which it adds 1e-4: so that the sum is our biased std + 1e-6."""
    return rewards.std(dim=dim, correction=0, **options) + (1e-6 - 1e-4)


def sampled(ids: Sequence[int], policy: TransformersPolicy) -> list[int]:
    """The ids up to the first end token, with it: what a model sampled, without the padding after it."""
    ends = [place for place, one in enumerate(ids) if one in policy.eos_ids]
    return list(ids[: ends[0] + 1]) if ends else list(ids)


def replayed(tokenizer: Any, prompt: str, rows: Sequence[Sequence[int]]) -> dict[str, Any]:
    """What comlrl's ``_generate_completions`` returns for these completions: padded to the longest."""
    longest = max(map(len, rows))
    padded = [[*row, *[tokenizer.pad_token_id] * (longest - len(row))] for row in rows]
    encoded = tokenizer([prompt], return_tensors="pt")
    return {
        "prompts": [prompt],
        "prompt_input_ids": encoded.input_ids,
        "completions": [[tokenizer.decode(row, skip_special_tokens=True) for row in rows]],
        "completion_input_ids": [[torch.tensor(row) for row in padded]],
        "reference_kls": [],
    }


def chat_formatter(policy: TransformersPolicy, formatter: Callable[..., str]) -> Callable[..., str]:
    """A formatter that also applies the model's chat template, if it has one, as llmzoo does."""
    tokenizer = policy.tokenizer
    if not tokenizer.chat_template:
        return formatter

    def format(item: Mapping[str, Any]) -> str:
        messages = [{"role": "user", "content": formatter(item)}]
        return str(
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        )

    return format


def clip_gradient(model: torch.nn.Module) -> Callable[..., None]:
    """A hook of an optimiser that clips the gradient norm to 1 before each step."""

    def clip(*_: Any) -> None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

    return clip
