"""A causal language model of the transformers library, with one of its adapters: the likelihoods that learners
read, the parameters that they train, and its files."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.nn import Parameter
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from llmzoo.distributed import ranks, sharding
from llmzoo.errors import CheckpointError, ConfigError, LlmzooError
from llmzoo.models import attention, lora
from llmzoo.models.compiling import Compile, should_compile
from llmzoo.models.divergence import DistillationTarget
from llmzoo.models.likelihood import Likelihood, last_states, likelihood
from llmzoo.models.loading import eos_ids, hide_progress_bars, load_weights_into, save_sharded
from llmzoo.models.memory import microbatch_tokens
from llmzoo.models.precision import Precision, autocast, cast_weights
from llmzoo.models.sampling import Sampling
from llmzoo.records import Group

if TYPE_CHECKING:
    from typing_extensions import Self


class LanguageModel:
    """A model and its tokenizer. Updates take this; :class:`llmzoo.policies.transformers.TransformersPolicy`
    adds prompts and sampling.

    Parameters
    ----------
    model, tokenizer: of the transformers library; a ``peft.PeftModel`` works too.
    learning_rate: overrides the learner's.
    precision: ``"float32"``, ``"bf16_autocast"`` (float32 weights, forward passes in bfloat16) or
        ``"bf16"`` (bfloat16 weights; train them through
        :class:`llmzoo.models.precision.MasterWeights`). The weights are cast to it; None leaves
        them unchanged. Log-probabilities are always float32.
    gradient_checkpointing: likelihoods with gradients recompute the layers' activations in the
        backward pass instead of keeping them, which takes less memory and more time.
    compile: ``"on"`` runs the layers of likelihoods with gradients as compiled code, ``"auto"``
        does so on a GPU that has Triton (:mod:`llmzoo.models.compiling`).
    max_rows: the most rows of one forward pass without gradients.

    ``adapter`` is the adapter of a ``PeftModel`` that is used and trained: at first the active one. Every use
    activates it. None, with a ``PeftModel``, means the bare base.

    Likelihoods always run in evaluation mode, without dropout: with different dropout masks, the ratio of a
    likelihood to the sampled one would not be 1.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        name: str,
        learning_rate: float | None = None,
        precision: Precision | None = None,
        gradient_checkpointing: bool = False,
        compile: Compile = "off",
        max_rows: int = 512,
    ):
        if learning_rate is not None and not learning_rate > 0:
            raise ConfigError(f"learning_rate must be above 0, got {learning_rate}")
        if precision is not None:
            cast_weights(model, precision)
        self.name = name
        # may be a PeftModel, which forwards all attributes to the model inside
        self.model = model
        self.tokenizer = tokenizer
        self.adapter = str(model.active_adapter) if lora.is_peft(model) else None
        self.learning_rate = learning_rate
        # the embedded model's configuration says so; others have no such entry
        self.has_known_rates = model.config.to_dict().get("llmzoo_rates") == "found"
        self.precision = precision
        self.gradient_checkpointing = gradient_checkpointing
        self.compiled = should_compile(model, compile)
        self.max_rows = max_rows
        self.eos_ids = eos_ids(model, tokenizer)
        pad = tokenizer.pad_token_id
        self.pad_id = int(pad if pad is not None else min(self.eos_ids, default=0))

    def sampling_for(self, agent: str) -> Sampling:
        """The sampling settings of an agent. Likelihoods of its completions are under these settings too."""
        raise NotImplementedError

    @property
    def model_context(self) -> int:
        """The model's context in tokens. Some models have no limit."""
        return getattr(self.model.config, "max_position_embeddings", None) or 2**31

    @property
    def microbatch_tokens(self) -> int:
        """The default number of tokens of a forward pass with gradients."""
        return microbatch_tokens(self.model, recompute=self.gradient_checkpointing)

    @property
    def has_plain_head(self) -> bool:
        """Whether logits are known to be just the product of the states and the output layer."""
        head: Any = self.model.get_output_embeddings()
        return attention.is_supported(self.model.config) and lora.is_mergeable(head)

    def likelihood(
        self,
        groups: Sequence[Group],
        *,
        top: bool = False,
        hidden: bool = False,
        target: DistillationTarget | None = None,
    ) -> Likelihood:
        """Likelihoods of the groups' completions under this model.

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
                recompute=self.activate if self.gradient_checkpointing else None,
                compiled=self.compiled,
            )
            divergence = None
            if target is not None:
                assert result.hidden is not None
                real = result.mask.bool()
                head: Any = self.model.get_output_embeddings()
                flat = target.divergence(
                    head, result.hidden[real], sampling.temperature, self.activate
                )
                divergence = torch.zeros_like(result.mask).masked_scatter(real, flat)
            hidden_states = result.hidden if hidden else None
            return (
                result.logprobs,
                result.entropy,
                result.mask,
                result.top,
                hidden_states,
                divergence,
            )

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
        limit = self.model_context
        cut = [prompt[-limit:] for prompt in prompts]
        parts = [cut[i : i + self.max_rows] for i in range(0, len(cut), self.max_rows)]
        with self.ready():
            return torch.cat(
                [last_states(self.model, part, [1] * len(part), self.pad_id) for part in parts]
            )

    def parameters(self) -> list[Parameter]:
        """The parameters to train: the adapter's, or all unfrozen ones of the model."""
        if self.adapter is not None:
            adapter_parameters = lora.adapter_parameters(self.model, self.adapter)
            return [p for p in adapter_parameters.values() if p.requires_grad]
        if lora.is_peft(self.model):
            return []  # the bare base, which others share
        return [p for p in self.model.parameters() if p.requires_grad]

    def reference(self) -> Self:
        """A frozen copy, the reference of a KL penalty or of DPO.

        For an adapter that has no effect yet, this is the bare base, and nothing is copied. A
        trained adapter is copied within the shared model, and stays there. Full weights are copied.
        """
        if self.adapter is not None and lora.has_no_effect(self.model, self.adapter):
            return self.with_adapter(None)
        return self.frozen_copy()

    def frozen_copy(self) -> Self:
        """A frozen copy with weights of its own: an adapter's within the shared model."""
        if self.adapter is not None:
            return self.with_adapter(lora.add_frozen_copy(self.model, self.adapter))
        frozen = self.with_adapter(None)
        if not lora.is_peft(self.model):
            frozen.model = sharding.copy_model(self.model).eval().requires_grad_(False)
        return frozen

    def activate(self) -> None:
        """Activate the adapter, for code that uses ``model`` directly."""
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

    def with_adapter(self, adapter: str | None) -> Self:
        """The same model with another of its adapters; None: the bare base."""
        other = copy.copy(self)
        other.adapter = adapter
        return other

    @contextmanager
    def ready(self) -> Iterator[None]:
        """The model in evaluation mode, with its adapter and precision."""
        self.model.eval()
        self.activate()
        bare = lora.is_peft(self.model) and self.adapter is None
        with (
            lora.without_adapters(self.model) if bare else nullcontext(),
            autocast(sharding.compute_device(self.model), self.precision),
        ):
            yield
