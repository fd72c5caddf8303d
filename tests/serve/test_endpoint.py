"""An endpoint answers OpenAI's client as its models answer in this process."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import pytest
import tiny_models
from chat_models import QWEN
from chat_models import tokenizer as chat_tokenizer
from endpoint_servers import GatedModel, asks, serving, texts
from waiting import until

from llmzoo.endpoints import parse_endpoint
from llmzoo.evaluation.evaluate import evaluate
from llmzoo.policies import load
from llmzoo.policies.endpoint import EndpointPolicy
from llmzoo.policies.settings import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.serve import batching
from llmzoo.serve.served_models import ServedModel

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

HI = [{"role": "user", "content": "the answer is"}]
PROMPTS = ("up", "left is right", "up", "the answer is 12", "down 3")


@pytest.fixture(scope="module")
def served():
    """Two agents of a small model with random weights, with settings of their own."""
    policy = tiny_models.policy(samplings={"b_1": Sampling(max_new_tokens=3)})
    with serving({"a_0": policy, "b_1": policy}) as served:
        yield served


@pytest.fixture(scope="module")
def create(served):
    def chat(**fields):
        return client.chat.completions.create(**{"model": "a_0", "messages": HI, **fields})

    with served.client() as client:
        yield chat


def local(prompt="the answer is", n=1, key=7, agent="a_0", greedy=False, **changes):
    """The completions of the same model in this process."""
    policy = tiny_models.policy(samplings={"b_1": Sampling(max_new_tokens=3)})
    if changes:
        policy = policy.with_sampling(**changes)
    (request,) = asks(prompt, agent=agent)
    request = type(request)(agent=agent, observation=prompt, env=request.env, key=key)
    return policy.respond([request], n, greedy=greedy)[0]


# The fields of a request


def test_a_chat_completion_is_what_the_model_samples(create):
    reply = create(seed=7)
    (expected,) = local()
    (choice,) = reply.choices
    assert (choice.index, choice.message.role) == (0, "assistant")
    assert choice.message.content == expected.text
    assert choice.finish_reason == ("length" if expected.truncated else "stop")
    assert (reply.model, reply.object) == ("a_0", "chat.completion")
    assert reply.usage.prompt_tokens == len(expected.prompt_ids)
    assert reply.usage.completion_tokens == len(expected.ids)
    assert reply.usage.total_tokens == len(expected.prompt_ids) + len(expected.ids)


def test_the_settings_of_sampling(create):
    settings = {"temperature": 0.5, "top_p": 0.9}
    (expected,) = local(max_new_tokens=5, top_k=4, **settings)
    more = {"extra_body": {"top_k": 4}, "seed": 7}
    for field in ("max_tokens", "max_completion_tokens"):
        reply = create(**settings, **{field: 5}, **more)
        assert reply.choices[0].message.content == expected.text
    assert create(seed=7, model="b_1").usage.completion_tokens <= 3  # an agent's own settings
    assert create(seed=7, max_tokens=40).usage.completion_tokens > 12


def test_temperature_0_takes_the_most_likely_completion(create):
    (expected,) = local(greedy=True)
    reply = create(temperature=0, n=3)
    assert [choice.message.content for choice in reply.choices] == [expected.text] * 3
    assert reply.usage.completion_tokens == len(expected.ids)  # sampled once


def test_several_choices(create):
    reply = create(n=4, seed=7)
    assert [choice.message.content for choice in reply.choices] == [c.text for c in local(n=4)]
    assert [choice.index for choice in reply.choices] == [0, 1, 2, 3]
    assert len({choice.message.content for choice in reply.choices}) > 1


def test_stop_ends_a_completion(create):
    (whole,) = local(max_new_tokens=40)
    stop = whole.text[4:6]
    for given in (stop, ["never said", stop]):
        (choice,) = create(max_tokens=40, seed=7, stop=given).choices
        assert choice.message.content == whole.text[: whole.text.index(stop)]
        assert choice.finish_reason == "stop"


def test_a_completion_without_a_seed_differs_from_the_next(create):
    said = {create(max_tokens=40).choices[0].message.content for _ in range(4)}
    assert len(said) > 1


def test_log_probabilities_are_those_of_the_sampled_tokens(create, served):
    (expected,) = local()
    (choice,) = create(seed=7, logprobs=True).choices
    content = choice.logprobs.content
    assert [token.logprob for token in content] == pytest.approx(expected.logprobs, abs=1e-5)
    tokenizer = tiny_models.tokenizer()
    whole = tokenizer.decode(expected.ids, skip_special_tokens=False)
    # random weights write parts of characters too, which U+FFFD stands for
    assert "".join(t.token for t in content).replace("\ufffd", "") == whole.replace("\ufffd", "")
    for token in content:
        whole_characters = token.token and "\ufffd" not in token.token
        assert token.bytes == (list(token.token.encode()) if whole_characters else None)
    text = served.client().completions.create(
        model="a_0", prompt="the answer is", seed=7, logprobs=0
    )
    logprobs = text.choices[0].logprobs
    assert logprobs.tokens == [token.token for token in content]
    assert logprobs.token_logprobs == [token.logprob for token in content]
    lengths = [after - before for before, after in pairwise(logprobs.text_offset)]
    assert lengths == [len(token) for token in logprobs.tokens[:-1]]


def test_the_texts_of_tokens_join_to_the_whole_text():
    """Also where a character has several tokens: é and 漢 are two and three bytes."""
    model = ServedModel("tiny", load("tiny"))
    ids = model.policy.tokenizer("up é漢x", add_special_tokens=False)["input_ids"]
    texts = model.token_texts(ids)
    assert len(texts) == len(ids)
    assert "".join(texts).replace("\ufffd", "") == "up é漢x".replace("\ufffd", "")


def test_completions_of_texts(served):
    complete = served.client().completions.create
    (expected,) = local("up")
    reply = complete(model="a_0", prompt="up", seed=7)
    assert (reply.object, reply.choices[0].text) == ("text_completion", expected.text)
    several = complete(model="a_0", prompt=["up", "left", "up"], n=2, seed=7)
    assert [choice.index for choice in several.choices] == list(range(6))
    said = [choice.text for choice in several.choices]
    assert said[0] == expected.text
    assert said[:2] != said[4:]  # an equal prompt of the same request has its own noise
    assert (
        complete(model="a_0", prompt=["up", "left", "up"], n=2, seed=7).choices == several.choices
    )
    with complete(model="a_0", prompt="up", seed=7, stream=True) as stream:
        assert "".join(part.choices[0].text for part in stream) == expected.text


def test_a_text_is_completed_without_the_chat_template():
    tokenizer = chat_tokenizer()
    model = tiny_models.model(vocab_size=len(tokenizer), max_position_embeddings=1024)
    policy = TransformersPolicy(model, tokenizer, sampling=Sampling(max_new_tokens=4))
    with serving(policy) as served:
        client = served.client()
        plain = client.completions.create(model="m", prompt="up", seed=1).usage.prompt_tokens
        chat = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "up"}]
        )
        assert plain == len(tokenizer("up")["input_ids"])
        assert chat.usage.prompt_tokens == len(policy.encode("up")) > plain


def test_a_stream_has_the_parts_of_the_reply(create):
    whole = create(seed=7, n=2)
    parts = list(create(seed=7, n=2, stream=True, stream_options={"include_usage": True}))
    for index, choice in enumerate(whole.choices):
        mine = [c for part in parts for c in part.choices if c.index == index]
        assert "".join(c.delta.content or "" for c in mine) == choice.message.content
        assert mine[0].delta.role == "assistant"
        assert [c.finish_reason for c in mine if c.finish_reason] == [choice.finish_reason]
    assert parts[-1].usage == whole.usage
    assert all(part.usage is None for part in parts[:-1])
    assert len({part.id for part in parts}) == 1
    logprobs = [
        token
        for part in create(seed=7, stream=True, logprobs=True)
        for c in part.choices
        if c.logprobs
        for token in c.logprobs.content
    ]
    assert len(logprobs) == len(local()[0].ids)


def test_a_stream_grows_with_its_completions(create, monkeypatch):
    monkeypatch.setattr(batching, "_GROWTH_PAUSE_S", 0.0)
    settings = {"max_tokens": 150, "seed": 7, "n": 2}
    whole = [choice.message.content for choice in create(**settings).choices]
    stop = whole[0][40:43]
    for more in ({}, {"stop": stop}):
        texts, parts = ["", ""], 0
        for chunk in create(stream=True, **settings, **more):
            (choice,) = chunk.choices
            texts[choice.index] += choice.delta.content or ""
            parts += bool(choice.delta.content)
            assert not more or stop not in texts[choice.index]
        assert texts == [choice.message.content for choice in create(**settings, **more).choices]
        assert parts > 6
    assert texts[0] == whole[0][: whole[0].index(stop)]


def test_growing_texts_hold_back_what_may_be_no_text():
    """The beginning of a stop or of a thought, and half a character."""
    tokenizer = chat_tokenizer(QWEN, plain=("<think>", "</think>"))
    model = tiny_models.model(vocab_size=len(tokenizer))
    served = ServedModel("m", TransformersPolicy(model, tokenizer))

    def growing(text, *stop, plain=False):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        return served.growing_text(ids, stop, plain=plain)

    assert growing("up left", "END") == "up left"
    assert growing("up leftEN", "END") == "up left"
    assert growing("up leftEND right", "END") == "up left"
    assert growing("up leftE", "END", "EXIT") == "up left"
    assert growing("<think>up") == ""
    assert growing("<think>up</think>left") == "left"


def test_models(served):
    client = served.client()
    assert [model.id for model in client.models.list()] == ["a_0", "b_1"]
    assert client.models.retrieve("b_1").id == "b_1"
    with pytest.raises(openai.NotFoundError, match="Did you mean 'b_1'"):
        client.models.retrieve("b_2")


def test_a_model_calls_tools():
    """A model that repeats the text of the prompt, which asks for a tool."""

    class Caller(TransformersPolicy):
        def _completion(self, prompt, row, sampling, request):
            made = super()._completion(prompt, row, sampling, request)
            return replace(
                made, text='<tool_call>{"name": "add", "arguments": {"x": 1}}</tool_call>'
            )

    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    with serving(Caller(tiny_models.model(), tiny_models.tokenizer())) as served:
        chat = served.client().chat.completions
        fields = {"model": "m", "messages": HI, "tools": tools, "max_tokens": 2}
        (choice,) = chat.create(**fields).choices
        (call,) = choice.message.tool_calls
        assert (call.function.name, call.function.arguments) == ("add", '{"x": 1}')
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
        first = next(iter(chat.create(**fields, stream=True)))
        assert first.choices[0].delta.tool_calls[0].function.name == "add"


# Equal seeds


def test_equal_seeds_give_equal_completions_alone_and_among_64():
    """Requests of other settings and prompts come at the same time."""
    with serving(load("tiny")) as served:
        client = served.client()

        def ask(number):
            seed = number % 8
            talk = [{"role": "user", "content": PROMPTS[seed % len(PROMPTS)]}]
            reply = client.chat.completions.create(
                model="m", messages=talk, seed=seed, n=1 + seed % 2, max_tokens=24 + seed % 3
            )
            return seed, [choice.message.content for choice in reply.choices]

        alone = dict(ask(seed) for seed in range(8))
        assert len({text for said in alone.values() for text in said}) > 4
        with ThreadPoolExecutor(64) as pool:
            together = list(pool.map(ask, range(128)))
    assert together == [(number % 8, alone[number % 8]) for number in range(128)]


def test_requests_that_come_together_are_answered_together():
    policy = GatedModel(sampling=Sampling(max_new_tokens=4))
    with serving(policy) as served, ThreadPoolExecutor(9) as pool:
        client = served.client()

        def ask(seed, **fields):
            reply = client.chat.completions.create(model="m", messages=HI, seed=seed, **fields)
            return reply.choices[0].message.content

        first = pool.submit(ask, 0)
        policy.has_begun()
        rest = [pool.submit(ask, seed) for seed in range(5)]
        other = [pool.submit(ask, seed, temperature=0.5) for seed in range(2)]
        assert until(lambda: served.service.batcher.waiting == 7)
        policy.open(3)
        answers = [asked.result() for asked in rest]
        assert first.result() == answers[0]
        assert len([asked.result() for asked in other]) == 2
    assert sorted(policy.sizes[1:]) == [2, 5]
    assert policy.sizes[0] == 1


def test_what_was_sampled_before_changes_no_completion(served):
    """A conversation with an earlier answer is read as its text, whoever wrote it."""
    chat = served.client().chat.completions
    said = chat.create(model="a_0", messages=HI, seed=7).choices[0].message.content
    talk = [*HI, {"role": "assistant", "content": said}, {"role": "user", "content": "More"}]
    after = chat.create(model="a_0", messages=talk, seed=3)
    with serving(tiny_models.policy()) as fresh:
        again = fresh.client().chat.completions.create(model="m", messages=talk, seed=3)
    assert again.usage == after.usage
    assert again.choices == after.choices


# The project's own client


def endpoint_policy(served, model="m", **options):
    endpoint = parse_endpoint(f"openai:{model}@{served.url}")
    return EndpointPolicy(endpoint, retries=0, **options)


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("LLMZOO_TOKEN", "0123456789abcdef")
    monkeypatch.setenv("LLMZOO_ENDPOINT_KEYS", "127.0.0.1=LLMZOO_TOKEN")


def test_an_endpoint_policy_samples_as_the_model_here(key):
    sampling = Sampling(temperature=0.8, max_new_tokens=9)
    near = tiny_models.policy(sampling=sampling)
    near.reseed(5)
    with serving(tiny_models.policy()) as served:
        far = endpoint_policy(served, seed=5, sampling=sampling)
        assert texts(far.respond(asks(*PROMPTS), 3)) == texts(near.respond(asks(*PROMPTS), 3))
        greedy = texts(near.respond(asks(*PROMPTS), greedy=True))
        assert texts(far.respond(asks(*PROMPTS), greedy=True)) == greedy
        far.reseed(6)
        near.reseed(6)
        assert texts(far.respond(asks(*PROMPTS), 3)) == texts(near.respond(asks(*PROMPTS), 3))
        assert far.tokens_written > 0
        # a prompt that the model cannot read
        with pytest.warns(UserWarning, match="context length of m, 256 tokens"):
            ((refused,),) = far.respond(asks("up " * 300))
    assert (refused.text, refused.refused) == ("", True)


@pytest.mark.slow
def test_an_evaluation_gives_the_episodes_of_this_process(key):
    with serving({"tiny": load("tiny")}) as served:
        far = endpoint_policy(served, "tiny", seed=1, sampling=Sampling(max_new_tokens=64))
        near = load("tiny", seed=1)
        for greedy in (False, True):
            options = {"tasks": 6, "greedy": greedy, "env_args": {"prompt": "terse"}}
            there, here = (evaluate("sudoku_v0", p, **options).to_dict() for p in (far, near))
            # the endpoint's tokens are counted by the server
            for name in ("policy", "seconds", "tokens", "usage"):
                there.pop(name, None), here.pop(name, None)
            assert there == here


def test_answers_of_one_call_differ_where_a_server_takes_no_n():
    """Each answer of a group then has a seed of its own."""
    policy = EndpointPolicy(parse_endpoint("openai:m@http://127.0.0.1:9/v1"), seed=1)
    (request,) = asks("up")
    (key,) = policy.noise_keys.keys([request])
    request = type(request)(agent="a_0", observation="up", env=None, key=key)
    seeds = [policy.body(request, 1, False, number)["seed"] for number in range(3)]
    assert seeds[0] == key
    assert len(set(seeds)) == 3
    policy.left_out.add("seed")
    assert "seed" not in policy.body(request, 1, False)


def test_log_probabilities_are_finite_at_the_bounds(create):
    for settings in ({"temperature": 1e-4}, {"temperature": 100.0}, {"top_p": 1e-6}):
        (choice,) = create(seed=1, logprobs=True, **settings).choices
        assert choice.logprobs.content
        assert all(math.isfinite(t.logprob) and t.logprob <= 0 for t in choice.logprobs.content)
