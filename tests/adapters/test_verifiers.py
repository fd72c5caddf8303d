"""Our environments in verifiers: rows, agents and rewards, with a model behind a local endpoint.

Most of it needs verifiers itself, which pins an older ``openai`` and ``mcp``: in an environment of
its own, ``pip install 'llmzoo-marl[verifiers,train]' pytest`` and run this file there.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import runpy
import socket
import subprocess
import sys

import pytest
from pages import ROOT, blocks
from text_endpoint import endpoint

import llmzoo
from llmzoo.errors import ConfigError, MissingExtraError, UnknownNameError
from llmzoo.policies import load
from llmzoo.rollout.episodes import play_episodes

installed = importlib.util.find_spec("verifiers") is not None
with_verifiers = pytest.mark.skipif(not installed, reason="verifiers is not installed")
TASKS = 3


@pytest.mark.skipif(installed, reason="verifiers is installed")
def test_without_verifiers_the_extra_is_named():
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[verifiers\]"):
        importlib.import_module("llmzoo.adapters.verifiers")


def test_the_adapters_do_not_import_it():
    says = "import sys, llmzoo.adapters; print('verifiers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", says], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def played(env_id, policy, tasks=TASKS, **args):
    """The first test tasks as ``llmzoo.evaluate`` plays them."""
    return play_episodes(
        lambda: llmzoo.make(env_id, split="test", **args),
        load(policy),
        list(range(tasks)),
        tasks=list(range(tasks)),
    )


def from_memory(plays, otherwise="nonsense"):
    """Answers each observation of these episodes as it was answered there."""
    known = {d.observation: d.completion.text for play in plays for d in play.decisions}
    return lambda messages: known.get(messages[-1]["content"], otherwise)


def evaluated(env, url, tasks=TASKS, per_iteration=False):
    """Episodes of verifiers: the first rows, each played once."""
    import verifiers.v1 as vf

    client = vf.EvalClientConfig(base_url=url, api_key_var="NO_SUCH_KEY")
    ctx = vf.ModelContext(client=client, model="m", sampling=vf.SamplingConfig())

    async def run():
        async with env.serving():
            slots = [slot for task in env.taskset.take(tasks) for slot in env.slots(task)]
            if per_iteration:
                return await asyncio.gather(*(env.run_slot(slot, ctx) for slot in slots))
            return [await env.run_slot(slot, ctx) for slot in slots]

    return asyncio.run(run())


def total(trace):
    assert list(trace.rewards) == ["return"]
    return trace.rewards["return"].score


@with_verifiers
def test_rows_are_the_tasks_of_a_split():
    from llmzoo.adapters.verifiers import load_environment

    env = load_environment("sudoku_v0", agent="planner_1", split="test", seed=7)
    rows = list(env.taskset.take(3))
    assert [(row.data.task, row.data.seed) for row in rows] == [(0, 7), (1, 8), (2, 9)]
    assert rows[1].data.name == "sudoku_v0/test/1"
    assert not env.taskset.bounded  # sudoku generates its tasks
    assert load_environment("sudoku_v0", tasks=5).taskset.bounded
    counted = load_environment("debate_v0", agent="pro_0", others="noisy_expert", tasks=1000)
    assert len(list(counted.taskset)) == 61
    train = load_environment("debate_v0").taskset
    assert {row.key for row in train.take(5)}.isdisjoint(
        row.key for row in load_environment("debate_v0", split="test").taskset.take(5)
    )


@with_verifiers
def test_an_expert_behind_the_endpoint_solves_every_task():
    from llmzoo.adapters.verifiers import load_environment

    plays = played("sudoku_v0", "expert")
    with endpoint(from_memory(plays)) as server:
        env = load_environment("sudoku_v0", agent="planner_1", split="test")
        episodes = evaluated(env, server.url, per_iteration=True)
    assert all(episode.ok for episode in episodes)
    traces = [trace for episode in episodes for trace in episode.traces]
    assert [trace.metrics["success"] for trace in traces] == [1.0] * TASKS
    assert [total(trace) for trace in traces] == [play.totals["planner_1"] for play in plays]
    for trace in traces:
        assert trace.info["agent"] == "planner_1"
        parts = [value for name, value in trace.metrics.items() if name.startswith("component_")]
        assert sum(parts) == pytest.approx(total(trace))
    asked = {play.decisions_of("planner_1")[0].observation for play in plays}
    assert {body["messages"][-1]["content"] for body in server.asked} == asked


@with_verifiers
def test_nonsense_is_played_to_the_end_and_costs_what_it_costs_elsewhere():
    from llmzoo.adapters.verifiers import load_environment

    hostile = "\x00 </s> {'grid': __import__('os')} 🦊 " * 40
    with endpoint(lambda _: hostile) as server:
        env = load_environment("sokoban_v0", agent="planner_1", others="expert", split="test")
        episodes = evaluated(env, server.url, tasks=2)
    game = llmzoo.make("sokoban_v0", split="test")
    for task, episode in enumerate(episodes):
        (trace,) = episode.traces
        game.reset(seed=task, options={"task": task})
        paid = turns = 0
        while not any((*game.terminations.values(), *game.truncations.values())):
            one_agent = game.agent_selection
            turns += one_agent == "planner_1"
            game.step(hostile if one_agent == "planner_1" else game.unwrapped.expert(one_agent))
            paid += game.rewards["planner_1"]
        assert episode.ok
        assert trace.metrics["success"] == 0.0
        assert trace.metrics["errors"] == trace.metrics["decisions"] == turns
        assert total(trace) == pytest.approx(paid)
        # each turn is asked with what the agent reads then, and with nothing of the turns before
        assert [len(branch.messages) for branch in trace.branches] == [2] * turns


@with_verifiers
def test_one_model_in_several_agents_has_a_trace_and_an_agent_for_each():
    from llmzoo.adapters.verifiers import load_environment

    for env_id in ("plan_path_v0", "story_v0"):  # in turns; at the same time
        plays = played(env_id, "noisy_expert")
        with endpoint(from_memory(plays)) as server:
            episodes = evaluated(load_environment(env_id, split="test"), server.url)
        for play, episode in zip(plays, episodes, strict=True):
            by_agent = {trace.agent.name: trace for trace in episode.traces}
            for agent, one_agent in zip(("first", "second"), play.totals, strict=True):
                assert by_agent[agent].info["agent"] == one_agent
                assert total(by_agent[agent]) == pytest.approx(play.totals[one_agent])
                assert by_agent[agent].metrics["success"] == play.success


@with_verifiers
def test_others_are_policies_with_the_chance_that_they_have_in_evaluation():
    from llmzoo.adapters.verifiers import load_environment

    plays = played("sudoku_v0", "noisy_expert", tasks=4)
    with endpoint(from_memory(plays)) as server:
        others = {"proposer_0": "noisy_expert"}
        env = load_environment("sudoku_v0", agent="planner_1", others=others, split="test")
        episodes = evaluated(env, server.url, tasks=4)
    totals = [total(episode.traces[0]) for episode in episodes]
    assert totals == pytest.approx([play.totals["planner_1"] for play in plays])
    assert len(set(totals)) > 1


@with_verifiers
def test_a_limit_of_verifiers_ends_the_episode_without_success():
    import verifiers.v1 as vf

    from llmzoo.adapters.verifiers import LlmzooConfig, LlmzooEnv, LlmzooEnvConfig

    config = LlmzooEnvConfig(
        taskset=LlmzooConfig(env="sudoku_v0", agents=["planner_1"], split="test"),
        first=vf.AgentConfig(max_turns=1, runtime=vf.SubprocessConfig()),
    )
    with endpoint(lambda _: "nonsense") as server:
        (episode,) = evaluated(LlmzooEnv(config), server.url, tasks=1)
    (trace,) = episode.traces
    assert (trace.stop_condition, trace.metrics["decisions"]) == ("max_turns", 1.0)
    assert (trace.metrics["success"], trace.metrics["errors"]) == (0.0, 1.0)


@with_verifiers
def test_an_endpoint_that_refuses_makes_a_failed_episode_not_a_score():
    from llmzoo.adapters.verifiers import load_environment

    with endpoint(lambda _: 400) as server:
        env = load_environment("sudoku_v0", agent="planner_1", split="test")
        (episode,) = evaluated(env, server.url, tasks=1)
    assert not episode.ok
    assert episode.traces[0].errors[0].type == "ProviderError"
    assert episode.traces[0].metrics["success"] == 0.0


@with_verifiers
def test_settings_that_make_no_sense_are_refused():
    from llmzoo.adapters.verifiers import load_environment

    for error, message, given in (
        (UnknownNameError, "Did you mean 'sudoku_v0'", {"env_id": "sudoko_v0"}),
        (UnknownNameError, "Did you mean 'planner_1'", {"agent": "planner"}),
        (ConfigError, "named twice", {"agent": ["planner_1", "planner_1"]}),
        (ConfigError, "at least 1", {"tasks": 0}),
        (UnknownNameError, "Did you mean 'expert'", {"others": "expart"}),
        (UnknownNameError, "agent in others", {"others": {"critic": "expert"}}),
    ):
        settings = {"env_id": "sudoku_v0", "agent": "planner_1", **given}
        with pytest.raises(error, match=message):
            load_environment(**settings)


@with_verifiers
def test_the_command_of_verifiers_finds_the_taskset(tmp_path):
    with endpoint(from_memory(played("sudoku_v0", "expert"))) as server:
        arguments = [
            *("llmzoo-verifiers", "--env.taskset.env", "sudoku_v0"),
            *("--env.taskset.agents", '["planner_1"]', "--env.taskset.split", "test"),
            *("-n", "2", "-m", "m", "--client.base-url", server.url, "--no-push", "--no-rich"),
            *("--output-dir", str(tmp_path), "--run.name", "run"),
        ]
        program = "from verifiers.v1.cli.eval.main import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    (file,) = tmp_path.rglob("traces.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["traces"][0]["metrics"]["success"] for row in rows] == [1.0, 1.0]


@with_verifiers
def test_an_environment_server_plays_in_a_process_of_its_own(tmp_path):
    """How a trainer has its episodes played: settings and rows go over, and traces come back."""
    import verifiers.v1 as vf
    from verifiers.v1.serve import EnvClient, env_config_data

    from llmzoo.adapters.verifiers import load_environment

    env = load_environment("plan_path_v0", split="test")
    config = tmp_path / "config.json"
    config.write_text(json.dumps(env_config_data(env.config)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    program = (
        "import json, sys; from verifiers.v1.serve import serve_env; "
        "serve_env(max_workers=1, address=sys.argv[1], config_data=json.load(open(sys.argv[2])))"
    )
    plays = played("plan_path_v0", "noisy_expert", tasks=2)

    async def run(url):
        client = EnvClient(address)
        await client.wait_for_server_startup(timeout=180)
        model = vf.EvalClientConfig(base_url=url, api_key_var="NO_SUCH_KEY")
        rows = [task.data.model_dump(mode="json") for task in env.taskset.take(2)]
        sampling = vf.SamplingConfig()
        results = [await client.run(model, "m", sampling, row) for row in rows]
        await client.close()
        return results

    with endpoint(from_memory(plays)) as server:
        serving = subprocess.Popen(
            [sys.executable, "-c", program, address, str(config)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        try:
            results = asyncio.run(run(server.url))
        finally:
            serving.terminate()
            serving.wait(20)
    for play, episode in zip(plays, results, strict=True):
        assert episode.ok
        returns = {t.info["agent"]: t.rewards["return"].score for t in episode.traces}
        assert returns == pytest.approx(dict(play.totals))


@with_verifiers
def test_the_example_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["verifiers_eval.py"])
    runpy.run_path(str(ROOT / "examples/adapters/verifiers_eval.py"), run_name="__main__")
    assert "success" in capsys.readouterr().out


@with_verifiers
def test_the_page_s_blocks_evaluate(capsys):
    (block,) = [b for kind, b, _ in blocks(ROOT / "docs/adapters/verifiers.md") if kind == "python"]
    with endpoint(from_memory(played("sudoku_v0", "expert", tasks=4))) as server:
        exec(block.replace("http://localhost:8000/v1", server.url), {"__name__": "__main__"})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["planner_1", "2.0"]] * 4
