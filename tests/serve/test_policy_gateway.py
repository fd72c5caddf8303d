"""Policies behind an endpoint with OpenAI's API, and the record of what they sample."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise

import pytest
import tiny_models
from chat_models import tokenizer as chat_tokenizer
from endpoint_servers import Gated, asks, texts
from waiting import until

import llmzoo
from llmzoo.endpoints import token_file
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.evaluation.episode_folder import open_episode_folder
from llmzoo.learners.base import RunPolicies
from llmzoo.learners.configs.rows import SFTConfig
from llmzoo.learners.sft import SFT
from llmzoo.learners.updates.sft import Demonstrations
from llmzoo.models.sampling import Sampling
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.policies.settings import LoadSettings
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.serve import tokens

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

AGENTS = ("left_0", "right_1")
TOKEN = "a token of this test"
USER = [{"role": "user", "content": "Hi"}]
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
echo = ScriptedPolicy(lambda request: f"{request.agent}:{request.observation}", "echo")


@cache
def http():
    """One for all clients, for making it takes longer than most calls."""
    return openai.DefaultHttpxClient()


class Served:
    """A gateway in this process, its address, and the folder of its record."""

    def __init__(self, gateway, address, folder):
        self.gateway, self.address, self.folder = gateway, address, folder

    def client(self, id="one", kind=openai.OpenAI, **changes):
        url = f"{self.address}/episodes/{id}/v1"
        if kind is openai.OpenAI:
            changes = {"http_client": http(), **changes}
        return kind(**{"base_url": url, "api_key": TOKEN, "max_retries": 0, **changes})

    def expert_values(self, text, *, id="one", model="left", **more):
        talk = text if isinstance(text, list) else [{"role": "user", "content": text}]
        reply = self.client(id).chat.completions.create(model=model, messages=talk, **more)
        return reply.choices[0].message.content

    def post(self, value, *, id="one", path="reward"):
        """The status and the text of the reply."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        headers = {"Authorization": f"Bearer {TOKEN}"}
        url = f"{self.address}/episodes/{id}/{path}"
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, body, headers), timeout=30
            ) as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def episodes(self):
        return {episode.info["task_name"]: episode for episode in llmzoo.load_episodes(self.folder)}


@contextmanager
def serving(policy, folder, *, resume=False, agents=AGENTS, **options):
    from llmzoo.envs.programs.chat_server import ChatServer
    from llmzoo.envs.programs.http_server import listen
    from llmzoo.serve.gateway import PolicyGateway

    agents = policy if isinstance(policy, dict) else dict.fromkeys(agents, policy)
    with (
        open_episode_folder(folder, {}, resume=resume, replay_interrupted=False) as kept,
        listen() as listening,
    ):
        gateway = PolicyGateway(agents, kept, token=TOKEN, **options)
        server = ChatServer(gateway, listening)
        try:
            yield Served(gateway, server.address, folder)
        finally:
            server.stop()
            gateway.close()


@pytest.fixture
def served(tmp_path):
    with serving(echo, tmp_path / "kept") as served:
        yield served


def test_the_real_client(served):
    create = served.client().chat.completions.create
    reply = create(model="left", messages=USER, n=2, temperature=0.5, max_tokens=3)
    assert [choice.message.content for choice in reply.choices] == ["left_0:Hi"] * 2
    assert create(model="right_1", messages=USER, stop="t").choices[0].message.content == "righ"
    stream = create(model="left", messages=USER, stream=True)
    assert "".join(part.choices[0].delta.content for part in stream) == "left_0:Hi"
    asked = '<tool_call>{"name": "add", "arguments": {"x": 1}}</tool_call>'
    only = [{"role": "assistant", "content": asked}]
    (call,) = create(model="left", messages=only, tools=TOOLS).choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("add", {"x": 1})
    everywhere = served.client(base_url=f"{served.address}/v1")
    for client in (served.client(), everywhere):
        assert [model.id for model in client.models.list()] == [*AGENTS]


def test_the_real_asynchronous_client_and_the_header(served):
    async def both():
        url = f"{served.address}/v1"
        async with served.client(
            kind=openai.AsyncOpenAI, base_url=url, default_headers={"X-Episode": "by-header_1"}
        ) as client:
            create = client.chat.completions.create
            replies = await asyncio.gather(*(create(model=m, messages=USER) for m in AGENTS))
            stream = await create(model="left", messages=USER, stream=True)
            return [r.choices[0].message.content for r in replies], [
                part.choices[0].delta.content async for part in stream
            ]

    assert asyncio.run(both()) == (["left_0:Hi", "right_1:Hi"], ["left_0:Hi"])
    assert served.post(1, id="by-header_1")[0] == 200
    assert [d.turn for d in served.episodes()["by-header_1"].decisions_of("left_0")] == [0, 1]


def test_requests_that_are_refused(served):
    def refused(status, why, client, **call):
        with pytest.raises(openai.APIStatusError, match=why) as error:
            client.chat.completions.create(**{"model": "left", "messages": USER, **call})
        assert error.value.status_code == status

    refused(401, "token is missing or wrong", served.client(api_key="guess"))
    refused(400, "unknown agent 'mid'.* Known: left_0, right_1", served.client(), model="mid")
    refused(400, "unknown setting of a call 'logprobs'", served.client(), logprobs=True)
    for id in ("a.b", "x" * 65, "%C3%A4"):
        refused(400, "1 to 64 letters, digits, - and _", served.client(id))
    refused(400, "named in the path", served.client(base_url=f"{served.address}/v1"))
    big = [{"role": "user", "content": "x" * 10_000_001}]
    refused(413, "more than 10000000 bytes", served.client(), messages=big)
    assert served.post(b"{", path="v1/chat/completions")[0] == 400
    assert list(served.folder.glob("episodes.jsonl"))
    assert served.episodes() == {}


def test_what_may_not_be_posted_as_a_reward(served):
    assert served.post(1, id="never")[0] == 404
    assert served.client().models.list()
    assert served.post(1)[0] == 404  # a list of models opens no episode
    served.expert_values("Hi")
    for wrong in ("1", {"reward": "1"}, {"rewards": 1}, True, None, [1], {"reward": {"mid": 1}}):
        assert served.post(wrong)[0] == 400, wrong
    assert served.post(b'{"reward": NaN}')[0] == 400
    assert served.episodes() == {}
    assert served.post({"reward": 0.5})[0] == 200
    assert served.post(1)[0] == 410
    with pytest.raises(openai.APIStatusError, match="episode 'one' has ended") as gone:
        served.expert_values("Hi")
    assert gone.value.status_code == 410
    assert len(served.episodes()) == 1


def test_an_episode_without_an_answer_is_not_paid(tmp_path):
    def fails(request):
        raise OSError("no model")

    with serving({"left_0": ScriptedPolicy(fails), "right_1": echo}, tmp_path / "kept") as served:
        with pytest.raises(openai.InternalServerError, match=r"policy of left_0 failed.*no model"):
            served.expert_values("Hi")
        status, why = served.post(1)
        assert (status, "no completion yet" in why) == (409, True)
        assert served.expert_values("Hi", model="right") == "right_1:Hi"
        assert served.post(1)[0] == 200
    assert [d.agent for d in served.episodes()["one"].decisions] == ["right_1"]


def test_rewards_by_agent(served):
    """left is paid 1.5 for two decisions, right 0.5 for one between them; all of it at the end."""
    for model in ("left", "right", "left"):
        served.expert_values("Hi", model=model)
    assert served.post({"reward": {"left": 1.5, "right_1": 0.5}, "success": True})[0] == 200
    episode = served.episodes()["one"]
    assert [(d.agent, d.turn, d.reward, d.paid_after) for d in episode.decisions] == [
        ("left_0", 0, 0.0, ()),
        ("right_1", 0, 0.5, ((2, 0.5),)),
        ("left_0", 1, 1.5, ((2, 1.5),)),
    ]
    assert episode.returns() == (1.5, 0.5, 1.5)
    assert episode.totals == {"left_0": 1.5, "right_1": 0.5}
    assert (episode.success, episode.terminated, episode.truncated) == (True, True, False)


@pytest.mark.parametrize(
    ("posted", "paid", "success"),
    [(1, 1.0, True), (0.75, 0.75, False), ({"reward": 2, "success": False}, 2.0, False)],
)
def test_rewards_of_all(served, posted, paid, success):
    served.expert_values("Hi")
    served.post(posted)
    episode = served.episodes()["one"]
    assert episode.totals == {"left_0": paid, "right_1": paid}
    assert (episode.success, episode.decisions[0].reward) == (success, paid)


@pytest.mark.slow
def test_two_episodes_are_never_mixed(served):
    clients = {id: served.client(id) for id in "ab"}

    def ask(number):
        id, role = "ab"[number % 2], ("left", "right")[number // 2 % 2]
        talk = [{"role": "user", "content": f"{id}{number}"}]
        reply = clients[id].chat.completions.create(model=role, messages=talk)
        return reply.choices[0].message.content

    with ThreadPoolExecutor(16) as pool:
        said = list(pool.map(ask, range(200)))
    for number, text in enumerate(said):
        agent = AGENTS[number // 2 % 2]
        assert text == f"{agent}:{'ab'[number % 2]}{number}"
    for id in "ab":
        assert served.post(1, id=id)[0] == 200
    kept = served.episodes()
    for id in "ab":
        told = [decision.completion.text for decision in kept[id].decisions]
        assert sorted(told) == sorted(t for n, t in enumerate(said) if "ab"[n % 2] == id)
        for agent in AGENTS:
            assert [d.turn for d in kept[id].decisions_of(agent)] == list(range(50))
        assert all(d.completion.text == f"{d.agent}:{d.observation}" for d in kept[id].decisions)


def test_calls_that_wait_are_answered_together(tmp_path):
    policy = Gated()
    with serving(policy, tmp_path / "kept") as served, ThreadPoolExecutor(6) as pool:
        first = pool.submit(served.expert_values, "first", id="e0")
        policy.has_begun()
        others = [
            pool.submit(served.expert_values, f"t{n}", id=f"e{n % 3}", model=AGENTS[n % 2])
            for n in range(5)
        ]
        assert until(lambda: served.gateway._batcher.waiting == 5)
        policy.open(6)
        assert first.result() == "first 0"
        assert [other.result() for other in others] == [f"t{n} 0" for n in range(5)]
    (alone, _, _), (together, _, _) = policy.calls
    assert alone == ["first"]
    assert sorted(together) == [f"t{n}" for n in range(5)]


def test_what_a_lost_client_asked_is_not_recorded(tmp_path):
    policy = Gated()
    with serving(policy, tmp_path / "kept") as served:
        with pytest.raises(openai.APITimeoutError):
            served.client(timeout=0.3).chat.completions.create(model="left", messages=USER)
        policy.has_begun()
        assert until(lambda: policy.requests[0].cancelled.is_set())
        policy.open(2)
        assert served.expert_values("again") == "again 0"
        served.post(1)
    assert [d.observation for d in served.episodes()["one"].decisions] == ["again"]


def test_a_reward_ends_the_calls_that_are_running(tmp_path):
    policy = Gated()
    with serving(policy, tmp_path / "kept") as served, ThreadPoolExecutor(1) as pool:
        policy.open()
        served.expert_values("first")
        policy.has_begun()
        running = pool.submit(served.expert_values, "second")
        policy.has_begun()
        assert served.post(1)[0] == 200
        with pytest.raises(openai.APIStatusError, match="has ended") as gone:
            running.result()
        assert gone.value.status_code == 410
        policy.open()
    assert [d.observation for d in served.episodes()["one"].decisions] == ["first"]


def test_an_idle_episode_is_written_without_a_reward(tmp_path):
    policy = Gated()
    with serving(policy, tmp_path / "kept", idle_s=0.1) as served, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(served.expert_values, "slow", id="slow")
        policy.has_begun()
        time.sleep(0.3)  # a call that is running is no idleness
        policy.open()
        assert slow.result() == "slow 0"
        assert until(served.episodes)
        assert served.post(1, id="slow")[0] == 410
    episode = served.episodes()["slow"]
    assert (episode.terminated, episode.truncated, episode.success) == (False, True, False)
    assert (episode.info["rewarded"], episode.totals["left_0"]) == (False, 0.0)


def test_open_episodes_are_written_at_the_end_and_a_record_goes_on(tmp_path):
    folder = tmp_path / "kept"
    with serving(echo, folder) as served:
        served.expert_values("Hi", id="paid")
        served.post(1, id="paid")
        served.expert_values("Hi", id="left-open")
        served.client("asked-nothing").models.list()
    assert {id: e.terminated for id, e in served.episodes().items()} == {
        "paid": True,
        "left-open": False,
    }
    with serving(echo, folder, resume=True) as again:
        assert again.post(1, id="paid")[0] == 410
        again.expert_values("Hi", id="new")
        again.post(1, id="new")
    assert [*again.episodes()] == ["paid", "left-open", "new"]


def test_the_number_of_open_episodes_is_limited(tmp_path):
    with serving(echo, tmp_path / "kept", max_episodes=2) as served:
        served.expert_values("Hi", id="a")
        served.expert_values("Hi", id="b")
        with pytest.raises(openai.RateLimitError, match="2 episodes are open"):
            served.expert_values("Hi", id="c")
        served.post(1, id="a")
        assert served.expert_values("Hi", id="c") == "left_0:Hi"


def test_a_full_disk_ends_no_episode(served, monkeypatch):
    served.expert_values("Hi")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(served.gateway._folder, "add", full)
        status, why = served.post(1)
        assert (status, "No space left on device" in why) == (500, True)
    assert served.post(1)[0] == 200
    assert len(served.episodes()) == 1


def test_the_noise_belongs_to_the_episode(tmp_path):
    """The same episode gets the same noise beside others; n answers and later calls get their own."""

    def noises(number, between):
        policy = Gated()
        policy.open(100)
        seen = {}
        with serving(policy, tmp_path / str(number)) as served:
            for turn in range(2):
                served.expert_values("Hi", id="same", n=2)
                seen[turn] = [request.noise for request in policy.requests]
                for id in between:
                    served.expert_values("Hi", id=id)
                    seen[id, turn] = policy.requests[0].noise
        return seen

    alone, beside = noises(0, ()), noises(1, ("other",))
    assert [beside[turn] for turn in range(2)] == [alone[turn] for turn in range(2)]
    drawn = [*alone[0], *alone[1], beside["other", 0], beside["other", 1]]
    assert len(set(drawn)) == 6


class Watched(TransformersPolicy):
    """A model with random weights that keeps its completions."""

    def respond(self, requests, group_size=1, *, greedy=False, on_complete=None):
        found = super().respond(requests, group_size, greedy=greedy, on_complete=on_complete)
        self.said = [*getattr(self, "said", []), *found]
        return found


def watched(tokenizer=None):
    tokenizer = tokenizer or tiny_models.tokenizer()
    model = tiny_models.model(max_position_embeddings=1024, vocab_size=len(tokenizer))
    return Watched(model, tokenizer, sampling=Sampling(max_new_tokens=6))


@pytest.mark.parametrize("kind", ["plain", "chat"])
def test_the_record_has_the_sampled_tokens_of_a_conversation(tmp_path, kind):
    policy = watched(chat_tokenizer() if kind == "chat" else None)
    talk, prompts = list(USER), []
    with serving(policy, tmp_path / "kept") as served:
        for _ in range(3):
            said = served.expert_values(talk)
            prompts.append(list(talk))
            talk += [{"role": "assistant", "content": said}, {"role": "user", "content": "More"}]
        served.post(1)
    decisions = served.episodes()["one"].decisions
    assert [d.completion for d in decisions] == [found for (found,) in policy.said]
    assert all(d.completion.ids and d.completion.prompt_ids for d in decisions)
    assert all(len(d.completion.ids) == len(d.completion.logprobs) for d in decisions)
    assert [list(d.observation.messages) for d in decisions] == prompts
    for before, after in pairwise(decisions):
        whole = (*before.completion.prompt_ids, *before.completion.ids)
        assert after.completion.prompt_ids[: len(whole)] == whole
    # what sft reads: the same conversation, and so the same prompt
    read = Demonstrations(str(tmp_path / "kept")).next_episode(0)
    assert read == Demonstrations(str(tmp_path / "kept" / "episodes.jsonl")).next_episode(0)
    first = read.decisions[0]
    assert policy.encode(first.observation, "left_0") == first.completion.prompt_ids
    assert read.decisions[1].observation.messages == tuple(prompts[1])


def test_a_mixed_call_gives_each_agent_its_own_policy():
    from llmzoo.serve.agent_router import AgentRouter

    early = Gated()
    early.open(2)
    policy = AgentRouter({"left_0": echo, "right_1": early})
    requests = [asks(str(n), agent=AGENTS[n % 2])[0] for n in range(4)]
    told = {}
    found = policy.respond(requests, on_complete=told.__setitem__)
    said = [["left_0:0"], ["1 0"], ["left_0:2"], ["3 0"]]
    assert texts(found) == said
    assert texts([told[n] for n in range(4)]) == said


def test_an_answer_that_was_refused_is_not_imitated(tmp_path):
    """The second prompt is too long for the model, which reads 1024 tokens."""
    policy = watched()
    with serving(policy, tmp_path / "kept") as served:
        served.expert_values("Hi")
        with pytest.warns(UserWarning, match="exceeds the available context"):
            assert served.expert_values("left " * 2000) == ""
        served.post(1)
    config = SFTConfig(source=str(tmp_path / "kept"), learning_rate=1e-4)
    agent_policies = dict.fromkeys(AGENTS, policy)
    updater = SFT(config).updater(
        RunPolicies(policies={"policy": policy}, agent_policies=agent_policies, total_steps=1)
    )
    episode = updater.demonstrations.next_episode(0)
    assert [d.completion.refused for d in episode.decisions] == [False, True]
    assert updater.update(Batch(episodes=(episode,)), seed=0)["examples"] == 1


def test_agents_have_policies_of_their_own(tmp_path):
    from llmzoo.serve.agent_router import load_models_for_agents

    agents = load_models_for_agents(
        AGENTS,
        "tiny",
        {"right_1": {"temperature": 0.5, "max_new_tokens": 3}},
        LoadSettings(sampling={"top_k": 4}),
    )
    assert agents["left_0"].model is agents["right_1"].model
    assert [agents[a].sampling_for(a).temperature for a in AGENTS] == [1.0, 0.5]
    assert [agents[a].sampling_for(a).max_new_tokens for a in AGENTS] == [64, 3]
    assert [agents[a].sampling_for(a).top_k for a in AGENTS] == [4, 4]
    tiny_models.policy().save(tmp_path / "own")
    apart = load_models_for_agents(AGENTS, "tiny", {"right_1": {"policy": str(tmp_path / "own")}})
    assert apart["right_1"].name == str(tmp_path / "own")
    assert apart["left_0"].name == "tiny"


@pytest.mark.parametrize(
    ("policy", "agent_args", "why"),
    [
        ("expert", {}, "'expert' cannot answer for 'left_0': it looks at the environment"),
        ("tiny", {"mid": {"top_k": 1}}, "unknown agent 'mid'"),
        (
            "tiny",
            {"left_0": {"learning_rate": 0.1}},
            "has the setting learning_rate, but no agent learns here: leave it out",
        ),
        ("tiny", {"left_0": {"temperature": -1.0}}, "agent 'left_0': temperature is"),
    ],
)
def test_agents_that_are_refused(policy, agent_args, why):
    from llmzoo.serve.agent_router import load_models_for_agents

    with pytest.raises((ConfigError, UnknownNameError), match=why):
        load_models_for_agents(AGENTS, policy, agent_args)


def test_a_page_in_a_browser_needs_a_token(tmp_path):
    from llmzoo.envs.programs.chat_server import ChatServer
    from llmzoo.envs.programs.http_server import listen
    from llmzoo.serve.gateway import PolicyGateway

    before = set(threading.enumerate())  # environments of other tests may have a gateway
    with (
        open_episode_folder(tmp_path / "kept", {}, resume=False, replay_interrupted=False) as kept,
        listen() as listening,
    ):
        gateway = PolicyGateway(dict.fromkeys(AGENTS, echo), kept, token=None)
        server = ChatServer(gateway, listening)
        try:
            url = f"{server.address}/v1/models"
            assert urllib.request.urlopen(url, timeout=10).status == 200
            asked = urllib.request.Request(url, headers={"Origin": "http://evil.example"})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(asked, timeout=10)
            assert refused.value.code == 403
        finally:
            server.stop()
            gateway.close()
    left = set(threading.enumerate()) - before
    assert not [t for t in left if t.name in ("llmzoo serve gateway", "llmzoo idle")]


def test_a_token_lies_in_a_file_of_this_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    token = tokens.write_token("127.0.0.1", 12345)
    file = token_file("127.0.0.1", 12345)
    assert file.read_text() == token
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_half_of_a_surrogate_pair_reaches_neither_policy_nor_record(tmp_path):
    """A tokenizer cannot read it, and a file cannot hold it."""
    with serving({"left_0": watched(), "right_1": echo}, tmp_path / "kept") as served:
        for model in ("left", "right"):
            talk = [{"role": "user", "content": "\ud800"}]
            body = {"model": model, "messages": talk}
            status, why = served.post(body, path="v1/chat/completions")
            assert (status, "surrogate" in why) == (400, True)
        served.expert_values("Hi", model="right")
        assert served.post({"reward": {"\ud800": 1}})[0] == 400
        assert served.post(1)[0] == 200
    assert [d.observation for d in served.episodes()["one"].decisions] == ["Hi"]
