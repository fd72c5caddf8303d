"""A client chooses among what is hosted, and can set nothing that names a file, an address or a program."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from env_servers import hosted, registered
from toy_envs import Adder

import llmzoo
from llmzoo.errors import ConfigError, FallbackWarning, UnknownNameError
from llmzoo.serve.catalogue import Catalogue

NOT_FOR_CLIENTS = r"cannot be .* for a client"


@pytest.fixture(scope="module")
def server():
    with hosted() as running:
        yield running


@pytest.fixture
def secret_file(tmp_path):
    """A file that the server could read, and that would do as tasks."""
    file = tmp_path / "tasks.jsonl"
    file.write_text(json.dumps({"question": "secret", "answer": "#### 1"}) + "\n")
    return str(file)


@pytest.mark.parametrize(
    ("id", "kwargs"),
    [
        ("sudoku_v0", {"size": 4, "difficulty": "hard", "num_agents": 1, "prompt": "terse"}),
        ("sudoku_v0", {"team_weight": 2, "split": "test", "render_mode": "ansi"}),
        ("sudoku_v0", {"clues": None, "difficulty": None, "render_mode": None}),
        ("gsm8k_v0", {"source": "sample", "tools": 1, "reasoners": 1}),
        ("tool_use_v0", {"tools": ["calculator", "search"], "family": None, "num_agents": 1}),
        ("debate_v0", {"judge": "rules", "judge_agent": True, "reward": "cooperative"}),
        ("livecodebench_v0", {"source": "sample", "since": None, "max_tests": 3}),
    ],
)
def test_what_a_client_may_set(server, id, kwargs):
    here, there = llmzoo.make(id, **kwargs), server.make(id, **kwargs)
    for env in (here, there):
        env.reset(seed=5)
    assert there.possible_agents == here.possible_agents
    assert there.last() == here.last()


@pytest.mark.parametrize(
    ("id", "name", "value"),
    [
        ("gsm8k_v0", "source", "/etc/passwd"),
        ("gsm8k_v0", "source", "../tasks.jsonl"),
        ("gsm8k_v0", "source", ["sample"]),
        ("tool_use_v0", "tools", ["os:listdir"]),
        ("tool_use_v0", "tools", ["calculator", "subprocess:run"]),
        ("tool_use_v0", "tools", [["calculator"]]),
        ("tool_use_v0", "tools", "python"),
        ("tool_use_v0", "tasks", "/etc/passwd"),
        ("tool_use_v0", "tasks", [{"question": "x"}]),
        ("tool_use_v0", "family", "../../x"),
        ("debate_v0", "judge", "endpoint"),
        ("debate_v0", "endpoint", {"model": "m", "base_url": "http://10.0.0.1"}),
        ("coop_functions_v0", "reviewer", "os:system"),
        ("arxiv_v0", "hub_id", "somebody/data"),
        ("livecodebench_v0", "since", "/etc"),
        ("sudoku_v0", "render_mode", "human"),
        ("sudoku_v0", "split", "train,test"),
        ("sudoku_v0", "size", "9"),
        ("sudoku_v0", "size", True),
        ("sudoku_v0", "difficulty", "impossible"),
        ("sudoku_v0", "difficulty", ["hard"]),
    ],
)
def test_what_it_may_not(server, id, name, value):
    if (id, name, value) == ("debate_v0", "judge", "endpoint"):
        # a listed choice, but what it needs cannot be set: it says so when it is made
        with pytest.raises(ConfigError, match="endpoint"):
            server.make(id, judge=value)
        return
    with pytest.raises(ConfigError, match=f"argument {name!r} of {id} {NOT_FOR_CLIENTS}") as caught:
        server.make(id, **{name: value})
    assert f"--allow {name}" in str(caught.value)


def test_a_file_of_the_server_is_not_read_by_whatever_name(server, secret_file):
    for source in (secret_file, f"file://{secret_file}", f"sample/../{secret_file}"):
        with pytest.raises(ConfigError, match=NOT_FOR_CLIENTS):
            server.make("gsm8k_v0", source=source)


def test_the_operator_can_set_it_or_let_clients(secret_file):
    with hosted(envs=["gsm8k_v0", "debate_v0"], env_args={"source": secret_file}) as server:
        env = server.make("gsm8k_v0", split="all")
        env.reset(options={"task": 0})
        assert "secret" in env.last()[0]
        server.make("debate_v0")  # the argument goes to what has it
        with pytest.raises(ConfigError, match="the server has set source of gsm8k_v0 itself"):
            server.make("gsm8k_v0", source="sample")
    with hosted(envs=["gsm8k_v0"], allow=["source"]) as server:
        env = server.make("gsm8k_v0", source=secret_file, split="all")
        env.reset(options={"task": 0})
        assert "secret" in env.last()[0]


def test_only_what_is_hosted(server):
    with hosted(envs=["sudoku_v0"]) as few:
        assert few.make("sudoku_v0").possible_agents == ["proposer_0", "planner_1"]
        with pytest.raises(UnknownNameError, match=r"'plan_path_v0'.*Known: sudoku_v0"):
            few.make("plan_path_v0")
        with pytest.raises(UnknownNameError, match=r"'sudoku_v1'. Did you mean 'sudoku_v0'\?"):
            few.make("sudoku_v1")
    for path in ("toy_envs:Adder", "os:system", "llmzoo.envs.games.sudoku:env"):
        with pytest.raises(UnknownNameError):
            server.make(path)


def test_what_the_operator_names_by_its_path_is_hosted():
    with hosted(envs=["toy_envs:Parities"]) as server:
        env = server.make("toy_envs:Parities")
        env.reset(seed=1)
        assert env.agents == ["writer_0", "writer_1"]
        with pytest.raises(UnknownNameError):
            server.make("toy_envs:Parity")


def test_unknown_arguments_name_the_nearest(server):
    with pytest.raises(
        ConfigError, match=r"/sudoku_v0: unknown argument .*'sise'. Did you mean 'size'"
    ):
        server.make("sudoku_v0", sise=9)


def test_arguments_that_an_environment_refuses_are_told(server):
    with pytest.raises(ConfigError, match="num_agents"):
        server.make("sudoku_v0", num_agents=7)
    with pytest.raises(ConfigError, match=r"cannot be sent.*builtins\.set"):
        server.make("sudoku_v0", size={9})


def test_an_environment_that_falls_back_says_so_here_too(server, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.warns(FallbackWarning, match="server cannot reach its public set"):
        env = server.make("humaneval_v0", source="auto")
    assert env.unwrapped.fallback
    with pytest.raises(ConfigError, match="its public data set cannot be reached"):
        llmzoo.evaluate(server.at("humaneval_v0"), "random", tasks=1)


class Moody(Adder):
    """Arguments of all kinds of types."""

    def __init__(
        self,
        split: str = "train",
        level: Literal[1, "one", True] = 1,
        ratio: float | None = None,
        path: str = "",
        anything=None,
    ):
        super().__init__()
        self.given = {"level": level, "ratio": ratio, "path": path, "anything": anything}


class Any(Adder):
    """Takes whatever it is given."""

    def __init__(self, **kwargs: object):
        super().__init__()
        self.given = kwargs


@pytest.mark.parametrize(
    ("name", "value", "fine"),
    [
        *(("level", value, True) for value in (1, "one", True)),
        *(("level", value, False) for value in (1.0, False, "1", 2, None)),
        *(("ratio", value, True) for value in (0.5, 1, None)),
        *(("ratio", value, False) for value in (True, "0.5", [0.5])),
        *(("path", value, False) for value in ("", "x", None)),
        *(("anything", value, False) for value in (1, None, "x", True)),
    ],
)
def test_types_of_a_third_partys_arguments(name, value, fine):
    with registered(moody_v0=Moody):
        catalogue = Catalogue(["moody_v0"])
        if fine:
            given = catalogue.make("moody_v0", {name: value}).given[name]
            assert (type(given), given) == (type(value), value)
        else:
            with pytest.raises(ConfigError, match=NOT_FOR_CLIENTS):
                catalogue.make("moody_v0", {name: value})
        allowing = Catalogue(["moody_v0"], allowed=[name])
        if name == "level" and value not in (1, "one", True):  # the environment itself refuses it
            with pytest.raises(ConfigError, match="level must be one of 1, one, True; got"):
                allowing.make("moody_v0", {name: value})
        else:
            assert allowing.make("moody_v0", {name: value}).given[name] == value


def test_arguments_without_types_are_the_operators():
    with registered(any_v0=Any):
        for value in (1, True, "x"):
            with pytest.raises(ConfigError, match=NOT_FOR_CLIENTS):
                Catalogue(["any_v0"]).make("any_v0", {"more": value})
        assert Catalogue(["any_v0"]).make("any_v0", {"split": "test"}).given == {"split": "test"}
        assert Catalogue(["any_v0"], fixed={"more": 1}).make("any_v0", {}).given == {"more": 1}


def test_what_an_operator_names_must_be_there():
    with pytest.raises(UnknownNameError, match=r"'sudoku'. Did you mean 'sudoku_v0'"):
        Catalogue(["sudoku"])
    with pytest.raises(UnknownNameError, match=r"'sise'. Did you mean 'size'"):
        Catalogue(["sudoku_v0", "debate_v0"], fixed={"sise": 9})
    with pytest.raises(UnknownNameError, match=r"'sourse'. Did you mean 'source'"):
        Catalogue(["gsm8k_v0"], allowed=["sourse"])
    with pytest.raises(ConfigError, match="hosted already"):
        Catalogue(["grpc://127.0.0.1:1/sudoku_v0"])


def test_only_text_is_hosted():
    from pettingzoo.classic import rps_v2

    with (
        registered(rps_v2=rps_v2.env),
        hosted(envs=["rps_v2"]) as server,
        pytest.raises(ConfigError, match=r"only text is hosted.*discrete_to_text"),
    ):
        server.make("rps_v2")


class Optional(Adder):
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.episode = (float(len(str(options))),)


def test_options_of_a_reset_name_nothing_either(server):
    env = server.make("sudoku_v0")
    env.reset(options={"task": 3})
    env.reset(seed=1, options={})
    assert env.agents
    for options in ({"task": "../x"}, {"file": "/etc/passwd"}, {"task": [1]}, [1], "task"):
        env.reset(seed=1, options=options)
        with pytest.raises(ConfigError, match=r"option.*( for a client|must be a mapping)"):
            env.last()
    with registered(it_v0=Optional), hosted(envs=["it_v0"], allow=["options.file"]) as allowing:
        env = allowing.make("it_v0")
        env.reset(options={"file": "x"})
        assert env.last()[0] == f"a_0 0 {len(str({'file': 'x'}))}.0"
        env.reset(options={"other": "x"})
        with pytest.raises(
            ConfigError, match=r"option 'other' .* for a client.*--allow options.other"
        ):
            env.last()
