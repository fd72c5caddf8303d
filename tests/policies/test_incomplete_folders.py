"""A model folder that would train with random weights or without words is refused."""

from __future__ import annotations

import pytest
from safetensors.torch import load_file, save_file
from tiny_models import policy, tokenizer
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertLMHeadModel,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
)

import llmzoo
from llmzoo.cli import main
from llmzoo.errors import ConfigError
from llmzoo.models.lora import load_adapter
from llmzoo.policies import load


@pytest.fixture
def folder(tmp_path):
    """A whole model folder."""
    policy().save(tmp_path / "model")
    return tmp_path / "model"


def remove_weight(folder, name):
    weights = load_file(folder / "model.safetensors")
    del weights[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


MISSING = "model.layers.1.mlp.down_proj.weight"


def test_missing_weights_are_named(folder):
    load(str(folder))
    remove_weight(folder, MISSING)
    with pytest.raises(ConfigError, match=f"lacks the weights {MISSING}"):
        load(str(folder))


def test_many_missing_weights_are_counted(folder):
    for part in ("gate", "up", "down"):
        for layer in (0, 1):
            remove_weight(folder, f"model.layers.{layer}.mlp.{part}_proj.weight")
    with pytest.raises(ConfigError, match=r"down_proj.*gate_proj.*and 3 more"):
        load(str(folder))


def test_the_base_of_an_adapter_is_whole_too(folder, tmp_path):
    base = load(str(folder))
    base.with_adapters(["a"])["a"].save(tmp_path / "adapter")
    load(str(tmp_path / "adapter"))
    remove_weight(folder, MISSING)
    with pytest.raises(ConfigError, match="lacks the weights"):
        load_adapter(str(tmp_path / "adapter"), None, "auto")


def bert(model_class, **config):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    vocabulary = {"vocab_size": len(tokenizer()), "intermediate_size": 64}
    return model_class(BertConfig(**sizes, **vocabulary, **config))


@pytest.mark.parametrize("model_class", [BertModel, BertForMaskedLM])
def test_an_encoder_is_refused(model_class, tmp_path):
    bert(model_class).save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match=r"is an encoder \(bert\).*decoder"):
        load(str(tmp_path))


def test_a_decoder_of_the_same_kind_is_loaded(tmp_path):
    bert(BertLMHeadModel, is_decoder=True).save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    assert type(load(str(tmp_path)).model) is BertLMHeadModel


def test_a_folder_without_a_tokenizer_is_refused(folder, tmp_path):
    for path in folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(ConfigError, match=r"has no tokenizer.*tokenizer\.json"):
        load(str(folder))
    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 2, "vocab_size": 50}
    GPT2LMHeadModel(GPT2Config(**sizes)).save_pretrained(tmp_path / "gpt2")
    with pytest.raises(ConfigError, match="has no tokenizer"):
        load(str(tmp_path / "gpt2"))


def test_neither_train_nor_eval_takes_such_a_folder(folder, tmp_path, capsys):
    remove_weight(folder, MISSING)
    for command in ("train --steps 1 --out " + str(tmp_path / "run") + " --model", "eval --policy"):
        assert main([*command.split(), str(folder), "--env", "sudoku_v0"]) == 2
        assert "lacks the weights" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("tokens", [0, -1])
def test_an_answer_has_at_least_one_token(tokens, tmp_path, capsys):
    said = rf"max_new_tokens is 1 to 1048576, got {tokens}"
    with pytest.raises(ConfigError, match=said):
        llmzoo.fit("magrpo", "sudoku_v0", out=tmp_path / "run", max_new_tokens=tokens)
    for command in (
        f"train --out {tmp_path / 'run'}",
        "eval",
        f"collect --policy tiny --out {tmp_path / 'c.jsonl'}",
    ):
        given = f"{command} --env sudoku_v0 --max_new_tokens {tokens}"
        assert main(given.split()) == 2
        assert f"got {tokens}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
