"""Models and tokenizers from folders (of transformers and peft) and hub ids."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES
from transformers.models.auto.tokenization_auto import get_tokenizer_config
from transformers.utils import logging

from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import is_sharded, load_weights, named_weights
from llmzoo.envs.hub import offline_if_unreachable
from llmzoo.errors import CheckpointError, ConfigError, LlmzooError
from llmzoo.files import MAX_MODEL_JSON_BYTES, check_weight_indexes
from llmzoo.models import tensor_io
from llmzoo.models.model_catalog import MODEL_CATALOG, TINY, fetched_folder

TINY_FOLDER = Path(__file__).parent / "tiny" / "weights"


_MAX_NAMED = 3  # missing weights in an error
# settings that determine the number of layers and the sizes of weights
_LAYERS = ("num_hidden_layers", "n_layer")
_SIZES = ("hidden_size", "intermediate_size", "vocab_size", "n_embd", "num_experts")


def resolve_source(name: str) -> str:
    """The folder of the embedded model or of a fetched one; any other name is a folder or a hub id.

    Raises :class:`ConfigError` for a model that has not been fetched.
    """
    if name == TINY:
        return str(TINY_FOLDER)
    return str(fetched_folder(name)) if name in MODEL_CATALOG else name


@contextmanager
def hide_progress_bars() -> Iterator[None]:
    """Silence transformers' progress bars within this context; they would disturb ours."""
    was_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            logging.enable_progress_bar()


@contextmanager
def report_load_errors(name: str) -> Iterator[None]:
    """Report errors in a model's files, which may come from somebody else, as :class:`ConfigError`.

    That is raised for files that transformers or peft cannot load, for pipes and devices, and for a
    model that needs code of its own.
    """
    check_model_files(name)
    try:
        with nullcontext() if os.path.isdir(name) else offline_if_unreachable():
            yield
    except (LlmzooError, torch.OutOfMemoryError):
        raise
    except (OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise load_error(name, error) from error
    except (RuntimeError, SafetensorError, ImportError) as error:
        raise load_error(name, error) from error


def check_model_files(name: str) -> None:
    """Raise :class:`ConfigError` for a folder that directly holds a pipe, a device, a huge JSON file,
    or an index of files outside the folder."""
    if not os.path.isdir(name):
        return
    for path in sorted(Path(name).iterdir()):
        try:
            state = path.stat()  # follows links: the hub's cache consists of links
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
        if not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
            raise ConfigError(f"{path} is no plain file: {name} is not loaded as a model")
        if path.suffix == ".json" and state.st_size > MAX_MODEL_JSON_BYTES:
            raise ConfigError(
                f"{path} is larger than {MAX_MODEL_JSON_BYTES:,} bytes, and is not read"
            )
    try:
        check_weight_indexes(Path(name))
    except CheckpointError as error:
        raise ConfigError(str(error)) from None


def load_error(name: str, error: Exception) -> ConfigError:
    """A :class:`ConfigError` that explains an error of transformers or peft."""
    message = " ".join(str(error).split())
    if "trust_remote_code" in message:
        return ConfigError(
            f"the model {name} comes with Python code of its own, which is not run: read it, and "
            "give --trust_remote_code (trust_remote_code=True) if you trust it"
        )
    return ConfigError(
        f"the model {name} cannot be loaded: {message[:300] or type(error).__name__}"
    )


def load_causal_model(name: str, dtype: Any, *, trust_remote_code: bool = False) -> Any:
    """Load a causal language model from a folder or hub id.

    Raises :class:`ConfigError` for an encoder and for missing weights, which transformers would fill
    with random numbers.
    """
    _check_sizes(Path(name))
    loader: Any = AutoModelForCausalLM
    with hide_progress_bars():
        model, report = loader.from_pretrained(
            name,
            dtype=dtype,
            use_safetensors=True,
            output_loading_info=True,
            trust_remote_code=trust_remote_code,
        )
    config = model.config
    # of these families the same class is an encoder or a decoder
    if config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not config.is_decoder:
        raise ConfigError(
            f"{name} is an encoder ({config.model_type}): it fills gaps and writes no answers. Take a "
            "decoder, such as a Qwen or Llama model"
        )
    missing = sorted(report["missing_keys"])
    if missing:
        more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
        raise ConfigError(
            f"{name} lacks the weights {', '.join(missing[:_MAX_NAMED])}{more}: save the whole model "
            "there again"
        )
    return model


def _check_sizes(folder: Path) -> None:
    """Raise :class:`ConfigError` for a configuration larger than the weights in the folder.

    transformers would allocate all layers before it reads the weights.
    """
    files = [*folder.glob("*.safetensors")]
    if not files or not (folder / "config.json").is_file():
        return
    config = json.loads((folder / "config.json").read_bytes())
    room = sum(file.stat().st_size for file in files)
    tensors = 0
    for file in files:
        with safe_open(str(file), framework="pt") as weights:
            tensors += len(weights.keys())
    for name in (*_LAYERS, *_SIZES):
        value, most = config.get(name), tensors if name in _LAYERS else room
        if isinstance(value, int) and value > most:
            raise ConfigError(
                f"{folder}: {name} is {value}, and there are no weights for that many"
            )


def load_tokenizer(name: str, *, trust_remote_code: bool = False) -> PreTrainedTokenizerBase:
    """The tokenizer that was saved with a model.

    ``AutoTokenizer`` chooses by the model's architecture. A Qwen2 model with its own tokenizer would
    get Qwen2's rules for splitting text, and special tokens that its embedding lacks.

    Raises :class:`ConfigError` if there are no tokenizer files. ``AutoTokenizer`` would return a
    tokenizer without words.
    """
    saved = get_tokenizer_config(name).get("tokenizer_class")
    if saved in ("PreTrainedTokenizerFast", PreTrainedTokenizerFast.__name__):
        return PreTrainedTokenizerFast.from_pretrained(name, trust_remote_code=False)
    tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=trust_remote_code)
    if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        raise ConfigError(
            f"{name} has no tokenizer: put its files (tokenizer.json, tokenizer_config.json) beside the "
            "weights"
        )
    return tokenizer


def load_weights_into(model: PreTrainedModel, folder: Path) -> None:
    """Load the weights of a saved model into a model of the same shape, in place.

    Raises :class:`CheckpointError` if they are missing or do not fit.
    """
    if not (folder / "config.json").is_file():
        raise CheckpointError(f"{folder} holds no model (there is no config.json in it)")
    check_weight_indexes(folder)
    loader: Any = type(model)
    with hide_progress_bars():
        saved, report = loader.from_pretrained(
            str(folder),
            dtype=model.dtype,
            use_safetensors=True,
            output_loading_info=True,
            trust_remote_code=False,  # the class is here already
        )
    if report["missing_keys"]:  # transformers initialised them randomly
        raise CheckpointError(f"{folder} lacks the weights {sorted(report['missing_keys'])}")
    weights = saved.state_dict()
    if {n: t.shape for n, t in weights.items()} != {
        n: t.shape for n, t in model.state_dict().items()
    }:
        raise CheckpointError(f"{folder} holds a model of another shape")
    if is_sharded(model):
        load_weights(model, weights)
    else:
        model.load_state_dict(weights)


def save_sharded(model: PreTrainedModel, folder: Path) -> None:
    """Like ``save_pretrained``, for a model that is divided over the ranks.

    Each rank writes a file of whole weights. No rank ever holds all of them.
    """
    if ranks.rank() == 0:
        model.config.save_pretrained(str(folder))
        if model.generation_config is not None:
            model.generation_config.save_pretrained(str(folder))
    tensor_io.save(named_weights(model), folder, "model", metadata={"format": "pt"})


def eos_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """The end-of-sequence tokens of the tokenizer and of the model's generation settings."""
    ids: set[int] = set()
    if tokenizer.eos_token_id is not None:
        ids.add(int(tokenizer.eos_token_id))
    settings = model.generation_config
    configured = settings.eos_token_id if settings is not None else None
    if isinstance(configured, int):
        ids.add(configured)
    elif configured is not None:
        ids.update(configured)
    return frozenset(ids)
