"""Refuses families of models whose completions would be sampled with other probabilities than are trained."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from llmzoo.errors import ConfigError
from llmzoo.models import attention
from llmzoo.models.decode import sample
from llmzoo.models.likelihood import likelihood
from llmzoo.models.sampling_settings import Sampling

_MAX_DIFFERENCE = 0.1  # of a log-probability; rounding of float32 is far below
_checked_families: set[type] = set()  # the classes that have passed


def check_family(model: Any, name: str) -> None:
    """Raise :class:`ConfigError` if the model cannot be sampled, or not as its likelihoods say.

    In half precision, where rounding can be as large as a mistake, a difference is a warning.

    Four tokens after each of two prompts are sampled and scored, once for each class of models in this
    process. The tests compare the families of :data:`llmzoo.models.attention.SUPPORTED_FAMILIES`.
    """
    family = type(model.get_base_model() if hasattr(model, "get_base_model") else model)
    if attention.is_supported(model.config) or family in _checked_families:
        return
    what = f"{name!r} is of a family ({model.config.model_type}) that"
    try:
        difference = _max_logprob_difference(model)
    except torch.OutOfMemoryError:
        raise  # says nothing of the family
    except (
        AttributeError,
        LookupError,
        NotImplementedError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as e:
        raise ConfigError(f"{what} cannot be sampled here: {type(e).__name__}: {e!s:.300}") from e
    if not difference < _MAX_DIFFERENCE:
        why = (
            f"{what} would learn from wrong numbers: log-probabilities of its samples and of its "
            f"likelihood differ by {difference:.3g}"
        )
        if model.dtype not in (torch.float16, torch.bfloat16):
            raise ConfigError(why)
        warnings.warn(f"{why}, if that is not rounding: compare in float32", stacklevel=2)
    _checked_families.add(family)


@torch.no_grad()
def _max_logprob_difference(model: Any) -> float:
    """The largest difference of a token's log-probability, as sampled and as scored."""
    sampling = Sampling(max_new_tokens=4)
    size = model.get_input_embeddings().num_embeddings
    prompts = [
        tuple(token % size for token in prompt) for prompt in ((5, 7, 11), (13, 17, 19, 23, 29))
    ]
    model.eval()
    rows_by_prompt = sample(model, prompts, 2, sampling, eos_ids=(), pad_id=0, keys=[0, 1])
    completions = [[row.ids for row in rows] for rows in rows_by_prompt]
    scored = likelihood(model, prompts, completions, sampling, pad_id=0)
    sampled = torch.tensor([row.logprobs for rows in rows_by_prompt for row in rows])
    return float((scored.logprobs.cpu() - sampled).abs().max())
