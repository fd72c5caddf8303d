"""Tasksets of verifiers by their names, with packages that this file writes.

It needs verifiers: ``pip install 'llmzoo-marl[verifiers]' pytest``, in an environment of its own.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
from functools import partial
from textwrap import dedent

import pytest
from text_endpoint import endpoint

import llmzoo
from llmzoo import registry, testing
from llmzoo.adapters import external
from llmzoo.adapters.external.replayed import ReplayError
from llmzoo.cli import main
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.rollout import fork

pytestmark = pytest.mark.skipif(
    not external.is_installed("verifiers"), reason="verifiers is not installed"
)

# sums with two rewards: 2 for the right number at the end, 0.5 times 1 / number of words
SUMS = """
    import asyncio
    import verifiers.v1 as vf

    class Data(vf.TaskData):
        answer: str

    class Sum(vf.Task[Data, vf.State, vf.TaskConfig]):
        @vf.reward(weight=2.0)
        async def right(self, trace):
            await asyncio.sleep(0.001)
            return float(trace.last_reply.endswith(self.data.answer))

        @vf.reward(weight=0.5)
        async def brief(self, task, trace) -> float:
            return 1.0 / len(trace.last_reply.split())

        @vf.metric
        async def letters(self, trace):
            return len(trace.last_reply)

    class Config(vf.TasksetConfig):
        most: int = 40

    class Sums(vf.Taskset[Sum, Config]):
        def load(self):
            for n in range(self.config.most):
                data = Data(
                    id=f"sum-{n}", prompt=f"{n} + 1 = ?", system_prompt="Answer in words.",
                    answer=str(n + 1),
                )
                yield Sum(data, self.config.task)

    __all__ = ["Sums"]
"""

# a number from 0 to 9 is to be guessed within three answers; the game also gives a part of its own
GUESSES = """
    import random
    import verifiers.v1 as vf

    class Data(vf.TaskData):
        number: int

    class Guess(vf.Task[Data, vf.State, vf.TaskConfig]):
        @vf.reward
        async def found(self, trace):
            return trace.last_reply == str(self.data.number)

    class Guesses(vf.Taskset[Guess, vf.TasksetConfig]):
        INFINITE = True

        def load(self):
            n = 0
            while True:
                yield Guess(Data(prompt=f"Game {n}: guess.", number=n % 10), self.config.task)
                n += 1

    class PlayConfig(vf.EnvConfig):
        player: vf.AgentConfig = vf.AgentConfig()

    class Play(vf.Env[PlayConfig]):
        drift = 0

        async def run(self, task, agents):
            asked = 1
            async with agents.player.interaction(task) as talk:
                segment = await talk.turn()
                while not segment.terminated:
                    said = segment.last_reply
                    if said == "crash":
                        raise ZeroDivisionError("crash")
                    if said == str(task.data.number) or asked == 3:
                        break
                    asked += 1
                    word = random.choice(["No", "Wrong"])
                    segment = await talk.turn(f"{word}. Guess {asked + self.drift} of 3.")
            talk.trace.record_reward("quick", 3 - asked, 0.5)

    __all__ = ["Guesses", "Play"]
"""

# one task with one reward, whose body and arguments are filled in
ONE = """
    import asyncio, time
    import verifiers.v1 as vf

    class JudgedConfig(vf.TaskConfig):
        {setting}

    class One(vf.Task[vf.TaskData, vf.State, JudgedConfig]):
        {extra}

        @vf.reward
        async def scored(self, {arguments}):
            {body}

    class Ones(vf.Taskset[One, vf.TasksetConfig]):
        def load(self):
            return [One(vf.TaskData(prompt={prompt}), JudgedConfig())]

    __all__ = ["Ones"]
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Writes a module and returns its id."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made = []

    def write(text, name=None):
        name = name or f"pack_{threading.get_ident()}_{random.randrange(10**9)}"
        (tmp_path / f"{name}.py").write_text(dedent(text))
        made.append(name)
        return f"verifiers:{name.replace('_', '-')}"

    yield write
    for name in made:
        sys.modules.pop(name, None)


def one(package, body="return 1.0", *, arguments="trace", prompt="'Hi'", setting="pass", extra=""):
    text = ONE.format(
        body=body, arguments=arguments, prompt=prompt, setting=setting, extra=extra or "pass"
    )
    return partial(llmzoo.make, package(text), split="all")


def answered(env, *texts, seed=0, task=0):
    env.reset(seed=seed, options={"task": task})
    for text in texts:
        env.step(text)
    return env.infos["solver_0"]


# one answer


def test_two_rewards_by_hand(package):
    env = llmzoo.make(package(SUMS), split="all")
    assert env.possible_agents == ["solver_0"]
    info = answered(env, "it is 4", task=3)
    assert env.observe("solver_0").startswith("Answer in words.\n\n3 + 1 = ?")
    # right: 2 * 1, brief: 0.5 / 3 words
    assert info["reward_components"] == {"right": 2.0, "brief": 0.5 / 3}
    assert env.rewards["solver_0"] == 2.0 + 0.5 / 3
    assert info["success"] is False
    assert (info["source"], info["tasks"], info["task_name"]) == ("verifiers", 40, "sum-3")
    info = answered(env, "4", task="sum-3")  # both at their best: 2 + 0.5
    assert (env.rewards["solver_0"], info["success"], info["error"]) == (2.5, True, None)
    info = answered(env, "5", task=3)
    assert info["reward_components"] == {"right": 0.0, "brief": 0.5}
    assert env.terminations["solver_0"]


def test_a_prompt_of_several_messages(package):
    make = one(
        package,
        prompt="[vf.SystemMessage(content='Be short.'), vf.UserMessage(content='2?'), "
        "vf.AssistantMessage(content='Two.'), vf.UserMessage(content='3?')]",
    )
    env = make()
    env.reset(seed=0)
    assert env.observe("solver_0") == "Be short.\n\n2?\n\nAssistant: Two.\n\n3?"


def test_settings_of_the_taskset(package):
    id = package(SUMS)
    env = llmzoo.make(id, split="all", config={"most": 7})
    env.reset(seed=0)
    assert env.infos["solver_0"]["tasks"] == 7
    env = llmzoo.make(id, split="all", max_tasks=3)
    env.reset(seed=0)
    assert env.infos["solver_0"]["tasks"] == 3
    with pytest.raises(ConfigError, match=r"(?s)with config=.*no_such"):
        llmzoo.make(id, config={"no_such": 1})
    with pytest.raises(ConfigError, match="has no tasks"):
        llmzoo.make(id, config={"most": 0})
    with pytest.raises(ConfigError, match="max_tasks=0"):
        llmzoo.make(id, max_tasks=0)
    with pytest.raises(UnknownNameError, match="Did you mean 'config'"):
        llmzoo.make(id, confg={})


@pytest.mark.parametrize(
    ("text", "replies"),
    [
        (SUMS, ["4"]),
        (SUMS, ["it is 4"]),
        (SUMS, ["5\n"]),
        (GUESSES, ["3"]),
        (GUESSES, ["8", " 3 "]),
        (GUESSES, ["8", "two", "1"]),
    ],
)
def test_verifiers_itself_pays_the_same(package, text, replies):
    """A rollout of verifiers, with its client and servers, against a model that says these replies."""
    import verifiers.v1 as vf

    id = package(text)
    env = llmzoo.make(id, split="all", max_tasks=10)
    own = answered(env, *replies, task=3)
    asking = {"harness": {"id": "llmzoo-verifiers"}, "runtime": {"type": "subprocess"}}
    agent = "agent" if text == SUMS else "player"
    config = {"taskset": {"id": id.partition(":")[2]}, agent: asking}
    theirs = vf.load_environment(vf.resolve_env_config(config))
    said = iter(replies)

    async def rollout():
        client = vf.EvalClientConfig(base_url=server.url, api_key_var="NO_SUCH_KEY")
        ctx = vf.ModelContext(client=client, model="m", sampling=vf.SamplingConfig())
        async with theirs.serving():
            task = list(theirs.taskset.take(10))[3]
            return await theirs.run_slot(theirs.slots(task)[0], ctx)

    with endpoint(lambda _: next(said)) as server:
        episode = asyncio.run(rollout())
    assert episode.ok
    (trace,) = episode.traces
    assert {name: reward.value for name, reward in trace.rewards.items()} == own[
        "reward_components"
    ]
    asked = [message["content"] for message in server.asked[0]["messages"]]
    env.reset(seed=0, options={"task": 3})
    assert env.observe("solver_0") == "\n\n".join(asked)


# the rules that every environment keeps


@pytest.mark.parametrize(("text", "options"), [(SUMS, {}), (GUESSES, {"max_tasks": 40})])
def test_conformance(package, text, options):
    make = partial(llmzoo.make, package(text), **options)
    testing.check_env(make, cycles=20)
    testing.check_text_spaces(make)
    for act in (None, lambda env, agent: "7"):
        testing.check_seeds(make, seeds=range(2), act=act)
        testing.check_rewards(make, episodes=3, act=act)
        testing.check_credit(make, episodes=3, act=act)
        testing.check_observations_do_not_grow(make, episodes=3, act=act)
        testing.check_fork(make, act=act)
    testing.check_splits(make, 4)
    testing.check_hostile_text(make, testing.hostile_texts(60), max_step_s=0.5)


def test_the_splits_have_all_tasks_between_them(package):
    id = package(SUMS)
    prompts = {}
    for split in ("train", "test", "all"):
        env = llmzoo.make(id, split=split)
        env.reset(seed=0)
        number = env.infos["solver_0"]["tasks"]
        prompts[split] = set()
        for task in range(number):
            env.reset(seed=0, options={"task": task})
            prompts[split].add(str(env.observe("solver_0")))
    assert prompts["train"]
    assert prompts["test"]
    assert not prompts["train"] & prompts["test"]
    assert prompts["train"] | prompts["test"] == prompts["all"]
    assert len(prompts["all"]) == 40


# several answers


def test_an_exchange_by_hand(package):
    env = llmzoo.make(package(GUESSES), split="all", max_tasks=20)
    env.reset(seed=0, options={"task": 13})  # the number is 3
    assert env.observe("solver_0") == "Game 13: guess."
    env.step("8 " + "x" * 300)
    assert env.rewards["solver_0"] == 0.0
    shown = str(env.observe("solver_0"))
    assert shown.startswith("Game 13: guess.\n\nYou: 8 xxx")
    assert shown.endswith(". Guess 2 of 3.")
    assert "x" * 200 not in shown
    env.step("3")
    # found: 1, quick: 0.5 * (3 - 2); the weights are 1 and 0.5, so 1.5 is reached
    assert env.infos["solver_0"]["reward_components"] == {"found": 1.0, "quick": 0.5}
    assert env.infos["solver_0"]["success"] is True
    info = answered(env, "1", "2", "5", task=13)
    assert info["reward_components"] == {"found": 0.0, "quick": 0.0}
    assert info["success"] is False


def test_the_exchange_ends_after_max_turns_and_is_scored(package):
    env = llmzoo.make(package(GUESSES), split="all", max_tasks=20, max_turns=1)
    info = answered(env, "9", task=3)
    # the second question was refused after one answer: asked is 2
    assert info["reward_components"] == {"found": 0.0, "quick": 0.5}
    assert env.terminations["solver_0"]
    assert not env.truncations["solver_0"]


def test_a_fork_plays_the_answers_again(package):
    env = llmzoo.make(package(GUESSES), split="all", max_tasks=20)
    env.reset(seed=5, options={"task": 3})
    env.step("9")
    copied = fork(env)
    env.step("3")
    assert env.infos["solver_0"]["reward_components"] == {"found": 1.0, "quick": 0.5}
    assert copied.observe("solver_0").endswith("Guess 2 of 3.")
    copied.step("4")
    other = fork(copied)
    copied.step("3")
    other.step("5")
    assert copied.infos["solver_0"]["reward_components"] == {"found": 1.0, "quick": 0.0}
    assert other.infos["solver_0"]["reward_components"] == {"found": 0.0, "quick": 0.0}


def test_a_run_that_shows_something_else_is_told(package):
    env = llmzoo.make(package(GUESSES), split="all", max_tasks=20)
    env.reset(seed=5, options={"task": 3})
    env.step("9")
    type(env.unwrapped.vf_env).drift = 1
    with pytest.raises(ReplayError, match="showed something else"):
        env.step("4")


def test_it_neither_reads_nor_changes_the_global_generators(package):
    env = llmzoo.make(package(GUESSES), split="all", max_tasks=20)
    said = set()
    for outer in range(5):
        random.seed(outer)
        before = random.getstate()
        answered(env, "9", seed=1, task=3)
        assert random.getstate() == before
        said.add(str(env.observe("solver_0")))
    assert len(said) == 1


# what goes wrong


def test_a_run_that_raises_pays_nothing(package):
    env = llmzoo.make(package(GUESSES), split="all", max_tasks=20)
    info = answered(env, "9", "crash", task=3)
    assert info["reward_components"] == {}
    assert info["error"] == "malformed: it raised ZeroDivisionError"
    assert (env.rewards["solver_0"], info["success"]) == (0.0, False)
    assert env.terminations["solver_0"]


def test_a_run_that_cannot_begin_is_a_fault_of_the_package(package):
    text = GUESSES.replace("asked = 1", "asked = 1 // task.data.number")
    env = llmzoo.make(package(text), split="all", max_tasks=20)
    with pytest.raises(
        ConfigError, match=r"begins no exchange: it raised ZeroDivisionError: .*zero"
    ):
        env.reset(seed=0, options={"task": 10})


def test_a_second_exchange_is_not_played(package):
    text = GUESSES.replace(
        "            talk.trace.record",
        """            await agents.player.run(task)
            talk.trace.record""",
    )
    env = llmzoo.make(package(text), split="all", max_tasks=20)
    info = answered(env, "3", task=3)
    assert info["error"] == "malformed: it raised RuntimeError"
    assert info["reward_components"] == {}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return [][1]", "malformed: it raised IndexError"),
        ("return float('nan')", "malformed: the reward 'scored' is not finite"),
        ("await asyncio.sleep(60)", "malformed: it took over 0.5 s"),
        ("time.sleep(4); return 1.0", "malformed: it took over 0.5 s"),
        ("raise SystemExit", "malformed: it raised SystemExit"),
    ],
)
def test_a_reward_that_cannot_be_had_is_none(package, body, error):
    env = one(package, body)(time_limit=0.5)
    info = answered(env, "x")
    assert info["error"] == error
    assert (env.rewards["solver_0"], info["success"]) == (0.0, False)
    assert env.terminations["solver_0"]


def test_a_long_answer_is_an_empty_one(package):
    env = one(package, "return 1.0 - bool(trace.last_reply)")()
    info = answered(env, "x" * 20_001)
    assert info["error"] == "malformed: longer than 20000 characters"
    assert info["reward_components"] == {"scored": 1.0}


def test_it_runs_where_an_event_loop_runs(package):
    env = llmzoo.make(package(SUMS), split="all")

    async def inside():
        return answered(env, "4", task=3)

    assert asyncio.run(inside())["success"] is True


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"arguments": "trace, judge"}, "its reward 'scored' needs 'judge'"),
        ({"arguments": "trace, runtime"}, "its reward 'scored' needs 'runtime'"),
        (
            {"setting": "judge: vf.JudgeConfig = vf.JudgeConfig()"},
            "its judge 'judge' needs a model",
        ),
        ({"extra": "NEEDS_CONTAINER = True"}, "its tasks run in a container"),
        (
            {"extra": "async def setup(self, trace, runtime): pass"},
            r"its setup\(\) needs 'runtime'",
        ),
        (
            {
                "prompt": "[vf.UserMessage(content=[vf.ImageUrlContentPart(image_url={'url': 'x'})])]"
            },
            "a message has an image",
        ),
    ],
)
def test_what_needs_more_than_texts_is_refused_when_it_is_made(package, options, why):
    with pytest.raises(ConfigError, match=f"is refused: {why}"):
        one(package, **options)()


def test_several_agents_are_refused(package):
    text = GUESSES.replace(
        "player: vf.AgentConfig = vf.AgentConfig()",
        "player: vf.AgentConfig = vf.AgentConfig()\n        user: vf.AgentConfig = vf.AgentConfig()",
    )
    with pytest.raises(ConfigError, match=r"it has 2 agents \(player, user\)"):
        llmzoo.make(package(text), max_tasks=20)


def test_of_tasks_without_end_the_first_are_played(package):
    id = package(GUESSES)
    for options, number in (({}, 1000), ({"max_tasks": 30}, 30)):
        env = llmzoo.make(id, split="all", **options)
        env.reset(seed=0)
        assert env.infos["solver_0"]["tasks"] == number


def test_names_that_are_no_taskset(package):
    with pytest.raises(UnknownNameError, match=r"prime env install OWNER/NAME.*'no-such-package'"):
        llmzoo.make("verifiers:no-such-package")
    with pytest.raises(UnknownNameError, match="taskset of verifiers"):
        llmzoo.make("verifiers:os.path")
    with pytest.raises(ConfigError, match=r"load_environment is of verifiers below 0\.4"):
        llmzoo.make(package("def load_environment():\n    return None\n"))
    with pytest.raises(ConfigError, match="cannot be imported: No module named 'no_such_module'"):
        llmzoo.make(package("import no_such_module\n"))
    with pytest.raises(
        ConfigError, match="verifiers:harbor is refused: its tasks run in containers"
    ):
        llmzoo.make("verifiers:harbor")


# packages that are installed


def test_installed_packages_are_listed(package, tmp_path, capsys):
    package(SUMS, "installed_sums")
    about = tmp_path / "installed_sums-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: installed-sums\nVersion: 1.0\nRequires-Dist: verifiers>=0.4\n"
    )
    main(["info", "--family", "verifiers", "--json"])
    ids = [row["id"] for row in json.loads(capsys.readouterr().out)]
    assert "verifiers:installed-sums" in ids
    assert "verifiers:harbor" not in ids  # it is refused
    with pytest.raises(UnknownNameError, match="Did you mean 'installed-sums'"):
        llmzoo.make("verifiers:installed-sum")


def test_the_commands_take_such_an_id(package, capsys):
    id = package(SUMS)
    assert registry.is_external(id)
    main(["eval", "--env", id, "--policy", "random", "--tasks", "2", "--quiet", "--json"])
    assert json.loads(capsys.readouterr().out)["env"] == id
