"""A causal language model of the transformers library as a policy."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from llmzoo.errors import (
    ConfigError,
)
from llmzoo.models import lora, tensor_io
from llmzoo.models.cpu_contention import warn_if_cpu_contended
from llmzoo.models.decode import SampledTokens, Sampler
from llmzoo.models.devices import resolve_device
from llmzoo.models.language_model import LanguageModel
from llmzoo.models.loading import (
    TINY_FOLDER,
    hide_progress_bars,
    load_causal_model,
    load_tokenizer,
    report_load_errors,
    resolve_source,
)
from llmzoo.models.model_catalog import TINY
from llmzoo.models.precision import (
    Precision,
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
from llmzoo.records import Completion
from llmzoo.spaces import Conversation, PlainPrompt

__all__ = ["TINY_FOLDER", "TransformersPolicy", "hide_progress_bars"]


class TransformersPolicy(LanguageModel, JointlySampled, SamplingPolicy):
    """A model and its tokenizer for any number of agents.

    Parameters
    ----------
    model, tokenizer: of the transformers library; a ``peft.PeftModel`` works too.
    sampling: settings for every agent; ``samplings`` overrides them for single agents.
    chat: system prompt, arguments of the chat template and the end of a thought, for every agent;
        ``chats`` overrides them for single agents. ``system`` is short for ``Chat(system=...)``.
    seed: of the sampling noise.
    model_options: of :class:`llmzoo.models.language_model.LanguageModel`: precision, learning_rate,
        gradient_checkpointing, compile, and max_rows, beyond which sampling takes several passes.

    ``cuda_graphs``: whether decoding steps may be repeated as CUDA graphs (:mod:`llmzoo.models.static_rows`).

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
        name: str = "transformers",
        **model_options: Any,
    ):
        if system is not None and chat is not None:
            raise ConfigError("system is part of chat: give one of them")
        super().__init__(model, tokenizer, name=name, **model_options)
        # the embedded model's configuration says so; others have no such entry
        self.prompt_style: str | None = model.config.to_dict().get("llmzoo_prompt")
        self.sampling: Sampling = sampling or Sampling()
        self.samplings = dict(samplings or {})
        self.chat = chat or Chat(system=system)
        self.chats = dict(chats or {})
        self._prompts: dict[str | None, PromptFormatter] = {}
        self.histories = Histories()
        self.noise_keys = NoiseKeys(seed)
        self.sampler: Sampler | None = None  # a separate engine that samples instead of the model
        self.cuda_graphs = True  # on a GPU
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
        """The maximum number of tokens of a prompt and its completion together."""
        own = self.model_context
        return own if self.sampler is None else min(own, self.sampler.context)

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

    def decode(
        self, ids: Sequence[int], agent: str, *, plain: bool = False, stop: Sequence[str] = ()
    ) -> str | None:
        """The text of sampled ``ids``, after the thoughts and before a ``stop`` text.

        None if a thought is still open. ``plain``: they continue a :class:`PlainPrompt`.
        """
        text = self.prompts_for(agent).answer(ids, plain=plain)
        cuts = [] if text is None else [at for at in map(text.find, stop) if at >= 0]
        return text[: min(cuts)] if text is not None and cuts else text

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
        completions_by_request: list[list[Completion]] = [[] for _ in requests]

        def deliver(index: int, completions: list[Completion]) -> None:
            completions_by_request[index] = completions
            if on_complete is not None:
                on_complete(index, completions)

        by_sampling: dict[Sampling, list[int]] = {}
        for index, (policy, request) in enumerate(zip(policies, requests, strict=True)):
            sampling = policy.sampling_for(request.agent)
            room = policy._room(sampling)
            if len(prompts[index]) == 0 or len(prompts[index]) > room:
                policy._warn_too_long(len(prompts[index]), room)
                empty = Completion(text="", prompt_ids=prompts[index], refused=True)
                deliver(index, [empty] * group_size)
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
                make_completion = policies[i]._completion
                deliver(
                    i, [make_completion(prompts[i], row, sampling, requests[i]) for row in rows]
                )

            sample_in_passes(
                [policies[i] for i in indices],
                [prompts[i] for i in indices],
                group_size,
                sampling,
                [keys[i] for i in indices],
                greedy,
                on_finished,
                [requests[i].cancelled for i in indices],
                [requests[i].on_growth for i in indices],
            )
        return completions_by_request

    def hash_weights(self) -> str:
        """A hash of the weights that play: those of the model, and of the adapter if there is one."""
        adapter = lora.adapter_parameters(self.model, self.adapter) if self.adapter else {}
        return tensor_io.hash_weights([*lora.base_parameters(self.model), *adapter.values()])

    def reseed(self, seed: int) -> None:
        """Restart the sampling noise from a seed, also for copies of this policy, which share it."""
        self.noise_keys.reseed(seed)

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
        policy = super().with_adapter(adapter)
        policy.sampler = None  # its engine would follow the weights that this policy trains
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
        plain = isinstance(request.observation, PlainPrompt)
        text = self.decode(row.ids, request.agent, plain=plain, stop=sampling.stop)
        if isinstance(request.observation, Conversation):
            full_text = str(self.tokenizer.decode(row.ids, skip_special_tokens=True))
            ids = tuple(row.ids)
            self.histories.remember(request.agent, request.observation, full_text, prompt, ids)
        if text is None:
            self._count_unclosed_thought(self.prompts_for(request.agent))
        return Completion(
            text=text or "",
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
