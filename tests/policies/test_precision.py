"""Number formats: masters keep small updates, and log-probabilities are float32."""

import warnings

import pytest
import torch
from safetensors.torch import load_file, save_file
from test_decode import requests
from test_hidden import groups
from tiny_models import group, model, policy, tokenizer
from torch.nn import Parameter

from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.models.precision import MasterWeights, warn_if_slow
from llmzoo.policies.transformers import TransformersPolicy


def steps(weight, masters, count, size):
    """``count`` steps of plain SGD that each add ``size`` to the weight."""
    trained = [weight] if masters is None else masters.masters
    optimizer = torch.optim.SGD(trained, lr=1.0)
    for _ in range(count):
        weight.grad = torch.full_like(weight, -size)
        if masters is not None:
            masters.collect_gradients()
        optimizer.step()
        if masters is not None:
            masters.copy_to_model()


def test_small_updates_add_up_with_masters_and_are_lost_without():
    # near 1 bfloat16 steps by 2^-7 = 0.0078; half of that is far above an update of 0.0001
    lost = Parameter(torch.ones(3, dtype=torch.bfloat16))
    steps(lost, None, 1000, 1e-4)
    assert lost.tolist() == [1.0, 1.0, 1.0]

    kept = Parameter(torch.ones(3, dtype=torch.bfloat16))
    masters = MasterWeights([kept])
    steps(kept, masters, 1000, 1e-4)
    size = torch.tensor(1e-4).bfloat16().item()  # the gradient itself is bfloat16: 0.00010014
    assert masters.masters[0].tolist() == pytest.approx([1 + 1000 * size] * 3, rel=1e-4)
    assert kept.dtype == torch.bfloat16
    assert kept.tolist() == [1.1015625] * 3  # 1.1001, to the nearest multiple of 2^-7


def test_gradients_of_many_parts_are_summed_in_float32():
    weight = Parameter(torch.zeros(1, dtype=torch.bfloat16))
    masters = MasterWeights([weight])
    for _ in range(300):
        (weight * 1.0).sum().backward()
        masters.collect_gradients()
    assert weight.grad is None
    assert masters.masters[0].grad.item() == 300.0
    plain = Parameter(torch.zeros(1, dtype=torch.bfloat16))
    for _ in range(300):
        (plain * 1.0).sum().backward()
    assert plain.grad.item() == 256.0  # 256 + 1 rounds back to 256
    masters.copy_to_model()
    assert masters.masters[0].grad is None  # the next step begins again


def test_float32_weights_are_their_own_masters():
    single, half = Parameter(torch.ones(2)), Parameter(torch.ones(2, dtype=torch.bfloat16))
    masters = MasterWeights([single, half])
    assert masters.masters[0] is single
    assert masters.masters[1] is not half
    assert set(masters.state_dict()) == {"1"}
    single.grad = torch.ones(2)
    masters.collect_gradients()
    masters.copy_to_model()
    assert single.grad.tolist() == [1.0, 1.0]


def test_masters_are_saved_and_restored_exactly(tmp_path):
    weight = Parameter(torch.ones(3, dtype=torch.bfloat16))
    masters = MasterWeights([weight])
    steps(weight, masters, 7, 1e-4)
    save_file(masters.state_dict(), tmp_path / "masters.safetensors")
    again = MasterWeights([Parameter(torch.zeros(3, dtype=torch.bfloat16))])
    again.load_state_dict(load_file(tmp_path / "masters.safetensors"))
    assert torch.equal(again.masters[0], masters.masters[0])
    assert torch.equal(again.weights[0], weight)
    other = MasterWeights([Parameter(torch.zeros(4, dtype=torch.bfloat16))])
    with pytest.raises(CheckpointError, match="other parameters"):
        other.load_state_dict(masters.state_dict())


def logprobs(player):
    with torch.no_grad():
        return player.likelihood(groups()).logprobs


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [("float32", torch.float32), ("bf16_autocast", torch.float32), ("bf16", torch.bfloat16)],
)
def test_precisions_of_a_policy(precision, dtype):
    player = policy(precision=precision)
    assert {p.dtype for p in player.model.parameters()} == {dtype}
    buffers = dict(player.model.named_buffers())  # the frequencies of positions: never rounded
    assert {b.dtype for b in buffers.values()} == {torch.float32}
    found = player.likelihood(groups(), hidden=True)
    assert (found.logprobs.dtype, found.entropy.dtype) == (torch.float32, torch.float32)
    exact = logprobs(policy())
    assert torch.equal(logprobs(player), exact) == (precision == "float32")
    assert (found.logprobs - exact).abs().max() < 0.5  # bfloat16 errs by 1 in 256 of a logit
    # log-probabilities that are rounded to bfloat16 themselves would lie on its grid
    on_grid = found.logprobs == found.logprobs.bfloat16().float()
    assert not on_grid[found.mask.bool()].all()
    found.logprobs.sum().backward()
    assert {p.grad.dtype for p in player.parameters()} == {dtype}
    assert all(p.grad.isfinite().all() for p in player.parameters())


@pytest.mark.parametrize("precision", ["bf16_autocast", "bf16"])
def test_updates_recompute_the_sample_as_well_as_bfloat16_can(precision):
    player = policy(precision=precision)
    found = player.respond(requests(), 4)
    asked = [group([x.ids for x in c], prompt=c[0].prompt_ids) for c in found]
    again = player.likelihood(asked).logprobs
    sampled = [x.logprobs for c in found for x in c]
    differences = torch.cat(
        [again[n, : len(row)] - torch.tensor(row) for n, row in enumerate(sampled)]
    ).abs()
    assert differences.mean() < 0.05
    assert differences.max() > 1e-4  # and not better: the passes round at different places


def test_checkpointing_under_autocast_recomputes_under_autocast():
    found = []
    for on in (False, True):
        player = policy(precision="bf16_autocast", gradient_checkpointing=on)
        player.likelihood([group([(20, 21, 22)], prompt=(5, 6, 7))]).logprobs.sum().backward()
        found.append(torch.cat([p.grad.flatten() for p in player.parameters()]))
    cosine = torch.nn.functional.cosine_similarity(*found, dim=0)
    assert cosine > 0.999


def test_weights_are_left_as_they_are_unless_a_precision_is_named(tmp_path):
    policy(precision="bf16").save(tmp_path)
    load = TransformersPolicy.load
    folder, where = str(tmp_path), {"device": "cpu"}
    assert load(folder, **where).model.dtype == torch.bfloat16
    assert load(folder, dtype="float32", **where).model.dtype == torch.float32
    assert load(folder, precision="bf16_autocast", **where).model.dtype == torch.float32
    loaded = load(folder, precision="bf16", **where)
    assert (loaded.model.dtype, loaded.precision) == (torch.bfloat16, "bf16")
    assert torch.equal(logprobs(loaded), logprobs(policy(precision="bf16")))
    half = policy(precision="bf16")
    half.load_weights(tmp_path)
    assert torch.equal(logprobs(half), logprobs(loaded))


def test_adapters_on_a_bfloat16_base_are_float32(tmp_path):
    policy().save(tmp_path / "base")
    base = TransformersPolicy.load(str(tmp_path / "base"), device="cpu", precision="bf16")
    (one,) = base.with_adapters(["one"], r=4).values()
    assert one.precision == "bf16"
    assert {p.dtype for p in one.parameters()} == {torch.float32}
    assert {p.dtype for p in one.model.parameters()} == {torch.float32, torch.bfloat16}
    one.likelihood(groups()).logprobs.sum().backward()
    assert any(p.grad.any() for p in one.parameters())
    torch.nn.init.normal_(one.parameters()[1], std=0.3)
    one.save(tmp_path / "one")
    again = TransformersPolicy.load(str(tmp_path / "one"), device="cpu", precision="bf16")
    assert {p.dtype for p in again.parameters()} == {torch.float32}
    assert torch.equal(logprobs(again), logprobs(one))


def test_a_policy_may_have_a_learning_rate_of_its_own():
    assert policy().learning_rate is None
    assert policy(learning_rate=3e-5).learning_rate == 3e-5
    base = policy(learning_rate=3e-5)
    assert base.with_adapters(["one"], r=2)["one"].learning_rate == 3e-5
    for options in ({"learning_rate": 0.0}, {"learning_rate": -1.0}, {"precision": "fp8"}):
        with pytest.raises(ConfigError):
            TransformersPolicy(model(), tokenizer(), **options)


@pytest.mark.parametrize("precision", ["bf16", "bf16_autocast"])
@pytest.mark.parametrize(
    ("known", "slow"),
    [({"avx512_f": True}, True), ({"avx512_bf16": True}, False), ({"amx_bf16": True}, False)],
)
def test_a_processor_without_bfloat16_is_named(monkeypatch, known, slow, precision):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    cpu = torch.device("cpu")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn_if_slow(cpu, precision)
        warn_if_slow(cpu, "float32")
    assert ["no instructions for bfloat16" in str(one.message) for one in said] == [True] * slow
