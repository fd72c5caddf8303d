"""The configurations for models that are not in the package: each trains a step, on random weights of
its architecture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from llmzoo import registry
from llmzoo.cli import main
from llmzoo.policies import load

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
NAMES = sorted(
    path.relative_to(CONFIGS).as_posix()
    for folder in ("large_models", "smollm2")
    for path in (CONFIGS / folder).glob("*.yaml")
)
# the model's name, and its classes in transformers
ARCHITECTURES = {
    "Qwen/Qwen2.5-0.5B-Instruct": (Qwen2Config, Qwen2ForCausalLM),
    "Qwen/Qwen3-1.7B": (Qwen3Config, Qwen3ForCausalLM),
    "smollm2": (LlamaConfig, LlamaForCausalLM),
}
SMALL = "--steps 1 --episodes_per_step 1 --learner.group_size 2 --eval_tasks 1 --eval_every 0 --max_new_tokens 8"


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """A folder for each model: the same classes with random weights, narrow and of two layers."""
    tokenizer = load("tiny").tokenizer
    tokenizer.chat_template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
        "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
    )
    made = {}
    for model, (config_class, model_class) in ARCHITECTURES.items():
        config = config_class(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=8192,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        made[model] = tmp_path_factory.mktemp("model")
        model_class(config).save_pretrained(made[model])
        tokenizer.save_pretrained(made[model])
    return made


def settings_of(name: str) -> dict:
    return yaml.safe_load((CONFIGS / name).read_text())


def test_there_is_one_for_each_model_and_each_kind_of_task():
    found = {
        (settings_of(name)["model"], settings_of(name)["env"])
        for name in NAMES
        if name.startswith("large_models/")
    }
    envs = ("coop_humaneval_v0", "math_v0", "plan_path_v0")
    assert found == {(model, env) for model in ARCHITECTURES if "/" in model for env in envs}


def test_smollm2_has_one_for_each_family_with_two_adapters():
    mine = [settings_of(name) for name in NAMES if name.startswith("smollm2/")]
    assert {registry.spec(settings["env"]).family for settings in mine} == {
        registry.spec(id).family for id in registry.list_envs()
    }
    assert {(settings["model"], settings["policies"]) for settings in mine} == {("smollm2", "lora")}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n != "smollm2/math.yaml")) for n in NAMES],
)
def test_a_step_on_random_weights(name, folders, tmp_path):
    settings = settings_of(name)
    argv = ["train", "--config", str(CONFIGS / name), "--model", str(folders[settings["model"]])]
    argv += [*SMALL.split(), "--out", str(tmp_path / "run"), "--quiet", "--trackers", "[]"]
    if settings.get("env_args", {}).get("source") == "hub":  # which cannot be reached here
        argv += ["--env.source", "sample"]
    assert main(argv) == 0
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").open()]
    (trained,) = [row for row in rows if row["kind"] == "train"]
    assert trained["tokens"] > 0
    adapters = list((tmp_path / "run" / "checkpoints").rglob("adapter_model.safetensors"))
    assert len(adapters) == (2 if settings.get("policies") == "lora" else 0)


@pytest.mark.parametrize("name", NAMES)
def test_each_says_how_it_is_started(name):
    text = (CONFIGS / name).read_text()
    assert text.startswith(f"# llmzoo train --config configs/{name}\n# ")
    assert max(map(len, text.splitlines())) <= 110
