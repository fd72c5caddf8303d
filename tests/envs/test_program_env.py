"""Programs that call models, as environments."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

import llmzoo
from llmzoo.envs.base import Outcome
from llmzoo.envs.forking import fork
from llmzoo.envs.programs import ProgramClosed, ProgramError, running
from llmzoo.envs.programs.messages import ProgramCall, find_agent, make_completion
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.policies import ScriptedPolicy
from llmzoo.rollout import agent_turn_tree, joint_tree, play_episodes, run_rollouts
from llmzoo.testing import (
    check_credit,
    check_env,
    check_expert,
    check_fork,
    check_groups,
    check_hostile_text,
    check_rewards,
    check_seeds,
    check_text_spaces,
)
from tests.envs.word_programs import TASKS, limit_time_from_now


def said(reply):
    return reply.choices[0].message.content


def asked(client, agent, text, **settings):
    message = {"role": "user", "content": text}
    return said(client.chat.completions.create(model=agent, messages=[message], **settings))


def relay(task, client):
    """A writer writes a word backwards, a checker says whether it is right; up to three times."""
    for attempt in range(3):
        draft = asked(client, "writer", f"Attempt {attempt}. Write {task['word']} backwards.")
        verdict = asked(client, "checker", f"Is {draft[:50]!r} {task['word']} backwards? yes or no")
        right = draft == task["word"][::-1]
        client.reward({"checker": 0.5 * (verdict == ("yes" if right else "no"))})
        if verdict == "yes":
            return float(right)
    return 0.0


async def vote(task, client):
    """Three see the task at the same time; the first then reads what all have said."""

    async def ask(agent, text):
        message = {"role": "user", "content": text}
        return said(await client.aio.chat.completions.create(model=agent, messages=[message]))

    votes = await asyncio.gather(*(ask(a, f"{a}: {task['word']}?") for m, a in enumerate("cab")))
    last = await ask("a", f"They say {[v[:20] for v in votes]}. Which?")
    right = last == task["word"]
    return {"a": {"right": float(right)}, "b": 0.1}, right


def scripted(task, agent, messages):
    return task["word"][::-1] if agent == "writer_0" else "yes"


def sloppy(task, agent, messages, rng):
    return scripted(task, agent, messages) if rng.random() < 0.5 else "no"


RELAY = partial(
    llmzoo.from_program,
    relay,
    **{
        "agents": ["writer_0", "checker_1"],
        "tasks": TASKS,
        "expert": scripted,
        "noisy_expert": sloppy,
    },
)
VOTE = partial(llmzoo.from_program, vote, agents=["a_0", "b_1", "c_2"], tasks=TASKS)


def made(program, agents=("a_0", "b_1"), **kwargs):
    env = llmzoo.from_program(program, agents=agents, tasks=["one"], **kwargs)
    env.reset(seed=0)
    return env


def play(env, answer):
    """Play to the end; the observations and answers, in order."""
    log = []
    for agent in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        over = terminated or truncated
        if not over:
            log.append((agent, str(observation)))
        env.step(None if over else answer(observation, agent))
    return log


@pytest.mark.parametrize("env_fn", [RELAY, VOTE], ids=["relay", "vote"])
class TestRules:
    def test_pettingzoo(self, env_fn):
        check_env(env_fn, cycles=10)

    def test_rules_of_llmzoo(self, env_fn):
        check_text_spaces(env_fn)
        check_seeds(env_fn)
        check_fork(env_fn)
        check_rewards(env_fn)
        check_credit(env_fn)

    def test_hostile_text(self, env_fn):
        rng = random.Random(0)
        texts = [
            "",
            "\0",
            "\ud800",
            "yes" * 10_000,
            *("".join(map(chr, rng.choices(range(55_000), k=9))) for _ in range(50)),
        ]
        check_hostile_text(env_fn, texts)


def test_experts_solve_it_and_every_agent_has_groups_that_differ():
    check_expert(RELAY, tasks=range(4))
    check_groups(RELAY)


def test_calls_are_turns_and_rewards_are_paid_at_once():
    env = RELAY()
    env.reset(options={"task": 0})
    word = env.unwrapped.episode.row.columns["word"]
    assert env.agent_selection == "writer_0"
    assert env.observe("writer_0") == f"Attempt 0. Write {word} backwards."
    assert env.observe("checker_1") == ""  # not called yet
    env.step("nonsense")
    assert env.agent_selection == "checker_1"
    env.step("no")  # which is right
    assert env.rewards == {"writer_0": 0.0, "checker_1": 0.5}
    assert env.infos["checker_1"]["reward_components"] == {"reward": 0.5}
    assert env.observe("writer_0") == f"Attempt 1. Write {word} backwards."
    env.step(word[::-1])
    env.step("yes")
    assert env.rewards == {"writer_0": 1.0, "checker_1": 1.5}
    assert env.infos["writer_0"]["reward_components"] == {"team": 1.0}
    assert env.infos["writer_0"]["success"] is True
    assert all(env.terminations.values())


def test_calls_that_are_gathered_are_answered_together():
    env = VOTE()
    env.reset(options={"task": 0})
    assert env.unwrapped.agents_to_act() == ["a_0", "b_1", "c_2"]  # the order of the agents
    before = env.observe("b_1")
    env.step("one")
    assert env.observe("b_1") == before
    env.step("two")
    env.step("three")
    assert env.observe("a_0") == "They say ['three', 'one', 'two']. Which?"
    env.step(env.unwrapped.episode.row.columns["word"])
    assert env.infos["a_0"]["reward_components"] == {"right": 1.0}
    assert env.infos["b_1"]["success"] is True


def test_a_trees_group_shares_its_conversation_and_every_branch_has_its_own_run():
    starts = []

    def counted(task, client):
        starts.append(threading.get_ident())
        return relay(task, client)

    def policy(seen):
        env = seen.env.unwrapped
        return sloppy(env.episode.row.columns, seen.agent, (), random.Random(seen.observation))

    env = llmzoo.from_program(counted, agents=["writer_0", "checker_1"], tasks=TASKS)
    env.reset(seed=1)
    players = dict.fromkeys(env.possible_agents, ScriptedPolicy(policy))
    (batch,) = run_rollouts(
        [joint_tree(env, 1, group_size=4, trained=env.possible_agents)], players
    )
    assert {group.agent for group in batch.groups} == {"writer_0", "checker_1"}
    assert len(starts) < 2 * len(batch.endings) * 3
    env = RELAY()
    env.reset(seed=1)
    (batch,) = run_rollouts(
        [agent_turn_tree(env, 1, group_size=4, trained=env.possible_agents)], players
    )
    assert [group.agent for group in batch.groups[:2]] == ["writer_0", "checker_1"]


def test_a_fork_goes_its_own_way():
    env = RELAY()
    env.reset(seed=3)
    env.step("nonsense")
    copies = [fork(env) for _ in range(3)]
    for copy, verdict in zip(copies, ("yes", "no", "no"), strict=True):
        copy.step(verdict)
    assert [all(copy.terminations.values()) for copy in copies] == [True, False, False]
    assert copies[1].observe("writer_0") == copies[2].observe("writer_0")
    env.step("no")
    assert env.observe("writer_0") == copies[1].observe("writer_0")


def test_a_program_that_takes_another_way_when_replayed_is_told_where(monkeypatch):
    monkeypatch.setattr(running, "_PATIENCE", 0.05)
    count = iter(range(100))

    def fickle(task, client):
        asked(client, "a", "always the same")
        return float(len(asked(client, "b", f"number {next(count)}")) > 3)

    env = made(fickle)
    env.step("x")
    first, second = fork(env), fork(env)
    first.step("y")
    with pytest.raises(
        ProgramError, match=r"round 2: it asked b_1 'number 0' first.*'number 1' now"
    ):
        second.step("y")


def test_chance_that_is_replayable():
    def dice(task, client):
        return float(asked(client, "a", f"guess {client.random.random()}") == "1")

    env = made(dice)
    first, second = fork(env), fork(env)
    first.step("1")
    second.step("0")
    assert (first.rewards["a_0"], second.rewards["a_0"]) == (1.0, 0.0)


def test_a_program_that_cannot_be_replayed_plays_whole_episodes_only():
    env = made(lambda task, client: float(len(asked(client, "a", "?"))), replayable=False)
    with pytest.raises(ConfigError, match="ippo copies nothing"):
        fork(env)
    play(env, lambda observation, agent: "four")
    assert env.unwrapped.success


def test_threads_are_answered_together():
    def four(task, client):
        with ThreadPoolExecutor(4) as pool:
            texts = list(pool.map(lambda a: asked(client, a, f"to {a}"), ["d", "c", "b", "a"]))
        return float(texts == ["d", "c", "b", "a"])

    env = made(four, agents=["a_0", "b_1", "c_2", "d_3"])
    assert env.unwrapped.agents_to_act() == ["a_0", "b_1", "c_2", "d_3"]
    play(env, lambda observation, agent: agent[0])
    assert env.unwrapped.success


def test_several_answers_to_one_call():
    def best(task, client):
        message = {"role": "user", "content": "a number"}
        reply = client.chat.completions.create(model="a", messages=[message], n=3)
        return float(max(int(choice.message.content) for choice in reply.choices) == 7)

    env = made(best)
    numbers = iter("273")
    log = play(env, lambda observation, agent: next(numbers))
    assert log == [("a_0", "a number")] * 3
    assert env.unwrapped.success


def test_the_clients_shape():
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    seen = {}

    def shapes(task, client):
        create = client.chat.completions.create
        talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
        reply = create(model="a", messages=talk, stop=["END"], temperature=0.3, max_tokens=5)
        seen["stopped"] = said(reply)
        talk = [
            *talk,
            reply.choices[0].message,
            {"role": "user", "content": [{"type": "text", "text": "2+2"}]},
        ]
        reply = create(model="a", messages=talk, tools=tools)
        seen["calls"] = [
            (c.function.name, c.function.arguments) for c in reply.choices[0].message.tool_calls
        ]
        seen["reason"] = reply.choices[0].finish_reason
        stream = create(model="a", messages=talk, stream=True)
        seen["streamed"] = "".join(part.choices[0].delta.content for part in stream)
        return True

    env = made(shapes)
    assert env.observe("a_0") == "[system]\nBe brief.\n\n[user]\nHi"
    env.step("Hello END of it")
    assert env.observe("a_0").messages[2] == {"role": "assistant", "content": "Hello "}
    assert env.observe("a_0").messages[3] == {"role": "user", "content": "2+2"}
    assert env.observe("a_0").tools == tuple(tools)
    env.step('<tool_call>{"name": "add", "arguments": {"x": 2}}</tool_call>')
    env.step("streamed")
    assert seen == {
        "stopped": "Hello ",
        "calls": [("add", '{"x": 2}')],
        "reason": "tool_calls",
        "streamed": "streamed",
    }
    assert env.unwrapped.success


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("<tool_call>{broken</tool_call>", None),
        ('<tool_call>{"arguments": {}}</tool_call>', None),
        ('<tool_call>{"name": 3}</tool_call>', None),
        ("[" * 10_000, None),
        (
            '<tool_call>{"name": "f"}</tool_call> <tool_call>{"name": "g", "arguments": "{}"}</tool_call>',
            ["f", "g"],
        ),
    ],
)
def test_tool_calls_that_a_model_wrote(text, calls):
    call = ProgramCall("a_0", ({"role": "user", "content": "?"},), ({"type": "function"},))
    message = make_completion(call, [text], 1).choices[0].message
    names = None if message.tool_calls is None else [c.function.name for c in message.tool_calls]
    assert names == calls
    assert message.content == (text if calls is None else None)


@pytest.mark.parametrize(
    ("result", "rewards", "success"),
    [
        (1, {"a_0": 1.0, "b_1": 1.0}, True),
        (0.5, {"a_0": 0.5, "b_1": 0.5}, False),
        (True, {"a_0": 1.0, "b_1": 1.0}, True),
        ((0.2, True), {"a_0": 0.2, "b_1": 0.2}, True),
        ({"a": 2, "b_1": {"form": 0.25, "right": 0.5}}, {"a_0": 2.0, "b_1": 0.75}, False),
        (Outcome(team=0.5, local={"a_0": {"own": 0.25}}), {"a_0": 0.75, "b_1": 0.5}, False),
    ],
)
def test_what_a_program_returns(result, rewards, success):
    def program(task, client):
        asked(client, "a", "?")
        return result

    env = made(program)
    env.step("x")
    assert env.rewards == rewards
    assert env.infos["a_0"]["success"] is success


@pytest.mark.parametrize("result", [None, "1", {"nobody": 1.0}, (1.0, "yes"), [1.0]])
def test_what_no_program_may_return(result):
    def program(task, client):
        asked(client, "a", "?")
        return result

    env = made(program)
    with pytest.raises(ProgramError, match=r"a program (returns|paid)"):
        env.step("x")


def test_faults_of_the_program_are_named():
    with pytest.raises(ProgramError, match="returned without a call"):
        made(lambda task, client: 1.0)
    with pytest.raises(ProgramError, match="raised UnknownNameError: unknown agent 'aa'"):
        made(lambda task, client: asked(client, "aa", "?"))
    with pytest.raises(ProgramError, match="unknown setting of a call 'temprature'"):
        made(lambda task, client: asked(client, "a", "?", temprature=1))
    with pytest.raises(ProgramError, match="response_format: a policy writes text"):
        made(lambda task, client: asked(client, "a", "?", response_format={"type": "json_object"}))
    made(lambda task, client: asked(client, "a", "?", response_format={"type": "text"}))
    with pytest.raises(ProgramError, match="messages is a list"):
        made(lambda task, client: client.chat.completions.create(model="a", messages="hi"))
    with pytest.raises(ConfigError, match="each once"):
        made(relay, agents=["a_0", "a_0"])
    with pytest.raises(UnknownNameError, match="unknown agent 'a'"):
        find_agent("a", ["a_0", "a_1"])


def test_a_program_that_raises():
    def brittle(task, client):
        client.reward(0.25)
        return float(int(asked(client, "a", "a number")))

    env = made(brittle)
    with pytest.raises(ProgramError, match=r"ValueError: invalid literal.*on_error='end'"):
        env.step("seven")
    env = made(brittle, on_error="end")
    env.step("seven")
    assert env.rewards["a_0"] == 0.25
    assert "ValueError" in env.infos["a_0"]["error"]
    assert env.infos["a_0"]["success"] is False


def test_a_program_that_leaves_python_ends_the_run_and_not_the_process():
    env = made(lambda task, client: exit(asked(client, "a", "?")), on_error="end")
    with pytest.raises(ProgramError, match="SystemExit"):
        env.step("0")


def test_a_program_that_never_calls_again_is_given_up():
    release = threading.Event()

    def sleeper(task, client):
        asked(client, "a", "?")
        release.wait()

    env = made(sleeper)
    limit_time_from_now(env, 0.1)
    with pytest.raises(ProgramError, match=r"called nobody for 0\.1 seconds"):
        env.step("x")
    release.set()


def test_a_call_after_the_end_is_refused():
    late = []

    def leaves(task, client):
        def work():
            release.wait(10)
            try:
                asked(client, "b", "late")
            except ProgramClosed:
                late.append("closed")

        thread = threading.Thread(target=work)
        thread.start()
        asked(client, "a", "?")
        late.append(thread)
        return 1.0

    release = threading.Event()
    env = made(leaves)
    env.step("x")
    release.set()
    late[0].join(10)
    assert late[1:] == ["closed"]


def test_a_program_that_goes_on_for_ever_is_truncated():
    def endless(task, client):
        while True:
            asked(client, "a", "again")

    env = made(endless, max_turns=5)
    assert len(play(env, lambda observation, agent: "x")) == 5
    assert wait_for(lambda: not programs())


def programs():
    """The threads of programs, without those that environments of other modules still have."""
    running = [thread for thread in threading.enumerate() if thread.name == "llmzoo program"]
    return [thread for thread in running if thread not in _OTHERS]


_OTHERS: list[threading.Thread] = []


@pytest.fixture(scope="module", autouse=True)
def others():
    gc.collect()
    _OTHERS[:] = programs() + _OTHERS


def wait_for(condition, seconds=30):
    ends = time.monotonic() + seconds
    while not condition() and time.monotonic() < ends:
        gc.collect()
        time.sleep(0.02)
    return condition()


def test_no_thread_is_left():
    """Of episodes played to their end, dropped in the middle, forked, reset and closed."""
    env, dropped = RELAY(), []
    for seed in range(60):
        env.reset(seed=seed)
        if seed % 3 == 0:
            play(env, lambda observation, agent: "no")
        elif seed % 3 == 1:
            env.step("x")
            fork(env).step("no")
            dropped = [fork(env)]
    env.close()
    del dropped
    assert wait_for(lambda: not programs()), programs()


def test_a_blocking_call_in_a_coroutine_is_refused():
    async def wrong(task, client):
        return float(len(asked(client, "a", "?")))

    with pytest.raises(ProgramError, match=r"await client\.aio"):
        made(wrong)


def test_a_coroutine_that_waits_for_time():
    async def patient(task, client):
        await asyncio.sleep(0.05)
        create = client.aio.chat.completions.create
        message = {"role": "user", "content": "?"}
        reply = await asyncio.wait_for(create(model="a", messages=[message]), timeout=60)
        return float(said(reply) == "x")

    started = time.monotonic()
    env = made(patient)
    env.step("x")
    assert env.rewards["a_0"] == 1.0
    assert time.monotonic() - started < 10


def test_episodes_of_models_read_the_program():
    played = play_episodes(RELAY, llmzoo.policies.load("tiny"), seeds=[0, 1])
    assert [d.agent for d in played[0].decisions[:2]] == ["writer_0", "checker_1"]
    assert played[0].decisions[0].observation.startswith("Attempt 0. Write ")
    assert all(d.completion.trainable for episode in played for d in episode.decisions)
