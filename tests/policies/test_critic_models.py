"""Critics: values that depend on the text alone, start at zero, and can be learned."""

import warnings

import pytest
import torch
from float64 import assert_equal
from safetensors.torch import load_file, save_file
from test_lora import bend
from tiny_models import policy

from llmzoo.errors import ConfigError
from llmzoo.policies.critic_models import CriticModel, ValueHead

TEXTS = [(5, 6, 7), (8, 9, 10, 11, 12), (13,), (5, 6), (20, 21, 22, 23, 24, 25, 26)]


def a_critic(kind="qwen2", **options):
    """A critic whose head says something."""
    critic = CriticModel.from_policy(policy(kind), **options)
    torch.manual_seed(3)
    torch.nn.init.normal_(critic.head.linear.weight)
    return critic


def test_a_head_starts_at_zero_and_its_gradient_does_not():
    head = ValueHead(3, outputs=2)
    hidden = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]])
    assert head(hidden).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    # loss = sum (V - target)^2 / 2: its gradient by w is the sum of (V - target) * hidden
    target = torch.tensor([[1.0, 0.0], [0.5, 2.0]])
    ((head(hidden) - target) ** 2 / 2).sum().backward()
    assert head.linear.weight.grad.tolist() == [
        [-1.0, -1.5, -3.5],  # -1 * (1, 2, 3) - 0.5 * (0, -1, 1)
        [0.0, 2.0, -2.0],  # -2 * (0, -1, 1)
    ]
    assert head.linear.bias.grad.tolist() == [-1.5, -2.0]


def test_a_head_computes_in_float32_whatever_comes_in():
    head = ValueHead(8)
    torch.nn.init.normal_(head.linear.weight)
    hidden = torch.randn(4, 8)
    wanted = hidden @ head.linear.weight.T
    with torch.autocast("cpu", torch.bfloat16):
        assert not torch.allclose(head.linear(hidden).float(), wanted, atol=1e-5)
        assert torch.allclose(head(hidden), wanted, atol=1e-6)
    assert head(hidden.bfloat16()).dtype == torch.float32


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("kind", ["qwen2", "llama"])
def test_a_value_depends_on_its_text_alone(kind):
    critic = a_critic(kind, outputs=3)
    together = critic.values(TEXTS)
    assert together.shape == (5, 3)
    apart = torch.cat([critic.values([text]) for text in TEXTS])
    assert_equal(together, apart)
    assert apart.std(dim=0).min() > 0.1  # they differ
    critic.rows = 2  # in passes of two, out of order of length
    assert_equal(critic.values(TEXTS), apart)
    # and is the head's reading of the body's last state, without any padding
    body = policy(kind).model.model
    for text, found in zip(TEXTS, together, strict=True):
        state = body(torch.tensor([text])).last_hidden_state[0, -1]
        assert_equal(found, critic.head(state))


def test_the_passes_are_bounded():
    """Lengths 1 2 3 5 7, the short ones first, at most 3 tokens at once where that can be."""
    critic = a_critic(tokens=3)
    sizes = []
    critic.body.register_forward_pre_hook(
        lambda body, args, kwargs: sizes.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    critic.values(TEXTS)
    assert sizes == [3, 3, 5, 7]


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("tokens", [1, 64])
def test_the_value_before_a_token_is_that_of_the_text_before_it(tokens):
    critic = a_critic(outputs=2, tokens=tokens)
    prompts = [(5, 6, 7), (8,), (9, 10)]
    answers = [(20, 21), (22, 23, 24, 25, 26, 0), (27,)]
    for output in (0, 1):
        found = critic.token_values(prompts, answers, output)
        assert found.shape == (3, 6)
        for n, (prompt, ids) in enumerate(zip(prompts, answers, strict=True)):
            before = [(*prompt, *ids[:c]) for c in range(len(ids))]
            wanted = critic.values(before)[:, output]
            assert_equal(found[n, : len(ids)], wanted)
            assert found[n, len(ids) :].abs().sum() == 0
    with pytest.raises(ValueError, match="none of the completions"):
        critic.token_values([(5,)], [()])


@pytest.mark.usefixtures("float64")
def test_a_long_text_is_cut_on_the_left_with_one_warning():
    critic = a_critic()
    context = 256  # of the tiny model
    long = [5 + i % 40 for i in range(300)]
    with pytest.warns(UserWarning, match="cut on the left") as caught:
        found = critic.values([long, long[3:], (5, 6)])
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cut = critic.values([long[-context:]])
        assert_equal(found[:2], cut.expand(2, 1))
        # the last value is that before the third token: prompt and two tokens fill the context
        values = critic.token_values([long], [(20, 21, 22)])
        assert_equal(values[0, 2], critic.values([[*long[-(context - 2) :], 20, 21]])[0, 0])
    with pytest.raises(ConfigError, match="max_new_tokens"):
        critic.token_values([(5, 6)], [[7] * 300])


def size(module):
    return sum(p.numel() for p in module.parameters())


def test_a_critic_has_no_vocabulary_to_project_onto():
    actor = policy()
    critic = CriticModel.from_policy(actor, outputs=2)
    projection = actor.model.lm_head.weight
    # the actor's weights without its projection, and a head of two rows and biases
    assert size(critic) == size(actor.model) - projection.numel() + 2 * (32 + 1)
    assert sum(projection.shape[0] in p.shape for p in critic.parameters()) == 1  # the embedding
    tiny = CriticModel.load("tiny", device="cpu")  # whose projection is its embedding
    assert sum(512 in p.shape for p in tiny.parameters()) == 1
    assert tiny.values([(5, 6)]).tolist() == [[0.0]]


def test_a_critic_is_a_copy_that_learns_without_touching_the_actor():
    actor = policy()
    before = {n: p.detach().clone() for n, p in actor.model.named_parameters()}
    critic = CriticModel.from_policy(actor)
    targets = torch.tensor([1.0, -1.0, 0.5, 0.0, 2.0])
    optimizer = torch.optim.AdamW(critic.parameters(), lr=3e-3)
    body = critic.body.layers[0].mlp.up_proj.weight
    start, losses = body.detach().clone(), []
    for step in range(60):
        loss = ((critic.values(TEXTS).squeeze(1) - targets) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        # below a head of zeros there is no gradient yet; from the second step on there is
        assert bool(body.grad.any()) == (step > 0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx((1 + 1 + 0.25 + 0 + 4) / 5)  # V = 0
    assert losses[-1] < 0.01 * losses[0]
    assert not torch.equal(body, start)
    assert all(torch.equal(p, before[n]) for n, p in actor.model.named_parameters())


@pytest.mark.usefixtures("float64")
def test_a_critic_of_an_adapter_has_it_merged_in_and_trains_all_weights(tmp_path):
    base = policy()
    one, other = base.with_adapters(["one", "other"], r=4).values()
    bend(one)
    head = a_critic().head.state_dict()
    found = {}
    for name, player in (("one", one), ("other", other), ("bare", base)):
        critic = CriticModel.from_policy(player)
        critic.head.load_state_dict(head)
        found[name] = critic.values(TEXTS)
        assert size(critic) == size(a_critic())  # no adapter is left in it
        assert all(p.requires_grad for p in critic.parameters())
    assert_equal(found["bare"], a_critic().values(TEXTS))
    assert_equal(found["other"], found["bare"])
    assert not torch.allclose(found["one"], found["bare"], atol=0.1)
    states = one.prompt_hidden(TEXTS)
    assert_equal(found["one"], critic.head(states))


def test_state_dicts_go_through_safetensors(tmp_path):
    critic, fresh = a_critic(outputs=2), CriticModel.from_policy(policy(seed=9), outputs=2)
    save_file(critic.state_dict(), tmp_path / "critic.safetensors")
    fresh.load_state_dict(load_file(tmp_path / "critic.safetensors"))
    assert torch.equal(fresh.values(TEXTS), critic.values(TEXTS))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("kind", ["qwen2", "llama"])
def test_checkpointing_gives_the_same_gradients(kind):
    found = []
    for on in (False, True):
        critic = a_critic(kind, gradient_checkpointing=on)
        (critic.values(TEXTS) ** 2).sum().backward()
        found.append([p.grad for p in critic.parameters()])
    for a, b in zip(*found, strict=True):
        assert_equal(b, a)
    assert all(gradient.any() for gradient in found[0])


def test_meaningless_numbers_are_refused():
    for options in ({"outputs": 0}, {"tokens": 0}, {"precision": "int3"}):
        with pytest.raises(ConfigError):
            CriticModel.from_policy(policy(), **options)


def test_a_critic_in_bfloat16_stays_close():
    exact = a_critic().values(TEXTS)
    for precision, dtype in (("bf16_autocast", torch.float32), ("bf16", torch.bfloat16)):
        critic = a_critic(precision=precision)
        assert critic.body.embed_tokens.weight.dtype == dtype
        assert {b.dtype for b in critic.body.buffers()} == {torch.float32}
        found = critic.values(TEXTS)
        assert found.dtype == torch.float32
        assert not torch.equal(found, exact)
        assert torch.allclose(found, exact, atol=0.05 * exact.abs().max().item())
