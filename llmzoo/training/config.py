"""What defines a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from llmzoo.engine.ray.config import ray_args
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.policies.base import TINY, answer_limit
from llmzoo.policies.settings import Chat, Sampling
from llmzoo.policies.vllm.config import sampler_config
from llmzoo.training import run_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig:
    """Everything that defines a run, but for the learner's own options.

    Args:
        env: id of the environment.
        env_args: arguments of the environment; --env.NAME VALUE sets one.
        learner: name of the learner.
        learner_args: options of the learner; --learner.NAME VALUE sets one.
        model: tiny (the embedded model), a folder with a model, or a hub id.
        seats: shared (one model in all seats), separate (one model each), lora (one model with an
            adapter each), or the one seat that learns.
        seat_args: settings of a seat of its own, by its name: policy, frozen, learning_rate,
            temperature, top_p, top_k, max_new_tokens, stop, system, chat_template_args,
            thought_end; --seat.AGENT.NAME VALUE sets one.
        others: who plays the seats that do not learn.
        lora_args: options of peft's LoraConfig, for seats=lora; --lora.NAME VALUE sets one.
        precision: float32, bf16_autocast (float32 weights, forward passes in bfloat16), or bf16
            (bfloat16 weights, trained through float32 copies).
        gradient_checkpointing: compute activations again instead of keeping them.
        sampler: what samples for those that learn: transformers (the model that trains), vllm (in
            this process), or the address http://HOST:PORT of a vLLM server; of several processes
            each has a server of its own, the addresses between commas.
        sampler_args: options of the sampler.
        steps: iterations: one batch of play and its updates.
        episodes_per_step: episodes started in each iteration, by all processes of the run together.
        cohorts: parts of a batch that take turns at the models: with 2 one is sampled for while the
            steps of the other go on, which pays where steps take longer than a call of a model.
        workers: threads that step slow environments, those that run programs.
        max_off_policy_steps: how many updates the weights that play may lag behind. With 1 the
            next batch is played while this one is learned from. Needs a learner with a clipped
            ratio; values above 1 need engine=ray.
        engine: local (this process, or those of a launcher), or ray (rollouts and updates in
            processes of their own, on one machine or several).
        engine_args: options of the engine; --engine.NAME VALUE sets one.
        parallel: how the models that learn lie on several processes: ddp (whole on each), fsdp (a
            part of every weight on each), or auto (what accelerate launch was told, else ddp).
        cpu_offload: with fsdp, the parts wait in the CPU's memory and are stepped there.
        token_budget: the run ends after the iteration in which this many tokens have been sampled;
            null is no limit.
        seed: of all chance in the run.
        temperature: of sampling.
        top_p: nucleus that is sampled from; 1 is all.
        top_k: most likely tokens that are sampled from; 0 is all.
        max_new_tokens: tokens of an answer; null is 64 for the embedded model, otherwise 256.
        system: system prompt, for models with a chat template.
        chat_template_args: what the chat template is given, such as {enable_thinking: false};
            --chat_template_args.NAME VALUE sets one.
        thought_end: the text that ends a model's thought, before which nothing is its answer; null
            is what its tokenizer or chat template shows, none takes all that it writes.
        trust_remote_code: run Python code that comes with a model, of a model whose code you have
            read; without it such a model is refused. A run that goes on does not remember it.
        eval_tasks: held-out tasks, before and after.
        eval_split: the split that they are from.
        eval_every: iterations between evaluations in the run; 0 is none.
        checkpoint_every: iterations between checkpoints; the last one is always kept.
        record_every: iterations between those whose play is recorded in played.jsonl, for people to
            read; the first and the last are too; 0 records none.
        record_tasks: lines of play of an iteration that are recorded.
        trackers: where metrics are shown beside metrics.jsonl: tensorboard, wandb, trackio,
            mlflow, or any other tracker of accelerate; --trackers [tensorboard,wandb].
    """

    env: str = "sudoku_v0"
    env_args: Mapping[str, Any] = field(default_factory=dict)
    learner: str = "at_grpo"
    learner_args: Mapping[str, Any] = field(default_factory=dict)
    model: str = TINY
    seats: Literal["shared", "separate", "lora"] | str = "shared"
    seat_args: Mapping[str, Any] = field(default_factory=dict)
    others: str = "oracle"
    lora_args: Mapping[str, Any] = field(default_factory=dict)
    precision: Literal["float32", "bf16_autocast", "bf16"] = "float32"
    gradient_checkpointing: bool = False
    sampler: Literal["transformers", "vllm"] | str = "transformers"
    sampler_args: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 100
    episodes_per_step: int = 16
    cohorts: int = 1
    workers: int = 8
    max_off_policy_steps: int = 0
    engine: Literal["local", "ray"] = "local"
    engine_args: Mapping[str, Any] = field(default_factory=dict)
    parallel: Literal["auto", "ddp", "fsdp"] = "auto"
    cpu_offload: bool = False
    token_budget: int | None = None
    seed: int = 0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_new_tokens: int | None = None
    system: str | None = None
    chat_template_args: Mapping[str, Any] | None = None
    thought_end: str | None = None
    trust_remote_code: bool = False
    eval_tasks: int = 200
    eval_split: str = "test"
    eval_every: int = 0
    checkpoint_every: int = 20
    record_every: int = 10
    record_tasks: int = 4
    trackers: tuple[str, ...] = ("tensorboard",)

    def __post_init__(self) -> None:
        if min(self.steps, self.episodes_per_step, self.checkpoint_every) < 1:
            raise ConfigError("steps, episodes_per_step and checkpoint_every must be at least 1")
        if self.record_every < 0 or self.record_tasks < 1:
            raise ConfigError(
                "record_every is at least 0, which records nothing, and record_tasks at least 1"
            )
        if self.cohorts < 1 or self.workers < 1:
            raise ConfigError("cohorts and workers are at least 1")
        if self.engine not in ("local", "ray"):
            raise ConfigError(f"engine is local or ray; got {self.engine!r}")
        lag = self.max_off_policy_steps
        if lag < 0 or (lag > 1 and self.engine == "local"):
            raise ConfigError(
                f"max_off_policy_steps is 0 or 1, with engine='ray' also more; got {lag}"
            )
        if self.engine_args and self.engine == "local":
            raise ConfigError("engine_args mean nothing with engine='local'")
        if self.engine == "ray" and self.sampler != "transformers":
            raise ConfigError(
                "engine='ray' samples in its rollout workers: sampler is transformers"
            )
        if self.engine == "ray":
            ray_args(self.engine_args)
        if lag and self.sampler != "transformers":
            raise ConfigError("max_off_policy_steps above 0 needs sampler='transformers'")
        if self.parallel not in ("auto", "ddp", "fsdp"):
            raise ConfigError(f"parallel is auto, ddp or fsdp; got {self.parallel!r}")
        if self.token_budget is not None and self.token_budget < 1:
            raise ConfigError(f"token_budget must be at least 1, got {self.token_budget}")
        if isinstance(self.trackers, str):
            raise ConfigError(f"trackers are a list of names, write [{self.trackers}]")
        if self.lora_args and self.seats != "lora":
            raise ConfigError("lora_args mean nothing unless seats is 'lora'")
        if self.thought_end == "":
            raise ConfigError("thought_end is a text, or none; it is empty")
        sampler_config(self.sampler, self.sampler_args)

    def sampling(self) -> Sampling:
        """How answers are sampled, in play and in evaluation."""
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            max_new_tokens=self.max_new_tokens or self._answer_limit(),
        )

    def chat(self) -> Chat:
        """How prompts are put to the models, in play and in evaluation."""
        return Chat(
            system=self.system,
            chat_template_args=self.chat_template_args,
            thought_end=self.thought_end,
        )

    def _answer_limit(self) -> int:
        if run_folder.is_run(self.model):
            return run_folder.answer_limit_of(self.model)
        return answer_limit(self.model)


def make_config(cls: type, values: Mapping[str, Any], what: str) -> Any:
    """A configuration dataclass from a mapping; an unknown key is refused with the nearest name."""
    known = [f.name for f in fields(cls)]
    for key in values:
        if key not in known:
            raise UnknownNameError(f"option of {what}", key, known)
    return cls(**values)
