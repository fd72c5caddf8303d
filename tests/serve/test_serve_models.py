"""``llmzoo serve`` in a process of its own, the page about it, and the models that it finds."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
import tiny_models
from endpoint_servers import serving_command

from llmzoo.errors import ConfigError
from llmzoo.policies import check_model, load
from llmzoo.policies.base import PolicyRequest
from llmzoo.serve.served_models import list_run_agents, load_models

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "serving_policies.md").read_text()
URL = "http://127.0.0.1:8000"  # on the page
SMALLER = {"eval": ["--tasks", "2"], "train": ["--steps", "1", "--eval_tasks", "2"]}
HI = [{"role": "user", "content": "sudoku"}]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def commands(program):
    lines = "".join(blocks("bash")).replace("\\\n", " ").splitlines()
    return [words for words in map(shlex.split, lines) if words and words[0] == program]


def make_run(folder, **changes):
    """The folder of a run of two agents, each with a model of its own."""
    config = {"env": "sudoku_v0", "env_args": {}, "model": "tiny", "policies": "separate"}
    config |= {"others": "expert", "temperature": 0.5, "top_p": 1.0, "top_k": 0}
    config |= {"max_new_tokens": 5, **changes}
    (folder / "config.json").write_text(json.dumps(config))
    for seed, agent in enumerate(("proposer_0", "planner_1")):
        tiny_models.policy(seed=seed).save(folder / "checkpoints" / "step_000002" / agent)
    return folder


# What is served


def test_every_agent_of_a_run_is_a_model(tmp_path):
    run = make_run(tmp_path)
    assert list_run_agents(run) == ["proposer_0", "planner_1"]  # from the environment
    for name in (run, run / "checkpoints" / "step_000002"):
        models = load_models(str(name))
        assert list(models) == ["proposer_0", "planner_1"]
        samplings = {(m.sampling.temperature, m.sampling.max_new_tokens) for m in models.values()}
        assert samplings == {(0.5, 5)}
        request = PolicyRequest(agent="x", observation="up", env=None, key=1)
        said = [model.policy.respond([request])[0][0].ids for model in models.values()]
        assert said[0] != said[1]
    (alone,) = load_models(str(run / "checkpoints" / "step_000002" / "planner_1"))
    assert alone == "planner_1"


def test_the_agents_are_those_of_the_first_evaluation(tmp_path):
    """The environment is not needed then, which may be code that is not here."""
    run = make_run(tmp_path, env="elsewhere:Env", policies={"a": "one", "b": "one"})
    (run / "before.json").write_text(json.dumps({"mean_return": {"a": 0.5, "b": 0.0}}))
    tiny_models.policy().save(run / "checkpoints" / "step_000002" / "one")
    models = load_models(str(run))
    assert list(models) == ["a", "b"]
    assert models["a"].policy is models["b"].policy
    (run / "before.json").unlink()
    with pytest.raises(ConfigError, match="names code to import: elsewhere:Env"):
        list_run_agents(run)
    (run / "before.json").write_text(json.dumps({"mean_return": {"../a": 0.5}}))
    with pytest.raises(ConfigError, match="names agents"):
        load_models(str(run))


def test_agents_that_a_model_does_not_play_are_no_models(tmp_path):
    run = make_run(tmp_path, policies="planner_1")
    assert list(load_models(str(run))) == ["planner_1"]


def test_a_single_model_has_its_own_name(tmp_path):
    assert list(load_models("tiny")) == ["tiny"]
    tiny_models.policy().save(tmp_path / "exported")
    assert list(load_models(f"{tmp_path / 'exported'}/")) == ["exported"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("expert", "'expert' cannot be served: it looks at the environment"),
        ("human", "'human' cannot be served"),
        ("openai:m@http://127.0.0.1:1/v1", "behind an endpoint already"),
        ("grpc://127.0.0.1:50051", "write openai:MODEL@URL for a model of llmzoo serve"),
        ("no/model", "no policy or model 'no/model'"),
    ],
)
def test_what_cannot_be_served(name, why):
    with pytest.raises(ConfigError, match=re.escape(why)):
        load_models(name)


@pytest.mark.parametrize("use", [load, check_model])
def test_an_address_of_environments_is_no_policy(use):
    for address in ("grpc://127.0.0.1:50051", "grpcs://h:1"):
        with pytest.raises(ConfigError, match=r"openai:planner_0@http://127\.0\.0\.1:8000/v1"):
            use(address)


# The command


@pytest.mark.slow
def test_a_run_is_served_until_a_signal(tmp_path):
    run = make_run(tmp_path)
    with serving_command(tmp_path, str(run), "--port", "0", "--json") as (process, line):
        told = json.loads(line)
        assert told["models"] == ["proposer_0", "planner_1"]
        assert told["token_env"] is None
        file = Path(told["token_file"])
        client = openai.OpenAI(base_url=f"{told['address']}/v1", api_key=file.read_text())
        assert [model.id for model in client.models.list()] == told["models"]
        fields = {"model": "planner_1", "messages": HI, "seed": 1}
        reply = client.chat.completions.create(**fields)
        assert reply.usage.completion_tokens <= 5
        assert client.chat.completions.create(**fields).choices == reply.choices
        with pytest.raises(openai.AuthenticationError):
            client.with_options(api_key="guess").models.list()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stderr.read() == "llmzoo: the server has ended\n"
    assert not file.exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "policy"),
        (["expert"], "'expert' cannot be served"),
        (["tiny", "--system", "x"], "no chat template: system would have no effect"),
        (["tiny", "--host", "0.0.0.0"], "needs a token: put a secret into LLMZOO_TOKEN"),
        (["tiny", "--max_choices", "0"], "max_requests and max_choices are at least 1"),
        (["tiny", "--timeout_s", "0"], "timeout_s is above 0"),
        (["tiny", "--envs", "sudoku_v0"], "--envs"),
        (["tiny", "--prot", "1"], "Did you mean '--port'"),
    ],
)
def test_mistakes(call, options, why, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LLMZOO_TOKEN", raising=False)
    code, out, err = call("serve", *options, "--port", 0)
    assert (code, out) == (2, "")
    assert why in err
    assert len(err.splitlines()) == 1


# The page


@pytest.mark.slow
def test_the_page(tmp_path, monkeypatch, call):
    """Its server answers its commands, its curl and its program; the token is found in its file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LLMZOO_TOKEN", raising=False)
    monkeypatch.delenv("LLMZOO_ENDPOINT_KEYS", raising=False)
    serve, *clients = (command[1:] for command in commands("llmzoo"))
    assert serve == ["serve", "tiny"]
    assert [client[0] for client in clients] == ["eval", "play", "train"]
    with serving_command(tmp_path, "tiny", "--port", "0", "--json") as (process, line):
        told = json.loads(line)
        token = Path(told["token_file"]).read_text()
        for command in clients:
            command = [part.replace(URL, told["address"]) for part in command]
            code, _, err = call(*command, *SMALLER.get(command[0], []))
            assert code == 0, f"{command}: {err}"
        (curl,) = commands("curl")
        curl = [p.replace(URL, told["address"]).replace("$TOKEN", token) for p in curl]
        done = subprocess.run([*curl, "--silent"], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["choices"][0]["message"]["role"] == "assistant"
        (program,) = blocks("text")
        exec(program.replace(URL, told["address"]).replace("TOKEN", token), {})
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
