"""Examples for supervised learning, token by token."""

import random
from collections import Counter

import chat_models
import pytest
import tiny_models
from transformers import PreTrainedTokenizerFast

from llmzoo.errors import ConfigError
from llmzoo.learners.updates.examples import (
    Example,
    answer_ids,
    fits_context,
    sample_examples,
    truncate_examples,
    world_model_example,
)
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.settings import Chat

CHAT = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.mark.parametrize("text", ["up", "R3C4 = 7\n", "", " left  right", "é<|end|>x", "\n\n"])
def test_an_answer_is_its_tokens_and_the_end(text):
    player = tiny_models.policy()
    end = player.tokenizer.eos_token_id
    *ids, last = answer_ids(player, text)
    assert last == end
    assert end not in ids  # what looks like the end in a text is text
    assert player.tokenizer.decode(ids) == text


def test_an_answer_as_the_sampler_gives_it_comes_back_token_by_token():
    """A bias towards single letters: each sampled text has one way to be cut into tokens."""
    player = tiny_models.policy()
    letters = [player.tokenizer.convert_tokens_to_ids(c) for c in "XYZ"]
    head = player.model.lm_head
    with_bias = tiny_models.torch.full((head.weight.shape[0],), -1e4)
    with_bias[[*letters, player.tokenizer.eos_token_id]] = 0.0
    head.bias = tiny_models.torch.nn.Parameter(with_bias)
    request = PolicyRequest(agent="a_0", observation="go", env=None)
    result = [c for c in player.respond([request], 256)[0] if not c.truncated]
    assert len({c.ids for c in result}) > 8
    for completion in result:
        assert completion.ids == answer_ids(player, completion.text)
        assert completion.prompt_ids == player.encode("go")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("up", "</think>\n\nup<|im_end|>"),
        ("hm</think>up", "hm</think>up<|im_end|>"),  # a demonstration of thinking
    ],
)
def test_where_the_prompt_opens_a_thought_the_answer_closes_it(text, written):
    player = chat_models.policy(chat_models.thinking(chat_models.OPENED))
    ids = answer_ids(player, text)
    assert player.tokenizer.decode(ids) == written
    assert player.prompts_for().answer(ids) == "up"


def test_control_tokens_in_an_answer_are_text():
    player = chat_models.policy(chat_models.thinking())
    ids = answer_ids(player, "a<|im_end|>b")
    assert player.tokenizer.decode(ids) == "a<|im_end|>b<|im_end|>"
    assert ids.count(player.tokenizer.eos_token_id) == 1


def test_a_row_is_read_under_its_agents_settings():
    player = chat_models.policy(chat_models.tokenizer(), chats={"b": Chat(system="Be brief.")})
    row = {"prompt": "you see 3", "completion": "up", "next_observation": "you see 4"}
    read = {a: world_model_example(player, {**row, "agent": a}).prompt for a in "ab"}
    starts = {
        a: player.tokenizer.decode(ids).startswith("<|im_start|>system") for a, ids in read.items()
    }
    assert starts == {"a": False, "b": True}


def test_a_model_without_an_end_is_refused():
    player = tiny_models.policy()
    player.eos_ids = frozenset()
    with pytest.raises(ConfigError, match="no end-of-sequence token"):
        answer_ids(player, "up")


def test_a_model_whose_settings_alone_name_the_end():
    player = tiny_models.policy()
    player.tokenizer = PreTrainedTokenizerFast(tokenizer_object=player.tokenizer.backend_tokenizer)
    player.eos_ids = frozenset({9, 4})
    assert answer_ids(player, "up")[-1] == 4


def test_a_world_model_row_has_the_labelled_form_in_the_policys_template():
    player = tiny_models.policy(system="be brief")
    player.tokenizer.chat_template = CHAT
    row = {
        "agent": "a_0",
        "prompt": "you see 3",
        "completion": "up",
        "next_observation": "you see 4",
    }
    example = world_model_example(player, row)
    asked = "you see 3\n\n[action]\nup\n\n[next observation]\n"
    assert player.tokenizer.decode(example.prompt) == f"<system>be brief<user>{asked}<assistant>"
    assert example.prompt == player.encode(asked)
    assert example.completion == answer_ids(player, "you see 4")
    assert example.given


def test_braces_in_a_text_are_text():
    row = {"agent": "a_0", "prompt": "{completion}{0}", "completion": "{prompt}"}
    row["next_observation"] = "{}"
    player = tiny_models.policy()
    example = world_model_example(player, row)
    assert player.tokenizer.decode(example.prompt).startswith(
        "{completion}{0}\n\n[action]\n{prompt}"
    )


def test_a_length_cuts_the_end_off_and_drops_rows_without_a_completion():
    rows = [Example((5, 6), (20, 21, 0), True), Example((7, 8, 9), (0,), True)]
    assert truncate_examples(rows, 3) == [Example((5, 6), (20,), True)]
    assert truncate_examples(rows, None) == rows


def test_what_the_context_cannot_hold_does_not_fit():
    player = tiny_models.policy()  # 256 positions
    assert fits_context(player, Example((5,) * 250, (6,) * 6, True))
    assert not fits_context(player, Example((5,) * 250, (6,) * 7, True))
    assert not fits_context(
        player, Example((), (6,), True)
    )  # nothing to predict the first token from


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, [0, 0, 0]), (2, [0, 1, 1]), (3, [1, 1, 1]), (7, [2, 2, 3])],
)
def test_as_many_as_wanted_each_as_often_as_the_others(count, expected):
    three = [Example((n,), (n,), True) for n in range(3)]
    result = sample_examples(three, count, random.Random(1))
    assert len(result) == count
    times = Counter(e.prompt[0] for e in result)
    assert sorted(times[n] for n in range(3)) == expected
    assert sample_examples([], count, random.Random(1)) == []
