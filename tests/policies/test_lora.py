"""Adapters for agents: what is shared, what is each one's own, and what must not change."""

import json
import shutil
from pathlib import Path

import peft
import pytest
import torch
from float64 import assert_equal
from safetensors.torch import load_file, save_file
from test_decode import requests
from test_hidden import groups
from tiny_models import group, model, policy, tokenizer

from llmzoo.errors import CheckpointError, ConfigError, UnknownNameError
from llmzoo.models import lora
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TINY_FOLDER, TransformersPolicy

GROUP = group([(20, 21, 0), (22, 0)])


def two(**options):
    agents = policy().with_adapters(["one", "other"], **{"r": 4, **options})
    return agents["one"], agents["other"]


def bend(player, seed=1):
    """Moves an adapter away from its start, where it changes nothing."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in lora.adapter_parameters(player.model, player.adapter).items():
        if "lora_B" in name:
            with torch.no_grad():
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return player


def train(player, steps=3):
    optimizer = torch.optim.AdamW(player.parameters(), lr=1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        weights = torch.tensor([[1.0], [-1.0]])
        (player.likelihood([GROUP]).logprobs * -weights).sum().backward()
        optimizer.step()


def logprobs(player):
    with torch.no_grad():
        return player.likelihood(groups()).logprobs


def snapshot(player, *, of=None):
    """Copies of the model's tensors: those of one adapter, or those of none."""
    adapters = set(player.model.peft_config)
    return {
        name: tensor.clone()
        for name, tensor in player.model.state_dict().items()
        if (adapters & set(name.split("."))) == ({of} if of else set())
    }


def same(a, b):
    assert a.keys() == b.keys()
    return all(torch.equal(a[name], b[name]) for name in a)


def test_each_policy_trains_its_adapter_and_nothing_else():
    one, other = two()
    # of each of the 2 layers: q 32x32, k and v 32x16, o 32x32, gate and up 32x64, down 64x32
    sides = [32 + 32, 32 + 16, 32 + 16, 32 + 32, 32 + 64, 32 + 64, 64 + 32]
    for player in (one, other):
        assert sum(p.numel() for p in player.parameters()) == 2 * 4 * sum(sides)  # r = 4
    assert not {id(p) for p in one.parameters()} & {id(p) for p in other.parameters()}
    assert one.model is other.model
    assert one.tokenizer is other.tokenizer
    base, theirs, mine = (
        snapshot(one),
        snapshot(one, of="agent_other"),
        snapshot(one, of="agent_one"),
    )
    before = logprobs(other)
    train(one)
    assert same(base, snapshot(one))
    assert same(theirs, snapshot(one, of="agent_other"))
    assert not same(mine, snapshot(one, of="agent_one"))
    assert torch.equal(logprobs(other), before)
    assert not torch.equal(logprobs(one), before)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("checkpointing", [False, True])
def test_a_loss_over_two_agents_reaches_both_adapters(checkpointing):
    """As in joint DPO: both likelihoods first, one backward pass after."""
    base = policy(gradient_checkpointing=checkpointing)
    one, other = map(bend, base.with_adapters(["one", "other"], r=4).values(), (1, 2))
    margin = one.likelihood([GROUP]).logprobs.sum() - 2 * other.likelihood([GROUP]).logprobs.sum()
    margin.backward()
    together = [[p.grad.clone() for p in player.parameters()] for player in (one, other)]
    for player, weight, ours in zip((one, other), (1, -2), together, strict=True):
        for parameter in player.parameters():
            parameter.grad = None
        (weight * player.likelihood([GROUP]).logprobs.sum()).backward()
        alone = [p.grad for p in player.parameters()]
        assert any(gradient.any() for gradient in alone)
        for a, b in zip(ours, alone, strict=True):
            assert_equal(a, b)


def test_with_pefts_own_switch_the_first_agent_would_get_no_gradient():
    """Why switching keeps the flags; if this fails, peft or autograd no longer needs it."""
    one, other = map(bend, two())
    first = one.likelihood([GROUP]).logprobs.sum()
    other.model.set_adapter(other.adapter)
    first.backward()
    assert all(p.grad is None for p in lora.adapter_parameters(one.model, one.adapter).values())


def test_agents_in_turn_sample_with_their_own_adapters():
    one, other = bend(two()[0]), None
    other = bend(one.with_adapter("agent_other"), seed=2)
    texts = {}
    for player in (one, other, one, other):
        found = [c.ids for (c,) in player.respond(requests(), greedy=True)]
        assert texts.setdefault(player.adapter, found) == found
    assert texts["agent_one"] != texts["agent_other"]
    for player in (one, other):  # each as a model with this adapter only
        single = policy().with_adapters(["alone"], r=4)["alone"]
        bend(single, seed=1 if player is one else 2)
        for name, parameter in lora.adapter_parameters(player.model, player.adapter).items():
            wanted = name.replace(player.adapter, single.adapter)
            lora.adapter_parameters(single.model, single.adapter)[wanted].data.copy_(parameter)
        assert [c.ids for (c,) in single.respond(requests(), greedy=True)] == texts[player.adapter]
        assert torch.equal(logprobs(single), logprobs(player))


def test_fresh_adapters_change_nothing_and_the_base_stays_the_bare_model():
    base = policy()
    for parameter in base.parameters():
        parameter.requires_grad_(False)  # as adapters will have it; torch then multiplies otherwise
    plain = logprobs(base)
    agents = base.with_adapters(["one", "other"])
    for name, player in agents.items():
        assert player.name == name
        assert torch.equal(logprobs(player), plain)
        settings = player.model.peft_config[player.adapter]
        assert (settings.r, settings.lora_alpha, settings.lora_dropout) == (16, 32, 0.0)
    bend(agents["one"])
    assert not torch.allclose(logprobs(agents["one"]), plain, atol=0.1)
    assert torch.equal(logprobs(base), plain)
    assert base.parameters() == []
    assert torch.equal(logprobs(agents["other"]), plain)
    with pytest.raises(ConfigError, match="nothing to save"):
        base.save("nowhere")


def test_names_that_contain_one_another_do_not_mix(tmp_path):
    agents = policy().with_adapters(["1", "10", "lora_", "a"], r=2)
    for number, player in enumerate(agents.values()):
        bend(player, seed=number)
        player.save(tmp_path / player.name)
    wanted = {name: logprobs(player) for name, player in agents.items()}
    again = policy().with_adapters(list(agents), r=2)
    for name, player in again.items():
        player.load_weights(tmp_path / name)
    for name, player in again.items():
        assert torch.equal(logprobs(player), wanted[name])
    assert len({tuple(t.flatten().tolist()) for t in wanted.values()}) == 4


def test_the_seed_fixes_adapters_and_global_chance_is_left_alone():
    torch.manual_seed(7)
    state = torch.get_rng_state()
    base = policy()
    torch.set_rng_state(state)
    one = base.with_adapters(["one", "other"], seed=3)["one"]
    one.reference()
    assert torch.equal(torch.get_rng_state(), state)
    values = [p.clone() for p in one.parameters()]
    for seed, equal in ((3, True), (4, False)):
        again = policy().with_adapters(["one", "other"], seed=seed)["one"].parameters()
        assert all(torch.equal(a, b) for a, b in zip(values, again, strict=True)) == equal


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"lora_alhpa": 8}, UnknownNameError, "Did you mean 'lora_alpha'"),
        ({"task_type": "CAUSAL_LM"}, UnknownNameError, "unknown LoRA option"),
        ({"bias": "all"}, ConfigError, "changes the base"),
        ({"init_lora_weights": "pissa"}, ConfigError, "change the base"),
        ({"init_lora_weights": False}, ConfigError, "start away from it"),
    ],
)
def test_options_that_cannot_be_are_refused(options, error, match):
    base = policy()
    with pytest.raises(error, match=match):
        base.with_adapters(["one"], **options)
    assert not lora.is_peft(base.model)  # and nothing has been done to it


def test_options_pass_through_and_names_are_checked():
    base = policy()
    for names in ([], ["one", "one"], ["a.b"]):
        with pytest.raises(ConfigError, match="name"):
            base.with_adapters(names)
    (one,) = base.with_adapters(["one"], r=3, target_modules=["q_proj"], use_rslora=True).values()
    assert [tuple(p.shape) for p in one.parameters()] == [(3, 32), (32, 3)] * 2
    assert one.model.peft_config["agent_one"].use_rslora
    with pytest.raises(ConfigError, match="already"):
        one.with_adapters(["more"])


@pytest.fixture(scope="module")
def base_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    policy().save(folder)
    return folder


def on_disk(base_folder, **options):
    return TransformersPolicy.load(str(base_folder), device="cpu", **options)


def test_a_saved_adapter_is_a_plain_peft_folder(base_folder, tmp_path):
    one, _ = on_disk(base_folder).with_adapters(["one", "other"], r=4).values()
    train(bend(one))
    one.save(tmp_path / "one")
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors", "tokenizer.json"} <= names
    assert "model.safetensors" not in names
    saved = json.loads((tmp_path / "one" / "adapter_config.json").read_text())
    assert saved["base_model_name_or_path"] == str(base_folder)
    assert len(saved["target_modules"]) > 2
    assert saved["target_modules"] == sorted(saved["target_modules"])  # in every process
    wanted = logprobs(one)
    loaded = [
        peft.PeftModel.from_pretrained(model(), tmp_path / "one"),
        peft.AutoPeftModelForCausalLM.from_pretrained(tmp_path / "one"),
    ]
    for theirs in loaded:
        assert torch.equal(logprobs(TransformersPolicy(theirs, tokenizer())), wanted)
    ours = on_disk(tmp_path / "one")
    assert torch.equal(logprobs(ours), wanted)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in one.parameters())
    ours.save(tmp_path / "again")
    assert torch.equal(logprobs(on_disk(tmp_path / "again")), wanted)
    train(ours)  # it learns on
    assert not torch.equal(logprobs(ours), wanted)


def test_load_weights_puts_saved_weights_into_the_model_in_place(base_folder, tmp_path):
    one, other = on_disk(base_folder).with_adapters(["one", "other"], r=4).values()
    bend(one).save(tmp_path / "adapter")
    parameters = [id(p) for p in other.parameters()]
    other.load_weights(tmp_path / "adapter")
    assert [id(p) for p in other.parameters()] == parameters
    assert torch.equal(logprobs(other), logprobs(one))
    full = policy(seed=5)
    full.save(tmp_path / "full")
    into = policy()
    parameters = [id(p) for p in into.parameters()]
    into.load_weights(tmp_path / "full")
    assert [id(p) for p in into.parameters()] == parameters
    assert torch.equal(logprobs(into), logprobs(full))


def test_weights_that_do_not_fit_are_refused_and_change_nothing(base_folder, tmp_path):
    (one,) = on_disk(base_folder).with_adapters(["one"], r=4).values()
    one.save(tmp_path / "small")
    wide = policy().with_adapters(["wide"], r=8)["wide"]
    before = logprobs(wide)
    for folder, match in ((tmp_path / "small", "another shape"), (base_folder, "no adapter")):
        with pytest.raises(CheckpointError, match=match):
            wide.load_weights(folder)
    assert torch.equal(logprobs(wide), before)
    full = policy()
    before = logprobs(full)
    TransformersPolicy(model(num_hidden_layers=3), tokenizer()).save(tmp_path / "deep")
    shutil.copytree(base_folder, tmp_path / "torn")
    weights = load_file(base_folder / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, tmp_path / "torn" / "model.safetensors", metadata={"format": "pt"})
    for folder, match in (
        (tmp_path / "small", "no model"),
        (tmp_path / "deep", "another shape"),
        (tmp_path / "torn", "lacks the weights"),
    ):
        with pytest.raises(CheckpointError, match=match):
            full.load_weights(folder)
    assert torch.equal(logprobs(full), before)


def test_an_adapter_finds_its_base_or_is_told(base_folder, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(base_folder, moved)
    (one,) = on_disk(moved).with_adapters(["one"], r=4).values()
    bend(one).save(tmp_path / "one")
    wanted = logprobs(one)
    shutil.rmtree(moved)
    found = on_disk(tmp_path / "one", base=str(base_folder))
    assert torch.equal(logprobs(found), wanted)
    nameless = policy().with_adapters(["one"], r=4)["one"]
    nameless.save(tmp_path / "nameless")
    with pytest.raises(ConfigError, match="base="):
        on_disk(tmp_path / "nameless")
    with pytest.raises(ConfigError, match="not an adapter"):
        on_disk(base_folder, base="tiny")


def test_the_embedded_model_takes_adapters(tmp_path):
    tiny = TransformersPolicy.load("tiny", device="cpu", sampling=Sampling(max_new_tokens=4))
    one, other = tiny.with_adapters(["one", "other"]).values()
    assert one.prompt_style == "terse"
    before = logprobs(other)
    train(one)
    assert torch.equal(logprobs(other), before)
    assert not torch.equal(logprobs(one), before)
    one.save(tmp_path / "one")
    # as if it had been saved where the package stands in another place
    settings = json.loads((tmp_path / "one" / "adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == str(TINY_FOLDER)
    settings["base_model_name_or_path"] = "/elsewhere/llmzoo/models/tiny/weights"
    (tmp_path / "one" / "adapter_config.json").write_text(json.dumps(settings))
    again = TransformersPolicy.load(str(tmp_path / "one"), device="cpu")
    assert torch.equal(logprobs(again), logprobs(one))


def test_the_reference_of_a_fresh_adapter_is_the_bare_base():
    one, other = two()
    reference = one.reference()
    start = logprobs(one)
    assert set(one.model.peft_config) == {"agent_one", "agent_other"}  # nothing was copied
    assert reference.parameters() == []
    train(one)
    train(other)
    assert torch.equal(logprobs(reference), start)
    # gradients survive a reference between a loss's two passes
    loss = one.likelihood([GROUP]).logprobs.sum()
    logprobs(reference)
    loss.backward()
    assert any(p.grad is not None and p.grad.any() for p in one.parameters())


def test_the_reference_of_a_trained_adapter_is_a_copy_of_it():
    one = bend(two()[0])
    count = len(one.parameters())
    reference, start = one.reference(), logprobs(one)
    assert reference.parameters() == []
    assert torch.equal(logprobs(reference), start)
    train(one)
    assert torch.equal(logprobs(reference), start)
    second = one.reference()
    assert torch.equal(logprobs(second), logprobs(one))
    assert torch.equal(logprobs(reference), start)
    assert len(one.parameters()) == count


@pytest.mark.usefixtures("float64")
def test_the_reference_of_full_weights_is_a_frozen_copy():
    player = policy()
    reference, start = player.reference(), logprobs(player)
    assert reference.parameters() == []
    assert len(player.parameters()) == len(list(player.model.parameters()))
    train(player)
    assert_equal(logprobs(reference), start)
    assert not torch.allclose(logprobs(player), start, atol=0.1)


def test_without_peft_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "peft", None)
    with pytest.raises(ImportError, match=r"llmzoo-marl\[train\]"):
        policy().with_adapters(["one"])


def test_nothing_is_written_where_the_base_is(base_folder):
    assert not list(Path(base_folder).glob("*adapter*"))
