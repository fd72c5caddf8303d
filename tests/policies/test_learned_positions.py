"""Models whose positions are learned vectors: padding must not shift them.

Rotary positions are relative, so the other tests would not notice."""

import pytest
import torch
from float64 import assert_equal
from test_hidden import alone, groups
from test_lora import bend
from tiny_models import tokenizer
from transformers import GPT2Config, GPT2LMHeadModel

from llmzoo.policies.critic_models import CriticModel
from llmzoo.policies.transformers import TransformersPolicy

pytestmark = pytest.mark.usefixtures("float64")


def gpt2(**options):
    torch.manual_seed(0)
    tok = tokenizer()
    config = GPT2Config(
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=64,
        vocab_size=len(tok),
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=tok.eos_token_id,
    )
    return TransformersPolicy(GPT2LMHeadModel(config), tok, **options)


@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_likelihoods_are_those_of_rows_without_padding(checkpointing, lora):
    player = gpt2(gradient_checkpointing=checkpointing)
    if lora:
        player = bend(player.with_adapters(["one"], r=4)["one"])
    found = player.likelihood(groups(), hidden=True)
    for row, (ids, states) in enumerate(alone(player)):
        assert_equal(found.hidden[row, : len(ids)], states)


def test_a_value_depends_on_its_text_alone():
    critic = CriticModel.from_policy(gpt2())
    torch.nn.init.normal_(critic.head.linear.weight)
    texts = [(5, 6, 7), (8, 9, 10, 11, 12), (13,)]
    apart = torch.cat([critic.values([text]) for text in texts])
    assert_equal(critic.values(texts), apart)
    assert critic.context == 64


def test_prompt_states_do_not_depend_on_their_mates():
    player = gpt2()
    prompts = [(5, 6, 7), (8, 9, 10, 11, 12), (13,)]
    apart = torch.cat([player.prompt_hidden([prompt]) for prompt in prompts])
    assert_equal(player.prompt_hidden(prompts), apart)
