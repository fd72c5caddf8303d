"""Models of random weights that read one game: a token for each word, and a few thousand weights.

They show what reinforcement alone gives, and an iteration with them costs a fraction of one with the
embedded model.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

_WORD = r"[a-z]+|[\s\S]"


def words_of(env: str, *, games: int = 300) -> list[str]:
    """The words and characters of a duel's terse prompts and legal moves, from games of random moves."""
    import re

    from llmzoo import make

    game = make(env, prompt="terse").unwrapped
    rng = random.Random(0)
    found: set[str] = set()
    for seed in range(games):
        game.reset(seed=seed)
        while game.agents and not any(game.terminations.values()):
            agent = game.agent_selection
            move = rng.choice(game.choices(agent).names)
            found |= set(re.findall(_WORD, f"{game.observe(agent)}{move}"))
            game.step(move)
    return sorted(found)


def build_model(
    out: Path, *, words: str | Iterable[str], hidden: int, layers: int, seed: int
) -> None:
    """Write a model of random weights and its tokenizer. ``words``: the words, or a game that has them."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    end, pad = "<|end|>", "<|pad|>"
    listed = words_of(words) if isinstance(words, str) else list(words)
    vocabulary = {word: number for number, word in enumerate([end, pad, *listed])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=pad))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_WORD), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=end,
        pad_token=pad,
        clean_up_tokenization_spaces=False,
    ).save_pretrained(out)
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(vocabulary),
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=256,
        initializer_range=hidden**-0.5,  # with 0.02 so narrow a model hardly reads its prompt
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=1,
    )
    config.llmzoo_prompt = "terse"  # what TransformersPolicy.prompt_style reads
    Qwen2ForCausalLM(config).save_pretrained(out)
