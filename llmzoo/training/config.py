"""The settings of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from llmzoo.bounds import check_bounds
from llmzoo.engine.curriculum_config import CurriculumKind, curriculum_args
from llmzoo.engine.opponents_config import OpponentSampling, opponent_args
from llmzoo.engine.ray.config import ray_args
from llmzoo.errors import ConfigError
from llmzoo.fields import field_names, shared_fields
from llmzoo.models.devices import check_device
from llmzoo.models.model_catalog import TINY
from llmzoo.names import check_names
from llmzoo.policies import run_models
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.base import default_max_new_tokens
from llmzoo.policies.settings import Chat, Sampling
from llmzoo.policies.vllm.config import sampler_config
from llmzoo.runs import run_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig:
    """The settings of a run, except the learner's own options.

    Args:
        env: id of the environment; on the command line it can be given first, without --env.
        env_args: arguments of the environment; --env.NAME VALUE sets one.
        learner: name of the learner.
        learner_args: options of the learner; --learner.NAME VALUE sets one.
        model: tiny (the embedded model), smollm2 (after llmzoo fetch smollm2), a model folder, or a
            hub id.
        policies: shared (one model for all agents), separate (one model per agent), lora (one model
            with an adapter per agent), the name of the single agent that learns, or a mapping from agents to
            model names, such as {first_0: a, middle_1: a, last_2: b}.
        model_args: settings of the models named in policies: model and form (full or lora), such as
            {b: {form: lora}}.
        agent_args: settings of single agents: policy, frozen, learner, learner_args, learning_rate,
            temperature, top_p, top_k, max_new_tokens, stop, system, chat_template_args, thought_end;
            --agent.AGENT.NAME VALUE sets one.
        others: the policy of the agents that do not learn.
        lora_args: options of peft's LoraConfig, for policies=lora; --lora.NAME VALUE sets one.
        precision: float32, bf16_autocast (float32 weights, forward passes in bfloat16), or bf16
            (bfloat16 weights, trained through float32 copies).
        gradient_checkpointing: recompute activations in the backward pass instead of storing them.
        compile: run updates as compiled code: off, on, or auto (on a GPU that has Triton).
        sampler: how the learning models sample: transformers (the training model itself), vllm (in this
            process), or the address http://HOST:PORT of a vLLM server. With several processes, one
            address each, separated by commas.
        sampler_args: options of the sampler.
        steps: iterations; each plays one batch and updates the models on it.
        episodes_per_step: episodes started in each iteration, in all processes together.
        cohorts: number of groups of episodes that are sampled alternately. With 2, one group samples while
            the environments of the other step. This helps if steps are slower than model calls.
        workers: threads that step slow environments, such as those that run programs.
        max_off_policy_steps: how many updates the weights used in rollouts may lag behind. With 1, the
            next batch is played during the update on the current one. Needs a learner with a clipped
            ratio; values above 1 need engine=ray.
        engine: local (this process, or those of a launcher), or ray (separate processes for
            rollouts and updates, on one or more machines).
        engine_args: options of the engine; --engine.NAME VALUE sets one.
        opponents: whom the learning agents play against: self (each other), or frozen copies from earlier
            iterations, sampled by the rule latest, uniform, recency, prioritized (those that are hardest
            to beat) or fictitious (uniform over all, none is dropped). In each such episode one side learns.
        opponents_args: options of the opponents; --opponents.NAME VALUE sets one: every, size, share,
            scripted, gate, per_iteration.
        curriculum: which training tasks are played: none (the environment samples them), uniform (numbered
            tasks, uniformly), learnability (those that are solved about half of the time), or
            threshold (those whose success rate is in a given range).
        curriculum_args: options of the curriculum; --curriculum.NAME VALUE sets one: tasks, window,
            first, share, low, high.
        device: where the models of this process run: cpu, cuda, cuda:1 or mps; null is the first CUDA
            GPU, or the CPU if there is none.
        parallel: how models are distributed over processes: ddp (a full copy each), fsdp (sharded
            weights), or auto (as accelerate launch was configured, otherwise ddp).
        cpu_offload: with fsdp, keep the shards in CPU memory and update them there.
        token_budget: end the run after the iteration in which the number of sampled tokens reaches
            this; null is no limit.
        patience: end the run when the mean return of ten iterations has not risen for this many iterations;
            0 is off. The checkpoint with the highest return is kept.
        seed: seeds all randomness of the run.
        temperature: sampling temperature.
        top_p: nucleus sampling threshold; 1 is off.
        top_k: number of most likely tokens to sample from; 0 is all.
        max_new_tokens: maximum tokens of a completion; null is 64 for the embedded model and 256 for
            others.
        system: system prompt, for models with a chat template.
        chat_template_args: arguments of the chat template, such as {enable_thinking: false};
            --chat_template_args.NAME VALUE sets one.
        thought_end: the text that ends a model's thoughts; only the text after it is the action. null
            reads it from the tokenizer or the chat template. none: the whole output is the action.
        trust_remote_code: run Python code that comes with a model. Only use it for models whose
            code you have read. Without it such models are rejected. It must be set again when a run is resumed.
        eval_tasks: number of held-out tasks in each evaluation; all is every task of the split.
        eval_split: split of the held-out tasks.
        control_tasks: number of held-out tasks that the starting model also plays at temperatures 0.3
            and 0.1, and eight times at the run's temperature before and after training; 0 is off. auto
            runs each of these two controls with 100 tasks if that costs less than a tenth of the run's episodes.
        eval_every: iterations between evaluations during the run; 0 evaluates only before and after.
        checkpoint_every: iterations between checkpoints. The last iteration is always saved.
        checkpoint_tasks: number of training tasks that each checkpoint plays. The one with the highest mean
            return is kept besides the newest three. With 0, returns of the preceding iterations are compared.
        record_every: iterations between those recorded in played.jsonl for reading. The
            first and the last are always recorded; 0 records none.
        record_tasks: number of rollouts recorded in each of these iterations.
        trackers: where metrics go besides metrics.jsonl: tensorboard, wandb, trackio, mlflow, or
            any other tracker of accelerate; --trackers tensorboard,wandb.
    """

    env: str = "sudoku_v0"
    env_args: Mapping[str, Any] = field(default_factory=dict)
    learner: str = "at_grpo"
    learner_args: Mapping[str, Any] = field(default_factory=dict)
    model: str = TINY
    policies: Mapping[str, str] | Literal["shared", "separate", "lora"] | str = "shared"
    model_args: Mapping[str, Any] = field(default_factory=dict)
    agent_args: Mapping[str, Any] = field(default_factory=dict)
    others: str = "expert"
    lora_args: Mapping[str, Any] = field(default_factory=dict)
    precision: Literal["float32", "bf16_autocast", "bf16"] = "float32"
    gradient_checkpointing: bool = False
    compile: Literal["off", "on", "auto"] = "off"
    sampler: Literal["transformers", "vllm"] | str = "transformers"
    sampler_args: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 100
    episodes_per_step: int = 16
    cohorts: int = 1
    workers: int = 8
    max_off_policy_steps: int = 0
    engine: Literal["local", "ray"] = "local"
    engine_args: Mapping[str, Any] = field(default_factory=dict)
    opponents: OpponentSampling = "self"
    opponents_args: Mapping[str, Any] = field(default_factory=dict)
    curriculum: CurriculumKind = "none"
    curriculum_args: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    parallel: Literal["auto", "ddp", "fsdp"] = "auto"
    cpu_offload: bool = False
    token_budget: int | None = None
    patience: int = 0
    seed: int = 0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_new_tokens: int | None = None
    system: str | None = None
    chat_template_args: Mapping[str, Any] | None = None
    thought_end: str | None = None
    trust_remote_code: bool = False
    eval_tasks: int | Literal["all"] = 200
    eval_split: str = "test"
    control_tasks: int | Literal["auto"] = "auto"
    eval_every: int = 0
    checkpoint_every: int = 20
    checkpoint_tasks: int = 0
    record_every: int = 10
    record_tasks: int = 4
    trackers: tuple[str, ...] = ("tensorboard",)

    def __post_init__(self) -> None:
        check_bounds(self, steps="at least 1", episodes_per_step="at least 1")
        check_bounds(self, checkpoint_every="at least 1", checkpoint_tasks="at least 0")
        check_bounds(self, record_every="at least 0", record_tasks="at least 1")
        check_bounds(self, cohorts="at least 1", workers="at least 1")
        check_bounds(self, token_budget="at least 1", patience="at least 0")
        if self.control_tasks != "auto" and self.control_tasks < 0:
            raise ConfigError(f"control_tasks must be at least 0 or auto, got {self.control_tasks}")
        if self.engine not in ("local", "ray"):
            raise ConfigError(f"engine must be local or ray, got {self.engine!r}")
        lag = self.max_off_policy_steps
        if lag < 0 or (lag > 1 and self.engine == "local"):
            raise ConfigError(
                f"max_off_policy_steps must be 0 or 1 (more needs engine='ray'), got {lag}"
            )
        if self.engine_args and self.engine == "local":
            raise ConfigError("engine_args have no effect with engine='local': set engine='ray'")
        if self.engine == "ray" and self.sampler != "transformers":
            raise ConfigError(
                "engine='ray' samples in its rollout workers and needs sampler='transformers'"
            )
        if self.engine == "ray":
            ray_args(self.engine_args)
        if lag and self.sampler != "transformers":
            raise ConfigError("max_off_policy_steps above 0 needs sampler='transformers'")
        pool = opponent_args(self.opponents, self.opponents_args)
        if pool and (self.engine == "ray" or lag or self.parallel == "fsdp"):
            raise ConfigError(
                "opponents need engine='local', max_off_policy_steps=0 and parallel='ddp'"
            )
        if pool and self.sampler != "transformers":
            raise ConfigError("opponents need sampler='transformers'")
        curriculum = curriculum_args(self.curriculum, self.curriculum_args)
        if curriculum and (self.engine == "ray" or lag):
            raise ConfigError("a curriculum needs engine='local' and max_off_policy_steps=0")
        check_device(self.device)
        if self.device is not None and self.engine == "ray":
            raise ConfigError(
                "device needs engine='local', because Ray assigns devices to its workers: leave it out"
            )
        if self.parallel not in ("auto", "ddp", "fsdp"):
            raise ConfigError(f"parallel must be auto, ddp or fsdp, got {self.parallel!r}")
        if isinstance(self.trackers, str):
            raise ConfigError(f"trackers must be a list of names: write [{self.trackers}]")
        if self.lora_args and self.policies != "lora" and isinstance(self.policies, str):
            raise ConfigError("lora_args need policies='lora'")
        if self.thought_end == "":
            raise ConfigError("thought_end must not be empty: set it to none to turn it off")
        sampler_config(self.sampler, self.sampler_args)

    def sampling(self) -> Sampling:
        """The sampling settings, in training and in evaluation."""
        own = shared_fields(self, Sampling)
        if self.max_new_tokens is None:
            own["max_new_tokens"] = self._default_max_new_tokens()
        return Sampling(**own)

    def chat(self) -> Chat:
        """The prompt settings, in training and in evaluation."""
        return Chat(**shared_fields(self, Chat))

    def agent_settings(self) -> AgentSettings:
        """Which policy plays each agent."""
        own = shared_fields(self, AgentSettings)
        return AgentSettings(**own, sampling=self.sampling(), chat=self.chat())

    def _default_max_new_tokens(self) -> int:
        if run_models.is_run(self.model):
            return run_folder.max_new_tokens_for(self.model)
        return default_max_new_tokens(self.model)


def make_config(cls: type, values: Mapping[str, Any], what: str) -> Any:
    """A configuration dataclass from a mapping; an error for an unknown key names the nearest."""
    check_names(f"option of {what}", values, field_names(cls))
    return cls(**values)
