"""Two writers of one program: what they read, what they are paid, and what they are told."""

from __future__ import annotations

import json
import random
import warnings
from collections import Counter, OrderedDict
from functools import partial

import pytest
from judge import check

import llmzoo
from llmzoo import testing
from llmzoo.envs.coding import judging
from llmzoo.envs.coding.functions import feedback as told
from llmzoo.envs.coding.functions.writers import TwoWriters
from llmzoo.errors import ConfigError, NoScriptedPolicyError, SandboxError
from llmzoo.policies.base import BoundPolicy, PolicyRequest
from llmzoo.policies.scripted import expert, mixture
from llmzoo.sandbox.results import Verdict

IDS = ("coop_functions_v0", "humaneval_v0", "coop_humaneval_v0", "mbpp_v0")
every_id = pytest.mark.parametrize("id", IDS)

RECORD = {
    "task_id": "own/double_odd",
    "prompt": 'def double_odd(numbers):\n    """Double the odd ones.\n\n    >>> double_odd([1, 2])\n    [2, 2]\n    """\n',
    "entry_point": "double_odd",
    "canonical_solution": "    return [2 * n if n % 2 else n for n in numbers]\n",
    "test": "def check(candidate):\n    assert candidate([3]) == [6]\n    assert candidate([4, 5]) == [4, 10]\n",
}
AUX = "def aux(n):\n    return 2 * n"
MAIN = "def double_odd(numbers):\n    return [aux(n) if n % 2 else n for n in numbers]"
ALONE = "def double_odd(numbers):\n    return [n * 2 if n % 2 else n for n in numbers]"
HALF_RIGHT = "def double_odd(numbers):\n    return [aux(n) for n in numbers]"
WRAPPER_AUX = "def aux(numbers):\n    return [2 * n if n % 2 else n for n in numbers]"
WRAPPER = "def double_odd(numbers):\n    return aux(numbers)"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(RECORD) + "\n")
    return str(path)


@pytest.fixture
def trusting(monkeypatch):
    """Programs of this file run in this process, and are counted."""
    calls: Counter = Counter()

    def counted(*args, **kwargs):
        calls["check"] += 1
        return check(*args, **kwargs)

    monkeypatch.setattr(judging, "check", counted)
    return calls


def play(env, *rounds):
    """Plays rounds of answers; what each agent was paid, the parts, and the last infos."""
    env.reset(seed=0)
    paid = []
    for answers in rounds:
        for text in answers:
            env.step(text)
        paid.append(env.rewards[env.possible_agents[-1]])
        assert len(set(env.rewards.values())) == 1
    return paid, env.infos[env.possible_agents[-1]]


def one(source, **kwargs):
    return llmzoo.make("humaneval_v0", source=source, split="all", **kwargs)


@pytest.mark.parametrize(
    ("helper", "main", "paper", "unit", "success"),
    [
        (AUX, MAIN, 4.0, 1.0, True),
        (f"Sure:\n```python\n{AUX}\n```", f"```\n{MAIN}\nprint(double_odd([1]))\n```", 4.0, 1.0, True),
        # main leaves the helper out: two thirds of what its form is worth are gone
        (AUX, ALONE, 0.4 + 0.6 + 0.5 + 1.0, 0.03 + 0.384, True),
        ("", ALONE, 0.6 + 0.25 + 1.0, 0.005 + 0.0075 + 0.384, True),
        # one of two tests, which a constant would pass too
        (AUX, HALF_RIGHT, 1.5 + 0.5 * (1.0 + 0.5 + 1.0), 0.04, False),
        (WRAPPER_AUX, WRAPPER, 3.0, 0.04 + 0.384 + 0.192, True),
        (AUX, "def double_odd(numbers):\n    aux(1)\n    return [n + n % 2 * n for n in numbers]", 3.5, 0.424, True),
        # a mention that changes nothing is no use, except in the paper's scale
        ("def aux(n):\n    return 1 / 0", ALONE.replace("return", "0 if aux else 1\n    return"), 4.0, 0.424, True),
        (AUX.replace("return ", ""), MAIN, 0.6 + 0.5, 0.03, False),
        (AUX, "def something(numbers):\n    return 1", 0.4 + 0.5, 0.025, False),
        # begun, and not readable: a quarter of what an agent's program is worth that parses
        (AUX, "def double_odd(numbers)\n    return 1", 0.4 + 0.5 * 1.25 / 2, 0.01 + 0.015 * 1.25 / 2, False),
        (AUX, "def aux(n):\n    return 0\n" + MAIN, 4.0, 1.0, True),
        (AUX + "\ndef double_odd(numbers):\n    return []", MAIN, 4.0, 1.0, True),
        ("I would rather not.", "Me neither.", 0.0, 0.0, False),
    ],
)  # fmt: skip
def test_what_programs_are_worth(source, trusting, helper, main, paper, unit, success):
    paid, info = play(one(source, reward="paper"), (helper, main))
    assert paid == [pytest.approx(paper)]
    assert sum(info["reward_components"].values()) == pytest.approx(paper)
    assert info["success"] is success
    paid, _ = play(one(source), (helper, main))
    assert paid == [pytest.approx(unit)]
    paid, _ = play(one(source, team_weight=0.5), (helper, main))
    assert paid == [pytest.approx(unit / 2)]


def test_a_constant_earns_nothing_for_tests_and_the_examples_by_heart_neither(source, trusting):
    constant = "def double_odd(numbers):\n    return [6] if aux(1) else []"
    by_heart = (
        "def double_odd(numbers):\n    return [2, 2] if numbers == [1, 2] else [6] if aux(1) else 0"
    )
    for main in (constant, by_heart):
        paid, info = play(one(source), (AUX, main))
        assert paid == [pytest.approx(0.04)]
        assert info["reward_components"]["tests"] == 0.0
        assert info["success"] is False


def test_success_asks_for_every_test_the_shown_ones_too(tmp_path, trusting):
    shown = RECORD["test"] + "    assert candidate([1, 2]) == [2, 2]\n"
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({**RECORD, "test": shown}))
    env = one(str(path))
    but = "def double_odd(numbers):\n    return [aux(n) if n % 2 else n for n in numbers] if numbers != [1, 2] else 0"
    paid, info = play(env, (AUX, but))
    assert paid == [pytest.approx(1.0)]  # what is shown pays nothing
    assert info["success"] is False
    assert play(env, (AUX, MAIN))[1]["success"] is True


def test_infos_name_missing_modules_and_what_was_left_out(source):
    env = one(source)
    _, info = play(env, (AUX, "import no_such_module\n" + MAIN))
    assert info["error"] == "error: ModuleNotFoundError: No module named 'no_such_module'"
    assert env.infos["helper_0"]["error"] == info["error"]
    salvaged = f"```python\n{MAIN}\n```\nand\n```python\ndef more(x:\n    return x\n```"
    _, info = play(env, (AUX, salvaged))
    assert info["success"] is True
    assert info["error"] == "left out: syntax error in line 1: '(' was never closed"


def test_mbpp_runs_the_setup_after_the_code(tmp_path):
    record = {
        "task_id": 1,
        "text": "Write a function to count the nodes of a list.",
        "code": "class Node:\n    def __init__(self, after=None):\n        self.after = after\n"
        "def count(node):\n    return 1 + count(node.after) if node else 0",
        "test_setup_code": "one = Node()\ntwo = Node()\ntwo.after = one",
        "test_list": ["assert count(one) == 1", "assert count(two) == 2"],
    }
    path = tmp_path / "nodes.jsonl"
    path.write_text(json.dumps(record))
    env = llmzoo.make("mbpp_v0", source=str(path), split="all", max_turns=2)
    testing.check_expert(lambda: env, [0], best=1.0)
    play(env, (AUX, record["code"].replace("return 1", "return aux(0)")))
    assert "fails: assert count(one) == 1" in env.observe("main_1")


def test_the_parts_have_names(source, trusting):
    _, info = play(one(source, reward="paper"), (AUX, MAIN))
    assert info["reward_components"] == {
        "helper": 0.4,
        "main": 0.6,
        "parses": 0.5,
        "tests": 1.0,
        "calls": 0.5,
        "beyond": 1.0,
        "ignored": 0.0,
    }


def test_rounds_pay_the_difference_to_the_round_before(source, trusting):
    env = one(source, reward="paper", max_turns=4)
    paid, info = play(env, (AUX, HALF_RIGHT), (AUX, HALF_RIGHT), (AUX, "no"), (AUX, MAIN))
    # "no" leaves the helper's program, and half of the agents' that parse
    assert paid == pytest.approx([2.75, 0.0, 0.4 + 0.25 - 2.75, 4.0 - 0.4 - 0.25])
    assert info["success"]
    assert all(env.terminations.values())
    paid, info = play(env, *[(AUX, ALONE)] * 4)
    assert paid == pytest.approx([2.5, 0, 0, 0])
    assert info["success"]
    assert all(env.truncations.values())


def test_full_reward_ends_the_episode(source, trusting):
    env = one(source, max_turns=4)
    paid, info = play(env, (AUX, MAIN))
    assert paid == [1.0]
    assert info["success"]
    assert all(env.terminations.values())


def test_a_success_that_is_undone_is_none(source, trusting):
    env = one(source, max_turns=2)
    _, info = play(env, (AUX, ALONE), (AUX, HALF_RIGHT))
    assert info["success"] is False


def test_programs_that_are_long_together_are_judged(source, trusting):
    """Each answer is shorter than the longest that is read, both together are longer."""
    table = f"TABLE = {list(range(3000))}\n"
    paid, _ = play(one(source), (table + AUX, table.replace("TABLE", "OTHER") + MAIN))
    assert paid == [1.0]


def test_one_writer_and_three(source, trusting):
    env = one(source, num_agents=1, reward="paper")
    assert env.possible_agents == ["main_0"]
    assert play(env, (f"{AUX}\n{MAIN}",))[0] == [4.0]
    env = one(source, num_agents=3, reward="paper")
    assert env.possible_agents == ["helper_0", "helper_1", "main_2"]
    second = AUX.replace("aux", "aux_1")
    both = MAIN.replace("aux(n)", "aux(n) - aux_1(n) + aux(n)")
    assert play(env, (AUX, second, both))[0] == [pytest.approx(4.0)]
    assert play(env, (AUX, second, MAIN))[0] == [pytest.approx(3.75)]
    assert play(env, (AUX, AUX, MAIN))[0] == [pytest.approx(4.0 - 0.2 - 0.25)]
    assert "aux_1" in env.observe("helper_1")
    with pytest.raises(ConfigError, match="num_agents"):
        one(source, num_agents=0)


def test_errors_are_named(source, trusting):
    env = one(source)
    env.reset(seed=0)
    env.step("def aux(n:")
    env.step("def other(n):\n    return 1")
    assert env.infos["helper_0"]["error"].startswith("malformed: syntax error in line 1")
    assert env.infos["main_1"]["error"] == "missing: no function double_odd in it"


def test_nobody_sees_the_others_code(source, trusting):
    env = one(source, max_turns=2)
    env.reset(seed=0)
    before = env.observe("main_1")
    env.step("def aux(secret_name):\n    return secret_name")
    assert env.observe("main_1") == before
    env.step(HALF_RIGHT)
    assert "secret_name" in env.observe("helper_0")
    assert "secret_name" not in env.observe("main_1")


def heard(env, *answers):
    env.reset(seed=0)
    for text in answers:
        env.step(text)
    return env.observe("helper_0"), env.observe("main_1")


def test_feedback_comes_from_public_tests(source, trusting):
    helper, main = heard(one(source, max_turns=2), AUX, HALF_RIGHT)
    for text in (helper, main):
        assert "0 of 1 public tests pass" in text
        assert "fails: assert double_odd([1, 2]) == [2, 2]" in text
        assert "[4, 5]" not in text
    assert HALF_RIGHT in main
    assert AUX in helper
    helper, main = heard(one(source, max_turns=2), "def aux(", HALF_RIGHT)
    assert "Feedback on it: malformed: syntax error" in helper
    assert "the program of helper_0 could not be used" in main


def test_other_kinds_of_feedback(source, trusting):
    helper, _ = heard(one(source, max_turns=2, feedback="plain"), AUX, HALF_RIGHT)
    assert "improve your program" in helper
    assert "public" not in helper
    helper, _ = heard(one(source, max_turns=2, feedback="passed"), AUX, HALF_RIGHT)
    assert "0 of 1 public tests pass" in helper
    assert "fails" not in helper
    _, main = heard(one(source, max_turns=2, feedback="expert"), AUX, ALONE)
    assert "call aux in double_odd and use what it returns" in main
    _, main = heard(one(source, max_turns=2, feedback="expert"), WRAPPER_AUX, WRAPPER)
    assert "double_odd should do part of the work itself" in main


def test_a_reviewer_reads_the_programs_and_is_heard(source, trusting):
    seen = {}

    def reviewer(observation, agent):
        seen[agent] = observation
        return f"{agent}, think again" + "!" * 5000

    env = one(source, max_turns=2, feedback="expert", reviewer=reviewer)
    helper, _ = heard(env, AUX, HALF_RIGHT)
    assert "helper_0, think again!" in helper
    assert len(helper) < 5000
    assert AUX in seen["main_1"]
    assert HALF_RIGHT in seen["main_1"]
    assert "[4, 5]" not in seen["main_1"]
    with pytest.raises(ConfigError, match="feedback='expert' only"):
        one(source, reviewer=reviewer)


@pytest.mark.parametrize("kind", told.KINDS)
def test_observations_stay_bounded(source, trusting, kind):
    env = one(source, max_turns=6, feedback=kind)
    env.reset(seed=0)
    limit = len(env.observe("main_1")) + told.MAX_CHARS + told.MAX_PROGRAM_CHARS + 300
    long = HALF_RIGHT + "\n" + "\n".join(f"    # {n}" * 3 for n in range(900))
    for _ in range(5):
        env.step("x" * 30_000)
        env.step(long)
        assert len(env.observe("main_1")) <= limit
        assert len(env.observe("helper_0")) <= limit


def test_the_last_round_runs_hidden_tests_only(source, trusting):
    play(one(source), (AUX, HALF_RIGHT))
    assert trusting["check"] == 1
    play(one(source, max_turns=2), (AUX, HALF_RIGHT))
    assert trusting["check"] == 3
    play(one(source, max_turns=2), (AUX, "no"))
    assert trusting["check"] == 3
    play(one(source, max_turns=2, feedback="plain"), (AUX, HALF_RIGHT))
    assert trusting["check"] == 4


@pytest.mark.parametrize(
    ("id", "agents"), [("humaneval_v0", 1), ("coop_humaneval_v0", 3), ("mbpp_v0", 2)]
)
def test_the_expert_takes_the_full_reward_on_everything_shipped(id, agents, trusting):
    env = llmzoo.make(id, source="sample", split="all", num_agents=agents)
    env.reset(seed=0)
    testing.check_expert(lambda: env, range(env.infos[env.agents[0]]["tasks"]), best=1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("source", "agents"), [("generator", 3), ("generator_easy", 1)])
def test_the_expert_takes_the_full_reward_on_generated_tasks(source, agents, trusting):
    env = llmzoo.make("coop_functions_v0", source=source, num_agents=agents, split="test")
    testing.check_expert(lambda: env, range(40), best=1.0)


@pytest.mark.slow
def test_a_quarter_of_experts_among_noisy_experts_succeeds_now_and_then(trusting):
    env = llmzoo.make("coop_functions_v0", prompt="terse")
    players = mixture(0.25)
    wins = 0
    for seed in range(200):
        env.reset(seed=seed)
        for agent in list(env.agents):
            request = PolicyRequest(agent=agent, observation=env.observe(agent), env=env, seed=seed)
            env.step(players.respond([request])[0][0].text)
        wins += env.infos["main_1"]["success"]
    assert 0.25 < wins / 200 < 0.6  # an agent is right in 0.25 + 0.75 * 0.4 of its answers, or more


def test_terse_prompts_are_short():
    env = llmzoo.make("coop_functions_v0", prompt="terse")
    assert env.unwrapped.tasks.source == "generator"
    for seed in range(200):
        env.reset(seed=seed)
        for agent in env.agents:
            assert len(env.observe(agent)) < 90
            assert len(env.unwrapped.expert(agent)) < 80
    assert env.observe("helper_0").startswith("code aux 1/1\naux x ")


def test_easy_problems_have_one_number_in_place_of_many():
    make = partial(llmzoo.make, "coop_functions_v0", source="generator_easy")
    testing.check_splits(make, 300)
    env = make()
    env.reset(seed=0)
    task = env.unwrapped.episode.task
    assert task.terse == "aux x times 8 plus 1\nf x aux minus 7"
    assert "Return aux(x), minus 7." in task.statement
    assert task.helper == "aux(x) returns x times 8, plus 1."
    assert task.solution == ("def aux(x):\n return x*8+1", "def f(x):\n return aux(x)-7")


@every_id
def test_infos_and_splits(id, trusting):
    numbers = {}
    for split in ("train", "test", "all"):
        env = llmzoo.make(id, source="sample", split=split)
        env.reset(seed=0)
        info = env.infos["main_1"]
        assert (info["source"], info["split"]) == ("sample", split)
        assert len(info["task_id"]) == 16
        assert info["task_name"]
        numbers[split] = info["tasks"]
    assert numbers["train"] + numbers["test"] == numbers["all"]
    assert env.unwrapped.fallback is False
    assert env.metadata["slow_step"]
    assert env.metadata["is_parallelizable"]


def test_the_sample_instead_of_the_hub_warns(monkeypatch):
    monkeypatch.setattr("llmzoo.envs.sources._loaded", {})
    monkeypatch.setattr("llmzoo.envs.sources._warned", set())

    def no_hub(*args):
        raise ConfigError("out of reach")

    monkeypatch.setattr("llmzoo.envs.hub.load_records", no_hub)
    with pytest.warns(UserWarning, match="openai/openai_humaneval cannot be reached"):
        env = llmzoo.make("humaneval_v0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = llmzoo.make("humaneval_v0", split="test")
    assert env.unwrapped.fallback


def test_no_solution_no_expert(tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({**RECORD, "canonical_solution": None}))
    env = llmzoo.make("coop_humaneval_v0", source=str(path), split="all")
    env.reset(seed=0)
    with pytest.raises(NoScriptedPolicyError, match="comes without a solution"):
        env.unwrapped.expert("main_1")
    with pytest.raises(NoScriptedPolicyError):
        env.unwrapped.noisy_expert("main_1", random.Random(0))


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"feedback": "loud"}, "feedback must be one of diagnostics, passed, plain, expert"),
        ({"reward": "big"}, "reward must be one of unit, paper"),
        ({"prompt": "short"}, "prompt must be one of full, terse"),
        ({"source": "hub"}, "source must be one of auto, sample, generator, generator_easy"),
        ({"num_agents": 9}, "num_agents must be from 1 to 5"),
    ],
)
def test_arguments_are_checked(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("coop_functions_v0", **kwargs)


def test_a_fault_of_the_sandbox_is_no_reward(source, monkeypatch):
    class Broken:
        def unsupported_reason(self, *args):
            return ""

        def check(self, *args, **kwargs):
            return Verdict(status="sandbox_error", passed=0, total=0, error="gone")

    monkeypatch.setattr(judging, "default_sandbox", Broken)
    monkeypatch.setattr(judging, "_remembered", OrderedDict())
    env = one(source)
    env.reset(seed=0)
    env.step(AUX)
    with pytest.raises(SandboxError, match="gone"):
        env.step(MAIN)


def test_verdicts_are_remembered_but_not_timeouts(monkeypatch):
    asked = []

    class Box:
        def check(self, code, *args, **kwargs):
            asked.append(code)
            return Verdict(status="timeout" if code == "slow" else "passed", passed=0, total=1)

    monkeypatch.setattr(judging, "default_sandbox", Box)
    monkeypatch.setattr(judging, "_remembered", OrderedDict())
    monkeypatch.setattr(judging, "MAX_REMEMBERED", 2)
    for code in ("a", "a", "slow", "slow", "b", "a", "c", "a", "b"):
        judging.check(code, "assert True")
    assert asked == ["a", "slow", "slow", "b", "c", "b"]


def test_a_player_may_review(source, trusting):
    env = one(source, max_turns=2, feedback="expert", reviewer=BoundPolicy(one(source), expert()))
    assert isinstance(env.unwrapped, TwoWriters)


@pytest.mark.slow
def test_every_mbpp_solution_passes_through_the_environment(shared_data):
    """In the sandbox itself; ``full`` tasks earn all that there is."""
    path = shared_data / "mbpp_sanitized_dev.jsonl"
    # the solution of mbpp/123 takes seconds, more than the usual limit on a slow or busy machine
    env = llmzoo.make("mbpp_v0", source=str(path), split="all", time_limit=60.0)
    env.reset(seed=0)
    count = env.infos["main_1"]["tasks"]
    failed, returns = [], Counter()
    for task in range(count):
        env.reset(options={"task": task})
        for agent in list(env.agents):
            env.step(env.unwrapped.expert(agent))
        if not env.infos["main_1"].get("success"):
            failed.append(env.infos["main_1"]["task_name"])
        returns[round(env.rewards["main_1"], 6)] += 1
    assert count == 200
    assert failed == []
    assert returns[1.0] >= 0.99 * count


def test_every_problem_of_ours_is_right_in_the_sandbox_too():
    env = llmzoo.make("coop_functions_v0", source="sample", split="all")
    testing.check_expert(lambda: env, range(env.unwrapped.tasks.count), best=1.0)
