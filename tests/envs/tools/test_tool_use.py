"""tool_use_v0: what a round does, what it pays, and what the agents read."""

from __future__ import annotations

import json
import re

import pytest

import llmzoo
from llmzoo.envs.tools.tool_use import observations, players, scoring
from llmzoo.envs.tools.tool_use.questions import ExpectedAnswer, NeededCall
from llmzoo.envs.tools.toolbox import tool
from llmzoo.errors import ConfigError, NoScriptedPolicyError, UnknownNameError

FAST = ("calculator", "files", "search")  # no sandbox


@tool
def tide(harbour: str) -> str:
    """The time of high water in a harbour."""
    return {"Sundmere": "04:50", "Pinscar": "11:05"}[harbour]


@tool
def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


OWN = [
    {
        "question": "When is high water in Sundmere, and twice 21?",
        "answer": ["42", "04:50"],
        "tools": ["tide", "double"],
    }
]


def made(**kwargs):
    """An environment with one question that needs a call of each of two tools."""
    defaults = {"tools": [tide, double], "tasks": OWN, "split": "all", "num_agents": 1}
    return llmzoo.make("tool_use_v0", **{**defaults, **kwargs})


def call(tool, **arguments):
    return players.format_call(tool, arguments)


TIDE, DOUBLE = call("tide", harbour="Sundmere"), call("double", number=21)
RIGHT, WRONG = "<answer>04:50</answer>", "<answer>05:40</answer>"


def played(env, *answers, task=0):
    """Each agent's return, the parts of it, and the last infos, of an episode with these answers."""
    env.reset(options={"task": task})
    answers = list(answers)
    total = dict.fromkeys(env.possible_agents, 0.0)
    parts: dict = {}
    infos = {}
    for agent in env.agent_iter():
        _, reward, terminated, truncated, infos[agent] = env.last()
        total[agent] += reward
        if agent == env.possible_agents[0]:
            for name, value in infos[agent]["reward_components"].items():
                parts[name] = parts.get(name, 0.0) + value
        over = terminated or truncated
        env.step(None if over else answers.pop(0) if answers else "")
    return total, parts, infos


# What an episode is worth


@pytest.mark.parametrize(
    ("answers", "parts"),
    [
        # answer, tools, economy, waste
        ((TIDE, DOUBLE, RIGHT), (0.7, 0.2, 0.1, 0.0)),
        ((DOUBLE, TIDE, "<answer>42</answer>"), (0.7, 0.2, 0.1, 0.0)),
        ((TIDE, RIGHT), (0.7, 0.1, 0.0, 0.0)),
        ((RIGHT,), (0.7, 0.0, 0.0, 0.0)),
        # a wrong answer costs 0.02 for each of the 8, or 6, rounds that were left
        ((WRONG,), (0.0, 0.0, 0.0, -0.16)),
        ((TIDE, DOUBLE, WRONG), (0.0, 0.2, 0.0, -0.12)),
        (("", TIDE, WRONG), (0.0, 0.1, 0.0, -0.02 - 0.12)),
        # one wasted round of two needed ones halves the economy
        ((TIDE, TIDE, DOUBLE, RIGHT), (0.7, 0.2, 0.05, -0.015)),
        ((TIDE, call("tide", harbour="Pinscar"), DOUBLE, RIGHT), (0.7, 0.2, 0.05, -0.01)),
        ((TIDE, call("tide", harbour="Nowhere"), DOUBLE, RIGHT), (0.7, 0.2, 0.05, -0.015)),
        ((TIDE, call("moon"), call("tide", x=1), DOUBLE, RIGHT), (0.7, 0.2, 0.0, -0.03)),
        (("", "nothing", TIDE, RIGHT), (0.7, 0.1, 0.0, -0.04)),
        ((TIDE,) * 8, (0.0, 0.1, 0.0, -7 * 0.015)),
        (("",) * 8, (0.0, 0.0, 0.0, -0.16)),
    ],
)
def test_what_an_episode_is_worth(answers, parts):
    total, outcome, _ = played(made(), *answers)
    assert list(outcome.values()) == pytest.approx(list(parts))
    assert total["agent_0"] == pytest.approx(sum(parts))


def test_waste_has_a_floor():
    for answers in ((), (WRONG,)):
        total, _, _ = played(made(max_turns=30), *answers)
        assert total["agent_0"] == pytest.approx(-0.2)


@pytest.mark.parametrize("max_turns", [1, 3, 8, 30])
@pytest.mark.parametrize("num_agents", [1, 2])
def test_trying_in_vain_never_earns_less_than_a_wrong_answer_at_once(max_turns, num_agents):
    """Nor does going on after a needed call, or failing to answer, whatever is tried in vain."""

    def worth(*answers):
        advised = [said for answer in answers for said in ("Go on.", answer)]
        env = made(max_turns=max_turns, num_agents=num_agents)
        total = played(env, *(answers if num_agents == 1 else advised))[0]
        return total[env.possible_agents[-1]]

    at_once = worth(WRONG)
    tries = ("", "<answer>04:50", TIDE[:-20], TIDE + RIGHT, call("moon"), call("double", number=9))
    for text in tries:
        assert worth(*[text] * max_turns) >= at_once - 1e-9
        assert worth(*[text] * (max_turns - 1), WRONG) >= at_once - 1e-9
    assert worth(*[call("double", number=n) for n in range(max_turns)]) > at_once


def test_a_wasted_round_costs_the_less_the_nearer_it_comes_to_a_call():
    """So that the first answers of a weak model differ in what they earn."""

    def cost(*answers):
        env = made()
        env.reset(options={"task": 0})
        for answer in answers:
            env.step(answer)
        return env.unwrapped.rewards["agent_0"]

    assert cost("") == cost("I do not know: 12.") == pytest.approx(-0.02)
    assert cost("I would ask the tool tide.") == pytest.approx(-0.019)
    assert cost("<answer>12") == pytest.approx(-0.019)
    assert cost('Call {"name": "tide"') == pytest.approx(-0.018)
    assert cost('<tool_call>{"name": "tide", "arg') == pytest.approx(-0.015)
    assert cost(call("moon")) == pytest.approx(-0.015)
    assert cost(TIDE, TIDE) == pytest.approx(-0.015)
    assert cost(DOUBLE, call("double", number=3)) == pytest.approx(-0.01)
    assert cost(DOUBLE) == pytest.approx(0.1)


def test_both_agents_are_paid_the_same_and_team_weight_scales_it():
    env = made(num_agents=2, team_weight=2.0)
    total, _, _ = played(env, "Tide.", TIDE, "Double.", DOUBLE, "Answer.", RIGHT)
    assert total == pytest.approx({"planner_0": 2.0, "executor_1": 2.0})


def test_a_guess_pays_less_than_any_honest_call_and_honesty_the_most():
    honest = played(made(), TIDE, DOUBLE, RIGHT)[0]["agent_0"]
    lazy = played(made(), TIDE, RIGHT)[0]["agent_0"]
    guess = played(made(), RIGHT)[0]["agent_0"]
    spam = played(made(), *[call("double", number=n) for n in range(8)])[0]["agent_0"]
    assert honest > lazy > guess > spam


def test_success_is_the_right_answer():
    assert played(made(), RIGHT)[2]["agent_0"]["success"] is True
    assert played(made(), WRONG)[2]["agent_0"]["success"] is False
    assert played(made())[2]["agent_0"]["success"] is False


def test_of_a_question_that_names_no_calls_none_is_needless():
    own = [{"question": "Twice 21?", "answer": 42}]
    env = made(tasks=own)
    total, _, _ = played(env, DOUBLE, call("double", number=3), TIDE, "<answer>42</answer>")
    assert total["agent_0"] == pytest.approx(1.0)
    total, _, _ = played(env, DOUBLE, DOUBLE, "<answer>42</answer>")
    assert total["agent_0"] == pytest.approx(0.7 + 0.2 + 0.0 - 0.015)


# Rounds


@pytest.mark.parametrize(
    ("text", "error", "cost"),
    [
        ("", "malformed: no call in", 0.02),
        ("I know it: 04:50", "malformed: no call in", 0.02),
        ("<answer>04:50", "malformed: no call in", 0.019),
        ("<answer>  </answer>", "malformed: no call in", 0.019),
        ('<tool_call>{"name": "tide", "arg', "malformed: not JSON", 0.015),
        ('<tool_call>{"name": "tide", "arguments": [1]}</tool_call>', "malformed: ", 0.015),
        ('<tool_call>{"name": "tide", "arguments": NaN}</tool_call>', "malformed: ", 0.015),
        (TIDE + DOUBLE, "malformed: 2 calls at once", 0.015),
        (TIDE + RIGHT, "malformed: a call and an answer at once", 0.015),
        (f"<answer>04:50 {TIDE}</answer>", "malformed: a call and an answer at once", 0.015),
        ("x" * 20_001, "malformed: longer than 20000 characters", 0.02),
        (
            call("tides", harbour="Sundmere"),
            "failed: unknown tool 'tides'. Did you mean 'tide'",
            0.015,
        ),
        (call("tide"), "failed: argument 'harbour' is missing", 0.015),
        (call("tide", harbour=3), "failed: argument 'harbour'", 0.015),
        (call("tide", harbour="Sundmere", day=1), "failed: unknown argument 'day'", 0.015),
        (call("tide", harbour="Nowhere"), "failed: KeyError", 0.015),
    ],
)
def test_what_is_wrong_is_told_and_uses_up_the_round(text, error, cost):
    env = made()
    env.reset(options={"task": 0})
    env.step(text)
    assert env.unwrapped.infos["agent_0"]["error"].startswith(error)
    assert not env.terminations["agent_0"]
    assert env.unwrapped.rewards["agent_0"] == pytest.approx(-cost)
    assert "Round 2 of 8." in env.observe("agent_0")
    told = error.partition(": ")[2]
    assert f"Result: Error: {told}" in env.observe("agent_0")


def test_a_repeated_call_is_told():
    env = made()
    env.reset(options={"task": 0})
    env.step(TIDE)
    assert env.unwrapped.infos["agent_0"]["error"] is None
    env.step(TIDE)
    assert env.unwrapped.infos["agent_0"]["error"] == "repeated: this call was made before"
    assert "Result: 04:50\n(You have made this call before.)" in env.observe("agent_0")


def test_a_call_that_failed_may_be_made_again():
    env = llmzoo.make(
        "tool_use_v0",
        tools=["files"],
        tasks=[{"question": "Write a file and read it.", "answer": "x", "tools": ["read_file"]}],
        split="all",
        num_agents=1,
    )
    reading, writing = call("read_file", path="a"), call("write_file", path="a", content="x")
    _, parts, _ = played(env, reading, writing, reading, "<answer>x</answer>")
    assert parts["tools"] == pytest.approx(0.2)


def test_the_executor_reads_the_planners_advice_and_the_planner_the_results():
    env = made(num_agents=2)
    env.reset(options={"task": 0})
    env.step("Ask for the tide." + "!" * 5_000)
    shown = env.observe("executor_1")
    assert "The planner says: Ask for the tide.!!!" in shown
    assert len(shown) < 6_000
    env.step(TIDE)
    assert 'Round 1: tide {"harbour": "Sundmere"}\nResult: 04:50' in env.observe("planner_0")
    env.step("")
    assert "The planner says: (nothing)" in env.observe("executor_1")


def test_tags_of_the_planner_do_nothing():
    env = made(num_agents=2)
    total, _, infos = played(env, *[RIGHT + TIDE, "I do as you say."] * 8)
    assert total["planner_0"] == pytest.approx(-0.16)
    assert not infos["planner_0"]["success"]


def test_observations_are_bounded():
    long = call("tide", harbour="x" * 9_000)
    env = made(max_turns=40)
    env.reset(options={"task": 0})
    lengths = []
    for number in range(39):
        env.step(long.replace("xx", f"{number}"))
        lengths.append(len(env.observe("agent_0")))
    assert max(lengths) < observations.MAX_ENTRIES * (observations.MAX_CALL_CHARS + 800) + 4_000
    assert max(lengths[20:]) - min(lengths[20:]) < 100
    assert "(27 earlier rounds are left out.)" in env.observe("agent_0")
    assert "Round 40 of 40, the last one." in env.observe("agent_0")


def test_half_characters_are_not_shown_to_tokenizers():
    env = made()
    env.reset(options={"task": 0})
    env.step("\ud800")
    env.step('<tool_call>{"name": "tide", "arguments": {"harbour": "\\ud800"}}</tool_call>')
    env.observe("agent_0").encode()
    env = made(num_agents=2)
    env.reset(options={"task": 0})
    env.step("Ask for \ud800.")
    env.observe("executor_1").encode()


def test_of_a_long_file_the_executor_reads_where_it_goes_on():
    text = "".join(f"{number:04} of the harbour\n" for number in range(1, 1_001))
    own = [{"question": "Which line is last?", "answer": 1000, "files": {"long.txt": text}}]
    env = made(tools=["files"], tasks=own, max_turns=20)
    env.reset(options={"task": 0})
    env.step(call("read_file", path="long.txt"))
    shown = env.observe("agent_0")
    following = int(re.search(r"\[line (\d+) follows\]", shown)[1])
    assert f"{following - 1:04} of" in shown
    assert f"{following:04} of" not in shown


def test_a_fork_goes_on_from_the_same_files():
    env = llmzoo.make("tool_use_v0", family="report", tools=FAST, num_agents=1)
    env.reset(options={"task": 0})
    target = env.unwrapped.episode.question.target
    env.step(env.unwrapped.expert("agent_0"))
    env.step(env.unwrapped.expert("agent_0"))
    copied = env.unwrapped.fork()
    copied.step(call("write_file", path=target.path, content="nonsense"))
    copied.step("<answer>done</answer>")
    assert not copied.success
    env.step(env.unwrapped.expert("agent_0"))
    env.step("<answer>done</answer>")
    assert env.unwrapped.success


def test_only_with_python_a_step_is_slow():
    assert not llmzoo.make("tool_use_v0", tools=FAST).unwrapped.metadata["slow_step"]
    assert llmzoo.make("tool_use_v0").unwrapped.metadata["slow_step"]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_agents": 3}, "num_agents must be one of 1, 2"),
        ({"prompt": "terse"}, "prompt must be one of full"),
        ({"calls": 5}, "calls must be None or from 1 to 4"),
        ({"family": "fact", "calls": 2}, "no family of questions fits"),
        ({"tools": ["calculator"], "calls": 4}, "no family of questions fits"),
        ({"tools": [tide]}, "give tasks= too"),
        ({"tasks": OWN}, "needs double, tide, which is not among the tools"),
        ({"tasks": OWN, "family": "fact"}, "leave them out with tasks="),
        ({"tasks": [{"question": "?"}]}, "tasks: 1: field 'answer' must be"),
        ({"tasks": [{"question": "?", "answer": True}]}, "tasks: 1: field 'answer' must be"),
        ({"tasks": "tasks.csv"}, "a file whose name ends in one of .jsonl, .json"),
        ({"tasks": ["twice 21?"]}, "tasks: 1: not a record but str"),
        ({"tasks": OWN[0]}, "tasks must be a list"),
        (
            {"tasks": [{"question": "?", "answer": float("inf")}]},
            "tasks: 1: field 'answer' must be",
        ),
        (
            {"tasks": [{"question": "?", "answer": float("nan")}]},
            "tasks: 1: field 'answer' must be",
        ),
        ({"tasks": [{"question": "?", "answer": 10**5_000}]}, "tasks: 1: field 'answer' must be"),
        ({"tasks": [{"question": "\ud800", "answer": 1}]}, "tasks: 1: field 'question' holds half"),
        (
            {"tasks": [{"question": "?", "answer": 1, "files": {"../a": "b"}}]},
            "tasks: 1: field 'files' cannot be: .*leads out",
        ),
        (
            {"tasks": [{"question": "?", "answer": 1, "files": {"a": "\ud800"}}]},
            "tasks: 1: field 'files' cannot be: .*half a character",
        ),
        (
            {"tools": ["search"], "tasks": [{"question": "?", "answer": 1, "files": {"a": "b"}}]},
            "needs read_file",
        ),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("tool_use_v0", **kwargs)


def test_unknown_names_are_named():
    with pytest.raises(UnknownNameError, match="Did you mean 'ranking'"):
        llmzoo.make("tool_use_v0", family="rankings")
    with pytest.raises(UnknownNameError, match="Did you mean 'calculator'"):
        llmzoo.make("tool_use_v0", tools=["calculators"])


def test_own_tasks_of_a_file_with_files(tmp_path):
    path = tmp_path / "own.jsonl"
    record = {"question": "What is in a.txt?", "answer": "Seven!", "files": {"a.txt": "seven"}}
    path.write_text(json.dumps({**record, "tools": ["read_file"]}))
    env = llmzoo.make("tool_use_v0", tools=["files"], tasks=str(path), split="all", num_agents=1)
    total, _, infos = played(env, call("read_file", path="a.txt"), "<answer>seven</answer>")
    assert total["agent_0"] == pytest.approx(1.0)
    assert infos["agent_0"]["source"] == str(path)


def test_own_tasks_that_need_tools_have_no_player():
    env = made(num_agents=2)
    env.reset(options={"task": 0})
    for agent in env.possible_agents:
        with pytest.raises(NoScriptedPolicyError):
            env.unwrapped.expert(agent)


# Answers


NUMBER, ROUNDED, NAME = (
    ExpectedAnswer(("1284",), 0.0),
    ExpectedAnswer(("3.3195",), 0.00501),
    ExpectedAnswer(("Old Mint",)),
)


@pytest.mark.parametrize(
    ("target", "text", "right"),
    [
        (NUMBER, "1284", True),
        (NUMBER, " 1,284 people ", True),
        (NUMBER, "1284.0", True),
        (NUMBER, "The difference is 1284.", True),
        (NUMBER, "1284 or 1285", False),
        (NUMBER, "12,84", False),
        (NUMBER, "1 284", False),
        (NUMBER, "-1284", False),
        (NUMBER, "12840", False),
        (NUMBER, "1284/1", False),
        (NUMBER, "", False),
        (NUMBER, "one", False),
        (NUMBER, "9" * 10_000, False),
        (NUMBER, "1284 " + "a" * 200, False),
        (ExpectedAnswer(("-5",), 0.0), "−5", True),
        (NUMBER, "1284 km2", True),
        (NUMBER, "1284 m3 a day", True),
        (NUMBER, "1.284e3", True),
        (NUMBER, "1284e0", True),
        (NUMBER, "1284e2", False),
        (NUMBER, "1284 e 5", False),
        (NUMBER, "1e999", False),
        # a large whole number is right to the last digit
        (ExpectedAnswer(("3940600001234",), 0.0), "3940600001234", True),
        (ExpectedAnswer(("3940600001234",), 0.0), "3940600001234.0", True),
        (ExpectedAnswer(("3940600001234",), 0.0), "3940600001235", False),
        (ExpectedAnswer(("3940600001234",), 0.0), "3940600000000", False),
        (ROUNDED, "3.32", True),
        (ROUNDED, "3.3195020747", True),
        (ROUNDED, "3.33", False),
        (NAME, "old mint", True),
        (NAME, "The Old Mint.", True),
        (NAME, "Old Mint or Bread Museum", False),
        (NAME, "Old", False),
        (NAME, "", False),
    ],
)
def test_which_answers_are_right(target, text, right):
    assert scoring.is_right(target, text) is right


@pytest.mark.parametrize(
    ("step", "tool_name", "result", "serves"),
    [
        (NeededCall(("search",), "] Varnholt\n"), "search", "[2] Varnholt\nA town.", True),
        (
            NeededCall(("search",), "] Varnholt\n"),
            "search",
            "[2] Sundmere\nNear Varnholt\n.",
            False,
        ),
        (NeededCall(("search",), "] Varnholt\n"), "python", "[2] Varnholt\nA town.", False),
        (NeededCall(("calculator", "python"), "42"), "python", "the sum is 42.0", True),
        (NeededCall(("calculator", "python"), "42"), "calculator", "420", False),
        (NeededCall(("calculator",), "3.3195", 0.00501), "calculator", "3.32", True),
        # printing every number that there is finds nothing
        (NeededCall(("python",), "42"), "python", " ".join(map(str, range(1_000))), False),
        (NeededCall(("tide",)), "tide", "anything", True),
        (NeededCall(("tide",)), "moon", "anything", False),
    ],
)
def test_which_results_count(step, tool_name, result, serves):
    assert scoring.is_needed_call(step, tool_name, result) is serves


SUM = NeededCall(("calculator", "python"), "38532", 0.0, {"expression": "12840 * 3 + 12"})
HALF = NeededCall(("calculator",), "200", 0.0, {"expression": "400 - 200"})
COUNT = NeededCall(("python",), "4", 0.0, {"code": "len(words)"})


@pytest.mark.parametrize(
    ("step", "arguments", "put_in"),
    [
        (SUM, {"expression": "12840 * 3 + 12"}, False),
        (SUM, {"expression": "12 + 12840 + 12840 + 12840"}, False),
        (SUM, {"code": "print(12840 * 3 + 12)"}, False),
        (SUM, {"expression": "38532"}, True),
        (SUM, {"expression": "38532.0 * 1 + 0"}, True),
        (SUM, {"expression": "max(1, 3.8532e4)"}, True),
        (SUM, {"code": "print(38532)"}, True),
        # here the calculation itself holds the number that comes out
        (HALF, {"expression": "400 - 200"}, False),
        # small numbers stand in many a program
        (COUNT, {"code": "sum(len(w) == 4 for w in words)"}, False),
        # to write a number into a file is no calculation
        (
            NeededCall(("write_file",), "out/a.txt"),
            {"path": "out/a.txt", "content": "38532"},
            False,
        ),
    ],
)
def test_a_result_that_was_put_in_is_no_calculation(step, arguments, put_in):
    assert scoring.contains_result(step, arguments) is put_in


@pytest.mark.parametrize("form", ["{}", "{} + 0", "1 * ({})"])
def test_an_answer_known_before_earns_less_put_through_the_calculator(form):
    env = llmzoo.make("tool_use_v0", family="arithmetic", tools=FAST, num_agents=1)
    env.reset(options={"task": 0})
    value = env.unwrapped.episode.question.target.values[0]
    echo = call("calculator", expression=form.format(value))
    total, _, infos = played(env, echo, f"<answer>{value}</answer>")
    assert total["agent_0"] == pytest.approx(0.7 - 0.01)
    assert infos["agent_0"]["success"]


def test_one_search_may_find_two_articles():
    env = llmzoo.make("tool_use_v0", family="difference", tools=FAST, num_agents=1, split="all")
    for task in range(100):
        env.reset(options={"task": task})
        steps = env.unwrapped.episode.question.steps
        both = " ".join(step.arguments["query"] for step in steps[:2])
        env.step(call("search", query=both, k=6))
        if {0, 1} <= env.unwrapped.episode.made:
            env.step(env.unwrapped.expert("agent_0"))
            env.step(env.unwrapped.expert("agent_0"))
            assert env.unwrapped.success
            assert sum(env.unwrapped.episode.parts.values()) == pytest.approx(1.0)
            return
    pytest.fail("no search for two articles finds both")
