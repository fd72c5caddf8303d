"""A causal language model of the transformers library as a policy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)
from transformers.models.auto.tokenization_auto import get_tokenizer_config
from transformers.utils import logging

from llmzoo.policies.base import TINY, Request, answer_limit
from llmzoo.policies.decode import Tokens, sample
from llmzoo.policies.likelihood import Likelihood, likelihood
from llmzoo.policies.sampling import Sampling
from llmzoo.records import Completion, Group

TINY_FOLDER = Path(__file__).parent / "tiny" / "weights"


class TransformersPolicy:
    """A model and its tokenizer in any number of seats.

    Parameters
    ----------
    model, tokenizer: of the transformers library; a PEFT model works too.
    sampling: settings for every seat; ``seats`` gives a seat its own.
    system: system prompt, where the tokenizer has a chat template.
    seed: of the sampling noise.
    max_rows: rows sampled at once; more are sampled in several passes.

    A prompt too long for the model's context is answered with an empty completion that is never
    trained on, with one warning.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        sampling: Sampling | None = None,
        seats: Mapping[str, Sampling] | None = None,
        system: str | None = None,
        seed: int = 0,
        max_rows: int = 512,
        name: str = "transformers",
    ):
        self.name = name
        # the embedded model's configuration says so; others have no such entry
        self.prompt_style: str | None = model.config.to_dict().get("llmzoo_prompt")
        self.model = model
        self.tokenizer = tokenizer
        self.sampling = sampling or Sampling()
        self.seats = dict(seats or {})
        self.system = system
        self.max_rows = max_rows
        self.generator = torch.Generator(device=model.device).manual_seed(seed)
        self.eos_ids = _eos_ids(model, tokenizer)
        pad = tokenizer.pad_token_id
        self.pad_id = int(pad if pad is not None else min(self.eos_ids, default=0))
        self.tokens_sampled = 0
        self._warned = False

    @classmethod
    def load(
        cls,
        name: str,
        *,
        device: str | None = None,
        dtype: str = "auto",
        **options: Any,
    ) -> TransformersPolicy:
        """Load ``"tiny"``, a local folder or a hub id with transformers' own ``from_pretrained``."""
        folder = str(TINY_FOLDER) if name == TINY else name
        if name == TINY:
            dtype = "float32"
            options.setdefault("sampling", Sampling(max_new_tokens=answer_limit(name)))
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        with no_bars():
            tokenizer = _load_tokenizer(folder)
            model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
        return cls(model.to(device), tokenizer, name=name, **options)

    def sampling_of(self, agent: str) -> Sampling:
        return self.seats.get(agent, self.sampling)

    def encode(self, observation: str) -> tuple[int, ...]:
        """The token ids of a prompt: through the chat template where there is one."""
        if self.tokenizer.chat_template is None:
            ids = self.tokenizer(observation, add_special_tokens=True)["input_ids"]
        else:
            messages = [{"role": "user", "content": observation}]
            if self.system is not None:
                messages.insert(0, {"role": "system", "content": self.system})
            text = self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
            ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tuple(ids)

    def respond(
        self, requests: Sequence[Request], k: int = 1, *, greedy: bool = False
    ) -> list[list[Completion]]:
        self.model.eval()
        prompts = [self.encode(str(request.observation)) for request in requests]
        answers: list[list[Completion]] = [[] for _ in requests]
        by_sampling: dict[Sampling, list[int]] = {}
        for index, request in enumerate(requests):
            sampling = self.sampling_of(request.agent)
            if len(prompts[index]) == 0 or len(prompts[index]) > self._room(sampling):
                self._warn_too_long(len(prompts[index]))
                answers[index] = [Completion(text="", prompt_ids=prompts[index])] * k
            else:
                by_sampling.setdefault(sampling, []).append(index)
        for sampling, indices in by_sampling.items():
            indices.sort(key=lambda i: len(prompts[i]))  # alike lengths together: less padding
            at_once = max(1, self.max_rows // k)
            for start in range(0, len(indices), at_once):
                chunk = indices[start : start + at_once]
                sampled = sample(
                    self.model,
                    [prompts[i] for i in chunk],
                    k,
                    sampling,
                    eos_ids=self.eos_ids,
                    pad_id=self.pad_id,
                    generator=self.generator,
                    greedy=greedy,
                    stopped=self._stopped(sampling),
                )
                for i, rows in zip(chunk, sampled, strict=True):
                    answers[i] = [self._completion(prompts[i], row, sampling) for row in rows]
        return answers

    def likelihood(
        self, groups: Sequence[Group], model: PreTrainedModel | None = None
    ) -> Likelihood:
        """Likelihoods of the groups' completions under this model, or another (a reference).

        The groups' agents must share their sampling settings.
        """
        (sampling,) = {self.sampling_of(group.agent) for group in groups}
        return likelihood(
            model or self.model,
            [group.prompt_ids for group in groups],
            [[completion.ids for completion in group.completions] for group in groups],
            sampling,
            pad_id=self.pad_id,
        )

    def save(self, folder: str | Path) -> None:
        """A plain transformers folder (safetensors) that ``from_pretrained`` loads."""
        with no_bars():
            self.model.save_pretrained(str(folder))
        self.tokenizer.save_pretrained(str(folder))

    def with_sampling(self, **changes: Any) -> TransformersPolicy:
        """This policy (same weights, same noise) under other sampling settings."""
        twin = object.__new__(TransformersPolicy)
        twin.__dict__.update(self.__dict__)
        twin.sampling = replace(self.sampling, **changes)
        return twin

    def _room(self, sampling: Sampling) -> int:
        limit = getattr(self.model.config, "max_position_embeddings", None)  # some models have none
        return (limit or 2**31) - sampling.max_new_tokens

    def _warn_too_long(self, length: int) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name}: a prompt of {length} tokens does not fit the model's context; "
                "it is answered with an empty text and not trained on",
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

    def _completion(self, prompt: tuple[int, ...], row: Tokens, sampling: Sampling) -> Completion:
        self.tokens_sampled += len(row.ids)
        text = str(self.tokenizer.decode(row.ids, skip_special_tokens=True))
        cuts = [at for at in (text.find(stop) for stop in sampling.stop) if at >= 0]
        return Completion(
            text=text[: min(cuts)] if cuts else text,
            prompt_ids=prompt,
            ids=tuple(row.ids),
            logprobs=tuple(row.logprobs),
            truncated=not row.ended,
        )


@contextmanager
def no_bars() -> Iterator[None]:
    """Silences transformers' progress bars, which would break into ours, for a while."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer that was saved with a model.

    ``AutoTokenizer`` goes by the model's architecture: a Qwen2 model with a tokenizer of its own
    would get Qwen2's rules for cutting text, and special tokens that its embedding lacks.
    """
    saved = get_tokenizer_config(name).get("tokenizer_class")
    if saved in ("PreTrainedTokenizerFast", PreTrainedTokenizerFast.__name__):
        return PreTrainedTokenizerFast.from_pretrained(name)
    return AutoTokenizer.from_pretrained(name)


def _eos_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """The tokenizer's end-of-sequence token, and those that the model's generation settings name."""
    found: set[int] = set()
    if tokenizer.eos_token_id is not None:
        found.add(int(tokenizer.eos_token_id))
    settings = model.generation_config
    configured = settings.eos_token_id if settings is not None else None
    if isinstance(configured, int):
        found.add(configured)
    elif configured is not None:
        found.update(configured)
    return frozenset(found)
