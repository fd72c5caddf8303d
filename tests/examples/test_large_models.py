"""The configurations for models of the hub: each trains a step, on random weights of its architecture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

from llmzoo.cli import main
from llmzoo.policies import load

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "large_models"
NAMES = sorted(path.name for path in CONFIGS.glob("*.yaml"))
# the hub id, and its classes in transformers
ARCHITECTURES = {
    "Qwen/Qwen2.5-0.5B-Instruct": (Qwen2Config, Qwen2ForCausalLM),
    "Qwen/Qwen3-1.7B": (Qwen3Config, Qwen3ForCausalLM),
}
SMALL = "--steps 1 --episodes_per_step 1 --learner.group_size 2 --eval_tasks 1 --eval_every 0 --max_new_tokens 8"


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """A folder for each hub id: the same classes with random weights, narrow and of two layers."""
    tokenizer = load("tiny").tokenizer
    tokenizer.chat_template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
        "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
    )
    made = {}
    for hub_id, (config_class, model_class) in ARCHITECTURES.items():
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
        made[hub_id] = tmp_path_factory.mktemp("model")
        model_class(config).save_pretrained(made[hub_id])
        tokenizer.save_pretrained(made[hub_id])
    return made


def test_there_is_one_for_each_model_and_each_kind_of_task():
    found = {
        (settings["model"], settings["env"])
        for settings in (yaml.safe_load((CONFIGS / name).read_text()) for name in NAMES)
    }
    envs = ("coop_humaneval_v0", "math_v0", "plan_path_v0")
    assert found == {(model, env) for model in ARCHITECTURES for env in envs}


# one of each architecture, which is one of each kind of seats, on different tasks
FAST = ("qwen2.5_0.5b_coop_humaneval.yaml", "qwen3_1.7b_plan_path.yaml")
BY_TIME = [pytest.param(n, marks=[] if n in FAST else [pytest.mark.slow]) for n in NAMES]


@pytest.mark.parametrize("name", BY_TIME)
def test_a_step_on_random_weights(name, folders, tmp_path):
    settings = yaml.safe_load((CONFIGS / name).read_text())
    argv = ["train", "--config", str(CONFIGS / name), "--model", str(folders[settings["model"]])]
    argv += [*SMALL.split(), "--out", str(tmp_path / "run"), "--quiet", "--trackers", "[]"]
    if settings["env_args"].get("source") == "hub":  # which cannot be reached here
        argv += ["--env.source", "sample"]
    assert main(argv) == 0
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").open()]
    (trained,) = [row for row in rows if row["kind"] == "train"]
    assert trained["tokens"] > 0
    adapters = list((tmp_path / "run" / "checkpoints").rglob("adapter_model.safetensors"))
    assert len(adapters) == (2 if settings.get("seats") == "lora" else 0)


@pytest.mark.parametrize("name", NAMES)
def test_each_says_how_it_is_started(name):
    text = (CONFIGS / name).read_text()
    assert text.startswith(f"# llmzoo train --config configs/large_models/{name}\n# ")
    assert max(map(len, text.splitlines())) <= 110
