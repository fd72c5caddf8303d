"""``llmzoo export env``: what is in the folder, and what is refused."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import random
import sys
from pathlib import Path

import pytest
import yaml
from datasets import load_dataset
from pages import blocks

import llmzoo as zoo
from llmzoo.adapters.answered_episode import AnsweredEpisode
from llmzoo.adapters.others import fill_other_agents
from llmzoo.adapters.single_agent import single_agent
from llmzoo.adapters.trl import agent_return
from llmzoo.cli.new import render_files
from llmzoo.envs import sources
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.export.environment_folder import export_environment
from llmzoo.policies import load
from llmzoo.policies.base import PolicyRequest
from llmzoo.records import Completion
from llmzoo.version import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
SEEDS = 100
HOSTILE = ("", "nonsense", "[1, 2", "\u202e\u2603 {{}}", "0" * 300)


@pytest.fixture
def game_file(tmp_path):
    """A user's file: the environment that ``llmzoo new env word_chain`` writes."""
    path = tmp_path / "word_chain.py"
    path.write_text(render_files("env", "word_chain")["word_chain.py"])
    return path


@pytest.fixture
def sudoku(tmp_path):
    done = export_environment("sudoku_v0", tmp_path / "out", agent="planner_1", tasks=3)
    return done.folder


@pytest.fixture
def imported(monkeypatch):
    """``imported(folder, "package.module")`` imports from an exported folder, as if it were installed."""
    packages = []

    def load_module(folder, name):
        monkeypatch.syspath_prepend(str(folder))
        packages.append(name.partition(".")[0])
        return importlib.import_module(name)

    yield load_module
    for module in [m for m in sys.modules if m.partition(".")[0] in packages]:
        del sys.modules[module]


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def rows(folder, split):
    return [
        json.loads(line) for line in (folder / "data" / f"{split}.jsonl").read_text().splitlines()
    ]


# what is in the folder


def test_the_files(sudoku):
    assert set(contents(sudoku)) == {
        *("README.md", "LICENSE", "SHA256SUMS", "croissant.json", "pyproject.toml", "openenv.yaml"),
        *("data/train.jsonl", "data/test.jsonl"),
        *(f"sudoku_v0/{name}.py" for name in ("__init__", "client", "trl_env", "verifiers_env")),
        *("server/__init__.py", "server/app.py", "server/Dockerfile"),
    }
    assert (sudoku / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_every_file_has_its_checksum(sudoku):
    lines = (sudoku / "SHA256SUMS").read_text().splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    found = contents(sudoku)
    del found["SHA256SUMS"]
    assert sums == {path: hashlib.sha256(data).hexdigest() for path, data in found.items()}


def test_the_same_call_writes_the_same_bytes(tmp_path, game_file):
    for number, env in enumerate(("sudoku_v0", str(game_file))):
        options = {"agent": "all", "tasks": 2, "license": "MIT"}
        first = export_environment(env, tmp_path / f"{number}a", **options)
        second = export_environment(env, tmp_path / f"{number}b", **options)
        assert contents(first.folder) == contents(second.folder)


def test_nothing_names_this_machine(tmp_path, game_file):
    (tmp_path / ".env").write_text("KEY=do-not-publish\n")
    (tmp_path / "secrets.json").write_text('{"token": "do-not-publish"}')
    done = export_environment(
        str(game_file), tmp_path / "out", agent="adder_1", tasks=2, license="MIT"
    )
    for path, data in contents(done.folder).items():
        assert b"do-not-publish" not in data, path
        assert str(tmp_path).encode() not in data, path
        assert str(Path.home()).encode() not in data, path
        assert b"llmzoo_exported_" not in data, (
            path
        )  # the name of the file's module in this process
    assert (done.folder / "word_chain" / "environment.py").read_text() == game_file.read_text()


def test_the_package_pins_llmzoo(sudoku, tmp_path):
    project = tomllib.loads((sudoku / "pyproject.toml").read_text())["project"]
    assert (project["name"], project["version"]) == ("sudoku-v0", "0.1.0")
    assert project["license"] == "Apache-2.0"
    assert project["dependencies"] == [f"llmzoo-marl=={__version__}"]
    assert project["optional-dependencies"] == {
        name: [f"llmzoo-marl[{extra}]=={__version__}"]
        for name, extra in (("trl", "train"), ("verifiers", "verifiers"), ("openenv", "openenv"))
    }
    assert project["scripts"] == {"server": "sudoku_v0.server.app:main"}
    tools = export_environment("tool_use_v0", tmp_path / "tools", agent="executor_1", tasks=1)
    needed = tomllib.loads((tools.folder / "pyproject.toml").read_text())["project"]["dependencies"]
    assert needed == [f"llmzoo-marl[tools]=={__version__}"]


def test_a_file_s_imports_are_requirements(tmp_path, game_file):
    game_file.write_text(game_file.read_text() + "\nimport json\nimport numpy\nimport yaml\n")
    done = export_environment(str(game_file), tmp_path / "out", agent="all", tasks=1, license="MIT")
    project = tomllib.loads((done.folder / "pyproject.toml").read_text())["project"]
    llmzoo, other = project["dependencies"]
    assert llmzoo == f"llmzoo-marl=={__version__}"
    assert other.lower() == f"pyyaml>={yaml.__version__}"  # numpy comes with llmzoo


def test_one_policy_for_all_agents_has_no_server(tmp_path):
    done = export_environment("sudoku_v0", tmp_path / "out", agent="all", tasks=2)
    assert done.agents == ("proposer_0", "planner_1")
    assert done.hosts == ("pettingzoo", "trl", "verifiers")
    names = set(contents(done.folder))
    assert not {name for name in names if "openenv" in name or name.startswith("server")}
    project = tomllib.loads((done.folder / "pyproject.toml").read_text())["project"]
    assert "openenv" not in project["optional-dependencies"]
    assert "scripts" not in project
    assert "rollout_func" in (done.folder / "sudoku_v0" / "trl_env.py").read_text()


def test_openenv_s_manifest(sudoku, tmp_path, game_file):
    manifest = yaml.safe_load((sudoku / "openenv.yaml").read_text())
    assert (manifest["name"], manifest["app"]) == ("sudoku_v0", "server.app:app")
    assert manifest["validation"]["reward"]["range"] == [0, 2]
    # without an expert nobody knows the highest reward
    source = game_file.read_text().replace("def expert(", "def no_expert(")
    game_file.write_text(source)
    done = export_environment(
        str(game_file), tmp_path / "out2", agent="adder_1", others="silent", tasks=1, license="MIT"
    )
    assert "validation" not in yaml.safe_load((done.folder / "openenv.yaml").read_text())


# the data set


def test_a_row_is_what_the_model_reads_first(sudoku):
    player = single_agent("sudoku_v0", agent="planner_1", others="expert", split="test")
    for task, row in enumerate(rows(sudoku, "test")):
        observation, info = player.reset(seed=task, options={"task": task})
        assert row == {
            "split": "test",
            "task": task,
            "seed": task,
            "task_id": info["task_id"],
            "agent": "planner_1",
            "observation": observation,
        }


def test_the_splits_share_no_task(tmp_path):
    done = export_environment("sudoku_v0", tmp_path / "out", agent="planner_1")
    assert done.rows == {"train": 100, "test": 100}
    train, test = ({row["task_id"] for row in rows(done.folder, split)} for split in done.rows)
    assert (len(train), len(test), train & test) == (100, 100, set())


def test_datasets_loads_it(sudoku, tmp_path):
    files = {split: str(sudoku / "data" / f"{split}.jsonl") for split in ("train", "test")}
    loaded = load_dataset("json", data_files=files, cache_dir=str(tmp_path / "cache"))
    assert {split: loaded[split].to_list() for split in loaded} == {
        split: rows(sudoku, split) for split in files
    }
    # the card names the same files
    card = yaml.safe_load((sudoku / "README.md").read_text().split("---\n")[1])
    named = {part["split"]: part["path"] for part in card["configs"][0]["data_files"]}
    assert {split: str(sudoku / path) for split, path in named.items()} == files
    assert card["license"] == "apache-2.0"


def test_all_tasks_of_a_set_are_rows(tmp_path):
    done = export_environment(
        "gsm8k_v0", tmp_path / "out", agent="reasoner_0", env_args={"source": "sample"}
    )
    for split, count in done.rows.items():
        env = zoo.make("gsm8k_v0", source="sample", split=split)
        env.reset(seed=0)
        assert count == env.infos["reasoner_0"]["tasks"] == len(rows(done.folder, split))


def test_texts_of_a_public_set_are_not_copied(tmp_path, monkeypatch):
    env = zoo.make("gsm8k_v0", source="sample")
    records = env.unwrapped.public_set.sample_records()
    named = [(f"openai/gsm8k[train]:{i}", record) for i, record in enumerate(records)]
    monkeypatch.setattr(sources.hub, "load_records", lambda *_: iter(named))
    monkeypatch.setattr(sources, "_loaded", {})
    done = export_environment(
        "gsm8k_v0", tmp_path / "out", agent="reasoner_0", env_args={"source": "hub"}, tasks=2
    )
    for split in done.rows:
        assert [set(row) for row in rows(done.folder, split)] == [
            {"split", "task", "seed", "task_id", "agent"}
        ] * 2
    published = b"".join(contents(done.folder).values()).decode()
    assert not [r["question"] for r in records if r["question"] in published]
    assert "its texts are not copied" in (done.folder / "README.md").read_text()


def test_the_readme_s_programs_work(sudoku, imported, monkeypatch):
    imported(sudoku, "sudoku_v0")
    monkeypatch.chdir(sudoku)
    programs = [
        content for language, content, _ in blocks(sudoku / "README.md") if language == "python"
    ]
    pettingzoo, trl, openenv, datasets = programs
    namespace = {}
    exec(pettingzoo, namespace)
    assert namespace["info"]["success"] is False
    exec(datasets, namespace)
    assert namespace["tasks"].num_rows == {"train": 3, "test": 3}
    for program in (trl, openenv):  # they need a model and a server
        compile(program, "README.md", "exec")


# Croissant


def test_croissant_describes_the_files(sudoku):
    described = json.loads((sudoku / "croissant.json").read_text())
    assert described["conformsTo"] == [
        "http://mlcommons.org/croissant/1.0",
        "http://mlcommons.org/croissant/RAI/1.0",
    ]
    for entry in described["distribution"]:
        data = (sudoku / entry["contentUrl"]).read_bytes()
        assert entry["sha256"] == hashlib.sha256(data).hexdigest()
        assert entry["contentSize"] == f"{len(data)} B"
    files = {entry["@id"] for entry in described["distribution"]}
    for records in described["recordSet"]:
        row = rows(sudoku, records["name"])[0]
        assert [field["name"] for field in records["field"]] == list(row)
        for field in records["field"]:
            assert field["source"]["fileObject"]["@id"] in files
            assert field["source"]["extract"]["column"] == field["name"]
            is_integer = isinstance(row[field["name"]], int)
            assert field["dataType"] == ("sc:Integer" if is_integer else "sc:Text")
    rai = {key.removeprefix("rai:") for key in described if key.startswith("rai:")}
    assert rai == {
        *("dataCollection", "dataUseCases", "dataLimitations", "dataBiases"),
        *("personalSensitiveInformation", "dataReleaseMaintenancePlan"),
    }
    assert {"name", "description", "version", "license", "url", "citeAs"} <= set(described)
    used = {key.partition(":")[0] for key in json.dumps(described).split('"') if ":" in key}
    assert {"cr", "sc", "rai"} <= used & set(described["@context"])


@pytest.mark.skipif(
    importlib.util.find_spec("mlcroissant") is None, reason="mlcroissant is not installed"
)
def test_mlcroissant_validates_it(sudoku):
    import mlcroissant

    dataset = mlcroissant.Dataset(jsonld=str(sudoku / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    for split in ("train", "test"):
        texts = [row[f"{split}/observation"].decode() for row in dataset.records(split)]
        assert texts == [row["observation"] for row in rows(sudoku, split)]


def test_what_nobody_has_examined_is_said_to_be_so(tmp_path, game_file):
    done = export_environment(str(game_file), tmp_path / "out", agent="all", tasks=1, license="MIT")
    described = json.loads((done.folder / "croissant.json").read_text())
    assert described["rai:personalSensitiveInformation"].startswith("Not examined by llmzoo")
    assert described["license"] == "https://spdx.org/licenses/MIT.html"
    assert "MIT" in (done.folder / "LICENSE").read_text()


# the hosts, in this process: the same answers give the same episodes


def answer_like(env, agent, observation, answers):
    """The expert, the noisy expert or nonsense: always the same for an observation."""
    if observation not in answers:
        rng = random.Random(observation)
        kind = rng.random()
        if kind < 0.45:
            answers[observation] = env.unwrapped.expert(agent)
        elif kind < 0.8:
            answers[observation] = env.unwrapped.noisy_expert(agent, rng)
        else:
            answers[observation] = rng.choice(HOSTILE)
    return answers[observation]


def play_pettingzoo(package, agent, task, answers):
    game = package.env(split="test")
    others = load(package.OTHERS)
    game.reset(seed=task, options={"task": task})
    read, total, success = [], 0.0, None
    for one in game.agent_iter():
        observation, reward, terminated, truncated, info = game.last()
        if one == agent:
            total += reward
        if terminated or truncated:
            success = info["success"] if one == agent else success
            game.step(None)
        elif one == agent:
            read.append(str(observation))
            game.step(answer_like(game, agent, str(observation), answers))
        else:
            request = PolicyRequest(agent=one, observation=observation, env=game, seed=task)
            game.step(others.respond([request])[0][0].text)
    return read, pytest.approx(total, abs=1e-9), success


def play_trl(trl_env, task, answers):
    environment = trl_env.environment_factory(split="test")()
    read = [environment.reset(seed=task, task=task, split="test", task_id="")]
    while not environment.play.over:
        following = environment.answer(answers[read[-1]])
        read += [] if environment.play.over else [following]
    messages = [{"role": "assistant", "content": "after the end"}]
    (total,) = agent_return([messages], [environment], lambda name, value: None)
    return read, total, environment.play.success


def play_openenv(package, agent, task, answers):
    """What the server's sessions play: :class:`llmzoo.adapters.single_agent.SingleAgentEnv`."""
    args = {**package.ARGS, "split": "test"}
    player = single_agent(package.ENV, agent=agent, others=package.OTHERS, **args)
    observation, info = player.reset(seed=task, options={"task": task})
    read, total, over = [], 0.0, False
    while not over:
        read.append(observation)
        observation, reward, terminated, truncated, info = player.step(answers[observation])
        total, over = total + reward, terminated or truncated
    return read, total, info["success"]


def play_verifiers(package, agent, task, answers):
    """What verifiers' environment plays: :class:`llmzoo.adapters.answered_episode.AnsweredEpisode`."""
    game = package.env(split="test")
    rest = [one for one in game.possible_agents if one != agent]
    others = fill_other_agents(package.OTHERS, rest)
    episode, read = AnsweredEpisode(game, task, task), []
    while asked := episode.pending_requests:
        given = []
        for one in asked:
            request = one.request
            if request.agent == agent:
                read.append(str(request.observation))
                given.append(Completion(text=answers[read[-1]]))
            else:
                given.append(others[request.agent].respond([request])[0][0])
        episode.submit_completions(given)
    return read, episode.totals[agent], bool(episode.metrics(agent)["success"])


@pytest.mark.parametrize(
    ("env", "agent", "env_args"),
    [
        ("sudoku_v0", "planner_1", {}),
        ("sudoku_v0", "proposer_0", {"max_turns": 2}),
        ("house_build_v0", "builder_1", {}),
        ("plan_path_v0", None, {"num_agents": 1}),
        ("word_chain.py", "adder_1", {}),
    ],
)
def test_the_hosts_play_the_same_episodes(tmp_path, game_file, imported, env, agent, env_args):
    done = export_environment(
        str(game_file) if env == "word_chain.py" else env,
        tmp_path / "out",
        agent=agent,
        others="noisy_expert",
        env_args=env_args,
        tasks=SEEDS,
        license="MIT",
    )
    package = imported(done.folder, done.package)
    trl_env = importlib.import_module(f"{done.package}.trl_env")
    (agent,) = package.AGENTS
    test_rows = rows(done.folder, "test")
    answers, successes = {}, 0
    for task in range(SEEDS):
        read, total, success = play_pettingzoo(package, agent, task, answers)
        assert read[0] == test_rows[task]["observation"]
        assert play_trl(trl_env, task, answers) == (read, total, success)
        assert play_openenv(package, agent, task, answers) == (read, total, success)
        assert play_verifiers(package, agent, task, answers) == (read, total, success)
        successes += success
    assert 0 < successes < SEEDS  # neither all nor none, so that equality says something


def test_a_row_of_another_task_is_another_episode(tmp_path, imported):
    """The task of a row decides, not only its seed."""
    done = export_environment("sudoku_v0", tmp_path / "out", agent="proposer_0", tasks=2)
    trl_env = imported(done.folder, "sudoku_v0.trl_env")
    environment = trl_env.environment_factory(split="test")()
    read = [environment.reset(seed=0, task=task) for task in range(2)]
    assert read == [row["observation"] for row in rows(done.folder, "test")]
    assert read[0] != read[1]


# refusals, each with its remedy; nothing is left behind


def refused(match, env, out, error=ConfigError, **options):
    options = {"agent": "planner_1", "tasks": 1, **options}
    before = list_content(out.parent)
    with pytest.raises(error, match=match):
        export_environment(env, out, **options)
    assert list_content(out.parent) == before


def list_content(folder):
    """Its files and folders but the bytecode that Python keeps of a module which the file imports."""
    return {path for path in folder.iterdir() if path.name != "__pycache__"}


@pytest.mark.parametrize(
    ("env", "error", "match"),
    [
        ("sudoku_v9", UnknownNameError, "Did you mean 'sudoku_v0'"),
        ("../sudoku_v0", ConfigError, "neither a registered id nor a file"),
        ("grpc://127.0.0.1:1/sudoku_v0", ConfigError, "neither a registered id nor a file"),
        ("reasoning_gym:chain_sum", ConfigError, "neither a registered id nor a file"),
        ("word_chain:WordChain", ConfigError, r"my_game\.py:MyGame"),
        ("no/such.py", ConfigError, "there is no file"),
    ],
)
def test_what_is_no_environment_to_export(tmp_path, env, error, match):
    refused(match, env, tmp_path / "out", error)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"agent": None}, ConfigError, "--agent proposer_0 .*--agent all"),
        ({"agent": "planer_1"}, UnknownNameError, "Did you mean 'planner_1'"),
        ({"others": "openai:m@http://me:pw@host/v1"}, ConfigError, "others is one of expert"),
        ({"tasks": 0}, ConfigError, "tasks must be at least 1"),
        ({"version": "1; import os"}, ConfigError, r"written as 0\.1\.0"),
        ({"license": "MIT\n[tool]"}, ConfigError, "SPDX id"),
        ({"name": "my.game"}, ConfigError, "--name my_game"),
        ({"name": "../x"}, ConfigError, "--name my_game"),
        ({"name": "class"}, ConfigError, "--name my_game"),
        ({"name": "json"}, ConfigError, "would be hidden"),
        ({"name": "datasets"}, ConfigError, "would be hidden"),
        ({"name": "verifiers"}, ConfigError, "would be hidden"),
        ({"env_args": {"siez": 1}}, UnknownNameError, "Did you mean 'size'"),
        ({"env_args": {"split": "test"}}, ConfigError, "both splits"),
        ({"env_args": {"api_key": "x"}}, ConfigError, "credential"),
        ({"env_args": {"a": {"b": [f"{ROOT}/README.md"]}}}, ConfigError, "file of this machine"),
        ({"env_args": {"a": "http://me:pw@host"}}, ConfigError, "password"),
        ({"env_args": {"a": object()}}, ConfigError, "plain value"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path, options, error, match):
    refused(match, "sudoku_v0", tmp_path / "out", error, **options)


def test_a_folder_with_files_is_left_alone(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    refused("not empty: choose another --out", "sudoku_v0", out)
    assert contents(out) == {"mine.txt": b"mine"}
    (tmp_path / "link").symlink_to(out)
    refused("is no folder", "sudoku_v0", tmp_path / "link")
    (out / "mine.txt").unlink()
    assert export_environment("sudoku_v0", out, agent="all", tasks=1).folder == out


def test_the_sample_does_not_stand_in_for_a_public_set(tmp_path):
    refused("source", "gsm8k_v0", tmp_path / "out", agent="reasoner_0")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("raise RuntimeError('boom')\n", r"cannot be imported \(RuntimeError: boom\)"),
        ("import sys\nsys.exit(3)\n", r"cannot be imported \(SystemExit: 3\)"),
        ("def f(:\n", "is not Python"),
        ("x = 1\n", "defines no class of PettingZoo"),
        ("env = 3\n", "defines no class of PettingZoo"),
        ("def env(size):\n    pass\n", "every argument must have a default"),
        (
            "def env(split='train'):\n    raise OSError('no disk')\n",
            r"OSError: no disk.*llmzoo check",
        ),
        ("def env(split='train'):\n    return 3\n", "not an environment of PettingZoo"),
        ("import helper\n", "'helper' from its own folder"),
        ("from . import x\n", "from its own folder"),
        ("API_KEY = 'sk-abcdefghijklmnop1234'\n", "line 1, looks like a password or key"),
        ("x = 1\ntoken: str = 'aaaabbbbcccc'\n", "line 2, looks like a password or key"),
        ("-----BEGIN RSA PRIVATE KEY-----\n", "line 1, looks like a password or key"),
    ],
)
def test_files_that_are_refused(tmp_path, text, match):
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "mine.py").write_text(text)
    refused(match, str(tmp_path / "mine.py"), tmp_path / "out", agent="all", license="MIT")


def test_more_refusals_of_files(tmp_path, game_file):
    out = tmp_path / "out"
    refused("--license MIT", str(game_file), out, agent="all")
    source = game_file.read_text()
    path = tmp_path / "My-Game.py"
    path.write_text(source)
    refused("--name my_game", str(path), out, agent="all", license="MIT")
    game_file.write_text(source + f"\nDATA = {str(tmp_path / 'data.json')!r}\n")
    refused("has a path of this machine", str(game_file), out, agent="all", license="MIT")
    game_file.write_text(source + "\nclass Other(WordChain):\n    pass\n")
    refused("WordChain, Other: say which", str(game_file), out, agent="all", license="MIT")
    named = f"{game_file}:Other"
    assert (
        export_environment(named, out, agent="all", tasks=1, license="MIT").package == "word_chain"
    )
    game_file.write_bytes(b"\xff\xfe")
    refused("not UTF-8", str(game_file), tmp_path / "out2", agent="all", license="MIT")


def test_a_file_that_raises_while_it_is_played(tmp_path, game_file):
    source = game_file.read_text()
    begin = source.index("    def reset_task(")
    body = source.index("\n", source.index(":", source.index(")", begin))) + 1
    game_file.write_text(f"{source[:body]}        raise KeyError('lost')\n{source[body:]}")
    refused(
        r"word_chain raises in split 'train' \(KeyError: 'lost'\)",
        str(game_file),
        tmp_path / "out",
        agent="all",
        license="MIT",
    )


def test_a_hostile_docstring_stays_text(tmp_path, game_file):
    source = game_file.read_text()
    end = source.index('"""', 3)
    hostile = '[x](javascript:alert(1))\\n\\" <script> ---'
    game_file.write_text(f'"""{hostile}{source[end:]}')
    done = export_environment(str(game_file), tmp_path / "out", agent="all", tasks=1, license="MIT")
    project = tomllib.loads((done.folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == "word-chain"
    assert "<script>" not in (done.folder / "README.md").read_text()
    assert "](javascript" not in (done.folder / "README.md").read_text()


def test_numbers_that_python_cannot_read_back_are_refused(tmp_path, game_file):
    for number in (float("inf"), float("-inf"), float("nan")):
        refused(
            "finite number",
            str(game_file),
            tmp_path / "out",
            agent="all",
            license="MIT",
            env_args={"max_turns": number},
        )


def test_no_path_of_the_home_is_an_argument(tmp_path, monkeypatch):
    """The file need not exist: the path names the user."""
    monkeypatch.setenv("HOME", "/home/someone")
    refused(
        "path of this machine",
        "sudoku_v0",
        tmp_path / "out",
        agent="planner_1",
        env_args={"source": "/home/someone/data.jsonl"},
    )


ONE_AGENT = """
from gymnasium.spaces import Text
from pettingzoo import AECEnv

class Game(AECEnv):
    metadata = {"name": "game", "is_parallelizable": True}

    def __init__(self, split="train", render_mode=None):
        self.possible_agents = AGENTS
        self.render_mode = render_mode

    def action_space(self, agent):
        return Text(9)

    def observation_space(self, agent):
        return Text(999)

    def observe(self, agent):
        return OBSERVATION

    def reset(self, seed=None, options=None):
        self.agents = self.possible_agents[:]
        self.agent_selection = self.agents[0]
        self.rewards = self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def step(self, action):
        raise RuntimeError("broken")
"""


@pytest.mark.parametrize(
    ("agents", "observation", "match"),
    [
        ("[]", "''", "no possible_agents"),
        ("['a_0']", "__file__", "has a path of this machine"),
        ("['a_0']", "'hello'", r"raises in split 'train' \(RuntimeError: broken\)"),
    ],
)
def test_environments_that_cannot_be_published(tmp_path, agents, observation, match):
    file = tmp_path / "strange_game.py"
    file.write_text(ONE_AGENT.replace("AGENTS", agents).replace("OBSERVATION", observation))
    refused(match, str(file), tmp_path / "out", agent="a_0", license="MIT")


def test_names_and_versions_are_texts_in_yaml(tmp_path):
    """YAML reads a bare 1.10 as the number 1.1, and a bare ``off`` as false."""
    out = tmp_path / "out"
    export_environment("sudoku_v0", out, agent="planner_1", tasks=1, name="off", version="1.10")
    manifest = yaml.safe_load((out / "openenv.yaml").read_text())
    assert (manifest["name"], manifest["version"]) == ("off", "1.10")
