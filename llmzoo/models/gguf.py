"""Converts a Llama model in a GGUF file, the format of llama.cpp, to a transformers folder.

``save_pretrained`` refuses a model that transformers itself loads from a quantised file. Reading the
weights with the package ``gguf`` gives the same numbers in a tenth of the time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import save_file
from transformers import AutoConfig, AutoTokenizer, LlamaConfig

_MODEL_TENSORS = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
_LAYER_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def convert_gguf(source: Path, folder: Path) -> None:
    """Write configuration, tokenizer and float32 weights of the model in ``source`` into ``folder``.

    Raises ``ValueError`` for a model of another architecture than Llama's, and ``OSError`` for a full
    disk.
    """
    where = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
    config = AutoConfig.from_pretrained(**where, trust_remote_code=False)
    if not isinstance(config, LlamaConfig):
        raise ValueError(f"{source} holds a model of type {config.model_type}, not llama")
    config.architectures, config.dtype = ["LlamaForCausalLM"], "float32"
    config.save_pretrained(str(folder))
    tokenizer = AutoTokenizer.from_pretrained(**where, trust_remote_code=False)
    weights = _weights(source, config)
    with _raise_os_errors():
        tokenizer.save_pretrained(str(folder))
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@contextmanager
def _raise_os_errors() -> Iterator[None]:
    """The libraries in Rust report a full disk by a plain exception: raise ``OSError`` instead."""
    try:
        yield
    except Exception as error:
        found = re.search(r"\(os error (\d+)\)", str(error))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1]))) from error


def _weights(source: Path, config: LlamaConfig) -> dict[str, np.ndarray]:
    """The weights under their names in transformers."""
    # without the second number, each query head has its own key and value head
    heads = {
        "attn_q": config.num_attention_heads,
        "attn_k": config.num_key_value_heads or config.num_attention_heads,
    }
    weights = {}
    for tensor in GGUFReader(source).tensors:
        *block, part, kind = tensor.name.split(".")  # blk.3.attn_q.weight
        name = f"model.layers.{block[1]}.{_LAYER_TENSORS[part]}" if block else _MODEL_TENSORS[part]
        values = dequantize(tensor.data, tensor.tensor_type)
        if part in heads:
            values = _reorder_rotary_rows(values, heads[part])
        weights[f"{name}.{kind}"] = np.ascontiguousarray(values)
    return weights


def _reorder_rotary_rows(rows: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a projection in transformers' order.

    The rotary embedding turns pairs of a head's rows. llama.cpp stores the two rows of a pair next to
    each other, transformers all the first ones of a head before all the second ones.
    """
    pairs = rows.reshape(heads, -1, 2, rows.shape[1])
    return pairs.swapaxes(1, 2).reshape(rows.shape)
