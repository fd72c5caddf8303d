"""The states that critics read: those from which the likelihood's tokens are predicted."""

import pytest
import torch
from float64 import assert_equal
from test_decode import a_policy
from tiny_models import group, policy

pytestmark = pytest.mark.usefixtures("float64")

PROMPTS = [(5, 6, 7), (8, 9, 10, 11, 12), (13,)]
ANSWERS = [[(20, 21), (22, 23, 24, 0)], [(25, 0), (26,)], [(27, 28, 29), (30, 31)]]


def groups():
    return [group(answers, prompt=p) for p, answers in zip(PROMPTS, ANSWERS, strict=True)]


def alone(player):
    """Row by row, without padding or cache: the last layer's states that predict each token."""
    for prompt, answers in zip(PROMPTS, ANSWERS, strict=True):
        for ids in answers:
            states = player.model(
                torch.tensor([[*prompt, *ids]]), output_hidden_states=True
            ).hidden_states[-1][0]
            yield ids, states[len(prompt) - 1 : len(prompt) - 1 + len(ids)]


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.parametrize("kind", ["qwen2", "llama"])
def test_hidden_states_are_those_that_predict_each_token(kind, lora, checkpointing):
    player = a_policy(kind, lora, gradient_checkpointing=checkpointing)
    found = player.likelihood(groups(), hidden=True)
    assert found.hidden.shape == (6, 4, 32)  # N completions, the longest of 4 tokens, H
    for row, (ids, states) in enumerate(alone(player)):
        assert_equal(found.hidden[row, : len(ids)], states)
        # the output layer makes of them the log-probabilities that stand beside them
        logprobs = player.model.get_output_embeddings()(found.hidden[row]).log_softmax(-1)
        predicted = [logprobs[c, token] for c, token in enumerate(ids)]
        assert_equal(found.logprobs[row, : len(ids)], torch.stack(predicted))


@pytest.mark.parametrize("checkpointing", [False, True])
def test_gradients_of_a_value_flow_through_the_shared_prompt(checkpointing):
    player = policy(gradient_checkpointing=checkpointing)
    torch.manual_seed(0)
    head = torch.randn(32)
    found = player.likelihood(groups(), hidden=True)
    ((found.hidden @ head) * found.mask).sum().backward()
    ours = {
        name: p.grad.clone() for name, p in player.model.named_parameters() if p.grad is not None
    }
    player.model.zero_grad()
    sum((states @ head).sum() for _, states in alone(player)).backward()
    theirs = dict(player.model.named_parameters())
    assert len(ours) > 10
    for name, gradient in ours.items():
        assert_equal(gradient, theirs[name].grad, name)
    assert all(p.grad is None for name, p in theirs.items() if name not in ours)


def test_states_are_kept_only_where_they_are_asked_for_and_no_hook_stays():
    player = policy()
    assert player.likelihood(groups()).hidden is None
    assert not player.model.get_output_embeddings()._forward_pre_hooks
    with pytest.raises(IndexError):
        player.likelihood([group([(1,)], prompt=(10_000,))], hidden=True)  # no such token
    assert not player.model.get_output_embeddings()._forward_pre_hooks


def test_the_state_of_a_prompt_is_the_one_before_its_first_token():
    player = policy(max_rows=2)
    found = player.prompt_hidden(PROMPTS)
    first = player.likelihood(groups(), hidden=True).hidden[::2, 0]  # two completions a prompt
    assert_equal(found, first)
    limit = 256  # of the tiny model's context
    long = [(5 + i) % 40 for i in range(limit + 30)]
    assert_equal(player.prompt_hidden([long]), player.prompt_hidden([long[-limit:]]))
