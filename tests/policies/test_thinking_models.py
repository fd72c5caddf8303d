"""Models that think: their thoughts are trained, and are no part of their answers."""

from __future__ import annotations

import warnings

import chat_models
import pytest
from toy_envs import Matcher

from llmzoo.models.sampling import Sampling
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.settings import Chat
from llmzoo.rollout.episodes import play_episodes

PLAYED = "<think>Answer: LLLL</think>\n\nUURR"


def answer(policy, agent="a"):
    ((completion,),) = policy.respond([PolicyRequest(agent=agent, observation="go", env=None)])
    return completion


def test_an_answer_is_what_follows_the_thought_and_all_is_kept_for_the_update():
    tokenizer = chat_models.thinking()
    found = answer(chat_models.saying(tokenizer, PLAYED))
    assert found.text == "UURR"
    assert tokenizer.decode(found.ids) == PLAYED + "<|im_end|>"
    assert len(found.logprobs) == len(found.ids)


def test_without_a_thought_all_is_the_answer():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answer(chat_models.saying(chat_models.thinking(), "\nUURR")).text == "\nUURR"


def test_an_unclosed_thought_is_an_empty_answer_that_is_trained_on():
    policy = chat_models.saying(chat_models.thinking(), "<think>Answer: LLLL")
    with pytest.warns(UserWarning, match="inside a thought.*</think>.*enable_thinking=false"):
        found = answer(policy)
    assert found.text == ""
    assert found.trainable
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer(policy)
    assert policy.thoughts_unclosed == 2


def test_an_opening_token_opens_a_thought_wherever_it_stands():
    policy = chat_models.saying(chat_models.thinking(), "<think>a</think>UURR <think>Answer: LLLL")
    with pytest.warns(UserWarning, match="inside a thought"):
        assert answer(policy).text == ""


def test_an_answer_may_speak_of_a_mark_that_is_no_token():
    template = chat_models.CHATML + "{% if '</think>' in x %}{% endif %}"
    said = "<think>a</think>Not <think>: UURR"
    policy = chat_models.saying(chat_models.tokenizer(template), said)
    assert answer(policy).text == "Not <think>: UURR"


def test_a_thought_that_the_prompt_opens():
    tokenizer = chat_models.thinking(chat_models.OPENED)
    assert answer(chat_models.saying(tokenizer, "Answer: LLLL</think>\n\nUURR")).text == "UURR"
    with pytest.warns(UserWarning, match="inside a thought"):
        assert answer(chat_models.saying(tokenizer, "Answer: LLLL")).text == ""


def test_a_thought_that_the_prompt_closes_is_none():
    tokenizer = chat_models.thinking()
    off = Chat(chat_template_args={"enable_thinking": False})
    assert answer(chat_models.saying(tokenizer, "UURR", chat=off)).text == "UURR"


def test_marks_that_are_special_tokens():
    """Decoding leaves special tokens out; as Magistral's and gpt-oss's are."""
    tokenizer = chat_models.tokenizer(special=["[THINK]", "[/THINK]"])
    said = "[THINK]LLLL[/THINK]UU<|endoftext|>RR"
    assert answer(chat_models.saying(tokenizer, said)).text == "UURR"
    with pytest.warns(UserWarning, match=r"\[/THINK\]"):
        assert answer(chat_models.saying(tokenizer, "[THINK]LLLL")).text == ""
    channels = ["<|start|>", "<|end|>", "<|channel|>", "<|message|>"]
    template = chat_models.CHATML + "{# <|channel|>final<|message|> #}"
    tokenizer = chat_models.tokenizer(template, special=channels)
    said = (
        "<|channel|>analysis<|message|>LLLL<|end|><|start|>assistant<|channel|>final<|message|>UURR"
    )
    assert answer(chat_models.saying(tokenizer, said)).text == "UURR"


def test_a_mark_in_the_template_alone_spelled_in_ordinary_tokens():
    template = chat_models.CHATML + "{% if '</think>' in x %}{% endif %}"
    tokenizer = chat_models.tokenizer(template)
    assert answer(chat_models.saying(tokenizer, PLAYED)).text == "UURR"


def test_the_option_and_an_agent_of_its_own():
    tokenizer = chat_models.tokenizer()  # shows no marks
    assert answer(chat_models.saying(tokenizer, PLAYED)).text == PLAYED
    chats = {"b": Chat(thought_end="none"), "c": Chat(thought_end="RR")}
    policy = chat_models.saying(
        tokenizer, PLAYED + "!", chat=Chat(thought_end="</think>"), chats=chats
    )
    assert answer(policy).text == "UURR!"
    assert answer(policy, "b").text == PLAYED + "!"
    assert answer(policy, "c").text == "!"
    thinks = chat_models.saying(chat_models.thinking(), PLAYED, chat=Chat(thought_end="none"))
    assert answer(thinks).text == PLAYED


def test_stop_texts_cut_the_answer():
    sampling = Sampling(max_new_tokens=64, stop=("R",))
    policy = chat_models.saying(chat_models.thinking(), PLAYED, sampling=sampling)
    assert answer(policy).text == "UU"


def test_other_settings_and_adapters_keep_them():
    policy = chat_models.saying(
        chat_models.tokenizer(), PLAYED, chats={"a": Chat(thought_end="</think>")}
    )
    for twin in (
        policy.with_sampling_for_all(Sampling(max_new_tokens=9)),
        policy.with_sampling(top_k=3),
    ):
        assert answer(twin).text == "UURR"


def test_in_play_the_environment_is_given_the_answer_alone():
    tokenizer = chat_models.thinking()
    policy = chat_models.saying(tokenizer, "<think>5</think>2")
    (played,) = play_episodes(Matcher, policy, [0])
    # the team is paid the product, and each agent its own number
    assert played.totals == {"a_0": 2 * 2 + 2, "b_1": 2 * 2 + 2}
