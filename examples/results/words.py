"""Models of random weights that read one task: a token for each word, and a few thousand weights.

They show what reinforcement alone gives, and an iteration with them costs a fraction of one with the
embedded model.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

END, PAD = "<|end|>", "<|pad|>"
_WORD = r"[a-z]+|[\s\S]"
_SENTENCE = r"[^.?!:\n]*[.?!:\n]+ ?|[^.?!:\n]+"


def words_of(env: str, *, games: int = 300) -> list[str]:
    """The words and characters of a duel's terse prompts and legal moves, from games of random moves."""
    from llmzoo import make

    game = make(env, prompt="terse").unwrapped
    rng = random.Random(0)
    found: set[str] = set()
    for seed in range(games):
        game.reset(seed=seed)
        while game.agents and not any(game.terminations.values()):
            agent = game.agent_selection
            move = rng.choice(game.choices(game.episode, agent).names)
            found |= set(re.findall(_WORD, f"{game.observe(agent)}{move}"))
            game.step(move)
    return sorted(found)


def sentences_of(env: str, env_args: Mapping[str, Any], *, episodes: int = 200) -> list[str]:
    """The sentences that an expert reads or writes in at least one episode in ten, and the words and
    characters of all of them."""
    from llmzoo import make, scripted_expert

    task = make(env, **env_args)
    expert = scripted_expert(task)
    counts: Counter[str] = Counter()
    for seed in range(episodes):
        task.reset(seed=seed)
        found: set[str] = set()
        for agent in task.agent_iter():
            observation, _, terminated, truncated, _ = task.last()
            answer = None if terminated or truncated else expert(observation, agent)
            found.update(re.findall(_SENTENCE, observation), re.findall(_SENTENCE, answer or ""))
            task.step(answer)
        counts.update(found)
    sentences = {sentence for sentence, count in counts.items() if 10 * count >= episodes}
    return sorted(sentences.union(*(re.findall(_WORD, each) for each in counts)))


def numbered(tokens: Iterable[str]) -> dict[str, int]:
    """A vocabulary: the end, the padding, then ``tokens``."""
    return {token: number for number, token in enumerate([END, PAD, *tokens])}


def word_tokenizer(words: Iterable[str], pattern: str) -> Any:
    """A tokenizer with a token for each word; ``pattern``: what of a text is a word."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel(numbered(words), unk_token=PAD))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    return for_transformers(tokenizer)


def word_pattern(listed: Sequence[str]) -> str:
    """What of a text is a word: the listed texts, the longest first; other words, and single characters."""
    longer = sorted((w for w in listed if not re.fullmatch(_WORD, w)), key=len, reverse=True)
    return "|".join([*map(re.escape, longer), _WORD])


def for_transformers(tokenizer: Any) -> Any:
    """A tokenizer of ``tokenizers`` whose vocabulary has the end and the padding."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        clean_up_tokenization_spaces=False,
    )


def build_model(
    out: Path,
    *,
    words: str | Iterable[str] | Mapping[str, Any],
    hidden: int,
    layers: int,
    seed: int,
    heads: Sequence[int] = (2, 1),
) -> None:
    """Write a model of random weights and its tokenizer.

    ``words``: the words; or a duel, which has them; or ``env`` and ``env_args`` of a task, for
    :func:`sentences_of`. ``heads``: of queries, and of keys and values.
    """
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    if isinstance(words, str):
        listed = words_of(words)
    elif isinstance(words, Mapping):
        listed = sentences_of(**words)
    else:
        listed = list(words)
    tokenizer = word_tokenizer(listed, word_pattern(listed))
    tokenizer.save_pretrained(out)
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads[0],
        num_key_value_heads=heads[1],
        max_position_embeddings=512,
        initializer_range=hidden**-0.5,  # with 0.02 so narrow a model hardly reads its prompt
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=1,
    )
    config.llmzoo_prompt = "terse"  # what TransformersPolicy.prompt_style reads
    Qwen2ForCausalLM(config).save_pretrained(out)
