"""Models and tokenizers from folders and hub ids: plain transformers folders, and peft's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)
from transformers.models.auto.tokenization_auto import get_tokenizer_config
from transformers.utils import logging

from llmzoo import ranks
from llmzoo.errors import CheckpointError
from llmzoo.policies import stored
from llmzoo.policies.sharding import is_sharded, named_weights, put_into

TINY_FOLDER = Path(__file__).parent / "tiny" / "weights"


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


def load_causal_model(name: str, dtype: Any) -> Any:
    """The causal language model in a folder or of a hub id."""
    with no_bars():
        return AutoModelForCausalLM.from_pretrained(name, dtype=dtype)


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer that was saved with a model.

    ``AutoTokenizer`` goes by the model's architecture: a Qwen2 model with a tokenizer of its own
    would get Qwen2's rules for cutting text, and special tokens that its embedding lacks.
    """
    saved = get_tokenizer_config(name).get("tokenizer_class")
    if saved in ("PreTrainedTokenizerFast", PreTrainedTokenizerFast.__name__):
        return PreTrainedTokenizerFast.from_pretrained(name)
    return AutoTokenizer.from_pretrained(name)


def load_into(model: PreTrainedModel, folder: Path) -> None:
    """Put the weights of a saved model into one of the same shape, in place.

    Raises :class:`CheckpointError` where there are none, or they do not fit.
    """
    if not (folder / "config.json").is_file():
        raise CheckpointError(f"{folder} holds no model (there is no config.json in it)")
    loader: Any = type(model)
    with no_bars():
        saved, found = loader.from_pretrained(
            str(folder), dtype=model.dtype, use_safetensors=True, output_loading_info=True
        )
    if found["missing_keys"]:  # transformers has made them up
        raise CheckpointError(f"{folder} lacks the weights {sorted(found['missing_keys'])}")
    weights = saved.state_dict()
    if {n: t.shape for n, t in weights.items()} != {
        n: t.shape for n, t in model.state_dict().items()
    }:
        raise CheckpointError(f"{folder} holds a model of another shape")
    if is_sharded(model):
        put_into(model, weights)
    else:
        model.load_state_dict(weights)


def save_sharded(model: PreTrainedModel, folder: Path) -> None:
    """What ``save_pretrained`` writes, of a model that is divided over the ranks.

    Each writes a file of whole weights, and none ever holds all of them.
    """
    if ranks.rank() == 0:
        model.config.save_pretrained(str(folder))
        if model.generation_config is not None:
            model.generation_config.save_pretrained(str(folder))
    stored.save(named_weights(model), folder, "model", metadata={"format": "pt"})


def eos_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
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
