"""Where a key goes: to the address that the user named it for, and into no text."""

from __future__ import annotations

import gzip
import json
import threading
import warnings
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat

import pytest
from quick_cases import slow_but
from toy_envs import Matcher

from llmzoo.cli.arguments import check_env_args
from llmzoo.cli.options import parse_options
from llmzoo.endpoints import OPENAI_URL, Endpoint, make_client, parse_endpoint
from llmzoo.envs.debate.env import DebateEnv
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.policies import load
from llmzoo.policies.base import PolicyRequest
from llmzoo.serve import tokens

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

KEY = "sk-" + "s3cret" * 4
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "hi"},
            "finish_reason": "stop",
        }
    ],
}


@contextmanager
def listening(status=200, body=None, **headers):
    """A server that gives one answer always; ``heard`` has the headers of each call."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            web.heard.append({n.lower(): v for n, v in self.headers.items()})
            sent = json.dumps(ANSWER if body is None else body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST

        def log_message(self, *args):
            """Quiet."""

    with served(Handler) as web:
        web.heard = []
        yield web


@contextmanager
def served(handler):
    """A server that answers with ``handler``; ``url`` is its address."""
    web = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    web.url = f"http://127.0.0.1:{web.server_address[1]}/v1"
    thread = threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.shutdown()
        web.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("LLMZOO_ENDPOINT_KEYS", raising=False)


def ask(name, **options):
    policy = load(name, retries=0, **options)
    return policy.respond([PolicyRequest(agent="a", observation="?", env=Matcher())])[0][0]


def test_openais_key_goes_to_no_other_address(monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: pass-of-mine\nAuthorization: Basic abc")
    with listening() as web:
        assert ask(f"openai:m@{web.url}").text == "hi"
    assert web.heard[0]["authorization"] == "Bearer none"
    sent = json.dumps(web.heard)
    assert "of-mine" not in sent
    assert KEY not in sent


def test_nor_does_the_judge_of_a_debate_send_it():
    with listening() as web:
        env = DebateEnv(judge="endpoint", endpoint={"model": "m", "base_url": web.url}, max_turns=2)
        env.reset(seed=0)
        for agent in ("pro_0", "con_1", "pro_0"):
            env.step(env.expert(agent))
        env.step(env.expert("con_1"))
        assert "gave no scores" in env.infos["pro_0"]["failure"]  # it only says hi
    assert [call["authorization"] for call in web.heard] == ["Bearer none"] * 2


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        (OPENAI_URL, "OPENAI_API_KEY"),
        ("https://api.openai.com/v2", "OPENAI_API_KEY"),
        ("http://api.openai.com/v1", None),  # anybody on the way could read it
        ("https://api.openai.com.evil.org/v1", None),
        ("https://evil.org/api.openai.com/v1", None),
        ("http://localhost:8000/v1", None),
        ("https://openrouter.ai/api/v1", "ROUTER_KEY"),
        ("https://OPENROUTER.ai/api/v1", "ROUTER_KEY"),
        ("https://not.openrouter.ai/api/v1", None),
    ],
)
def test_which_key_is_for_an_address(monkeypatch, url, variable):
    monkeypatch.setenv("LLMZOO_ENDPOINT_KEYS", "openrouter.ai=ROUTER_KEY, my.org = MINE")
    assert Endpoint(model="m", base_url=url).key_env == variable
    assert Endpoint(model="m", base_url=url, api_key_env="OTHER").key_env == "OTHER"
    assert Endpoint(model="m", base_url=url, api_key_env=None).key_env is None


def test_a_key_that_is_named_for_the_address_is_sent(monkeypatch):
    monkeypatch.setenv("MINE", "my own")
    with listening() as web:
        ask(f"openai:m@{web.url}", api_key_env="MINE")
        monkeypatch.setenv("LLMZOO_ENDPOINT_KEYS", "127.0.0.1=MINE")
        ask(f"openai:m@{web.url}")
        monkeypatch.setenv("LLMZOO_ENDPOINT_KEYS", "127.0.0.1=OPENAI_API_KEY")
        ask(f"openai:m@{web.url}")
    assert [call["authorization"] for call in web.heard] == [
        "Bearer my own",
        "Bearer my own",
        f"Bearer {KEY}",
    ]


def test_without_a_key_where_one_is_needed(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY holds no key"):
        load("openai:gpt-5")
    monkeypatch.setenv("LLMZOO_ENDPOINT_KEYS", "localhost")
    with pytest.raises(ConfigError, match="a list of HOST=VARIABLE"):
        load("openai:m@http://localhost:1/v1")


def test_no_redirection_takes_the_key_elsewhere(monkeypatch):
    monkeypatch.setenv("MINE", "my own")
    with (
        listening() as other,
        listening(status=307, Location=f"{other.url}/my own") as web,
        pytest.raises(ConfigError, match=r"it leads to .*/\(key\), which is not followed"),
    ):
        ask(f"openai:m@{web.url}", api_key_env="MINE")
    assert web.heard[0]["authorization"] == "Bearer my own"
    assert other.heard == []


@pytest.mark.parametrize("status", [401, 503])
def test_an_error_that_repeats_the_key_does_not_pass_it_on(monkeypatch, status):
    monkeypatch.setenv("MINE", KEY)
    with listening(status=status, body={"error": {"message": f"bad key {KEY}!"}}) as web:
        name = f"openai:m@{web.url}"
        if status == 401:
            with pytest.raises(ConfigError, match=r"bad key \(key\)!") as caught:
                ask(name, api_key_env="MINE")
            assert caught.value.__suppress_context__  # a traceback would show it
        else:
            with pytest.warns(UserWarning, match=r"bad key \(key\)!"):
                ask(name, api_key_env="MINE")


def test_plain_http_to_another_machine_is_warned_of(monkeypatch):
    monkeypatch.setenv("MINE", "my own")
    for host in ("localhost", "127.0.0.1", "[::1]"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make_client(Endpoint(model="m", base_url=f"http://{host}:1/v1", api_key_env="MINE"))
    for host in ("10.0.0.7", "gpu-box", "localhost.evil.org"):
        with pytest.warns(UserWarning, match=f"MINE goes to {host} over plain http"):
            make_client(Endpoint(model="m", base_url=f"http://{host}:1/v1", api_key_env="MINE"))


def test_a_key_in_place_of_its_variable_is_not_repeated():
    with pytest.raises(ConfigError, match="not the key") as caught:
        Endpoint(model="m", api_key_env=KEY)
    assert KEY not in str(caught.value)
    with pytest.raises(ConfigError, match="must have no user") as caught:
        parse_endpoint(f"openai:m@https://me:{KEY}@x.org/v1")
    assert KEY not in str(caught.value)
    with pytest.raises(ConfigError, match="must have no user"):
        parse_endpoint(f"openai:m@https://x.org/v1?api-key={KEY}")


@pytest.mark.parametrize("url", ["localhost:8000/v1", "file:///etc/passwd", "https://", ""])
def test_addresses_of_no_endpoint(url):
    with pytest.raises(ConfigError, match="base_url is an address such as"):
        Endpoint(model="m", base_url=url)


# In configuration files


def debate(tmp_path, endpoint):
    """The arguments of a debate, as a YAML file gives them."""
    from llmzoo.cli.eval import EvalOptions

    path = tmp_path / "debate.yaml"
    path.write_text(f"env: debate_v0\nenv_args:\n  judge: endpoint\n  endpoint: {endpoint}\n")
    given = parse_options("eval", ["--config", str(path)], EvalOptions)
    return check_env_args("debate_v0", given["env_args"], split="use --split")


def test_an_endpoint_as_a_mapping_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("MINE", "my own")
    written = "{model: m, base_url: 'http://localhost:1/v1', api_key_env: MINE, timeout_s: 3}"
    result = debate(tmp_path, written)["endpoint"]
    wanted = {
        "model": "m",
        "base_url": "http://localhost:1/v1",
        "api_key_env": "MINE",
        "timeout_s": 3,
    }
    assert result == wanted
    assert type(result) is dict  # what config.json holds
    parts = [f"--env.endpoint.{name}={value}" for name, value in wanted.items()]
    from llmzoo.cli.eval import EvalOptions

    given = parse_options(
        "eval", ["--env", "debate_v0", "--env.judge", "endpoint", *parts], EvalOptions
    )
    assert check_env_args("debate_v0", given["env_args"], split="")["endpoint"] == wanted
    assert debate(tmp_path, "{model: m, api_key_env: null}")["endpoint"] == {
        "model": "m",
        "api_key_env": None,
    }


def test_a_key_of_the_mapping_that_is_unknown(tmp_path):
    with pytest.raises(UnknownNameError, match=r"unknown key of endpoint 'base_ur'.*'base_url'"):
        debate(tmp_path, "{model: m, base_ur: 'http://localhost:1/v1'}")
    with pytest.raises(UnknownNameError, match="unknown key of endpoint 'api_key'"):
        debate(tmp_path, f"{{model: m, api_key: {KEY}}}")
    with pytest.raises(ConfigError, match="model must be named"):
        debate(tmp_path, "{base_url: 'http://localhost:1/v1'}")
    for wrong in ("model: 3", "model: m, timeout_s: soon", "model: m, api_key_env: [A]"):
        with pytest.raises(ConfigError, match="of endpoint must be"):
            debate(tmp_path, f"{{{wrong}}}")


@pytest.mark.parametrize("url", ["https://[x]/", "https://a:x/v1", "https://a:99999/v1"])
def test_an_address_that_cannot_be_read(url):
    with pytest.raises(ConfigError, match="is an address such as"):
        load(f"openai:m@{url}")


# What a reply may be


@contextmanager
def streaming(status, headers, parts):
    """A server that sends one reply in any number of parts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            web.asked.append(self.headers.get("Accept-Encoding"))
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            with suppress(ConnectionError):
                for part in parts:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                    web.sent += len(part)
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

        def log_message(self, *args):
            """Quiet."""

    with served(Handler) as web:
        web.asked, web.sent = [], 0
        yield web


def judged(web):
    """Have a debate judged by an endpoint, in vain; returns what its players are told."""
    debate = DebateEnv(judge="endpoint", endpoint={"model": "m", "base_url": web.url}, max_turns=2)
    debate.reset(seed=0)
    for agent in ("pro_0", "con_1", "pro_0"):
        debate.step(debate.expert(agent))
    debate.step(debate.expert("con_1"))
    return debate.infos["pro_0"]["failure"]


def asked(web):
    """Have an endpoint answer, in vain; returns the warning."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert ask(f"openai:m@{web.url}").text == ""
    return str(warned[0].message)


@pytest.mark.parametrize("call", [asked, judged])
@pytest.mark.parametrize(
    "coding", slow_but(["gzip", "identity, gzip"], ["gzip", "deflate", "br", "identity, gzip"])
)
@pytest.mark.parametrize("status", [200, 500])
def test_a_compressed_reply_is_not_unpacked(call, coding, status):
    body = gzip.compress(json.dumps(ANSWER).encode())
    why = "compressed reply" if call is asked else "no scores"
    with streaming(status, {"Content-Encoding": coding}, [body]) as web:
        assert why in call(web)
    assert set(web.asked) == {"identity"}


@pytest.mark.parametrize("call", [asked, judged])
@pytest.mark.parametrize("status", [200, 400, 503])
def test_a_reply_that_does_not_end_is_left(call, status):
    why = "longer than" if call is asked else "no scores"
    with streaming(status, {}, repeat(b" " * 2**20, 200)) as web:
        assert why in call(web)
    assert web.sent < 30 * 2**20 * len(web.asked)


def test_a_long_reply_is_read():
    said = "a" * 2**20
    (choice,) = ANSWER["choices"]
    long = {**ANSWER, "choices": [{**choice, "message": {"role": "assistant", "content": said}}]}
    for coding in ({}, {"Content-Encoding": "identity"}):
        with streaming(200, coding, [json.dumps(long).encode()]) as web:
            assert ask(f"openai:m@{web.url}").text == said


@pytest.mark.parametrize("status", slow_but([302, 307], [301, 302, 303, 307, 308]))
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
@pytest.mark.parametrize("call", [asked, judged])
def test_no_redirection_takes_a_prompt_elsewhere(call, status, host):
    with listening() as other:
        place = f"{other.url}/chat/completions".replace("127.0.0.1", host)
        with (
            listening(status=status, Location=place) as web,
            pytest.raises(ConfigError, match=rf"leads to {place}"),
        ):
            call(web)
    assert other.heard == []
    assert len(web.heard) == 1


def test_a_server_on_this_machine_gets_the_token_that_it_has_left(monkeypatch, tmp_path):
    """The address decides: no other server is sent it, and no other machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LLMZOO_ENDPOINT_KEYS", raising=False)
    secret = tokens.write_token("127.0.0.1", 8123)

    def key(url, **options):
        return Endpoint(model="m", base_url=url, **options).key

    assert key("http://127.0.0.1:8123/v1") == secret
    others = ["http://127.0.0.1:8124/v1", "http://127.0.0.1/v1", "http://gpu1.example:8123/v1"]
    # another user may listen at the same port of these
    others += ["http://[::1]:8123/v1", "http://127.0.0.2:8123/v1", "http://localhost:8123/v1"]
    for other in others:
        assert key(other) is None
    assert key("http://127.0.0.1:8123/v1", api_key_env=None) is None
    monkeypatch.setenv("LLMZOO_ENDPOINT_KEYS", "127.0.0.1=MINE")
    monkeypatch.setenv("MINE", "another")
    assert key("http://127.0.0.1:8123/v1") == "another"
    monkeypatch.delenv("LLMZOO_ENDPOINT_KEYS")
    local = Endpoint(model="m", base_url="http://127.0.0.1:8123/v1")
    assert local.redact_key(f"wrong: {secret}") == "wrong: (key)"
    tokens.remove_token("127.0.0.1", 8123, secret)
    assert local.key is None
