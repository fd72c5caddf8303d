import pytest
import torch
from float64 import assert_equal

from llmzoo.models import scoring
from llmzoo.models.sampling import Sampling
from llmzoo.models.scoring import score, score_logits

pytestmark = pytest.mark.usefixtures("float64")

SETTINGS = [Sampling(), Sampling(temperature=0.7), Sampling(top_k=5, top_p=0.9)]


def test_worked_numbers():
    """p = (1/4, 1/4, 1/2): log 1/2 = -0.693; entropy 2 * 1/4 * log 4 + 1/2 * log 2 = 1.0397."""
    logits = torch.tensor([[0.0, 0.0, torch.tensor(2.0).log()]], requires_grad=True)
    chosen, entropy, _ = score_logits(logits, torch.tensor([2]), Sampling())
    assert chosen.item() == pytest.approx(-0.6931, abs=1e-4)
    assert entropy.item() == pytest.approx(1.0397, abs=1e-4)
    (chosen.sum()).backward()  # onehot - p
    assert logits.grad[0].tolist() == pytest.approx([-0.25, -0.25, 0.5], abs=1e-6)


@pytest.mark.parametrize("sampling", SETTINGS[:2])
@pytest.mark.parametrize("use", ["chosen", "entropy", "both"])
def test_values_and_gradients_are_autograds(sampling, use):
    noise = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(7, 11, generator=noise)
    targets = torch.randint(11, (7,), generator=noise)
    weights = torch.randn(2, 7, generator=noise)
    found = []
    for ours in (True, False):
        z = logits.clone().requires_grad_()
        if ours:
            chosen, entropy, _ = score_logits(z, targets, sampling)
        else:
            logprobs = (z / sampling.temperature).log_softmax(-1)
            chosen = logprobs[torch.arange(7), targets]
            entropy = -(logprobs.exp() * logprobs).sum(-1)
        parts = {"chosen": [chosen], "entropy": [entropy], "both": [chosen, entropy]}[use]
        sum((w * x).sum() for w, x in zip(weights, parts, strict=False)).backward()
        found.append((chosen.detach(), entropy.detach(), z.grad))
    for ours, plain in zip(*found, strict=True):
        assert_equal(ours, plain)


def test_worked_numbers_of_the_likeliest_two():
    """Of p = (1/7, 2/7, 4/7) top_k = 2 leaves (1/3, 2/3): entropy 1/3 log 3 + 2/3 log 3/2 = 0.6365."""
    logits = torch.tensor([[1.0, 2.0, 4.0]]).log()
    chosen, entropy, top = score_logits(logits, torch.tensor([2]), Sampling(top_k=2), True)
    assert chosen.item() == pytest.approx(-0.4055, abs=1e-4)
    assert entropy.item() == pytest.approx(0.6365, abs=1e-4)
    assert top.tolist() == [True]


def test_a_token_that_cannot_be_has_no_part_in_the_entropy():
    logits = torch.tensor([[0.0, 0.0, float("-inf")]], requires_grad=True)
    chosen, entropy, _ = score_logits(logits, torch.tensor([0]), Sampling())
    (chosen + entropy).sum().backward()
    assert entropy.item() == pytest.approx(0.6931, abs=1e-4)
    assert logits.grad[0].tolist() == pytest.approx([0.5, -0.5, 0.0], abs=1e-6)


@pytest.mark.parametrize("use", ["chosen", "entropy", "both"])
@pytest.mark.parametrize("sampling", SETTINGS)
def test_a_plain_product_in_pieces_is_the_whole(monkeypatch, sampling, use):
    noise = torch.Generator().manual_seed(1)
    head = torch.nn.Linear(8, 50, bias=False)
    states = torch.randn(10, 8, generator=noise)
    targets = torch.randint(50, (10,), generator=noise)
    weights = torch.randn(2, 10, generator=noise)
    found, tops = [], []
    for limit in (2**23, 150):
        monkeypatch.setattr(scoring, "_CPU_LOGITS", limit)
        head.zero_grad()
        inputs = states.clone().requires_grad_()
        scores = score(head, inputs, targets, sampling, vocabulary=50, recompute=False, top=True)
        parts = {"chosen": [0], "entropy": [1], "both": [0, 1]}[use]
        sum((weights[i] * scores[i]).sum() for i in parts).backward()
        tops.append(scores[2])
        found.append([*scores[:2], inputs.grad, head.weight.grad.clone()])
    assert torch.equal(*tops)
    for a, b in zip(*found, strict=True):
        assert_equal(a, b)
    # a frozen head, as under adapters
    head.requires_grad_(False)
    inputs = states.clone().requires_grad_()
    scores = score(head, inputs, targets, sampling, vocabulary=50, recompute=False)
    sum((weights[i] * scores[i]).sum() for i in parts).backward()
    assert torch.equal(inputs.grad, found[1][2])


@pytest.mark.parametrize("sampling", SETTINGS)
def test_the_most_likely_token_is_told(sampling):
    logits = torch.tensor([[0.0, 2.0, 1.0]] * 3)
    scores = score_logits(logits, torch.tensor([0, 1, 2]), sampling, top=True)
    assert scores[2].tolist() == [False, True, False]
    assert score_logits(logits, torch.tensor([0, 1, 2]), sampling)[2] is None


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("sampling", SETTINGS)
def test_pieces_are_the_whole(monkeypatch, sampling, recompute):
    """Three tokens at once, each with 50 logits; never more, forwards or backwards."""
    noise = torch.Generator().manual_seed(1)
    head = torch.nn.Linear(8, 50)
    states = torch.randn(10, 8, generator=noise)
    targets = torch.randint(50, (10,), generator=noise)
    sizes, found = [], []
    head.register_forward_hook(lambda _, __, logits: sizes.append(len(logits)))
    for limit in (2**23, 150):
        monkeypatch.setattr(scoring, "_CPU_LOGITS", limit)
        head.zero_grad()
        inputs = states.clone().requires_grad_()
        chosen, entropy, _ = score(
            head, inputs, targets, sampling, vocabulary=50, recompute=recompute
        )
        (chosen.sum() + 0.1 * entropy.sum()).backward()
        found.append([chosen, entropy, inputs.grad, head.weight.grad.clone(), head.bias.grad])
    whole, pieces = (1, 8) if not recompute else (2, 8)  # 4 pieces, each made twice
    assert sizes == [10] * whole + [3, 3, 3, 1] + sizes[-4:]
    assert len(sizes) == whole + pieces
    assert max(sizes[-4:]) == 3
    for a, b in zip(*found, strict=True):
        assert_equal(a, b)
