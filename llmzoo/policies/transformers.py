"""A causal language model of the transformers library as a policy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.nn import Parameter
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from llmzoo.distributed import ranks, sharding
from llmzoo.errors import CheckpointError, ConfigError, LlmzooError
from llmzoo.policies import lora
from llmzoo.policies.base import TINY, Answered, EarlyPolicy, Request, answer_limit
from llmzoo.policies.chance import Chance
from llmzoo.policies.decode import Finished, Tokens, sample
from llmzoo.policies.likelihood import Likelihood, last_states, likelihood
from llmzoo.policies.loading import (
    TINY_FOLDER,
    eos_ids,
    load_causal_model,
    load_into,
    load_tokenizer,
    no_bars,
    reading,
    save_sharded,
)
from llmzoo.policies.precision import Precision, autocast, cast_weights, weight_dtype
from llmzoo.policies.prompts import Prompts
from llmzoo.policies.sampler import Sampler
from llmzoo.policies.settings import Chat, Sampled, Sampling
from llmzoo.records import Completion, Group

__all__ = ["TINY_FOLDER", "TransformersPolicy", "no_bars"]


class TransformersPolicy(EarlyPolicy, Sampled):
    """A model and its tokenizer in any number of seats.

    Parameters
    ----------
    model, tokenizer: of the transformers library; a ``peft.PeftModel`` works too.
    sampling: settings for every seat; ``seats`` gives a seat its own.
    chat: system prompt, arguments of the chat template and what ends a thought, for every seat;
        ``chats`` gives a seat its own. ``system`` is short for ``Chat(system=...)``.
    seed: of the sampling noise.
    max_rows: rows sampled at once; more are sampled in several passes.
    learning_rate: its own, where it is not to be the learner's.
    precision: ``"float32"``, ``"bf16_autocast"`` (float32 weights, forward passes in bfloat16) or
        ``"bf16"`` (bfloat16 weights; train them through
        :class:`llmzoo.policies.precision.MasterWeights`). The weights are cast to it; None leaves
        them as they are. Log-probabilities are float32 always.
    gradient_checkpointing: in likelihoods with gradients, compute the layers' activations again in
        the backward pass instead of keeping them: less memory, more time.

    ``adapter`` is the adapter of a ``PeftModel`` that this policy uses and trains, at first the
    active one; every use activates it. None, with a ``PeftModel``, means the bare base.

    Sampling and likelihoods run in evaluation mode, without dropout, whatever mode the model is in:
    a likelihood under other dropout than the sample's would not have ratio 1.

    What an agent reads enters the prompt as text: control tokens in it are spelled out
    (:mod:`llmzoo.policies.prompts`). A completion's text is what follows the model's thoughts, its
    ids are all that was sampled. An answer that ends inside a thought has the empty text, which
    earns an environment's penalty; the first is warned of, and ``thoughts_unclosed`` counts them.

    A prompt too long for the model's context is answered with an empty completion, ``refused``,
    that is never trained on, with one warning.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        sampling: Sampling | None = None,
        seats: Mapping[str, Sampling] | None = None,
        system: str | None = None,
        chat: Chat | None = None,
        chats: Mapping[str, Chat] | None = None,
        seed: int = 0,
        max_rows: int = 512,
        name: str = "transformers",
        learning_rate: float | None = None,
        precision: Precision | None = None,
        gradient_checkpointing: bool = False,
    ):
        if learning_rate is not None and not learning_rate > 0:
            raise ConfigError(f"learning_rate must be above 0, got {learning_rate}")
        if system is not None and chat is not None:
            raise ConfigError("system is part of chat: give one of them")
        if precision is not None:
            cast_weights(model, precision)
        self.name = name
        # the embedded model's configuration says so; others have no such entry
        self.prompt_style: str | None = model.config.to_dict().get("llmzoo_prompt")
        # a PeftModel is in the type's place: it passes everything on to the model inside it
        self.model = model
        self.adapter: str | None = _active_adapter(model)
        self.learning_rate = learning_rate
        self.precision = precision
        self.gradient_checkpointing = gradient_checkpointing
        self.tokenizer = tokenizer
        self.sampling: Sampling = sampling or Sampling()
        self.seats = dict(seats or {})
        self.chat = chat or Chat(system=system)
        self.chats = dict(chats or {})
        self._prompts: dict[str | None, Prompts] = {}
        self.max_rows = max_rows
        self.chance = Chance(seed)
        self.sampler: Sampler | None = None  # an engine apart from the model, that samples for it
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
        """Load ``"tiny"``, a local folder or a hub id with transformers' own ``from_pretrained``.

        A peft folder gives its base with the adapter on it, which then is what trains; ``base``
        says where the base is, if not where the adapter names it. ``dtype`` is the weights', unless
        ``precision`` says so. Code that comes with a model runs only with ``trust_remote_code``;
        weights are read from safetensors files. Raises :class:`ConfigError` for what cannot be
        loaded.
        """
        folder = str(TINY_FOLDER) if name == TINY else name
        wanted: Any = dtype if precision is None else weight_dtype(precision)
        if name == TINY:
            wanted = "float32" if precision is None else wanted
            options.setdefault("sampling", Sampling(max_new_tokens=answer_limit(name)))
        trust = {"trust_remote_code": trust_remote_code}
        with reading(folder):
            if lora.is_adapter(folder):
                model, base_source = lora.load_adapter(folder, base, wanted, **trust)
                own = (Path(folder) / "tokenizer_config.json").exists()
                tokenizer_from = folder if own else base_source
            elif base is not None:
                raise ConfigError(f"{name} is not an adapter: base means nothing for it")
            else:
                model, tokenizer_from = load_causal_model(folder, wanted, **trust), folder
            tokenizer = load_tokenizer(tokenizer_from, **trust)
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        policy = cls(model.to(device), tokenizer, name=name, **options)
        policy.precision = precision  # the weights have it already, and an adapter stays float32
        for agent in (None, *policy.chats):
            policy.prompts_of(agent)  # settings without a meaning are refused now
        return policy

    def sampling_of(self, agent: str) -> Sampling:
        return self.seats.get(agent, self.sampling)

    @property
    def context(self) -> int:
        """The longest text, prompt and answer together, in tokens, that can be sampled."""
        read = _read_by(self.model)
        return read if self.sampler is None else min(read, self.sampler.context)

    def prompts_of(self, agent: str | None = None) -> Prompts:
        """How the prompts of ``agent`` are made; of a seat without settings of its own if None."""
        if agent not in self.chats:
            agent = None
        if agent not in self._prompts:
            chat = self.chat if agent is None else self.chats[agent]
            self._prompts[agent] = Prompts(self.tokenizer, chat, self.name)
        return self._prompts[agent]

    def encode(self, observation: str, agent: str | None = None) -> tuple[int, ...]:
        """The token ids of a prompt: through the chat template where there is one."""
        return self.prompts_of(agent).encode(observation)

    def respond(
        self, requests: Sequence[Request], group_size: int = 1, *, greedy: bool = False
    ) -> list[list[Completion]]:
        return self.respond_early(
            requests, group_size, greedy=greedy, answered=lambda index, answers: None
        )

    def respond_early(
        self,
        requests: Sequence[Request],
        group_size: int = 1,
        *,
        greedy: bool = False,
        answered: Answered,
    ) -> list[list[Completion]]:
        prompts = [self.encode(str(r.observation), r.agent) for r in requests]
        keys = self.chance.keys(requests)
        answers: list[list[Completion]] = [[] for _ in requests]
        by_sampling: dict[Sampling, list[int]] = {}
        for index, request in enumerate(requests):
            sampling = self.sampling_of(request.agent)
            if len(prompts[index]) == 0 or len(prompts[index]) > self._room(sampling):
                self._warn_too_long(len(prompts[index]), self._room(sampling))
                no_answer = Completion(text="", prompt_ids=prompts[index], refused=True)
                answers[index] = [no_answer] * group_size
                answered(index, answers[index])
            else:
                by_sampling.setdefault(sampling, []).append(index)
        for sampling, indices in by_sampling.items():
            # alike lengths together: less padding; equal prompts side by side: read as one
            indices.sort(key=lambda i: (len(prompts[i]), prompts[i]))

            def finished(
                n: int,
                rows: list[Tokens],
                indices: list[int] = indices,
                sampling: Sampling = sampling,
            ) -> None:
                i = indices[n]
                agent = requests[i].agent
                answers[i] = [self._completion(prompts[i], row, sampling, agent) for row in rows]
                answered(i, answers[i])

            prompts_of, keys_of = [prompts[i] for i in indices], [keys[i] for i in indices]
            events = [requests[i].given_up for i in indices]
            self._sample(prompts_of, group_size, sampling, keys_of, greedy, finished, events)
        return answers

    def reseed(self, seed: int) -> None:
        """Begin the sampling noise anew; copies of this policy share it."""
        self.chance.reseed(seed)

    def likelihood(
        self, groups: Sequence[Group], *, top: bool = False, hidden: bool = False
    ) -> Likelihood:
        """Likelihoods of the groups' completions under this policy.

        ``top``: also mark each token that was the most likely one. ``hidden``: also return the
        state from which each token was predicted, for critics. The groups' agents must share their
        sampling settings.
        """
        (sampling,) = {self.sampling_of(group.agent) for group in groups}

        def compute() -> tuple[Tensor | None, ...]:
            result = likelihood(
                self.model,
                [group.prompt_ids for group in groups],
                [[completion.ids for completion in group.completions] for group in groups],
                sampling,
                pad_id=self.pad_id,
                top=top,
                hidden=hidden,
                recompute=self._recompute(),
            )
            return result.logprobs, result.entropy, result.mask, result.top, result.hidden

        with self.ready():
            return Likelihood(*sharding.run(self.model, compute))

    def prompt_hidden(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """The last hidden states [B, H] at the ends of prompts, as in ``likelihood(hidden=True)``.

        A prompt beyond the model's context is cut on the left.
        """
        limit = _read_by(self.model)
        cut = [prompt[-limit:] for prompt in prompts]
        parts = [cut[i : i + self.max_rows] for i in range(0, len(cut), self.max_rows)]
        with self.ready():
            return torch.cat(
                [last_states(self.model, part, [1] * len(part), self.pad_id) for part in parts]
            )

    def parameters(self) -> list[Parameter]:
        """Exactly what this policy trains: its adapter's parameters, or the model's unfrozen ones."""
        if self.adapter is not None:
            own = lora.own_parameters(self.model, self.adapter)
            return [p for p in own.values() if p.requires_grad]
        if lora.is_peft(self.model):
            return []  # the bare base, which others share
        return [p for p in self.model.parameters() if p.requires_grad]

    def reference(self) -> TransformersPolicy:
        """This policy as it is now, frozen: what a KL penalty or DPO compares with.

        With an adapter that does nothing yet this is the bare base, and nothing is copied; a
        trained adapter is copied (into the shared model, where it stays), and full weights are.
        """
        if self.adapter is not None:
            return self.with_adapter(lora.frozen_copy(self.model, self.adapter))
        frozen = self._copy()
        frozen.sampler = None  # an engine has the weights that go on
        if not lora.is_peft(self.model):
            frozen.model = sharding.copied(self.model).eval().requires_grad_(False)
        return frozen

    def activate(self) -> None:
        """Make this policy's adapter the active one, for code that uses ``model`` by itself."""
        if self.adapter is not None:
            lora.activate(self.model, self.adapter)

    def save(self, folder: str | Path) -> None:
        """A plain transformers folder (safetensors) that ``from_pretrained`` loads.

        With an adapter a plain peft folder: the adapter, its base's name, and the tokenizer. Where
        several ranks train, all of them call this, and share the folder.
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
            with no_bars():
                self.model.save_pretrained(str(folder))
        if ranks.rank() == 0:
            self.tokenizer.save_pretrained(str(folder))

    def load_weights(self, folder: str | Path) -> None:
        """Put the weights that :meth:`save` wrote into this model, in place.

        Raises :class:`CheckpointError` where they are absent or do not fit.
        """
        try:
            if self.adapter is not None:
                lora.load_into_adapter(self.model, self.adapter, Path(folder))
            else:
                load_into(self.model, Path(folder))
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
        """This policy (same weights, same noise) under other sampling settings."""
        copy = self._copy()
        copy.sampling = replace(self.sampling, **changes)
        return copy

    def under(self, sampling: Sampling) -> TransformersPolicy:
        copy = self._copy()
        copy.sampling, copy.seats = sampling, {}
        return copy

    def with_chat(self, chat: Chat, chats: Mapping[str, Chat] | None = None) -> TransformersPolicy:
        """This policy (same weights, same noise) under other settings of its prompts."""
        copy = self._copy()
        copy.chat, copy.chats, copy._prompts = chat, dict(chats or {}), {}
        return copy

    def with_adapter(
        self, adapter: str | None, *, name: str | None = None, seed: int | None = None
    ) -> TransformersPolicy:
        """This policy with another adapter of its model, or without any (None).

        ``name`` and ``seed``: of the new policy, where they are not this one's.
        """
        copy = self._copy()
        copy.adapter, copy.sampler = adapter, None
        copy.name = self.name if name is None else name
        if seed is not None:
            copy.chance = Chance(seed)
        return copy

    def with_adapters(
        self, names: Sequence[str], *, seed: int = 0, **options: Any
    ) -> dict[str, TransformersPolicy]:
        """A policy for each name: this model with a LoRA adapter of its own.

        ``options`` are ``peft.LoraConfig``'s. The defaults are r=16, lora_alpha=32, no dropout, and
        all linear layers. A new adapter changes nothing. ``seed`` fixes the random half of its
        weights and the policies' sampling noise. Our own sampling and likelihoods ignore
        ``lora_dropout``; it acts when another trainer runs the model in training mode.

        The adapters are put into this policy's model itself. This policy becomes the bare base. Do
        not use other references to the model any more.

        Raises :class:`UnknownNameError` for an option that peft lacks, and :class:`ConfigError` for
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

    def _copy(self) -> TransformersPolicy:
        copy = object.__new__(TransformersPolicy)
        copy.__dict__.update(self.__dict__)
        return copy

    @contextmanager
    def ready(self) -> Iterator[None]:
        """The model without dropout, with this policy's adapter, in its arithmetic."""
        self.model.eval()
        self.activate()
        bare = lora.is_peft(self.model) and self.adapter is None
        with (
            lora.bare(self.model) if bare else nullcontext(),
            autocast(sharding.device_of(self.model), self.precision),
        ):
            yield

    def _sample(
        self,
        prompts: Sequence[tuple[int, ...]],
        group_size: int,
        sampling: Sampling,
        keys: Sequence[int],
        greedy: bool,
        finished: Finished,
        given_up: Sequence[Event | None],
    ) -> None:
        """K rows for each prompt, ``max_rows`` at once, or from the sampler where there is one.

        A prompt's rows are handed to ``finished``, with its number, as soon as they are complete,
        or incomplete where its event in ``given_up`` is set.
        """
        if self.sampler is not None:
            batch = self.sampler.sample(prompts, group_size, sampling, keys=keys, greedy=greedy)
            for n, rows in enumerate(batch):
                finished(n, rows)
            return
        at_once = max(1, self.max_rows // group_size)
        with self.ready():
            for start in range(0, len(prompts), at_once):
                sample(
                    self.model,
                    prompts[start : start + at_once],
                    group_size,
                    sampling,
                    eos_ids=self.eos_ids,
                    pad_id=self.pad_id,
                    keys=keys[start : start + at_once],
                    greedy=greedy,
                    stopped=self._stopped(sampling),
                    finished=partial(_later, finished, start),
                    given_up=_any_set(given_up[start : start + at_once]),
                )

    def _recompute(self) -> Callable[[], None] | None:
        """What a layer's second run needs, where there is to be one."""
        return self.activate if self.gradient_checkpointing else None

    def _room(self, sampling: Sampling) -> int:
        return self.context - sampling.max_new_tokens

    def _warn_too_long(self, length: int, room: int) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name}: a prompt of {length} tokens does not fit the model's context, which "
                f"has room for {room}; it is answered with an empty text and not trained on",
                stacklevel=3,
            )

    def _stopped(self, sampling: Sampling) -> Any:
        if not sampling.stop:
            return None
        # a stop string may span tokens; a window of the last ones is decoded
        window = max(len(stop) for stop in sampling.stop) + 8

        def stopped(ids: list[int]) -> bool:
            text = self.tokenizer.decode(ids[-window:], skip_special_tokens=True)
            return any(stop in text for stop in sampling.stop)

        return stopped

    def _completion(
        self, prompt: tuple[int, ...], row: Tokens, sampling: Sampling, agent: str
    ) -> Completion:
        self.tokens_sampled += len(row.ids)
        prompts = self.prompts_of(agent)
        text = prompts.answer(row.ids)
        if text is None:
            self._count_unclosed(prompts)
            text = ""
        cuts = [at for at in (text.find(stop) for stop in sampling.stop) if at >= 0]
        return Completion(
            text=text[: min(cuts)] if cuts else text,
            prompt_ids=prompt,
            ids=tuple(row.ids),
            logprobs=tuple(row.logprobs),
            truncated=not row.ended,
        )

    def _count_unclosed(self, prompts: Prompts) -> None:
        if self.thoughts_unclosed == 0:
            assert prompts.marks is not None
            warnings.warn(
                f"{self.name}: an answer ended inside a thought (no {prompts.marks.closes}), and so "
                "is empty: raise max_new_tokens, or switch thinking off, which many models do with "
                "chat_template_args enable_thinking=false",
                stacklevel=2,
            )
        self.thoughts_unclosed += 1


def _later(finished: Finished, start: int, number: int, rows: list[Tokens]) -> None:
    """Prompts are counted on from one pass to the next."""
    finished(start + number, rows)


def _any_set(events: Sequence[Event | None]) -> Callable[[int], bool] | None:
    """Whether a prompt's event is set; None where no prompt has one."""
    if all(event is None for event in events):
        return None

    def is_set(number: int) -> bool:
        event = events[number]
        return event is not None and event.is_set()

    return is_set


def _read_by(model: PreTrainedModel) -> int:
    """The longest text that the model reads, in tokens; some models know no limit."""
    return getattr(model.config, "max_position_embeddings", None) or 2**31


def _active_adapter(model: Any) -> str | None:
    """The name of the adapter that a ``PeftModel`` computes with; other models have none."""
    return str(model.active_adapter) if lora.is_peft(model) else None
