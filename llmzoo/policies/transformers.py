"""A causal language model of the transformers library as a policy."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.nn import Parameter
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from llmzoo.distributed import ranks, sharding
from llmzoo.errors import (
    CheckpointError,
    ConfigError,
    LlmzooError,
)
from llmzoo.models import attention, lora
from llmzoo.models.compiling import Compile, should_compile
from llmzoo.models.cpu_contention import warn_if_cpu_contended
from llmzoo.models.decode import SampledTokens, Sampler
from llmzoo.models.devices import resolve_device
from llmzoo.models.divergence import DistillationTarget
from llmzoo.models.likelihood import Likelihood, last_states, likelihood
from llmzoo.models.loading import (
    TINY_FOLDER,
    eos_ids,
    hide_progress_bars,
    load_causal_model,
    load_tokenizer,
    load_weights_into,
    report_load_errors,
    resolve_source,
    save_sharded,
)
from llmzoo.models.memory import microbatch_tokens
from llmzoo.models.model_catalog import TINY
from llmzoo.models.precision import (
    Precision,
    autocast,
    cast_weights,
    warn_if_slow,
    weight_dtype,
)
from llmzoo.models.self_test import check_family
from llmzoo.models.static_rows import is_faster_on_gpu
from llmzoo.policies.base import (
    JointlySampled,
    NoiseKeys,
    OnComplete,
    PolicyRequest,
    default_max_new_tokens,
)
from llmzoo.policies.histories import Histories
from llmzoo.policies.prompts import PromptFormatter
from llmzoo.policies.sampling_passes import sample_in_passes
from llmzoo.policies.settings import Chat, Sampling, SamplingPolicy
from llmzoo.records import Completion, Group
from llmzoo.spaces import Conversation

__all__ = ["TINY_FOLDER", "TransformersPolicy", "hide_progress_bars"]


class TransformersPolicy(JointlySampled, SamplingPolicy):
    """A model and its tokenizer for any number of agents.

    Parameters
    ----------
    model, tokenizer: of the transformers library; a ``peft.PeftModel`` works too.
    sampling: settings for every agent; ``samplings`` overrides them for single agents.
    chat: system prompt, arguments of the chat template and the end of a thought, for every agent;
        ``chats`` overrides them for single agents. ``system`` is short for ``Chat(system=...)``.
    seed: of the sampling noise.
    max_rows: the most rows sampled at once; more take several passes.
    learning_rate: overrides the learner's.
    precision: ``"float32"``, ``"bf16_autocast"`` (float32 weights, forward passes in bfloat16) or
        ``"bf16"`` (bfloat16 weights; train them through
        :class:`llmzoo.models.precision.MasterWeights`). The weights are cast to it; None leaves
        them unchanged. Log-probabilities are always float32.
    gradient_checkpointing: likelihoods with gradients recompute the layers' activations in the
        backward pass instead of keeping them, which takes less memory and more time.
    compile: ``"on"`` runs the layers of likelihoods with gradients as compiled code, ``"auto"``
        does so on a GPU that has Triton (:mod:`llmzoo.models.compiling`).

    ``cuda_graphs``: whether decoding steps may be repeated as CUDA graphs (:mod:`llmzoo.models.static_rows`).

    ``adapter`` is the adapter of a ``PeftModel`` that this policy uses and trains: at first the
    active one. Every use activates it. None, with a ``PeftModel``, means the bare base.

    Sampling and likelihoods always run in evaluation mode, without dropout: with different dropout
    masks, the ratio of a likelihood to the sampled one would not be 1.

    Observations enter the prompt as text: control tokens in them are encoded character by character
    (:mod:`llmzoo.policies.prompts`). A completion's text is what follows the model's thoughts; its
    ids are everything that was sampled. An answer that ends inside a thought has an empty text,
    which earns the environment's penalty. The first one raises a warning, and ``thoughts_unclosed``
    counts them.

    A prompt too long for the model's context gets an empty completion, marked ``refused``, that is
    never trained on. The first one raises a warning.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        sampling: Sampling | None = None,
        samplings: Mapping[str, Sampling] | None = None,
        system: str | None = None,
        chat: Chat | None = None,
        chats: Mapping[str, Chat] | None = None,
        seed: int = 0,
        max_rows: int = 512,
        name: str = "transformers",
        learning_rate: float | None = None,
        precision: Precision | None = None,
        gradient_checkpointing: bool = False,
        compile: Compile = "off",
    ):
        if learning_rate is not None and not learning_rate > 0:
            raise ConfigError(f"learning_rate must be above 0, got {learning_rate}")
        if system is not None and chat is not None:
            raise ConfigError("system is part of chat: give one of them")
        if precision is not None:
            cast_weights(model, precision)
        self.name = name
        # the embedded model's configuration says so; others have no such entries
        settings = model.config.to_dict()
        self.prompt_style: str | None = settings.get("llmzoo_prompt")
        self.has_known_rates = settings.get("llmzoo_rates") == "found"
        # may be a PeftModel, which forwards all attributes to the model inside
        self.model = model
        self.adapter: str | None = _active_adapter(model)
        self.learning_rate = learning_rate
        self.precision = precision
        self.gradient_checkpointing = gradient_checkpointing
        self.compiled = should_compile(model, compile)
        self.cuda_graphs = True  # on a GPU
        self.tokenizer = tokenizer
        self.sampling: Sampling = sampling or Sampling()
        self.samplings = dict(samplings or {})
        self.chat = chat or Chat(system=system)
        self.chats = dict(chats or {})
        self._prompts: dict[str | None, PromptFormatter] = {}
        self.histories = Histories()
        self.max_rows = max_rows
        self.noise_keys = NoiseKeys(seed)
        self.sampler: Sampler | None = None  # a separate engine that samples instead of the model
        self.eos_ids = eos_ids(model, tokenizer)
        pad = tokenizer.pad_token_id
        self.pad_id = int(pad if pad is not None else min(self.eos_ids, default=0))
        self.tokens_sampled = 0
        self.thoughts_unclosed = 0
        self._warned = False

    @classmethod
    def load(
        cls,
        name: str,
        *,
        device: str | None = None,
        dtype: str = "auto",
        precision: Precision | None = None,
        base: str | None = None,
        trust_remote_code: bool = False,
        **options: Any,
    ) -> TransformersPolicy:
        """Load a model by name with transformers' own ``from_pretrained``.

        ``name``: ``"tiny"``, a fetched model such as ``"smollm2"``, a local folder or a hub id.
        A peft folder is loaded with its base, and the adapter is what trains; ``base`` overrides the
        base that the adapter names. ``dtype``: of the weights, unless ``precision`` is given. Code
        that comes with a model runs only with ``trust_remote_code``. Weights are read only from
        safetensors files. ``device``: ``"cpu"``, ``"cuda"``, ``"cuda:1"`` or ``"mps"``; by default a GPU
        of CUDA if there is one. Raises :class:`ConfigError` for models that cannot be loaded and for a
        device that is not there.
        """
        device = resolve_device(device)
        folder = resolve_source(name)
        weight_format: Any = dtype if precision is None else weight_dtype(precision)
        if name == TINY:
            weight_format = "float32" if precision is None else weight_format
            options.setdefault("sampling", Sampling(max_new_tokens=default_max_new_tokens(name)))
        trust = {"trust_remote_code": trust_remote_code}
        with report_load_errors(folder), warn_if_cpu_contended():
            if lora.is_adapter(folder):
                model, base_source = lora.load_adapter(folder, base, weight_format, **trust)
                has_tokenizer = (Path(folder) / "tokenizer_config.json").exists()
                tokenizer_from = folder if has_tokenizer else base_source
            elif base is not None:
                raise ConfigError(f"{name} is not an adapter: base has no effect for it")
            else:
                model, tokenizer_from = load_causal_model(folder, weight_format, **trust), folder
            tokenizer = load_tokenizer(tokenizer_from, **trust)
        policy = cls(model.to(device), tokenizer, name=name, **options)
        warn_if_slow(policy.model.device, precision)
        check_family(policy.model, name)
        policy.precision = precision  # the weights have it already, and an adapter stays float32
        for agent in (None, *policy.chats):
            policy.prompts_for(agent)  # raises now for settings that the model cannot use
        return policy

    def sampling_for(self, agent: str) -> Sampling:
        return self.samplings.get(agent, self.sampling)

    @property
    def context(self) -> int:
        """The maximum number of tokens of a prompt and its answer together."""
        model_context = _context_length(self.model)
        return model_context if self.sampler is None else min(model_context, self.sampler.context)

    @property
    def microbatch_tokens(self) -> int:
        """The tokens that a forward pass with gradients reads, where no setting says."""
        return microbatch_tokens(self.model, recompute=self.gradient_checkpointing)

    @property
    def has_plain_head(self) -> bool:
        """Whether logits are known to be no more than a product of states and the output layer."""
        head: Any = self.model.get_output_embeddings()
        return attention.is_supported(self.model.config) and lora.is_mergeable(head)

    def prompts_for(self, agent: str | None = None) -> PromptFormatter:
        """Formats the prompts of ``agent``; None: of an agent without its own settings."""
        if agent not in self.chats:
            agent = None
        if agent not in self._prompts:
            chat = self.chat if agent is None else self.chats[agent]
            self._prompts[agent] = PromptFormatter(self.tokenizer, chat, self.name)
        return self._prompts[agent]

    def encode(self, observation: str, agent: str | None = None) -> tuple[int, ...]:
        """The token ids of a prompt, through the chat template if there is one."""
        return self.prompts_for(agent).encode(observation, self.histories, agent)

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        return TransformersPolicy.respond_jointly(
            [self] * len(requests), requests, group_size, greedy=greedy, on_complete=on_complete
        )

    @property
    def batch_key(self) -> Hashable:
        """Adapters of a model share a call where they share the steps of a GPU."""
        if self.adapter is None or self.sampler is not None or not self.cuda_graphs:
            return id(self)
        if not is_faster_on_gpu(self.model):
            return id(self)
        return (
            type(self),
            id(self.model),
            id(self.tokenizer),
            self.precision,
            self.max_rows,
            frozenset(self.eos_ids),
            self.pad_id,
        )

    @staticmethod
    def respond_jointly(
        policies: Sequence[TransformersPolicy],
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        prompts = [
            policy.encode(request.observation, request.agent)
            for policy, request in zip(policies, requests, strict=True)
        ]
        keys = [
            key
            for policy, request in zip(policies, requests, strict=True)
            for key in policy.noise_keys.keys([request])
        ]
        answers: list[list[Completion]] = [[] for _ in requests]

        def deliver(index: int, completions: list[Completion]) -> None:
            answers[index] = completions
            if on_complete is not None:
                on_complete(index, completions)

        by_sampling: dict[Sampling, list[int]] = {}
        for index, (policy, request) in enumerate(zip(policies, requests, strict=True)):
            sampling = policy.sampling_for(request.agent)
            room = policy._room(sampling)
            if len(prompts[index]) == 0 or len(prompts[index]) > room:
                policy._warn_too_long(len(prompts[index]), room)
                no_answer = Completion(text="", prompt_ids=prompts[index], refused=True)
                deliver(index, [no_answer] * group_size)
            else:
                by_sampling.setdefault(sampling, []).append(index)
        for sampling, indices in by_sampling.items():
            # similar lengths together need less padding; equal neighbours are read once
            indices.sort(key=lambda i: (policies[i].adapter or "", len(prompts[i]), prompts[i]))

            def on_finished(
                n: int,
                rows: list[SampledTokens],
                indices: list[int] = indices,
                sampling: Sampling = sampling,
            ) -> None:
                i = indices[n]
                made = policies[i]._completion
                deliver(i, [made(prompts[i], row, sampling, requests[i]) for row in rows])

            sample_in_passes(
                [policies[i] for i in indices],
                [prompts[i] for i in indices],
                group_size,
                sampling,
                [keys[i] for i in indices],
                greedy,
                on_finished,
                [requests[i].cancelled for i in indices],
            )
        return answers

    def reseed(self, seed: int) -> None:
        """Restart the sampling noise from a seed, also for copies of this policy, which share it."""
        self.noise_keys.reseed(seed)

    def likelihood(
        self,
        groups: Sequence[Group],
        *,
        top: bool = False,
        hidden: bool = False,
        target: DistillationTarget | None = None,
    ) -> Likelihood:
        """Likelihoods of the groups' completions under this policy.

        ``top``: also mark each token that was the most likely one. ``hidden``: also return the
        state from which each token was predicted, for critics. ``target``: also return the
        divergence from it. The groups' agents must share their sampling settings.
        """
        (sampling,) = {self.sampling_for(group.agent) for group in groups}

        def compute() -> tuple[Any, ...]:
            result = likelihood(
                self.model,
                [group.prompt_ids for group in groups],
                [[completion.ids for completion in group.completions] for group in groups],
                sampling,
                pad_id=self.pad_id,
                top=top,
                hidden=hidden or target is not None,
                recompute=self._recompute_hook(),
                compiled=self.compiled,
            )
            apart = None
            if target is not None:
                assert result.hidden is not None
                real = result.mask.bool()
                head: Any = self.model.get_output_embeddings()
                flat = target.divergence(
                    head, result.hidden[real], sampling.temperature, self.activate
                )
                apart = torch.zeros_like(result.mask).masked_scatter(real, flat)
            kept = result.hidden if hidden else None
            return result.logprobs, result.entropy, result.mask, result.top, kept, apart

        with self.ready():
            return Likelihood(*sharding.run_with_weights(self.model, compute))

    def states_and_head(self, groups: Sequence[Group]) -> tuple[Tensor, Tensor, Tensor | None]:
        """What is predicted before each of the groups' T tokens: states [T, H], and the weight [V, H] and
        bias [V] of the output layer, without gradients. Ranks that share a model call it with the model
        :func:`gathered <llmzoo.distributed.sharding.gather_weights>`. The model has a ``has_plain_head``.
        """
        head: Any = self.model.get_output_embeddings()
        with torch.no_grad():
            current = self.likelihood(groups, hidden=True)
            assert current.hidden is not None
            with self.ready():
                weight = lora.merged_weight(head).detach()
                if sharding.is_sharded(self.model):
                    weight = weight.clone()  # the whole weight is freed
        return current.hidden[current.mask.bool()], weight, head.bias

    def prompt_hidden(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """The hidden states [B, H] at the last tokens of prompts, as in ``likelihood(hidden=True)``.

        A prompt beyond the model's context is cut on the left.
        """
        limit = _context_length(self.model)
        cut = [prompt[-limit:] for prompt in prompts]
        parts = [cut[i : i + self.max_rows] for i in range(0, len(cut), self.max_rows)]
        with self.ready():
            return torch.cat(
                [last_states(self.model, part, [1] * len(part), self.pad_id) for part in parts]
            )

    def parameters(self) -> list[Parameter]:
        """The parameters that this policy trains: its adapter's, or all unfrozen ones of the model."""
        if self.adapter is not None:
            adapter_parameters = lora.adapter_parameters(self.model, self.adapter)
            return [p for p in adapter_parameters.values() if p.requires_grad]
        if lora.is_peft(self.model):
            return []  # the bare base, which others share
        return [p for p in self.model.parameters() if p.requires_grad]

    def reference(self) -> TransformersPolicy:
        """A frozen copy of this policy, the reference of a KL penalty or of DPO.

        For an adapter that has no effect yet, this is the bare base, and nothing is copied. A
        trained adapter is copied within the shared model, and stays there. Full weights are copied.
        """
        if self.adapter is not None and lora.has_no_effect(self.model, self.adapter):
            return self.with_adapter(None)
        return self.frozen_copy()

    def frozen_copy(self) -> TransformersPolicy:
        """A frozen copy of this policy with weights of its own: an adapter's within the shared model."""
        if self.adapter is not None:
            return self.with_adapter(lora.add_frozen_copy(self.model, self.adapter))
        policy = copy.copy(self)
        policy.sampler = None  # its engine would follow the trained weights
        if not lora.is_peft(self.model):
            policy.model = sharding.copy_model(self.model).eval().requires_grad_(False)
        return policy

    def activate(self) -> None:
        """Activate this policy's adapter, for code that uses ``model`` directly."""
        if self.adapter is not None:
            lora.activate(self.model, self.adapter)

    def save(self, folder: str | Path) -> None:
        """Write a plain transformers folder (safetensors) that ``from_pretrained`` loads.

        With an adapter, write a plain peft folder: adapter, name of the base, and tokenizer. In a
        run with several ranks, all ranks call this with one shared folder.
        """
        if sharding.is_sharded(self.model) and self.adapter is None:
            save_sharded(self.model, Path(folder))
        elif ranks.rank() > 0:
            return
        elif self.adapter is not None:
            lora.save_adapter(self.model, self.adapter, Path(folder))
        elif lora.is_peft(self.model):
            raise ConfigError(f"{self.name} is the bare base that adapters share: nothing to save")
        else:
            with hide_progress_bars():
                self.model.save_pretrained(str(folder))
        if ranks.rank() == 0:
            self.tokenizer.save_pretrained(str(folder))

    def load_weights(self, folder: str | Path) -> None:
        """Load the weights that :meth:`save` wrote into this model, in place.

        Raises :class:`CheckpointError` if they are missing or do not fit.
        """
        try:
            if self.adapter is not None:
                lora.load_into_adapter(self.model, self.adapter, Path(folder))
            else:
                load_weights_into(self.model, Path(folder))
        except LlmzooError:
            raise
        except (
            OSError,
            LookupError,
            TypeError,
            ValueError,
            RuntimeError,
            SafetensorError,
        ) as error:
            raise CheckpointError(f"{folder} cannot be loaded: {error}") from error

    def with_sampling(self, **changes: Any) -> TransformersPolicy:
        """This policy (same weights, same noise) with other sampling settings."""
        policy = copy.copy(self)
        policy.sampling = replace(self.sampling, **changes)
        return policy

    def with_chat(self, chat: Chat, chats: Mapping[str, Chat] | None = None) -> TransformersPolicy:
        """This policy (same weights, same noise) with other prompt settings."""
        policy = copy.copy(self)
        policy.chat, policy.chats, policy._prompts = chat, dict(chats or {}), {}
        return policy

    def with_adapter(
        self, adapter: str | None, *, name: str | None = None, seed: int | None = None
    ) -> TransformersPolicy:
        """This policy with another adapter of its model; None: the bare base.

        ``name`` and ``seed``: of the new policy; by default this policy's own.
        """
        policy = copy.copy(self)
        policy.adapter, policy.sampler = adapter, None
        policy.name = self.name if name is None else name
        if seed is not None:
            policy.noise_keys = NoiseKeys(seed)
        return policy

    def with_adapters(
        self, names: Sequence[str], *, seed: int = 0, **options: Any
    ) -> dict[str, TransformersPolicy]:
        """A policy for each name: this model with a LoRA adapter of its own.

        ``options`` are ``peft.LoraConfig``'s. The defaults are r=16, lora_alpha=32, no dropout, and
        all linear layers. A new adapter changes nothing. ``seed`` fixes the random half of its
        weights and the policies' sampling noise. Our own sampling and likelihoods ignore
        ``lora_dropout``; it acts when another trainer runs the model in training mode.

        The adapters are added to this policy's own model, and this policy becomes the bare base. Do
        not use other references to the model afterwards.

        Raises :class:`llmzoo.errors.UnknownNameError` for an option that peft lacks, and :class:`ConfigError` for
        one that would change the shared base, and for a model that has adapters already.
        """
        model, adapters = lora.add_adapters(
            self.model, self.name, names, seed=seed, options=options
        )
        self.model, self.adapter = model, None
        return {
            name: self.with_adapter(adapter, name=name, seed=seed + number)
            for number, (name, adapter) in enumerate(adapters.items())
        }

    @contextmanager
    def ready(self) -> Iterator[None]:
        """The model in evaluation mode, with this policy's adapter and precision."""
        self.model.eval()
        self.activate()
        bare = lora.is_peft(self.model) and self.adapter is None
        with (
            lora.without_adapters(self.model) if bare else nullcontext(),
            autocast(sharding.compute_device(self.model), self.precision),
        ):
            yield

    def _recompute_hook(self) -> Callable[[], None] | None:
        """The preparation of a layer's second run under gradient checkpointing; else None."""
        return self.activate if self.gradient_checkpointing else None

    def _room(self, sampling: Sampling) -> int:
        return self.context - sampling.max_new_tokens

    def _warn_too_long(self, length: int, room: int) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name}: a prompt of {length} tokens exceeds the available context ({room} "
                "tokens). An empty completion is recorded and excluded from training.",
                stacklevel=3,
            )

    def stop_condition(self, sampling: Sampling) -> Callable[[list[int]], bool] | None:
        """A function that tells from a row's tokens whether a stop string is among the last of them."""
        if not sampling.stop:
            return None
        # a stop string may span tokens, so a window of the last ones is decoded
        window = max(len(stop) for stop in sampling.stop) + 8

        def has_stop_string(ids: list[int]) -> bool:
            text = self.tokenizer.decode(ids[-window:], skip_special_tokens=True)
            return any(stop in text for stop in sampling.stop)

        return has_stop_string

    def _completion(
        self,
        prompt: tuple[int, ...],
        row: SampledTokens,
        sampling: Sampling,
        request: PolicyRequest,
    ) -> Completion:
        self.tokens_sampled += len(row.ids)
        prompts = self.prompts_for(request.agent)
        text = prompts.answer(row.ids)
        if isinstance(request.observation, Conversation):
            full_text = str(self.tokenizer.decode(row.ids, skip_special_tokens=True))
            ids = tuple(row.ids)
            self.histories.remember(request.agent, request.observation, full_text, prompt, ids)
        if text is None:
            self._count_unclosed_thought(prompts)
            text = ""
        cuts = [at for at in (text.find(stop) for stop in sampling.stop) if at >= 0]
        return Completion(
            text=text[: min(cuts)] if cuts else text,
            prompt_ids=prompt,
            ids=tuple(row.ids),
            logprobs=tuple(row.logprobs),
            truncated=not row.ended,
        )

    def _count_unclosed_thought(self, prompts: PromptFormatter) -> None:
        if self.thoughts_unclosed == 0:
            assert prompts.marks is not None
            warnings.warn(
                f"{self.name}: an answer ended inside a thought (no {prompts.marks.closes}), and so "
                "is empty: raise max_new_tokens, or switch thinking off, which many models do with "
                "chat_template_args enable_thinking=false",
                stacklevel=2,
            )
        self.thoughts_unclosed += 1


def _context_length(model: PreTrainedModel) -> int:
    """The model's context in tokens. Some models have no limit."""
    return getattr(model.config, "max_position_embeddings", None) or 2**31


def _active_adapter(model: Any) -> str | None:
    """The name of a ``PeftModel``'s active adapter; None for other models."""
    return str(model.active_adapter) if lora.is_peft(model) else None
