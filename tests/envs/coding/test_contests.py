"""The coder and the tester: reading answers, rewards worked out by hand, feedback, the end."""

from __future__ import annotations

import base64
import json
import pickle
import random
import zlib

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.coding.contests import (
    apps,
    code_contests,
    livecodebench,
    players,
    scoring,
    targets,
    tasks,
)
from llmzoo.envs.coding.contests import trials as trying
from llmzoo.envs.coding.contests.scoring import NoTests
from llmzoo.envs.sources import BadField
from llmzoo.errors import ConfigError, NoScriptedPolicyError
from llmzoo.rollout import fork
from llmzoo.sandbox.limits import Limits

RIGHT = "```python\nprint(2 * int(input()))\n```"
WRONG = "```python\nn = int(input())\nprint(2 * n if n < 10 else 2 * n + 1)\n```"
CRASH = "```python\nprint(1 // 0)\n```"
DOUBLE = {
    "statement": "Double a number.",
    "public": [{"input": "3\n", "output": "6\n"}],
    "hidden": [
        {"input": "7\n", "output": "14\n"},
        {"input": "8\n", "output": "16\n"},
        {"input": "7001\n", "output": "14002\n"},
        {"input": "9001\n", "output": "18002\n"},
    ],
    "solution": "reference = int(input())\nprint(reference + reference)\n",
}
SUM = {
    "statement": "Write a function total(values).",
    "function": "total",
    "public": [{"input": "[[1, 2]]", "output": "3"}],
    "hidden": [{"input": "[[]]", "output": "0"}, {"input": "[[5]]", "output": "5"}],
    "solution": "def total(values):\n    return sum(values)\n",
}
PROGRAM, FUNCTION = tasks.parse_record(DOUBLE), tasks.parse_record(SUM)


def make(tmp_path, *records, **settings):
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    env = llmzoo.make("contests_v0", source=str(path), split="all", **settings)
    env.reset(seed=0)
    return env


def answer(*pairs):
    return json.dumps([{"input": given, "output": expected} for given, expected in pairs])


def play(env, *texts):
    """One round; what it paid each agent, part by part."""
    for text in texts:
        env.step(text)
    return {agent: env.infos[agent]["reward_components"] for agent in env.possible_agents}


# Reading tests


@pytest.mark.parametrize(
    "text",
    [
        '[{"input": "5\\n", "output": "10\\n"}]',
        '[{"input": "5", "output": "10"}]',
        '[{"input": 5, "output": 10}]',
        '[{"input": ["5"], "output": [10]}]',
        '{"input": "5", "output": "10"}',
        '{"tests": [{"input": "5", "output": "10"}]}',
        'Here are my tests [they are good]:\n```json\n[{"input": "5", "output": "10"}]\n```\nDone.',
        '[{"input": "5\n", "output": "10"}]',  # a line break inside a JSON string
        "Input: 5\nOutput: 10",
        "Input:\n5\n\nOutput:\n10\n",
        "**Input:**\n```\n5\n```\n**Output:**\n```\n10\n```",
        "### Input 1\n5\n### Output 1\n10",
        "```\nInput:\n5\nOutput:\n10\n```",
    ],
)
def test_tests_that_can_be_read(text):
    assert scoring.parse_tests(text, PROGRAM, 5) == (tasks.Test("5\n", "10\n"),)


@pytest.mark.parametrize(
    "text",
    [
        '[{"input": [[4, 5]], "output": 9}]',
        '[{"input": "[[4, 5]]", "output": "9"}]',
        "Input:\n[[4, 5]]\nOutput:\n9",
    ],
)
def test_tests_of_a_function(text):
    assert scoring.parse_tests(text, FUNCTION, 5) == (tasks.Test("[[4, 5]]", "9"),)


@pytest.mark.parametrize(
    ("text", "problem", "reason"),
    [
        ("", PROGRAM, "no tests in it"),
        ("Input: 5", PROGRAM, "no tests in it"),
        ("[" * 10_000, PROGRAM, "no tests in it"),
        ("x" * 20_001, PROGRAM, "longer than 20000"),
        (answer(("5", "")), PROGRAM, "without an output"),
        (answer(("5", "1" * 2_001)), PROGRAM, "longer than 2000"),
        (answer(("5", "\ud800")), PROGRAM, "half a character"),
        (answer(("5", {"a": 1})), PROGRAM, "must be text"),
        (answer(("3", "6")), PROGRAM, "repeats an example"),
        (answer((" 3 \n\n", "7")), PROGRAM, "repeats an example"),
        *(
            (answer((spelled, "6")), PROGRAM, "repeats an example")
            for spelled in (
                "03",
                "+3",
                "3.0",
                "3.",
                "３",
                "3e0",
                "0_3",
                "3 0",
                "3\n0",
                "3\nmore words",
            )
        ),
        (answer(([[1.0, 2]], 3)), FUNCTION, "repeats an example"),
        (answer(([[True, 2]], 3)), FUNCTION, "repeats an example"),
        (answer(([[1, 2]], 3)), FUNCTION, "repeats an example"),
        ('[{"input": [[NaN]], "output": 1}]', FUNCTION, "no tests in it"),
        ('[{"input": [[1e999]], "output": 1}]', FUNCTION, "no test that counts"),
        (f'[{{"input": {"[" * 30}{"]" * 30}, "output": 1}}]', FUNCTION, "nested more than 20"),
    ],
)
def test_tests_that_do_not_count(text, problem, reason):
    with pytest.raises(NoTests, match=reason):
        scoring.parse_tests(text, problem, 5)


def test_only_the_first_count_and_each_once():
    text = answer(("3", "6"), ("4", "8"), (" 4", "9"), ("5", "1"), ("6", "2"), ("7", "3"))
    result = scoring.parse_tests(text, PROGRAM, 3)
    assert [test.input for test in result] == ["4\n", "5\n", "6\n"]


def test_hostile_text_is_quick_to_refuse():
    for text in [*testing.hostile_texts(300), "\n" * 20_000, "Input:\n" * 2_800, '{"' * 10_000]:
        for problem in (PROGRAM, FUNCTION):
            try:
                assert len(scoring.parse_tests(text, problem, 5)) <= 5
            except NoTests:
                continue


# Rewards


def test_rewards_worked_out_by_hand(tmp_path):
    env = make(tmp_path, DOUBLE)
    paid = play(env, WRONG, answer(("5", "10"), ("4000", "8001")))
    # two of four hidden tests; one of two tests agrees with the known solution, and catches every
    # change of it: no example is passed by one
    assert paid["coder_0"] == pytest.approx({"parses": 0.1, "runs": 0.1, "tests": 0.4, "team": 0.5})
    expected = {"valid": 0.05, "sound": 0.025, "caught": 0.45, "team": 0.5}
    assert paid["tester_1"] == pytest.approx(expected)
    # both agree on what is wrong
    assert env.terminations == {"coder_0": True, "tester_1": True}
    assert env.infos["coder_0"]["success"] is False


def test_an_episode_is_worth_its_last_answers(tmp_path):
    env = make(tmp_path, DOUBLE)
    total = dict.fromkeys(env.possible_agents, 0.0)
    rounds = [
        (WRONG, answer(("4000", "8000"))),
        ("no program", "no tests"),
        (CRASH, answer(("4000", "1"), ("5", "10"))),
        (RIGHT, answer(("4000", "8000"), ("5", "11"))),
    ]
    team = []
    for texts in rounds:
        paid = play(env, *texts)
        team.append(paid["coder_0"].get("team", 0.0))
        for agent in total:
            total[agent] += sum(paid[agent].values())
    assert team == pytest.approx([0.5, -0.5, 0.0, 1.0])
    assert total == pytest.approx({"coder_0": 1.0 + 1.0, "tester_1": 1.0 + 0.05 + 0.025 + 0.45})
    assert env.truncations["coder_0"]
    assert env.infos["tester_1"]["success"] is True  # it is the program that counts


def test_a_crash_parses_and_does_not_run(tmp_path):
    env = make(tmp_path, DOUBLE)
    paid = play(env, CRASH, answer(("4", "8")))
    assert paid["coder_0"] == pytest.approx({"parses": 0.1, "runs": 0.0, "tests": 0.0})
    assert "ZeroDivisionError" in env.observe("coder_0")


def test_a_program_that_hangs_on_an_example_is_not_tried_further(tmp_path):
    env = make(tmp_path, DOUBLE, time_limit=0.3)
    hangs = "n = int(input())\nwhile n == 3:\n    pass\nprint(2 * n)"
    paid = play(env, hangs, answer(("5", "10")))
    assert paid["coder_0"] == pytest.approx({"parses": 0.1, "runs": 0.0, "tests": 0.0})
    assert not env.terminations["coder_0"]
    assert "not tried, since it used up its time on an example" in env.observe("tester_1")


def test_malformed_answers_are_named(tmp_path):
    env = make(tmp_path, DOUBLE)
    paid = play(env, "def broken(", answer(("3", "6")))
    # begun, and not readable
    assert paid["coder_0"] == {"parses": 0.025, "runs": 0.0, "tests": 0.0}
    assert paid["tester_1"] == {"valid": 0.0, "sound": 0.0, "caught": 0.0}
    assert env.infos["coder_0"]["error"].startswith("malformed: syntax error in line 1")
    assert "repeats an example" in env.infos["tester_1"]["error"]
    assert "syntax error" in env.observe("coder_0")
    assert "repeats an example" in env.observe("tester_1")
    assert "the coder's answer had no program" in env.observe("tester_1")


def test_without_a_known_solution_right_programs_judge(tmp_path):
    env = make(tmp_path, {**DOUBLE, "solution": ""})
    tests = answer(("5", "10"), ("4000", "8001"))
    nothing = {"valid": 0.05, "sound": 0.0, "caught": 0.0}
    assert play(env, CRASH, tests)["tester_1"] == pytest.approx(nothing)
    # the tests are held against changes of the coder's program
    paid = play(env, RIGHT, tests)["tester_1"]
    assert (paid["sound"], paid["caught"]) == pytest.approx((0.025, 0.45))
    # a program that was right in an earlier round still judges
    paid = play(env, CRASH, tests)["tester_1"]
    assert (paid["sound"], paid["caught"]) == pytest.approx((0.0, 0.0))
    with pytest.raises(NoScriptedPolicyError):
        env.unwrapped.expert("coder_0")


LIMITED = {
    "statement": "Double a number below a hundred; say 0 otherwise.",
    "public": [{"input": "3\n", "output": "6\n"}],
    "hidden": [
        {"input": "7\n", "output": "14\n"},
        {"input": "99\n", "output": "198\n"},
        {"input": "100\n", "output": "0\n"},
        {"input": "500\n", "output": "0\n"},
    ],
    "solution": "n = int(input())\nif n < 100:\n    print(2 * n)\nelse:\n    print(0)\n",
}


@pytest.mark.parametrize(
    ("tests", "sound", "caught"),
    [
        # Of five wrong programs that pass the example the hidden tests catch 0 (7), 1 (99), 4 (100)
        # and 2 (500), on average 1.75.
        # right, and catches none
        (answer(("4", "8")), 1.0, 0.0),
        # only the one that stops at 99
        (answer(("99", "198")), 1.0, 0.0),
        # those that print 1 or -1 instead of 0
        (answer(("500", "0")), 1.0, (2 - 1.75) / (5 - 1.75)),
        # the same two, and those that stop at 101 or after 100
        (answer(("100", "0")), 1.0, (4 - 1.75) / (5 - 1.75)),
        (answer(("100", "0"), ("99", "198")), 1.0, 1.0),
        (answer(("100", "0"), ("99", "199")), 0.5, (4 - 1.75) / (5 - 1.75)),
        (answer(("100", "1"), ("99", "199")), 0.0, 0.0),
    ],
)
def test_a_tester_is_paid_for_wrong_programs_that_right_tests_catch(tmp_path, tests, sound, caught):
    env = make(tmp_path, LIMITED)
    paid = play(env, RIGHT, tests)["tester_1"]
    assert paid["valid"] == pytest.approx(0.05)
    assert paid["sound"] == pytest.approx(0.05 * sound)
    assert paid["caught"] == pytest.approx(0.9 * sound * caught)


def test_what_is_caught_is_a_share_of_what_so_many_tests_can_catch(tmp_path):
    env = make(tmp_path, LIMITED, max_tests=1)
    assert json.loads(env.unwrapped.expert("tester_1")) == [{"input": "100\n", "output": "0\n"}]
    paid = play(env, RIGHT, answer(("100", "0")))["tester_1"]
    assert paid["caught"] == pytest.approx(0.9)


def test_time_catches_nothing():
    problem = tasks.parse_record(LIMITED)
    slow = "n = int(input())\nwhile n == 100:\n    pass\nprint(2 * n if n < 100 else 0)"
    limits = Limits(time_limit=0.3)
    test = tasks.Test("100\n", "0\n")
    assert trying.run_tests(slow, problem, (test,), limits).passed == 0
    assert not targets.catches(test, slow, problem, limits)
    assert targets.catches(test, "print(2 * int(input()))", problem, Limits())


def test_wrong_programs_of_a_record_are_to_be_caught():
    wrong = ["print(2 * int(input()))", "print(6)", "def f("]
    problem = tasks.parse_record({**LIMITED, "wrong": wrong})
    known = trying.reference_solution(problem, Limits())
    result = targets.find_targets(problem, known, Limits(), 5)
    assert set(result.wrong) == {"print(2 * int(input()))", "print(6)"}
    assert [test.input for test in result.tests] == ["100\n"]


def test_success_asks_for_the_examples_too(tmp_path):
    env = make(tmp_path, DOUBLE, max_turns=1)
    paid = play(env, "n = int(input())\nprint(2 * n if n != 3 else 'WRONG')", answer(("5", "10")))
    assert paid["coder_0"]["team"] == 1.0
    assert env.infos["coder_0"]["success"] is False
    assert env.infos["coder_0"]["hidden_success"] is True
    env = make(tmp_path, DOUBLE, max_turns=1)
    play(env, RIGHT, answer(("5", "10")))
    assert env.infos["tester_1"]["success"] is True
    assert env.infos["tester_1"]["hidden_success"] is True


def test_infos_name_what_kept_a_program_from_running(tmp_path):
    env = make(tmp_path, DOUBLE)
    play(env, "import no_such_module\nprint(2 * int(input()))", answer(("5", "10")))
    assert env.infos["coder_0"]["error"] == "ModuleNotFoundError: No module named 'no_such_module'"
    play(env, f"{RIGHT}\nor\n```python\ndef other(x:\n    pass\n```", answer(("5", "11")))
    assert env.infos["coder_0"]["error"] == "left out: syntax error in line 1: '(' was never closed"


def test_a_wrong_known_solution_is_no_reference():
    assert trying.reference_solution(PROGRAM, Limits()) is not None
    assert (
        trying.reference_solution(tasks.parse_record({**DOUBLE, "solution": "print(6)"}), Limits())
        is None
    )


@pytest.mark.parametrize(
    "text",
    [
        "def total(values):\n    return sum(values)",
        "class Solution:\n    def total(self, values: List[int]) -> int:\n        return sum(values)",
        "from __future__ import annotations\ndef total(values):\n    return reduce(lambda a, b: a + b, values, 0)",
    ],
)
def test_functions_and_methods(tmp_path, text):
    env = make(tmp_path, SUM)
    paid = play(env, text, answer(([[2, 2]], 4)))
    assert sum(paid["coder_0"].values()) == pytest.approx(2.0)
    assert env.infos["coder_0"]["success"] is True


def test_the_coder_is_shown_its_own_function_only(tmp_path):
    env = make(tmp_path, SUM)
    play(env, "def total(values):\n    return 3", answer(([[2, 2]], 4)))
    assert "```python\ndef total(values):\n    return 3\n```" in env.observe("coder_0")
    assert "- total([2, 2])\n  expected:\n4\n  the program's answer:\n3" in env.observe("tester_1")


def test_tuples_count_as_lists(tmp_path):
    record = {**SUM, "hidden": [{"input": "[[5]]", "output": "[[5, 5]]"}], "public": []}
    env = make(tmp_path, record)
    play(env, "def total(values):\n    return [(v, v) for v in values]", answer(([[2]], [[2, 2]])))
    assert env.infos["coder_0"]["success"] is True


def test_another_function_is_no_answer(tmp_path):
    env = make(tmp_path, SUM)
    play(env, "def sum_up(values):\n    return 0", answer(([[2, 2]], 4)))
    assert "sum_up" not in env.observe("coder_0")
    assert env.infos["coder_0"]["error"] == "malformed: no function total is defined in it"


# Feedback


def test_mismatches_are_shown_to_both_and_nothing_hidden(tmp_path):
    env = make(tmp_path, DOUBLE)
    play(env, WRONG, answer(("4000", "8000"), ("5", "10")))
    for agent in env.agents:
        seen = env.observe(agent)
        assert "1 of 2." in seen
        assert "- input:\n4000\n  expected:\n8000\n  the program's answer:\n8001\n" in seen
        assert not any(secret in seen for secret in ("7001", "14002", "9001", "reference"))
        assert "Round 2 of 4." in seen
    assert "print(2 * n if n < 10 else 2 * n + 1)" in env.observe("coder_0")
    assert "It passes of the problem's examples: 1 of 1." in env.observe("coder_0")
    assert "print(2 * n" not in env.observe("tester_1")
    assert '{"input": "4000\\n", "output": "8000\\n"}' in env.observe("tester_1")


def test_an_agent_does_not_see_the_other_answer_of_its_round(tmp_path):
    env = make(tmp_path, DOUBLE)
    before = env.observe("tester_1")
    env.step(WRONG)
    assert env.observe("tester_1") == before


def test_observations_are_bounded(tmp_path):
    env = make(tmp_path, {**DOUBLE, "statement": "word " * 10_000})
    loud = (
        "import sys\nprint('x' * 100_000)\nprint('e' * 100_000, file=sys.stderr)\n" + "#" * 18_000
    )
    play(env, loud, answer(*[(str(n) * 600, "y" * 1_900) for n in range(1, 6)]))
    assert max(len(env.observe(agent)) for agent in env.agents) < 40_000


def test_a_coder_alone_is_told_of_the_examples(tmp_path):
    env = make(tmp_path, DOUBLE, num_agents=1)
    assert "tester" not in env.observe("coder_0")
    paid = play(env, CRASH)
    assert "It passes of the problem's examples: 0 of 1." in env.observe("coder_0")
    assert not env.terminations["coder_0"]
    paid = play(env, RIGHT)
    assert env.terminations["coder_0"]
    assert paid["coder_0"] == pytest.approx({"parses": 0.0, "runs": 0.1, "tests": 0.8, "team": 1.0})


def test_a_fork_leaves_its_original_alone(tmp_path):
    env = make(tmp_path, DOUBLE)
    play(env, WRONG, answer(("4000", "8000")))
    before = env.observe("coder_0"), env.unwrapped.episode
    play(fork(env), RIGHT, answer(("1", "2")))
    assert (env.observe("coder_0"), env.unwrapped.episode) == before
    assert not env.terminations["coder_0"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [("num_agents", 3), ("max_tests", 0), ("time_limit", 0.0), ("prompt", "terse")],
)
def test_settings_are_checked(setting, value):
    with pytest.raises(ConfigError, match=setting):
        llmzoo.make("contests_v0", **{setting: value})


# Players


@pytest.mark.parametrize(
    ("id", "every"),
    [
        *(("contests_v0", 8), ("apps_v0", 8), ("code_contests_v0", 8), ("livecodebench_v0", 8)),
        pytest.param("contests_v0", 1, marks=pytest.mark.slow),
    ],
)
def test_experts_earn_all_there_is(id, every):
    def env():
        return llmzoo.make(id, source="sample", split="all")

    count = len(testing.task_ids(env(), 1_000))
    testing.check_expert(env, range(0, count, every), best=2.0)


def test_noisy_experts_are_sometimes_right():
    rng = random.Random(0)
    won = 0
    for problem in tasks.load_shipped()[:20]:
        try:
            source = trying.extract_source(players.noisy_program(problem, rng), problem)
            code = trying.prepare_program(source, problem)
        except ValueError:
            continue
        won += trying.run_tests(code, problem, problem.hidden, Limits()).share == 1.0
        assert isinstance(players.noisy_tests(problem, rng, 5), str)
    assert 0 < won < 20


def test_a_tester_without_free_tests_varies_the_examples(tmp_path):
    env = make(tmp_path, {**DOUBLE, "hidden": []})  # the example pays
    assert env.unwrapped.episode.problem.hidden == env.unwrapped.episode.problem.public
    paid = play(env, env.unwrapped.expert("coder_0"), env.unwrapped.expert("tester_1"))
    assert sum(paid["tester_1"].values()) == pytest.approx(2.0)


# Public sets


@pytest.mark.parametrize("module", [apps, code_contests, livecodebench])
def test_samples_are_shipped_problems_in_the_form_of_the_set(module):
    written = {problem.statement: problem for problem in tasks.load_shipped()}
    result = [module.parse_record(record) for record in module.raw_env.public_set.sample_records()]
    assert len(result) >= 20
    assert any(problem.function for problem in result) == (module is not code_contests)
    for problem in result:
        original = next(p for p in written.values() if problem.statement.startswith(p.statement))
        assert problem.solutions == original.solutions
        assert problem.function == original.function
        assert set(problem.public + problem.hidden) == set(original.public + original.hidden)
        if module is not apps:
            assert problem.public == original.public


def test_apps_records():
    record = {
        "question": "Say yes.\n\n-----Example-----\nInput\n1 2\n\nOutput\nyes\n",
        "input_output": json.dumps({"inputs": ["1 2\n", "3 4\n"], "outputs": ["yes\n", "no\n"]}),
        "solutions": "",
        "starter_code": None,
    }
    problem = apps.parse_record(record)
    assert problem.public == (tasks.Test("1 2\n", "yes\n"),)
    assert problem.hidden == (tasks.Test("3 4\n", "no\n"),)
    assert problem.solutions == ()
    assert apps.parse_record({**record, "input_output": ""}) is None
    with pytest.raises(BadField, match="not JSON"):
        apps.parse_record({**record, "input_output": "{"})
    with pytest.raises(BadField, match="two lists of one length"):
        apps.parse_record({**record, "input_output": {"inputs": ["1"], "outputs": []}})


@pytest.mark.parametrize(
    ("starter", "outputs", "read"),
    [
        ("def f(x):", [[True], [False]], ["true", "false"]),
        ("class Solution:\n    def f(self, x):", [[1], [2]], ["[1]", "[2]"]),
        ("def f(x):", [[1, 2], [3]], ["[1, 2]", "[3]"]),
    ],
)
def test_apps_values_of_functions(starter, outputs, read):
    judged = {"fn_name": "f", "inputs": [[61], [72]], "outputs": outputs}
    problem = apps.parse_record({"question": "?", "input_output": judged, "starter_code": starter})
    assert [test.output for test in problem.public + problem.hidden] == read


def test_code_contests_records():
    record = {
        "description": "Say yes.",
        "public_tests": {"input": ["1\n"], "output": ["yes\n"]},
        "private_tests": {"input": ["2\n"], "output": ["no\n"]},
        "generated_tests": {"input": [f"{n}\n" for n in range(100)], "output": ["no\n"] * 100},
        "solutions": {"language": [1, 3, 2], "solution": ["print 1", "print(1)", "int main"]},
        "incorrect_solutions": {"language": [3, 2], "solution": ["print(2)", "int main"]},
    }
    problem = code_contests.parse_record(record)
    assert problem.solutions == ("print(1)",)
    assert problem.wrong == ("print(2)",)
    assert problem.hidden[:2] == (tasks.Test("2\n", "no\n"), tasks.Test("0\n", "no\n"))
    assert 40 < len(problem.hidden) <= code_contests.MAX_HIDDEN
    assert problem.statement.endswith("Example input:\n1\nExample output:\nyes")
    with pytest.raises(BadField, match="1 inputs and 0 outputs"):
        code_contests.parse_record({**record, "private_tests": {"input": ["2"], "output": []}})


def test_code_contests_pages():
    page = (
        "# 1_A. Yes\n\n## Description\n\nSay yes.\n\nExamples\n\nInput\n\n1 2\n\nOutput\n\nyes\n\n"
        "## Examples\n\n**Input**:\n```\n3 4\n```\n"
    )
    listed = [{"input": "1 2", "output": "yes"}, {"input": "3 4", "output": "no"}]
    problem = code_contests.parse_record(
        {"problem_md": page, "tests": listed, "solution_py": "print(1)"}
    )
    assert problem.public == (tasks.Test("1 2", "yes"),)
    assert problem.hidden == (tasks.Test("3 4", "no"),)
    assert "3 4" not in problem.statement
    assert "# 1_A" not in problem.statement


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("packed", ["pickle", "text"])
def test_livecodebench_reads_no_pickle(tmp_path, packed):
    value = Trap(tmp_path / "sprung") if packed == "pickle" else "[]"
    data = base64.b64encode(zlib.compress(pickle.dumps(value))).decode()
    record = {**livecodebench.raw_env.public_set.sample_records()[0], "private_test_cases": data}
    with pytest.raises(BadField, match=r"packed with pickle.*source='some/file.jsonl'"):
        livecodebench.parse_record(record)
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(record))
    with pytest.raises(ConfigError, match=r"set.jsonl:1: field 'private_test_cases' is not plain"):
        llmzoo.make("livecodebench_v0", source=str(path), split="all")
    assert not (tmp_path / "sprung").exists()


def test_livecodebench_days(tmp_path):
    path = tmp_path / "set.jsonl"
    days = ["2024-01-31T00:00:00", "2024-02-01T00:00:00", "2024-03-01T00:00:00"]
    records = [
        {**record, "contest_date": day}
        for record, day in zip(
            livecodebench.raw_env.public_set.sample_records()[:3], days, strict=True
        )
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))

    def count(**days):
        env = llmzoo.make("livecodebench_v0", source=str(path), split="all", **days)
        env.reset(seed=0)
        return env.infos["coder_0"]["tasks"]

    assert count() == 3
    assert count(since="2024-02-01") == 2
    assert count(since="2024-02-01", until="2024-02-01") == 1
    with pytest.raises(ConfigError, match="none of its 3 problems"):
        count(since="2025-01-01")
    with pytest.raises(ConfigError, match="since must be a day"):
        count(since="last year")


# Real records

AMPLE = 60.0  # seconds for a program that ends, on a busy machine too


@pytest.mark.slow
def test_code_contests_solutions_pass(shared_data):
    def env():
        path = str(shared_data / "codecontests_dev.jsonl")
        return llmzoo.make("code_contests_v0", source=path, split="all", time_limit=AMPLE)

    assert len(set(testing.task_ids(env(), 100))) == 40
    testing.check_expert(env, range(0, 40, 8), best=2.0)


@pytest.mark.slow
def test_apps_records_are_judged_right(shared_data):
    path = shared_data / "apps_dev.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    wrong = {}
    for record in records:
        problem = apps.parse_record(record)
        listed = tuple(dict.fromkeys(problem.public + problem.hidden))
        for number, solution in enumerate(record["solutions"]):
            code = trying.prepare_program(solution, problem)
            result = trying.run_tests(code, problem, listed, Limits(time_limit=AMPLE))
            if result.passed < len(listed):
                wrong.setdefault(record["problem_id"], []).append(number)
    # a tree may be labelled in several ways, of which the tests know one
    assert set(wrong) == {"2287"}
    assert len(wrong["2287"]) == 3
    testing.check_expert(
        lambda: llmzoo.make("apps_v0", source=str(path), split="all", time_limit=AMPLE),
        range(5),
        best=2.0,
    )
