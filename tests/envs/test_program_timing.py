"""Programs whose calls come early, late, twice or never: who gets which answer."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial

import pytest
from test_program_env import RELAY, asked, made, others, programs, said, wait_for  # noqa: F401

import llmzoo
from llmzoo.envs.forking import fork
from llmzoo.envs.programs import ProgramError
from llmzoo.errors import ConfigError


async def aask(client, agent, text):
    message = {"role": "user", "content": text}
    return said(await client.aio.chat.completions.create(model=agent, messages=[message]))


def play(env, answer, pause=0.0):
    """Play to the end, and think before each step; who was asked in each round."""
    rounds = []
    while not all(env.terminations.values()):
        rounds.append(tuple(env.unwrapped.agents_to_act()))
        time.sleep(pause)
        for agent in rounds[-1]:
            env.step(answer(env.observe(agent)))
    return rounds


def test_a_call_that_comes_while_others_think_waits_for_its_turn():
    heard = {}

    async def late(task, client):
        async def one(text, seconds):
            await asyncio.sleep(seconds)
            heard[text] = await aask(client, "a", text)

        await asyncio.gather(one("zebra", 0), one("ant", 0.02))
        return 1.0

    env = made(late)
    assert play(env, lambda seen: f"answer to {seen}", pause=0.1) == [("a_0",), ("a_0",)]
    assert heard == {"zebra": "answer to zebra", "ant": "answer to ant"}


def test_a_thread_that_calls_late_waits_for_its_turn():
    heard = {}

    def late(task, client):
        def work(text, seconds):
            time.sleep(seconds)
            heard[text] = asked(client, "b", text)

        threads = [threading.Thread(target=work, args=(t, s)) for t, s in (("x", 0), ("a", 0.08))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return 1.0

    env = made(late)
    play(env, lambda seen: f"answer to {seen}", pause=0.1)
    assert heard == {"x": "answer to x", "a": "answer to a"}


def test_a_coroutine_has_the_same_rounds_every_time():
    async def branches(task, client):
        async def twice(first, second):
            await aask(client, first, "1")
            await aask(client, second, "2")

        await asyncio.gather(aask(client, "a", "x"), aask(client, "a", "y"), twice("b", "c"))
        return 1.0

    seen = set()
    for _ in range(60):
        env = made(branches, agents=["a_0", "b_1", "c_2"])
        seen.add(tuple(play(env, lambda text: "!")))
    assert seen == {(("a_0", "b_1"), ("a_0", "c_2"))}


def test_a_replay_does_not_need_the_time_that_a_policy_took():
    async def late(task, client):
        async def one(agent, seconds):
            await asyncio.sleep(seconds)
            return await aask(client, agent, "?")

        left, right = await asyncio.gather(one("a", 0), one("b", 0.03))
        again = await aask(client, "a", f"{left} {right}")
        return float(again == "end")

    env = made(late)
    time.sleep(0.1)
    env.step("left")  # by then b has called too
    env.step("right")
    assert env.observe("a_0") == "left right"
    first, second = fork(env), fork(env)
    first.step("end")
    second.step("end")
    assert first.rewards == second.rewards == {"a_0": 1.0, "b_1": 1.0}


def test_a_call_that_is_cancelled_is_not_asked():
    async def racing(task, client):
        slow = asyncio.ensure_future(aask(client, "b", "cancelled"))
        await asyncio.sleep(0)
        slow.cancel()
        return float(await aask(client, "a", "kept") == "x")

    env = made(racing)
    assert play(env, lambda seen: "x") == [("a_0",)]


def test_a_call_that_times_out_gives_way():
    gave_up = threading.Event()

    async def impatient(task, client):
        try:
            await asyncio.wait_for(aask(client, "a", "first"), timeout=0.05)
        except TimeoutError:
            gave_up.set()
            return float(await aask(client, "b", "second") == "x")

    env = made(impatient)
    assert gave_up.wait(20)
    env.step("too late")
    assert env.unwrapped.agents_to_act() == ["b_1"]
    env.step("x")
    assert env.rewards["a_0"] == 1.0


def test_what_was_paid_before_the_first_call_is_paid_in_every_copy():
    def program(task, client):
        client.reward(0.5)
        return float(asked(client, "a", "?") == "x")

    env = made(program)
    first, second = fork(env), fork(env)
    first.step("x")
    second.step("x")
    assert first.rewards == second.rewards == {"a_0": 1.5, "b_1": 1.5}


def test_what_was_paid_before_a_copy_is_not_paid_again():
    def program(task, client):
        asked(client, "a", "1")
        client.reward(0.5)
        return float(asked(client, "a", "2") == "x")

    env = made(program)
    env.step("x")
    assert env.rewards["a_0"] == 0.5
    first, second = fork(env), fork(env)
    first.step("x")
    second.step("x")
    assert first.rewards == second.rewards == {"a_0": 1.0, "b_1": 1.0}


def coroutine_in_a_lambda(task, client):
    return aask(client, "a", "?")


class Callable:
    async def __call__(self, task, client):
        return float(await aask(client, "a", "?") == "x")


@pytest.mark.parametrize(
    "program",
    [
        Callable(),
        partial(Callable()),
        lambda task, client: Callable()(task, client),
        lambda task, client: asyncio.run(Callable()(task, client)),
    ],
    ids=["object", "partial", "lambda", "a loop of its own"],
)
def test_every_form_of_a_coroutine(program):
    env = made(program)
    env.step("x")
    assert env.rewards["a_0"] == 1.0


def test_calls_of_a_loop_of_its_own_are_made_together():
    async def both(client):
        return await asyncio.gather(aask(client, "a", "?"), aask(client, "b", "?"))

    env = made(lambda task, client: float(asyncio.run(both(client)) == ["x", "x"]))
    assert play(env, lambda seen: "x") == [("a_0", "b_1")]


def test_a_task_that_ignores_its_cancellation_holds_nobody_up():
    async def leaves(task, client):
        async def stubborn():
            while not release.is_set():
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    continue

        left = asyncio.ensure_future(stubborn())
        assert not left.done()
        return float(await aask(client, "a", "?") == "x")

    release = threading.Event()
    env = made(leaves)
    env.step("x")
    assert env.rewards["a_0"] == 1.0
    assert programs()  # it still runs
    release.set()
    assert wait_for(lambda: not programs())


@pytest.mark.parametrize("reward", ["much", float("nan"), 10**400, {"c": 1}, {"a": 1, "a_0": 1}])
def test_what_is_no_reward_is_refused_where_it_is_paid(reward):
    caught = []

    def program(task, client):
        asked(client, "a", "?")
        try:
            client.reward(reward)
        except ProgramError as error:
            caught.append(str(error))
        return 1.0

    env = made(program)
    env.step("x")
    assert env.rewards["a_0"] == 1.0
    assert "a program" in caught[0]


def test_a_reward_is_copied():
    def program(task, client):
        share = {"a": 0.25}
        client.reward(share)
        share["a"] = 0.5
        client.reward(share)
        asked(client, "a", "?")
        return 0.0

    env = made(program)
    env.step("x")
    assert env.rewards["a_0"] == 0.75


def test_success_of_rewards_that_add_up_and_of_an_episode_that_is_cut_off():
    def tenths(task, client):
        for _ in range(10):
            asked(client, "a", "?")
            client.reward(0.1)
        asked(client, "a", "once more")
        return 0.0

    for turns in (10, 20):
        env = made(tenths, max_turns=turns)
        while not (env.terminations["a_0"] or env.truncations["a_0"]):
            env.step("x")
        assert env.truncations["a_0"] == (turns == 10)
        assert env.infos["a_0"]["success"] is True


def test_a_call_keeps_what_it_was_made_with():
    def program(task, client):
        messages = [{"role": "user", "content": "first"}]
        tools = [{"type": "function", "function": {"name": "f"}}]
        create = partial(client.chat.completions.create, model="a")
        create(messages=messages, tools=tools)
        messages[0]["content"], tools[0]["type"] = "changed", "changed"
        return float(said(create(messages=[{"role": "user", "content": "last"}])) == "x")

    env = made(program)
    env.step("y")
    first, second = fork(env), fork(env)
    first.step("x")
    second.step("x")
    assert second.rewards["a_0"] == 1.0


@pytest.mark.parametrize(
    "asks",
    [
        {"messages": [{"role": "user", "content": "?", "when": object()}]},
        {"messages": [{"role": "user", "content": ["hi"]}]},
        {"messages": [{"role": "assistant", "content": "", "tool_calls": 5}]},
        {"messages": [{"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}]},
        {"messages": [{"role": "user", "content": "?"}], "tools": "abc"},
        {"messages": [{"role": "user", "content": "?"}], "stop": [1]},
    ],
)
def test_malformed_calls_fail_in_the_program(asks):
    caught = []

    def program(task, client):
        try:
            client.chat.completions.create(model="a", **asks)
        except Exception as error:
            caught.append(type(error).__name__)
        return float(asked(client, "a", "?") == "x")

    env = made(program)
    env.step("x")
    assert caught == ["ConfigError"]


def test_a_replay_that_raises_says_why():
    starts = []

    def once(task, client):
        starts.append(1)
        if len(starts) > 1:
            raise OSError("the file is there already")
        return float(asked(client, "a", "?") == "x")

    env = made(once)
    first, second = fork(env), fork(env)
    first.step("x")
    with pytest.raises(ProgramError, match="now it raised OSError: the file is there already"):
        second.step("x")


def test_a_step_that_fails_leaves_no_thread():
    def long(task, client):
        asked(client, "a", "?")
        asked(client, "b", "x" * 2_000_000)

    env = made(long)
    with pytest.raises(ProgramError, match="asked more than 1000000 characters"):
        env.step("x")
    assert wait_for(lambda: not programs())


def test_a_function_that_makes_environments_is_evaluated_on_the_split():
    def ids(make, split):
        return set(llmzoo.evaluate(make, "expert", tasks=12, split=split).ids)

    assert ids(RELAY, "test")
    assert not ids(RELAY, "train") & ids(RELAY, "test")
    assert ids(partial(RELAY, split="train"), "test") == ids(RELAY, "train")  # as it was asked


def test_success_is_that_of_the_present_episode():
    """What the program said of the last one counts no more."""
    answers = []

    def program(task, client):
        while True:
            answers.append(asked(client, "a", "?"))
            if answers[-1] == "stop":
                return 0.0, True

    env = made(program, max_turns=3)
    env.step("stop")
    assert env.infos["a_0"]["success"] is True
    env.reset(seed=1)
    for _ in range(3):
        env.step("on")
    assert env.truncations["a_0"]
    assert env.infos["a_0"]["success"] is False


def test_agents_are_several_names():
    with pytest.raises(ConfigError, match="agents are the names"):
        made(lambda task, client: 1.0, agents="ab")
