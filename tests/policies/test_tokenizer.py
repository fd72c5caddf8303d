"""The tokenizer of a policy is the one that was saved with its model."""

from __future__ import annotations

import pytest

from llmzoo.policies import load
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.transformers import TINY_FOLDER, TransformersPolicy


@pytest.mark.parametrize("name", ["tiny", str(TINY_FOLDER)])
def test_special_tokens_of_other_models_are_plain_text(name):
    policy = load(name)
    rows = policy.model.get_input_embeddings().num_embeddings
    text = "<|endoftext|><|im_start|> 1/4"
    ids = policy.encode(text)
    assert max(ids) < rows
    assert policy.tokenizer.decode(ids) == text


def test_a_saved_policy_keeps_it(tmp_path):
    policy = load("tiny")
    policy.save(tmp_path)
    again = TransformersPolicy.load(str(tmp_path))
    text = "sudoku <|endoftext|> d'Été\n"
    assert again.encode(text) == policy.encode(text)
    request = PolicyRequest(agent="a_0", observation=text, env=None)
    assert again.respond([request])[0][0].prompt_ids == policy.encode(text)
