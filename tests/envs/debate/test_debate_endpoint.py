"""A language model as judge, here a local server that answers what the test tells it to."""

from __future__ import annotations

import builtins
import json
import pickle
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from llmzoo.endpoints import Endpoint
from llmzoo.envs.debate import players
from llmzoo.envs.debate.env import DebateEnv
from llmzoo.envs.debate.judge.endpoint import RUBRIC, EndpointJudge, parse_scores
from llmzoo.envs.debate.tasks import Debate, Speech, load_topics
from llmzoo.errors import ConfigError, MissingExtraError, ServiceError, UnknownNameError

pytest.importorskip("openai", reason="the extra 'openai' is not installed")


@pytest.fixture
def server():
    """An endpoint: ``answers`` are given in turn (the last one from then on), a number is a status, bytes are a
    whole body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            web.asked.append((self.path, self.headers["Authorization"], asked))
            answer = web.answers.pop(0) if len(web.answers) > 1 else web.answers[0]
            time.sleep(web.delay)
            message = {"role": "assistant", "content": answer}
            body = json.dumps(
                {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "m",
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                }
                if isinstance(answer, str)
                else {"error": {"message": "refused"}}
            ).encode()
            if isinstance(answer, bytes):
                body = answer
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            """Quiet."""

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.daemon_threads = True
    web.asked, web.answers, web.delay = [], ["{}"], 0.0
    web.url = f"http://127.0.0.1:{web.server_address[1]}/v1"
    thread = threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield web
    web.shutdown()
    web.server_close()
    thread.join()


def endpoint(server, **kwargs):
    return Endpoint(model="m", base_url=server.url, api_key_env=None, **kwargs)


def debate():
    topic = load_topics()[0]
    empty = Debate(topic, 1)
    return Debate(
        topic,
        1,
        tuple(Speech(f"{s}_0", s, "opening", players.expert(empty, s)) for s in ("pro", "con")),
    )


def test_a_judges_thoughts_are_no_verdict(server):
    verdicts = ['{"A": 7, "B": 3}', '{"A": 2, "B": 6}']
    server.answers = [f'<think>Perhaps {{"A": 1, "B": 9}}</think>\n\n{v}' for v in verdicts]
    # the side for the motion is A first: 7, then B: 6; the other 3, then 2
    scores = EndpointJudge(endpoint(server))(debate())
    assert scores == pytest.approx({"pro": 0.65, "con": 0.25})
    server.answers = ['<think>{"A": 7, "B": 3}']
    with pytest.raises(ServiceError, match="an unclosed thought"):
        EndpointJudge(endpoint(server))(debate())


def test_both_orders_are_asked_and_averaged(server):
    server.answers = ['{"A": 8, "B": 2}', '```json\n{"A": 4, "B": 6}\n```']
    # the side for the motion is A first: 8, then B: 6; the other 2, then 4
    assert EndpointJudge(endpoint(server))(debate()) == pytest.approx({"pro": 0.7, "con": 0.3})
    (path, _, first), (_, _, second) = server.asked
    assert path == "/v1/chat/completions"
    assert first["messages"][0]["content"] == RUBRIC
    texts = [asked["messages"][1]["content"] for asked in (first, second)]
    assert "Side A is for the motion" in texts[0]
    assert "Side A is against the motion" in texts[1]
    assert all(speech.text in text for speech in debate().speeches for text in texts)


def test_a_judge_that_likes_the_first_side_favours_nobody(server):
    server.answers = ['{"A": 9, "B": 1}']
    assert EndpointJudge(endpoint(server))(debate()) == pytest.approx({"pro": 0.5, "con": 0.5})


def test_nonsense_is_asked_again_once_and_is_then_a_failure(server):
    server.answers = ["Side A was great!", '{"A": 10, "B": 0}', '{"A": 0, "B": 10}']
    assert EndpointJudge(endpoint(server))(debate()) == pytest.approx({"pro": 1.0, "con": 0.0})
    assert len(server.asked) == 3
    server.answers = ['{"A": 11, "B": 0}']
    with pytest.raises(ServiceError, match="gave no scores in 2 attempts"):
        EndpointJudge(endpoint(server))(debate())
    assert len(server.asked) == 3 + 2


def test_a_slow_or_broken_endpoint_is_a_failure(server):
    server.answers, server.delay = ['{"A": 9, "B": 1}'], 1.0
    with pytest.raises(ServiceError, match="APITimeoutError"):
        EndpointJudge(endpoint(server, timeout_s=0.1))(debate())
    server.answers, server.delay = [503], 0.0
    with pytest.raises(ServiceError, match="status 503"):
        EndpointJudge(endpoint(server))(debate())


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"<html>hello</html>", b"[1, 2]", b"null", b"\xff\xfe{", b"{}"),
        *(b'{"choices": []}', b'{"choices": [{}]}', b'{"choices": [{"message": null}]}'),
        *(b'{"choices": "abc"}', b'{"choices": {"0": 1}}'),
        b'{"choices": [{"message": {"content": [1, 2]}}]}',
    ],
)
def test_a_body_that_is_no_chat_completion_is_a_failure(server, body):
    server.answers = [body]
    with pytest.raises(ServiceError, match=r"no chat completion|no text|Error"):
        EndpointJudge(endpoint(server))(debate())


@pytest.mark.parametrize("status", [401, 404])
def test_a_refusal_is_the_programmers_to_mend(server, status):
    server.answers = [status]
    with pytest.raises(ConfigError, match="refuses the judge 'm'"):
        EndpointJudge(endpoint(server))(debate())


def test_in_the_environment_it_pays_at_the_end(server, monkeypatch):
    server.answers = ['{"A": 10, "B": 0}', '{"A": 0, "B": 10}']
    monkeypatch.setenv("DEBATE_KEY", "secret")
    settings = {"model": "m", "base_url": server.url, "api_key_env": "DEBATE_KEY"}
    env = DebateEnv(judge="endpoint", endpoint=settings, max_turns=2)
    env.reset(seed=0)
    for agent in ("pro_0", "con_1", "pro_0"):
        env.step(env.expert(agent))
        assert env.rewards == {"pro_0": 0.0, "con_1": 0.0}
    env.step(env.expert("con_1"))
    assert env.rewards == {"pro_0": 1.0, "con_1": -1.0}
    assert env.infos["pro_0"]["reward_components"] == {"verdict": 1.0, "opponent": 0.0}
    assert server.asked[0][1] == "Bearer secret"
    assert pickle.loads(pickle.dumps(env.judge)) == env.judge


def test_settings_that_cannot_be_used(monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(ConfigError, match="NO_SUCH_KEY holds no key"):
        DebateEnv(judge="endpoint", endpoint={"model": "m", "api_key_env": "NO_SUCH_KEY"})
    with pytest.raises(UnknownNameError, match="unknown key of endpoint 'key'"):
        DebateEnv(judge="endpoint", endpoint={"model": "m", "key": "x"})
    with pytest.raises(ConfigError, match="timeout_s must be positive"):
        Endpoint(model="m", timeout_s=0)


def test_a_missing_package_is_named(monkeypatch):
    imported = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "openai":
            raise ModuleNotFoundError("No module named 'openai'", name="openai")
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[openai\]"):
        DebateEnv(judge="endpoint", endpoint={"model": "m", "api_key_env": None})


@pytest.mark.parametrize(
    "answer",
    [
        *("", "A: 5, B: 4", '{"A": 5}', '{"A": 5, "B": 4, "C": 1}', '{"A": "5", "B": 4}', "[5, 4]"),
        *('{"A": true, "B": 0}', '{"A": NaN, "B": 0}', '{"A": -1, "B": 0}', "[" * 100_000),
        'Sure: {"A": 5, "B": 4}',
        '{"A": 1' + "0" * 400 + ', "B": 0}',
    ],
)
def test_answers_that_are_no_scores(answer):
    assert parse_scores(answer) is None
