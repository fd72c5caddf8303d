"""Our environments served as OpenEnv environments, and played with OpenEnv's own client.

Most of it needs openenv itself, which brings ``mcp`` below 2: in an environment of its own,
``pip install 'llmzoo-marl[openenv,train]' pytest`` and run this file there.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import runpy
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from pages import ROOT, blocks

import llmzoo
from llmzoo.adapters.single_agent import single_agent
from llmzoo.errors import ConfigError, MissingExtraError, UnknownNameError
from llmzoo.policies import load
from llmzoo.rollout.episodes import play_episodes

installed = importlib.util.find_spec("openenv") is not None
with_openenv = pytest.mark.skipif(not installed, reason="openenv is not installed")


@pytest.mark.skipif(installed, reason="openenv is installed")
def test_without_openenv_the_extra_is_named():
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[openenv\]"):
        importlib.import_module("llmzoo.adapters.openenv")


def test_the_adapters_do_not_import_it():
    says = "import sys, llmzoo.adapters; print('openenv' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", says], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@contextmanager
def served(env_id, **options):
    """The address of a server in this process."""
    import uvicorn

    from llmzoo.adapters.openenv import create_app

    app = create_app(env_id, **options)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server has not started"
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def sudoku():
    with served("sudoku_v0", agent="planner_1", others="expert", max_concurrent_envs=8) as url:
        yield url


async def episode(url, answers, **reset):
    """What a client sees of an episode: (text, reward, done, error) for each step, and the state."""
    from llmzoo.adapters.openenv import TextAction, TextClient

    async with TextClient(base_url=url) as client:
        result = await client.reset(**reset)
        seen = [(result.observation.text, result.reward, result.done, result.observation.error)]
        for answer in answers:
            if result.done:
                break
            result = await client.step(TextAction(text=answer))
            seen_now = result.observation
            seen.append((seen_now.text, result.reward, result.done, seen_now.error))
        return seen, result.observation, await client.state()


@with_openenv
def test_several_sessions_at_once_each_play_as_in_process(sudoku):
    """An expert's answers from memory: success, and step for step what a single agent gets."""
    plays = play_episodes(
        lambda: llmzoo.make("sudoku_v0", split="test"),
        load("expert"),
        list(range(6)),
        tasks=list(range(6)),
    )
    answers = [[d.completion.text for d in play.decisions_of("planner_1")] for play in plays]

    async def together():
        return await asyncio.gather(
            *(
                episode(sudoku, answers[i], seed=i, split="test", index=i, episode_id=f"e{i}")
                for i in range(6)
            )
        )

    here = single_agent("sudoku_v0", agent="planner_1", others="expert", split="test")
    for i, (seen, last, state) in enumerate(asyncio.run(together())):
        expected = [(here.reset(seed=i, options={"task": i})[0], None, False, None)]
        for answer in answers[i]:
            text, reward, terminated, truncated, info = here.step(answer)
            expected.append((text, reward, terminated or truncated, info["error"]))
        assert seen == expected
        assert last.success is True
        assert sum(last.reward_components.values()) == pytest.approx(seen[-1][1])
        assert (state.episode_id, state.step_count, state.seed) == (f"e{i}", len(answers[i]), i)
        assert state.total == pytest.approx(plays[i].totals["planner_1"])
        assert state.done


@with_openenv
def test_hostile_texts_are_answers(sudoku):
    """Whatever can be sent is scored; the session goes on, and the next episode is not touched."""
    texts = ["", "\x00\x1b[2J", "\u202egrid\u0301" * 99, "</s><|im_end|>{{7*7}}", "9" * 500_000]

    async def play():
        from llmzoo.adapters.openenv import TextAction, TextClient

        async with TextClient(base_url=sudoku) as client:
            first = (await client.reset(seed=5)).observation.text
            for text in texts:
                result = await client.reset(seed=5)
                result = await client.step(TextAction(text=text))
                assert result.observation.error.startswith("malformed")
                assert (result.reward, result.observation.success) == (0.0, None)
            half = TextAction.model_construct(text="\ud800", metadata={})  # no Unicode at all
            await client.reset(seed=5)
            assert (await client.step(half)).observation.error.startswith("malformed")
            assert (await client.reset(seed=5)).observation.text == first

    asyncio.run(play())


@with_openenv
def test_what_is_no_answer_is_an_error_and_the_session_lives(sudoku):
    async def play():
        from openenv import GenericEnvClient

        async with GenericEnvClient(base_url=sudoku) as client:
            for wrong, message in (
                ({"split": "dev"}, "unknown split 'dev'"),
                ({"index": -1}, "whole number from 0"),
                ({"index": 10**9}, "whole number from 0"),
                ({"index": "one"}, "whole number from 0"),
                ({"seed": "x"}, "Seed must be"),
            ):
                with pytest.raises(RuntimeError, match=message):
                    await client.reset(**wrong)
            with pytest.raises(RuntimeError, match="reset before the next step"):
                await client.step({"text": "too early"})
            await client.reset(seed=1)
            for action in ({"text": 5}, {"words": "x"}, {"text": "x", "more": 1}, {}):
                with pytest.raises(RuntimeError, match="Invalid message"):
                    await client.step(action)
            assert (await client.step({"text": "nonsense"})).reward == 0.0

    asyncio.run(play())


@with_openenv
def test_more_sessions_than_there_is_room_for_are_refused(sudoku):
    async def play():
        from llmzoo.adapters.openenv import TextClient

        async with TextClient(base_url=url) as first:
            await first.reset(seed=0)
            with pytest.raises(RuntimeError, match="CAPACITY_REACHED"):
                async with TextClient(base_url=url) as second:
                    await second.reset(seed=0)

    with served("sudoku_v0", agent="planner_1", others="expert", max_concurrent_envs=1) as url:
        asyncio.run(play())


@with_openenv
def test_the_task_routes_tell_the_splits(sudoku):
    import httpx

    def ask(url, env_id, route, **body):
        response = httpx.post(f"{url}/{env_id}/{route}", json=body)
        return response.status_code, response.json()

    splits = httpx.get(f"{sudoku}/sudoku_v0/splits").json()
    assert [split["name"] for split in splits] == ["train", "test"]
    assert ask(sudoku, "sudoku_v0", "num_tasks", split="train")[0] == 501  # they are generated
    spec = {"split": "test", "index": 4}
    assert ask(sudoku, "sudoku_v0", "task", **spec) == (200, {"task": spec})
    schema = httpx.get(f"{sudoku}/schema").json()
    assert schema["action"]["required"] == ["text"]
    with served("debate_v0", agent="pro_0", others="noisy_expert") as url:
        assert ask(url, "debate_v0", "num_tasks", split="train") == (200, {"num_tasks": 61})
        assert ask(url, "debate_v0", "task", split="train", index=61)[0] == 400
        code, listed = ask(url, "debate_v0", "task_range", split="train", start=59)
        assert (code, [task["index"] for task in listed["tasks"]]) == (200, [59, 60])


@with_openenv
def test_settings_that_make_no_sense_are_refused():
    from llmzoo.adapters.openenv import create_app

    for error, message, given in (
        (UnknownNameError, "Did you mean 'sudoku_v0'", {"env_id": "sudoko_v0"}),
        (UnknownNameError, "Did you mean 'planner_1'", {"agent": "planner"}),
        (ConfigError, "agent must be one of", {"agent": None}),
        (ConfigError, "nobody plays proposer_0", {"others": None}),
        (UnknownNameError, "unknown split", {"split": "dev"}),
    ):
        with pytest.raises(error, match=message):
            create_app(**{"env_id": "sudoku_v0", "agent": "planner_1", "others": "expert", **given})


@with_openenv
def test_the_example_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["openenv_server.py"])
    runpy.run_path(str(ROOT / "examples/adapters/openenv_server.py"), run_name="__main__")
    assert "success" in capsys.readouterr().out


@with_openenv
@pytest.mark.slow
def test_the_page_s_blocks_serve_and_train(tmp_path, monkeypatch):
    """The second one trains with TRL over the server for three steps, and says that weights moved."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for kind, block, _ in blocks(ROOT / "docs/adapters/openenv.md"):
        if kind == "python":
            exec(block, namespace)
    paid = [row["reward"] for row in namespace["trainer"].state.log_history if "reward" in row]
    assert paid
    assert all(reward > 0 for reward in paid)
    assert namespace["state"].step_count > 0
