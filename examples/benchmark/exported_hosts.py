"""The same exported environments in PettingZoo, TRL, verifiers and OpenEnv: are the episodes equal?

    python examples/benchmark/exported_hosts.py [--seeds 100] [--out hosts.json]

Each host has a clean virtual environment under ``.bench/``, made at first use: a wheel of this checkout,
the host from the package index, and the exported package, installed with ``pip install FOLDER``. torch,
transformers and TRL have the versions of ``constraints.txt``. The environments take 3 GB.

In place of a model a table answers: to each observation what the environment's expert, its noisy expert
or nobody sensible would write. The reference is played in this process with ``llmzoo.make``. Episode i
is task i of the test split with the seed i. Equal means: the same observations as text, the same
success, and the same return up to 1e-9, for each played agent of each episode.

Not the same: TRL's reward and success are those of the whole episode, and the others' are read at its end.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import llmzoo
from llmzoo.cli.new import render_files
from llmzoo.export.environment_folder import export_environment
from llmzoo.policies import load
from llmzoo.policies.base import PolicyRequest

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).parent / "workers" / "exported_host.py"
SPLIT = "test"
HOSTILE = ("nonsense", "[1, 2", "\u202e\u2603 {{}} <|im_end|>", "0" * 300, "- " * 50 + "?")
# the extras of llmzoo (tool_use_v0 needs tools), further packages, and whether the versions of constraints.txt fit the host
HOSTS = {
    "pettingzoo": ("tools", ("mlcroissant",), True),
    "trl": ("tools,train", (), True),
    "verifiers": ("tools,verifiers", (), False),
    "openenv": ("tools,openenv", (), False),
}


@dataclass(frozen=True)
class Case:
    """An environment to export. ``file``: the text of a user's file in place of an id."""

    title: str
    env: str
    agent: str | None
    others: str = "noisy_expert"
    env_args: dict[str, Any] = field(default_factory=dict)
    file: str | None = None


def cases() -> list[Case]:
    return [
        Case("two agents, the model plays the second", "sudoku_v0", "planner_1"),
        Case("two agents, the model plays the first", "sudoku_v0", "proposer_0"),
        Case("two agents at the same time", "house_build_v0", "builder_1"),
        Case("one agent", "plan_path_v0", None, env_args={"num_agents": 1}),
        Case("tools", "tool_use_v0", "executor_1"),
        Case(
            "a user's file",
            "word_chain.py",
            "adder_1",
            file=render_files("env", "word_chain")["word_chain.py"],
        ),
        Case("two agents, one policy plays both", "sudoku_v0", "all"),
    ]


def play_reference(case: Case, env: str, agents: Sequence[str], tasks: int) -> tuple[Any, Any]:
    """The answers by observation, and the episodes."""
    game, others = llmzoo.make(env, split=SPLIT, **case.env_args), load(case.others)
    answers: dict[str, str] = {}
    episodes = []
    for task in range(tasks):
        game.reset(seed=task, options={"task": task})
        read: dict[str, list[str]] = {agent: [] for agent in agents}
        totals, success = dict.fromkeys(agents, 0.0), dict.fromkeys(agents, False)
        while game.agents:
            agent = game.agent_selection
            observation, reward, terminated, truncated, info = game.last()
            if agent in totals:
                totals[agent] += float(reward)
            if terminated or truncated:
                success[agent] = bool(info["success"])
                game.step(None)
                continue
            text = str(observation)
            if agent not in totals:
                request = PolicyRequest(agent=agent, observation=text, env=game, seed=task)
                game.step(others.respond([request])[0][0].text)
                continue
            read[agent].append(text)
            if text not in answers:
                answers[text] = _choose_answer(game, agent, text)
            game.step(answers[text])
        episodes.append(
            {
                a: {"observations": read[a], "return": totals[a], "success": success[a]}
                for a in agents
            }
        )
    return answers, episodes


def _choose_answer(game: Any, agent: str, observation: str) -> str:
    rng = random.Random(observation)
    kind = rng.random()
    if kind < 0.45:
        return str(game.unwrapped.expert(agent))
    if kind < 0.8:
        return str(game.unwrapped.noisy_expert(agent, rng))
    return rng.choice(HOSTILE)


def count_equal(expected: Sequence[Any], played: Sequence[Any]) -> dict[str, int]:
    """The number of episodes whose observations, returns and successes are equal, and in which all are."""
    counts = dict.fromkeys(("observations", "return", "success", "all"), 0)
    for one, other in zip(expected, played, strict=True):
        same = {
            "observations": all(one[a]["observations"] == other[a]["observations"] for a in one),
            "return": all(
                math.isclose(one[a]["return"], other[a]["return"], rel_tol=0, abs_tol=1e-9)
                for a in one
            ),
            "success": all(one[a]["success"] == other[a]["success"] for a in one),
        }
        for name, is_same in same.items():
            counts[name] += is_same and one.keys() == other.keys()
        counts["all"] += all(same.values()) and one.keys() == other.keys()
    return counts


def build_wheel(folder: Path) -> Path:
    """A wheel of this checkout."""
    source = folder / "source"
    for name in ("llmzoo", "llmzoo_verifiers", "configs", "examples"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder)]
    subprocess.run([*pip, str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def prepare_host(host: str, wheel: Path, venvs: Path) -> Path:
    """The Python of a host's virtual environment, with the wheel in it."""
    python = venvs / host / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venvs / host)], check=True)
        extras, others, constrained = HOSTS[host]
        pins = ["-c", str(ROOT / "constraints.txt")] if constrained else []
        _pip(python, *pins, "setuptools>=77", *others, f"llmzoo-marl[{extras}] @ {wheel.as_uri()}")
    _pip(python, "--no-deps", "--force-reinstall", str(wheel))
    return python


def _pip(python: Path, *arguments: str) -> None:
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{python}: pip install failed:\n{done.stderr[-2000:]}")


def play_host(host: str, python: Path, folder: Path, case: dict[str, Any]) -> list[Any]:
    """The episodes of a host, in the virtual environment with only this package."""
    _pip(python, "--no-deps", "--force-reinstall", "--no-build-isolation", str(folder))
    with tempfile.TemporaryDirectory() as name:
        asked, out = Path(name) / "case.json", Path(name) / "out.json"
        asked.write_text(json.dumps(case))
        command = [str(python), str(WORKER), host, str(asked), str(out)]
        clean = {
            "PATH": "/usr/bin:/bin",
            "HOME": name,
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        done = subprocess.run(command, env=clean, cwd=name, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{host} failed:\n{done.stderr[-4000:]}")
        return json.loads(out.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--hosts", nargs="+", choices=HOSTS, default=list(HOSTS))
    parser.add_argument(
        "--cases", type=int, nargs="+", help="numbers of cases, from 0; all by default"
    )
    parser.add_argument("--venvs", type=Path, default=ROOT / ".bench" / "hosts")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        wheel = build_wheel(work)
        pythons = {host: prepare_host(host, wheel, options.venvs) for host in options.hosts}
        for number, case in enumerate(cases()):
            if options.cases is not None and number not in options.cases:
                continue
            row = _compare(case, work / f"case{number}", pythons, options.seeds)
            rows.append(row)
            cells = "  ".join(
                f"{host} {row['equal'].get(host, {}).get('all', '-')}" for host in pythons
            )
            print(f"{row['env']:<14} {row['agents']:<22} {cells}", flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=1) + "\n")
    differ = [r for r in rows for c in r["equal"].values() if c["all"] < r["episodes"]]
    raise SystemExit(f"{len(differ)} comparisons differ" if differ else 0)


def _compare(case: Case, work: Path, pythons: dict[str, Path], tasks: int) -> dict[str, Any]:
    work.mkdir()
    env: str = case.env
    if case.file is not None:
        env = str(work / case.env)
        Path(env).write_text(case.file)
    done = export_environment(
        env,
        work / "folder",
        agent=case.agent,
        others=case.others,  # type: ignore[arg-type]
        env_args=case.env_args,
        tasks=tasks,
        license="Apache-2.0",
    )
    made = case.env
    if case.file is not None:  # the reference plays the file itself
        sys.path.insert(0, str(work))
        made = f"{done.package}:WordChain"
    answers, expected = play_reference(case, made, done.agents, tasks)
    equal = {}
    for host, python in pythons.items():
        if host not in done.hosts or (host == "trl" and len(done.agents) > 1):
            continue
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        asked = {
            "package": done.package,
            "split": SPLIT,
            "tasks": tasks,
            "answers": answers,
            "folder": str(done.folder),
            "data": str(done.folder / "data" / f"{SPLIT}.jsonl"),
            "port": port,
        }
        equal[host] = count_equal(expected, play_host(host, python, done.folder, asked))
    own = [played for episode in expected for played in episode.values()]
    return {
        "title": case.title,
        "env": case.env,
        "agents": ", ".join(done.agents),
        "others": case.others,
        "episodes": tasks,
        "turns": sum(len(played["observations"]) for played in own),
        "successes": sum(all(p["success"] for p in episode.values()) for episode in expected),
        "equal": equal,
    }


if __name__ == "__main__":
    main()
