"""Chat models for tests: a ChatML tokenizer, templates that think, and models that say given texts."""

from __future__ import annotations

from collections.abc import Sequence

import tiny_models
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from llmzoo.models.decode import SampledTokens
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# as Qwen3's: thoughts can be switched off
QWEN = CHATML.replace(
    "{{ '<|im_start|>assistant\n' }}",
    "{{ '<|im_start|>assistant\n' }}"
    "{% if enable_thinking is defined and enable_thinking is false %}"
    "{{ '<think>\n\n</think>\n\n' }}{% endif %}",
)
# as DeepSeek-R1's: the prompt opens the thought
OPENED = CHATML.replace("assistant\n' }}", "assistant\n<think>\n' }}")
# as DeepSeek-R1-Distill's: the tokens that begin turns are not called special
ROLES = (
    "{% for m in messages %}{{ '<｜' + m.role + '｜>' + m.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<｜assistant｜>' }}{% endif %}"
)
# as Gemma's: no system prompt, and the content is trimmed
NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('No system role') }}"
    "{% endif %}{{ '<|im_start|>' + m.role + '\n' + m.content | trim + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def tokenizer(
    template: str | None = CHATML, *, special: Sequence[str] = (), plain: Sequence[str] = ()
) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer with the control tokens of ChatML, and further ones.

    ``special`` are called special, ``plain`` are added tokens like any.
    """
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = ["the answer is up down left right 0123456789 UDLR", "system user assistant think im_"]
    made.train_from_iterator(texts * 3, trainer)
    made.add_special_tokens([*SPECIAL, *special])
    made.add_tokens([AddedToken(token, normalized=False) for token in plain])
    found = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    found.chat_template = template
    return found


def thinking(template: str = QWEN) -> PreTrainedTokenizerFast:
    """As Qwen3's: the marks of thoughts are tokens, and not called special."""
    return tokenizer(template, plain=["<think>", "</think>"])


def model(tok: PreTrainedTokenizerFast, **changes: object) -> Qwen2ForCausalLM:
    tiny_models.torch.manual_seed(0)
    sizes = {
        **tiny_models.SIZES,
        "vocab_size": len(tok),
        "eos_token_id": tok.eos_token_id,
        "pad_token_id": tok.pad_token_id,
        "bos_token_id": None,
        "max_position_embeddings": 4096,
        **changes,
    }
    return Qwen2ForCausalLM(Qwen2Config(**sizes)).eval()


def policy(tok: PreTrainedTokenizerFast, **options: object) -> TransformersPolicy:
    options.setdefault("sampling", Sampling(max_new_tokens=64))
    return TransformersPolicy(model(tok), tok, name="chat", **options)


class Says:
    """A sampler that writes given texts, in turn for every answer, with the token that ends them."""

    context = 4096

    def __init__(self, tok: PreTrainedTokenizerFast, *texts: str):
        self.rows = [
            [*tok(text, add_special_tokens=False)["input_ids"], tok.eos_token_id] for text in texts
        ]

    def sample(self, prompts, group_size, sampling, *, keys, greedy=False):
        rows = iter(self.rows * (len(prompts) * group_size))
        return [[self._row(next(rows)) for _ in range(group_size)] for _ in prompts]

    def _row(self, ids):
        return SampledTokens(list(ids), [-1.0] * len(ids), True)


def saying(tok: PreTrainedTokenizerFast, *texts: str, **options: object) -> TransformersPolicy:
    """A policy that says the texts."""
    made = policy(tok, **options)
    made.sampler = Says(tok, *texts)
    return made
