"""The command line plays with policies elsewhere: those of our servers, and those of endpoints."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import tiny_models
from policy_servers import asks, served

from llmzoo.cli.serve import ServeOptions, build_services
from llmzoo.errors import ConfigError
from llmzoo.policies import load
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.policies.settings import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.serve.hosting import ServeConfig, start_server
from llmzoo.serve.policies_hosted import load_hosted

ENV = ["--env", "sudoku_v0", "--env.max_turns", "1"]


def model(**options):
    """One with room for a board, which is shown tersely."""
    made = tiny_models.model(max_position_embeddings=1024, llmzoo_prompt="terse")
    return TransformersPolicy(made, tiny_models.tokenizer(), name="small", **options)


@pytest.fixture(scope="module")
def server():
    with served(model(sampling=Sampling(max_new_tokens=6)), new_tokens=20) as (running, _):
        yield running


def evaluated(call, policy, *options):
    code, out, err = call(
        *("eval", *ENV, "--policy", policy, "--tasks", 4, "--seed", 3, "--json"), *options
    )
    assert code == 0, err
    return json.loads(out)


def test_eval(server, call, tmp_path):
    model().save(tmp_path / "model")
    far = evaluated(call, server.address)
    near = evaluated(call, tmp_path / "model", "--max-new-tokens", 6)
    assert far.pop("policy") == f"small@{server.address}"
    del near["policy"], far["seconds"], near["seconds"]
    assert far == near
    settings = ("--temperature", 0.6, "--top-k", 9, "--max-new-tokens", 5)
    far, near = (
        evaluated(call, server.address, *settings),
        evaluated(call, tmp_path / "model", *settings),
    )
    assert far["tokens"] == near["tokens"]
    assert far["mean_return"] == near["mean_return"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-new-tokens", "21"], "max_new_tokens=21 is above the limit of grpc://127.0.0.1:"),
        (["--temperature", "-1"], "temperature is 0.0001 to 100, got -1"),
        (["--policy", "grpc://127.0.0.1:1"], "no server can be reached at grpc://127.0.0.1:1"),
        (["--policy", "grpc://me@127.0.0.1"], "must not contain a user or a token"),
    ],
)
def test_what_eval_refuses(server, call, options, said):
    code, _, err = call("eval", *ENV, "--policy", server.address, "--tasks", "2", *options)
    assert code == 2
    assert said in err


def test_play(server, call):
    code, out, err = call("play", "sudoku_v0", "--policy", server.address, "--seed", "3")
    assert code == 0, err
    assert f"--- proposer_0 (small@{server.address}) ---" in out
    assert "returns: proposer_0 " in out


@pytest.mark.slow
def test_train_beside_a_model_elsewhere(server, call, tmp_path, monkeypatch):
    """One agent learns, and the server plays the other."""
    monkeypatch.delenv("LLMZOO_TOKEN", raising=False)  # a folder's server would not be sent one
    model().save(tmp_path / "model")
    small = [
        "--steps",
        "2",
        "--episodes_per_step",
        "2",
        "--eval-tasks",
        "2",
        "--max-new-tokens",
        "6",
        "--trackers",
        "[]",
        "--quiet",
    ]

    def train(name, *options):
        out = tmp_path / name
        learns = ("--model", tmp_path / "model", "--policies", "proposer_0")
        code, _, err = call("train", *ENV, *learns, *small, "--out", out, *options)
        assert code == 0, err
        rows = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
        return [{k: v for k, v in row.items() if "second" not in k} for row in rows]

    first = train("far", "--others", server.address)
    # said in another way, and a run can be repeated
    assert first == train("agent", "--agent.planner_1.policy", server.address)
    before = json.loads((tmp_path / "far" / "before.json").read_text())
    assert before["tokens"] > 0
    code, out, err = call("eval", *ENV, "--policy", tmp_path / "far", "--tasks", "2", "--json")
    assert code == 0, err  # its other agent is asked for there
    assert json.loads(out)["tasks"] == 2
    with served(load_hosted(str(tmp_path / "far"))) as (running, _):
        far = load(running.address)
        assert far.with_sampling().sampling.max_new_tokens == 6  # as in the run
        (folder,) = (tmp_path / "far" / "checkpoints" / "step_000002").glob("*_?")
        assert far.name == f"{folder}@{running.address}"
    (folder.parent / "planner_1").mkdir()
    with pytest.raises(ConfigError, match=r"several policies.*planner_1, .*proposer_0"):
        load_hosted(str(tmp_path / "far"))
    code, _, err = call("train", *ENV, "--model", server.address, "--out", tmp_path / "no")
    assert code == 2
    assert "cannot learn" in err


@pytest.fixture
def endpoint():
    """A server of OpenAI's chat completions, which answers everything alike; ``asked``: bodies."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            web.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            message = {"role": "assistant", "content": "I pass"}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            reply = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
            sent = json.dumps({**reply, "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *args):
            """Quiet."""

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.daemon_threads, web.asked = True, []
    web.url = f"http://127.0.0.1:{web.server_address[1]}/v1"
    thread = threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield web
    web.shutdown()
    web.server_close()
    thread.join()


def test_eval_with_an_endpoint(endpoint, call):
    pytest.importorskip("openai", reason="the extra 'openai' is not installed")
    name = f"openai:m@{endpoint.url}"
    report = evaluated(call, name, "--max-new-tokens", 9)
    assert (report["policy"], report["tasks"], report["tokens"]) == (name, 4, 0)
    assert len(endpoint.asked) == 4 * 2  # an answer of each agent
    assert {(body["model"], body["max_tokens"]) for body in endpoint.asked} == {("m", 9)}
    # a policy server may stand before it
    endpoint.asked.clear()
    with served(load_hosted(name)) as (running, _):
        report = evaluated(call, running.address, "--max-new-tokens", 8)
        assert load(running.address).with_sampling(top_k=3).name == f"{name}@{running.address}"
    assert (report["policy"], report["tasks"]) == (f"{name}@{running.address}", 4)
    assert {body["max_tokens"] for body in endpoint.asked} == {8}


@pytest.mark.slow
def test_a_client_needs_no_torch(server):
    """Where there are environments and no model, the package of models is not loaded."""
    code = (
        "import sys; from llmzoo.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "assert 'torch' not in sys.modules\n"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "eval", *ENV, "--tasks", "2", "--policy", server.address],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "small@grpc://" in done.stdout.replace("\n", "")


def test_what_serve_is_asked_to_host(endpoint):
    pytest.importorskip("openai", reason="the extra 'openai' is not installed")
    name = f"openai:m@{endpoint.url}"
    options = {"policy": name, "policy_args": {"calls": 5, "rows": 9}, "max_message_bytes": 2**17}
    (offer,) = build_services(ServeOptions(**options))
    try:
        assert (offer.kind, offer.names, offer.waiting) == ("policy", [name], 5)
        with start_server(ServeConfig(port=0), [offer.service]) as running:
            policy = load(running.address)
            with pytest.raises(ConfigError, match="at most 9 answers to a prompt"):
                policy.respond(asks("x"), 10)
            with pytest.raises(ConfigError, match="beyond the 131072 bytes"):
                policy.respond(asks("x" * 2**17))
    finally:
        offer.service.close()
    both = build_services(ServeOptions(**options, envs="sudoku_v0"))
    for offer in both:
        offer.service.close()
    assert [(offer.kind, offer.names) for offer in both] == [
        ("environments", ["sudoku_v0"]),
        ("policy", [name]),
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "expert"], "'expert' cannot be served"),
        (["--policy", "no/model"], "no policy or model 'no/model'"),
        (["--policy", "tiny", "--policy.rws", "3"], "Did you mean 'rows'?"),
        (["--policy", "tiny", "--policy.rows", "many"], "must be a whole number"),
        (["--policy", "tiny", "--policy.rows", "0"], "at least 1"),
        (["--policy.rows", "3"], "need --policy"),
        (["--system", "x"], "system need --policy"),
        (["--policy", "tiny", "--system", "x"], "no chat template: system would have no effect"),
        (["--envs", "none"], "give --envs or --policy"),
    ],
)
def test_what_serve_refuses(call, options, said):
    code, _, err = call("serve", *options)
    assert code == 2
    assert said in err


def test_functions_can_be_served(call):
    """Whatever looks at the observation alone."""
    with served(ScriptedPolicy(lambda request: request.observation[-1:], "last")) as (running, _):
        assert evaluated(call, running.address)["policy"] == f"last@{running.address}"
