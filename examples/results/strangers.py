"""Small models of other makes than the embedded one, of random weights: nobody tuned a default on them.

They read the terse prompts of all tasks. ``gpt2_bytes`` has 0.3 million weights and a token for each byte,
``llama_characters`` 0.9 million and one for each character, ``neox_pieces`` 0.5 million and frequent
pieces of the prompts.
"""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

from words import END, PAD, for_transformers, numbered, word_tokenizer

CHARACTERS = "\n" + "".join(sorted(set(string.printable) - set("\t\r\x0b\x0c\n")))
LENGTH = 512  # most tokens of a prompt with its answer
# what frequent pieces are found in: terse prompts and answers
TASKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("signal_v0", {}),
    ("math_v0", {"family": "arithmetic", "level": "easy", "max_turns": 2}),
    ("sudoku_v0", {"max_turns": 1}),
    ("kuhn_poker_v0", {}),
)


def build_model(out: Path, *, kind: str, seed: int) -> None:
    """Write a model of random weights and its tokenizer. ``kind``: a key of ``KINDS``."""
    import torch

    tokenizer, config, family = KINDS[kind]()
    tokenizer.save_pretrained(out)
    torch.manual_seed(seed)
    config.vocab_size = len(tokenizer)
    config.bos_token_id, config.eos_token_id, config.pad_token_id = None, 0, 1
    config.llmzoo_prompt = "terse"  # what TransformersPolicy.prompt_style reads
    family(config).save_pretrained(out)


def _gpt2_bytes() -> tuple[Any, Any, Any]:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(numbered(alphabet), merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    config = GPT2Config(n_embd=64, n_layer=5, n_head=4, n_positions=LENGTH)
    return for_transformers(tokenizer), config, GPT2LMHeadModel


def _llama_characters() -> tuple[Any, Any, Any]:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=LENGTH,
    )
    return word_tokenizer(CHARACTERS, r"[\s\S]"), config, LlamaForCausalLM


def _neox_pieces() -> tuple[Any, Any, Any]:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[END, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_played_texts(), trainer)
    config = GPTNeoXConfig(
        hidden_size=96,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=LENGTH,
    )
    return for_transformers(tokenizer), config, GPTNeoXForCausalLM


KINDS = {
    "gpt2_bytes": _gpt2_bytes,
    "llama_characters": _llama_characters,
    "neox_pieces": _neox_pieces,
}


def _played_texts(episodes: int = 100) -> list[str]:
    """Prompts, and what noisy experts answer."""
    import random

    from llmzoo import make

    texts: list[str] = []
    for name, args in TASKS:
        env = make(name, prompt="terse", **args)
        rng = random.Random(0)
        for seed in range(episodes):
            env.reset(seed=seed)
            for agent in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                ended = terminated or truncated
                action = None if ended else env.unwrapped.noisy_expert(agent, rng)
                texts += [observation, action or ""]
                env.step(action)
    return texts
