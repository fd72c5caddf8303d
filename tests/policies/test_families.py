"""Families of causal language models: what is sampled has the probability that is trained, or it is refused."""

from __future__ import annotations

import pytest
import torch
from quick_cases import slow_but
from tiny_models import tokenizer
from toy_envs import Parity
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from llmzoo import fit
from llmzoo.errors import ConfigError
from llmzoo.models import decode, self_test
from llmzoo.models.likelihood import last_states
from llmzoo.models.recurrent import carries_state
from llmzoo.policies.transformers import TransformersPolicy

SMALL = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "max_position_embeddings": 128,
}
_MOE = {"num_experts": 2, "num_experts_per_tok": 1}
_GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4}
_LINEAR = {"layer_types": ["linear_attention", "full_attention"], "head_dim": 8}
STATES = {
    "mamba": {"state_size": 8, "conv_kernel": 4, "time_step_rank": 4},
    "mamba2": {"state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 1, "chunk_size": 8},
    "falcon_mamba": {"state_size": 8, "conv_kernel": 4},
    "jamba": _MOE
    | {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2}
    | {
        "expert_layer_offset": 1,
        "mamba_d_state": 8,
        "mamba_dt_rank": 4,
        "use_mamba_kernels": False,
    },
    "lfm2": {"layer_types": ["conv", "full_attention"], "block_multiple_of": 8},
    "recurrent_gemma": {"lru_width": 32, "block_types": ["recurrent", "attention"]}
    | {"attention_window_size": 16, "head_dim": 8},
    "qwen3_next": _LINEAR
    | _MOE
    | {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8}
    | {"linear_value_head_dim": 8, "moe_intermediate_size": 16}
    | {"shared_expert_intermediate_size": 16},
    "falcon_h1": {"mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_n_groups": 1}
    | {"mamba_d_state": 8, "mamba_chunk_size": 8, "head_dim": 8},
    "minimax": _LINEAR | {"num_local_experts": 2, "num_experts_per_tok": 1, "block_size": 8},
    "rwkv": {"attention_hidden_size": 32, "context_length": 128},
    "bamba": {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_chunk_size": 8}
    | {"attn_layer_indices": [1]},
}
ATTENTION = {
    "gpt2": _GPT | {"n_positions": 128},
    "gpt_neo": {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]},
    "gptj": _GPT | {"rotary_dim": 8},
    "codegen": _GPT | {"rotary_dim": 8},
    "gpt_bigcode": _GPT,
    "mpt": {"d_model": 32, "n_layers": 2, "n_heads": 4},
    "bloom": {"n_layer": 2, "n_head": 4},
    "opt": {"ffn_dim": 64, "word_embed_proj_dim": 32},
    "xglm": {"d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 64},
    "deepseek_v3": {"num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 8}
    | {"qk_rope_head_dim": 4, "qk_nope_head_dim": 4, "v_head_dim": 8, "n_routed_experts": 4}
    | {"num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "moe_intermediate_size": 16}
    | {"first_k_dense_replace": 1},
} | {
    kind: {}
    for kind in (
        *(
            "gpt_neox",
            "falcon",
            "phi",
            "gemma2",
            "gemma3_text",
            "olmo",
            "granite",
            "cohere",
            "cohere2",
        ),
        *("stablelm", "glm", "glm4", "nemotron", "mixtral", "olmoe", "persimmon", "biogpt"),
        *("ernie4_5", "exaone4", "seed_oss"),
    )
}


def made(kind: str):
    """A model of random weights, large enough that tokens differ in probability."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(
        CONFIG_MAPPING[kind](**SMALL | STATES.get(kind, {}) | ATTENTION.get(kind, {}))
    )
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
    return model.eval()


# of the families with attention alone two: the others differ from them in the same code of transformers
@pytest.mark.parametrize("kind", [*STATES, *slow_but(["gpt2", "bloom"], ATTENTION)])
def test_what_is_sampled_has_the_probability_that_is_trained(kind):
    model = made(kind)
    assert carries_state(model) == (kind in STATES)
    # float32, of log-probabilities around -4
    assert self_test._max_logprob_difference(model) < 1e-5


@pytest.mark.parametrize("kind", ["rwkv", "mamba", "lfm2"])
def test_a_family_that_is_sampled_wrongly_is_refused_with_its_name(kind, monkeypatch):
    """With the cache of keys and values, which does not hold their state."""
    monkeypatch.setattr(decode.recurrent, "carries_state", lambda model: False)
    monkeypatch.setattr(self_test, "_checked_families", set())
    with pytest.raises(ConfigError, match=rf"'odd' is of a family \({kind}\) that (cannot|would)"):
        self_test.check_family(made(kind), "odd")
    assert self_test._checked_families == set()


@pytest.mark.parametrize("kind", ["rwkv", "mamba2", "lfm2", "falcon_h1", "gpt2"])
@pytest.mark.slow
def test_a_saved_family_trains_and_goes_on(kind, tmp_path):
    made(kind).save_pretrained(tmp_path / "model")
    tokenizer().save_pretrained(tmp_path / "model")
    settings = {"episodes_per_step": 2, "eval_tasks": 2, "max_new_tokens": 3, "control_tasks": 0}
    for learner, arrangement in (("magrpo", "shared"), ("ippo", "shared"), ("magrpo", "lora")):
        out = tmp_path / f"{learner}-{arrangement}"
        args = {"critic": "value_head"} if learner == "ippo" else {}
        fit(
            learner,
            Parity,
            model=str(tmp_path / "model"),
            out=out,
            policies=arrangement,
            learner_args=args,
            steps=1,
            quiet=True,
            trackers=(),
            **settings,
        )
        name = "writer_0" if arrangement == "lora" else "policy"
        again = TransformersPolicy.load(str(out / "checkpoints" / "step_000001" / name))
        assert self_test._max_logprob_difference(again.model) < 1e-5


@pytest.mark.parametrize("kind", ["rwkv", "mamba", "lfm2", "minimax", "gpt2"])
def test_a_text_is_read_alike_alone_and_beside_a_longer_one(kind):
    model = made(kind).double()
    texts = [[5, 7], [11, 13, 17, 19, 23], [29]]
    if kind == "minimax":  # its experts multiply in float32 only
        model = model.float()
    beside = last_states(model, texts, [1, 2, 1])
    alone = [
        last_states(model, [text], [count]) for text, count in zip(texts, [1, 2, 1], strict=True)
    ]
    error = 1e-5 if kind == "minimax" else 1e-9
    torch.testing.assert_close(beside, torch.cat(alone), atol=error, rtol=0)


def test_an_adapter_of_one_family_says_nothing_of_another(monkeypatch):
    """All adapters are wrapped in one class."""
    monkeypatch.setattr(self_test, "_checked_families", set())
    for kind, known in (("gpt2", {"GPT2LMHeadModel"}), ("rwkv", {"GPT2LMHeadModel"})):
        policy = TransformersPolicy(made(kind), tokenizer())
        wrapped = policy.with_adapters(["a"])["a"].model
        if kind == "rwkv":
            monkeypatch.setattr(decode.recurrent, "carries_state", lambda model: False)
            with pytest.raises(ConfigError, match="rwkv"):
                self_test.check_family(wrapped, "odd")
        else:
            self_test.check_family(wrapped, "odd")
        assert {family.__name__ for family in self_test._checked_families} == known
