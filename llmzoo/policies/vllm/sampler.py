"""The :class:`llmzoo.models.decode.Sampler` of one policy, on an engine that others may share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from torch import nn

from llmzoo.errors import ConfigError
from llmzoo.models import lora
from llmzoo.models.decode import SampledTokens, SamplerError
from llmzoo.models.sampling import Sampling
from llmzoo.policies.vllm.config import ServerArgs, VllmArgs
from llmzoo.policies.vllm.engine import ColocatedVllmEngine, VllmEngine
from llmzoo.policies.vllm.requests import sampling_params
from llmzoo.policies.vllm.server import VllmServerEngine

if TYPE_CHECKING:
    from llmzoo.policies.transformers import TransformersPolicy


class VllmSampler:
    """Samples for ``policy`` from ``engine``, with the policy's adapter if it has one."""

    def __init__(self, policy: TransformersPolicy, engine: VllmEngine):
        self.engine = engine
        self._policy = policy
        self._adapter = policy.adapter
        self._vocabulary_size = cast(
            nn.Embedding, policy.model.get_input_embeddings()
        ).num_embeddings

    @property
    def context(self) -> int:
        return self.engine.context

    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        group_size: int,
        sampling: Sampling,
        *,
        keys: Sequence[int],
        greedy: bool = False,
    ) -> list[list[SampledTokens]]:
        """See :class:`llmzoo.models.decode.Sampler`. K answers are one request, so vLLM reads
        their prompt once."""
        for prompt in prompts:
            if not 0 < len(prompt) <= self.context - sampling.max_new_tokens:
                raise ConfigError(
                    f"a prompt of {len(prompt)} tokens and {sampling.max_new_tokens} new ones do "
                    f"not fit the {self.context} that vLLM was started with (max_model_len)"
                )
        params = [
            sampling_params(
                group_size, sampling, eos_ids=self._policy.eos_ids, key=key, greedy=greedy
            )
            for key in keys
        ]
        if len(params) != len(prompts):
            raise ValueError(f"{len(prompts)} prompts, {len(params)} keys")
        answers = self.engine.generate(prompts, params, self._adapter)
        for rows in answers:
            if len(rows) != group_size:
                raise SamplerError(f"vLLM gave {len(rows)} answers to a prompt, not {group_size}")
            if any(not 0 <= token < self._vocabulary_size for row in rows for token in row.ids):
                raise SamplerError(
                    f"vLLM sampled a token beyond the {self._vocabulary_size} tokens of "
                    f"{self._policy.name}: it serves another model"
                )
        return answers

    def sync_weights(self) -> None:
        if self._adapter is None:
            self.engine.load_base()
        else:
            self.engine.load_adapter(self._policy)

    def rest(self) -> None:
        self.engine.rest()

    def close(self) -> None:
        """Close the engine, also for the other policies that share it."""
        self.engine.close()


def attach_samplers(
    policies: Iterable[TransformersPolicy], sampler: str, config: VllmArgs | ServerArgs
) -> None:
    """Let policies sample from vLLM. Policies that share a model share an engine.

    ``config``: from :func:`llmzoo.policies.vllm.config.sampler_config`. Raises
    :class:`ConfigError` for several models on one server, for ``sleep`` with several engines in this
    process, and for a policy that is the bare base of other policies' adapters.
    """
    by_model: dict[int, list[TransformersPolicy]] = {}
    for policy in policies:
        if policy.adapter is None and lora.is_peft(policy.model):
            raise ConfigError(f"{policy.name} is the bare base of adapters: it has no sampler")
        by_model.setdefault(id(policy.model), []).append(policy)
    if isinstance(config, ServerArgs) and len(by_model) > 1:
        raise ConfigError(
            f"{sampler} serves one model, and {len(by_model)} are to sample there: share one "
            "(policies='shared' or 'lora'), or sample in this process (sampler='vllm')"
        )
    if isinstance(config, VllmArgs) and config.sleep and len(by_model) > 1:
        raise ConfigError(
            f"only one engine of a process can sleep, and {len(by_model)} models have one each: leave "
            "sleep out, or share one model (policies='shared' or 'lora')"
        )
    for model_policies in by_model.values():
        engine: VllmEngine = (
            VllmServerEngine(model_policies, sampler, config)
            if isinstance(config, ServerArgs)
            else ColocatedVllmEngine(model_policies, config)
        )
        for policy in model_policies:
            policy.sampler = VllmSampler(policy, engine)
            if policy.adapter is not None:
                policy.sampler.sync_weights()
