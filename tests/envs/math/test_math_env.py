"""The reasoner and the tool: reading answers, rewards worked out by hand, what is told, the end."""

from __future__ import annotations

import random
import time

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.math import generator, players, scoring
from llmzoo.envs.math.reasoning_env import MathState
from llmzoo.envs.math.tasks import MathTask, canonical
from llmzoo.errors import ConfigError
from llmzoo.rollout import fork
from llmzoo.sandbox.limits import Limits

SUM = MathTask(
    "Compute 37 + 48.", "85", "arithmetic", "easy", "print(37 + 48)", "37 + 48", computed=True
)
BOX, PROGRAM = "\\boxed{85}", "print(37 + 48)"


def make(task=SUM, **settings):
    env = llmzoo.make("math_v0", **settings)
    env.reset(seed=0)
    env.unwrapped.episode = MathState(task)
    return env


def play(env, *texts):
    """One round; what it paid each agent, part by part."""
    paid = {agent: {} for agent in env.possible_agents}
    for text in texts:
        env.step(text)
        for agent in env.possible_agents:
            # in turns, parts stand in the info of the agent that acted, and the team's in all
            paid[agent] = env.infos[agent]["reward_components"]
    return {a: {n: round(v, 9) for n, v in parts.items()} for a, parts in paid.items()}


def over(env):
    return all(env.terminations.values()) or all(env.truncations.values())


# Rewards


def test_two_right_answers_earn_all_there_is_and_end_it():
    env = make()
    paid = play(env, f"37 + 48 is {BOX}.", PROGRAM)
    assert paid["reasoner_0"] == {"team": 1.0, "format": 0.2, "right": 0.8}
    assert paid["tool_1"] == {
        "team": 1.0,
        "parses": 0.05,
        "runs": 0.05,
        "prints": 0.1,
        "right": 0.8,
    }
    assert all(env.terminations.values())
    assert env.infos["tool_1"]["success"] is True


def test_the_reasoner_decides_and_the_tool_is_paid_for_its_own():
    env = make()
    paid = play(env, "\\boxed{84}", PROGRAM)
    assert paid["reasoner_0"] == {"format": 0.2, "right": 0.0}
    assert paid["tool_1"] == {"parses": 0.05, "runs": 0.05, "prints": 0.1, "right": 0.8}
    assert not over(env)
    paid = play(env, BOX, "print(1)")  # the tool was right, and is no more
    assert paid["reasoner_0"] == {"team": 1.0, "format": 0.0, "right": 0.8}
    assert paid["tool_1"] == {"team": 1.0, "parses": 0.0, "runs": 0.0, "prints": 0.0, "right": -0.8}
    paid = play(env, "no box", PROGRAM)  # what was lost is paid back
    assert paid["reasoner_0"] == {"team": -1.0, "format": -0.2, "right": -0.8}
    assert paid["tool_1"] == {"team": -1.0, "parses": 0.0, "runs": 0.0, "prints": 0.0, "right": 0.8}


def test_agreeing_on_a_wrong_answer_ends_it_without_success():
    env = make()
    paid = play(env, "\\boxed{84}", "print(84)")
    assert paid["reasoner_0"] == {"format": 0.2, "right": 0.0}
    assert paid["tool_1"] == {"parses": 0.05, "runs": 0.05, "prints": 0.1, "right": 0.0}
    assert all(env.terminations.values())
    assert env.infos["reasoner_0"]["success"] is False


@pytest.mark.parametrize("wrong", ["\\boxed{84}", "nothing"])
def test_rounds_end(wrong):
    env = make(max_turns=3)
    for _ in range(3):
        assert not over(env)
        play(env, wrong, "print(1)")
    assert all(env.truncations.values())
    assert env.infos["reasoner_0"]["success"] is False


def test_two_without_an_answer_do_not_agree():
    env = make()
    play(env, "I pass.", "I pass.")
    assert not over(env)


def test_a_reasoner_alone_goes_on_until_it_repeats_itself():
    """Neither a right answer ends it nor a wrong one: the end tells nothing of the answer key."""
    env = make(num_agents=1)
    assert play(env, "\\boxed{84}")["reasoner_0"] == {"format": 0.2, "right": 0.0}
    assert play(env, BOX)["reasoner_0"] == {"team": 1.0, "format": 0.0, "right": 0.8}
    assert not over(env)
    assert play(env, "\\boxed{85.0}")["reasoner_0"] == {"format": 0.0, "right": 0.0}
    assert all(env.terminations.values())
    assert env.infos["reasoner_0"]["success"] is True
    env = make(num_agents=1)
    play(env, "\\boxed{84}")
    assert not over(env)
    play(env, "\\boxed{84}")
    assert all(env.terminations.values())
    assert env.infos["reasoner_0"]["success"] is False


def test_a_reasoner_alone_without_an_answer_does_not_repeat_itself():
    env = make(num_agents=1)
    play(env, "I pass.")
    play(env, "I pass.")
    assert not over(env)


@pytest.mark.parametrize("agents", [{"num_agents": 1}, {"num_agents": 2}])
def test_with_verdicts_it_goes_on_until_it_is_right(agents):
    env = make(feedback="verdict", **agents)
    for _ in range(2):  # what they agree on is wrong
        play(env, *["\\boxed{84}", "print(84)"][: len(env.possible_agents)])
        assert not over(env)
    play(env, *[BOX, "print(84)"][: len(env.possible_agents)])
    assert all(env.terminations.values())
    assert env.infos["reasoner_0"]["success"] is True


DIGITS = MathTask("Which digit?", "7", computed=True)


@pytest.mark.parametrize("alone", [True, False])
def test_several_rounds_are_no_better_than_one_at_guessing(alone):
    """Guesses at one of ten digits, another one each round: with verdicts four rounds find it in
    4 of 10 tasks, without them the last guess counts, in 1 of 10."""
    successes = {"none": 0, "verdict": 0}
    for feedback in successes:
        for first in range(10):
            env = make(DIGITS, feedback=feedback, num_agents=1 if alone else 2)
            for turn in range(4):
                if not over(env):
                    guess = (first + turn) % 10
                    play(env, *[f"\\boxed{{{guess}}}", f"print({guess} + 10)"][: 2 - alone])
            successes[feedback] += env.infos["reasoner_0"]["success"]
    assert successes == {"none": 1, "verdict": 4}


def test_infos_and_evaluations_name_the_feedback():
    env = make(feedback="verdict")
    assert env.infos["reasoner_0"]["feedback"] == "verdict"
    for feedback, notes in (("none", 0), ("verdict", 1)):
        arguments = {"feedback": feedback, "num_agents": 1}
        result = llmzoo.evaluate("math_v0", "noisy_expert", tasks=2, env_args=arguments)
        assert result.to_dict()["feedback"] == feedback
        assert sum("pass@rounds" in note for note in result.notes) == notes


def test_team_weight():
    env = make(num_agents=1, team_weight=0.5)
    assert play(env, BOX)["reasoner_0"] == {"team": 0.5, "format": 0.2, "right": 0.8}


@pytest.mark.parametrize("agents", [{}, {"reasoners": 3, "tools": 2, "aggregator": True}])
def test_returns_are_what_the_last_answers_are_worth(agents):
    """Whatever came before: noisy experts play, and the last round settles the accounts."""
    env = llmzoo.make("math_v0", max_turns=3, **agents)
    for seed in range(15):
        env.reset(seed=seed)
        total = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            _, reward, terminated, truncated, info = env.last()
            total[agent] += reward
            rng = random.Random(f"{seed} {agent} {env.unwrapped.turn}")
            act = None if terminated or truncated else env.unwrapped.noisy_expert(agent, rng)
            env.step(act)
        episode = env.unwrapped.episode
        for agent, return_ in total.items():
            assert return_ == pytest.approx(
                episode.team_reward + sum(episode.local_rewards[agent].values())
            )
        assert info["success"] is (episode.team_reward == 1.0)


# Answers


@pytest.mark.parametrize(
    ("text", "value", "error", "form"),
    [
        ("so \\boxed{84}, no, \\boxed{85}", "85", "", 0.2),
        ("\\boxed{ 1,234 }", "1,234", "", 0.2),
        ("eighty-five", "", "malformed: no answer in \\boxed{}", 0.0),
        ("85", "", "malformed: no answer in \\boxed{}", 0.05),
        ("\\boxed{}", "", "malformed: no answer in \\boxed{}", 0.0),
        ("End with \\boxed{}: 85", "", "malformed: no answer in \\boxed{}", 0.05),
        ("\\boxed{85", "", "malformed: no answer in \\boxed{}", 0.1),
        ("\\boxed{37 + 48}", "", "malformed: not a number in its last form", 0.1),
        ("\\boxed{" + "8" * 501 + "}", "", "malformed: an answer longer than 500 characters", 0.1),
        ("8" * 20_001, "", "malformed: longer than 20000 characters", 0.0),
        ("\\boxed{\ud800}", "", "malformed: not a number in its last form", 0.1),
    ],
)
def test_what_a_reasoner_answers(text, value, error, form):
    read = scoring.parse_reasoner_answer(text, computed=True)
    assert (read.value, read.error) == (value, error)
    assert read.parts == {"format": form}


@pytest.mark.parametrize(
    ("text", "value", "error", "parts"),
    [
        ("```python\nx = 37\nprint(x + 48)\n```", "85", "", (0.05, 0.05, 0.1)),
        ("print('first')\nprint(85)\nprint()", "85", "", (0.05, 0.05, 0.1)),
        ("from fractions import Fraction\nprint(Fraction(6, 16))", "3/8", "", (0.05, 0.05, 0.1)),
        ("print({4, 1})", "{1, 4}", "", (0.05, 0.05, 0.1)),
        ("print(37 +", "", "malformed: ", (0.0, 0.0, 0.0)),
        ("```python\nprint(37 +\n```", "", "malformed: ", (0.0, 0.0, 0.0)),
        ("I do not know.", "", "malformed: syntax error", (0.0, 0.0, 0.0)),
        ("print(1 // 0)", "", "failed: ZeroDivisionError: ", (0.05, 0.0, 0.0)),
        ("x = 85", "", "failed: the program printed nothing", (0.05, 0.05, 0.0)),
        ("while True: pass", "", "failed: the program ran out of time", (0.05, 0.0, 0.0)),
        ("print('37 + 48')", "", "malformed: not a number in its last form", (0.05, 0.05, 0.05)),
        ("print(input())", "", "failed: EOFError: ", (0.05, 0.0, 0.0)),
    ],
)
def test_what_a_tool_answers(text, value, error, parts):
    limits = Limits(time_limit=0.2 if text.startswith("while") else 20.0)
    read = scoring.parse_tool_answer(text, limits, computed=True)
    assert read.value == value
    assert read.error.startswith(error)
    assert bool(read.error) == bool(error)
    assert tuple(read.parts.values()) == parts


@pytest.mark.parametrize("computed", [True, False])
def test_answers_that_are_equal_agree(computed):
    assert scoring.all_agree(["0.5", "1/2"], computed=computed)
    assert scoring.all_agree(["0.5", "1/2", "0.50"], computed=computed)
    assert not scoring.all_agree(["0.5", "1/3"], computed=computed)
    assert not scoring.all_agree(["5", ""], computed=computed)
    assert not scoring.all_agree(["", ""], computed=computed)
    assert not scoring.all_agree(["5"], computed=computed)


@pytest.mark.parametrize(
    ("values", "chosen"),
    [(["1", "2", "2.0"], "2"), (["1", "2"], "1"), (["", "3"], "3"), (["", ""], ""), ([], "")],
)
def test_majority(values, chosen):
    assert scoring.majority_answer(values, computed=True) == chosen


def test_a_vote_compares_no_more_than_it_must(monkeypatch):
    asked = []
    monkeypatch.setattr(
        scoring.answers, "answers_match", lambda a, b: asked.append((a, b)) or a[0] == b[0]
    )
    assert scoring.majority_answer(["a1", "b1", "a2", "b2", "b3"], computed=False) == "b1"
    assert asked == [
        ("a1", "b1"),
        ("a1", "a2"),
        ("a1", "b2"),
        ("b1", "b2"),
        ("a1", "b3"),
        ("b1", "b3"),
    ]
    asked.clear()
    env = make(MathTask("?", "z"), reasoners=4, tools=0)
    play(env, *(f"\\boxed{{{letter}}}" for letter in "abcd"))
    assert asked == [*(("z", letter) for letter in "abcd"), ("a", "b")]


def test_a_percent_is_not_two_answers():
    """Once ``50%`` was right where 50 was asked for and where 1/2 was."""
    for answer, right in (("50", 0.0), ("1/2", 0.8)):
        env = make(MathTask("How much?", answer, computed=True), num_agents=1)
        assert play(env, "\\boxed{50%}")["reasoner_0"]["right"] == right


def test_generated_tasks_are_read_exactly(monkeypatch):
    monkeypatch.setattr(scoring.answers, "answers_match", None)
    env = make(MathTask("How long, in hours?", "1/2", computed=True))
    play(env, "\\boxed{30 min}", "print('3/8 q')")
    assert env.unwrapped.episode.local_rewards["reasoner_0"] == {"format": 0.2, "right": 0.0}


def test_a_task_that_is_not_generated_may_be_answered_with_an_expression():
    task = MathTask("Factor x^2 - 1.", "(x-1)(x+1)")
    env = make(task, num_agents=1)
    assert play(env, "\\boxed{(x-1)(x+1)}")["reasoner_0"]["right"] == 0.8


# What is told


def test_agents_read_each_others_last_answers_and_no_verdict():
    env = make()
    play(env, "\\boxed{84}", PROGRAM)
    reasoner, tool = (env.observe(agent) for agent in env.possible_agents)
    assert "Your last answer: 84" in reasoner
    assert "The answer of tool_1: 85" in reasoner
    assert "Your last answer: 85" in tool
    assert "The answer of reasoner_0: 84" in tool
    for text in (reasoner, tool):
        assert "Round 2 of 4." in text
        assert "right" not in text.split("The problem:")[1]
        assert "wrong" not in text.split("The problem:")[1]


def test_agents_read_why_there_was_no_answer():
    env = make()
    play(env, "no box", "print(1 // 0)")
    assert "Your last answer: none (malformed: no answer in \\boxed{})" in env.observe("reasoner_0")
    assert "tool_1: none (failed: ZeroDivisionError" in env.observe("reasoner_0")
    assert env.infos["tool_1"]["error"].startswith("failed: ZeroDivisionError")


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_nobody_alone_reads_the_right_answer(prompt):
    """All wrong answers there are, and no answer: what follows never holds the right one."""
    for seed in range(60):
        env = llmzoo.make("math_v0", num_agents=1, prompt=prompt)
        env.reset(seed=seed)
        task = env.unwrapped.episode.task
        before = env.observe("reasoner_0")
        wrong = "7654321" if task.answer != "7654321" else "1"
        for text in (f"\\boxed{{{wrong}}}", "no box"):
            env.step(text)
            after = env.observe("reasoner_0")
            changed = set(after.split()) - set(before.split())
            assert task.answer not in changed - {"2", "3", "2/4", "3/4"}


def test_a_reasoner_alone_reads_its_answer_and_no_verdict():
    env = make(num_agents=1)
    play(env, "\\boxed{84}")
    wrong = env.observe("reasoner_0")
    assert "Your last answer: 84. The game ends when you give the same answer again." in wrong
    play(env, BOX)
    right = env.observe("reasoner_0")
    assert right == wrong.replace("84.", "85.").replace("Round 2", "Round 3")
    play(env, "no box")
    assert "answer: none (malformed: no answer in \\boxed{})\n" in env.observe("reasoner_0")


def test_with_verdicts_each_agent_reads_that_of_its_own_answer():
    env = make(feedback="verdict")
    play(env, "\\boxed{84}", PROGRAM)
    reasoner, tool = (env.observe(agent) for agent in env.possible_agents)
    assert "Your last answer, 84, is not right.\nThe answer of tool_1: 85\n" in reasoner
    assert "Your last answer, 85, is right.\nThe answer of reasoner_0: 84\n" in tool
    assert "and whether your own is right." in reasoner
    assert "over when all agree" not in reasoner
    env = make(feedback="verdict", prompt="terse", num_agents=1)
    play(env, "\\boxed{84}")
    assert env.observe("reasoner_0") == "math reasoner 2/4\n37 + 48\nyou 84 wrong\nanswer\n"


def test_terse_prompts():
    env = make(prompt="terse")
    assert env.observe("reasoner_0") == "math reasoner 1/4\n37 + 48\nanswer\n"
    assert env.observe("tool_1") == "math tool 1/4\n37 + 48\nanswer\n"
    play(env, "\\boxed{84}", "x = 1")
    reason = "none failed: the program printed nothing"
    assert (
        env.observe("reasoner_0") == f"math reasoner 2/4\n37 + 48\nyou 84\ntool {reason}\nanswer\n"
    )
    assert env.observe("tool_1") == f"math tool 2/4\n37 + 48\nyou {reason}\nreasoner 84\nanswer\n"
    env = make(prompt="terse", num_agents=1)
    play(env, "\\boxed{84}")
    assert env.observe("reasoner_0") == "math reasoner 2/4\n37 + 48\nyou 84\nanswer\n"


def test_no_agent_sees_an_answer_of_the_same_round():
    env = make()
    before = env.observe("tool_1")
    env.step("\\boxed{12345}")
    assert env.observe("tool_1") == before


# More agents


def test_most_reasoners_decide():
    env = make(reasoners=3, tools=0)
    assert env.possible_agents == ["reasoner_0", "reasoner_1", "reasoner_2"]
    paid = play(env, "\\boxed{84}", BOX, BOX)
    assert paid["reasoner_0"] == {"team": 1.0, "format": 0.2, "right": 0.0}
    assert paid["reasoner_2"] == {"team": 1.0, "format": 0.2, "right": 0.8}
    assert not over(env)


def test_without_a_reasoner_what_most_programs_print_decides():
    env = make(reasoners=0, tools=1)
    assert env.possible_agents == ["tool_0"]
    parts = {"team": 1.0, "parses": 0.05, "runs": 0.05, "prints": 0.1, "right": 0.8}
    assert play(env, PROGRAM)["tool_0"] == parts
    env.step(PROGRAM)
    assert all(env.terminations.values())
    assert env.infos["tool_0"]["success"] is True
    env = make(reasoners=0, tools=3)
    play(env, "print(84)", "print(84)", PROGRAM)
    assert env.unwrapped.success is False


def test_an_aggregator_acts_last_and_decides():
    env = make(reasoners=2, aggregator=True)
    assert env.possible_agents == ["reasoner_0", "reasoner_1", "tool_2", "aggregator_3"]
    assert env.metadata["is_parallelizable"] is False
    first = env.observe("reasoner_1")
    env.step("\\boxed{84}")
    assert env.observe("reasoner_1") == first  # not this round's answers
    env.step(BOX)
    env.step("print(84)")
    assert env.infos["tool_2"]["reward_components"] == {
        "parses": 0.05,
        "runs": 0.05,
        "prints": 0.1,
        "right": 0.0,
    }
    heard = env.observe("aggregator_3")
    assert "The answer of reasoner_0: 84\nThe answer of reasoner_1: 85\n" in heard
    assert env.rewards["aggregator_3"] == 0.0
    env.step(BOX)
    assert env.infos["aggregator_3"]["reward_components"] == {
        "team": 1.0,
        "format": 0.2,
        "right": 0.8,
    }
    assert env.infos["reasoner_0"]["reward_components"]["team"] == 1.0
    assert not over(env)  # they do not agree yet
    assert "The answer of aggregator_3: 85" in env.observe("reasoner_0")
    for text in (BOX, BOX, PROGRAM, BOX):
        env.step(text)
    assert all(env.terminations.values())
    assert env.infos["reasoner_0"]["success"] is True


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_agents": 3}, "for more agents give reasoners"),
        ({"num_agents": 2, "tools": 1}, "give either num_agents or"),
        ({"reasoners": 0, "tools": 0}, "at least one reasoner or tool"),
        ({"reasoners": 0, "tools": -1, "aggregator": True}, "at least one reasoner or tool"),
        ({"reasoners": 8, "tools": 1}, "at most 8"),
        ({"family": "geometry"}, "arithmetic"),
        ({"level": "extreme"}, "easy, medium, hard"),
        ({"feedback": "hints"}, "feedback must be one of none, verdict"),
        ({"prompt": "short"}, "prompt must be one of full, terse"),
        ({"time_limit": 0}, "time_limit must be positive"),
        ({"source": "hub"}, "source must be one of generator"),
        ({"split": "dev"}, "split"),
    ],
)
def test_bad_arguments(settings, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("math_v0", **settings)


# Players, speed, forks


@pytest.mark.slow
def test_the_expert_solves_test_tasks_of_every_family_and_level():
    testing.check_expert(lambda: llmzoo.make("math_v0", split="test"), range(200), best=2.0)


@pytest.mark.parametrize("family", generator.FAMILIES)
def test_noisy_experts_err_but_not_always(family):
    env = llmzoo.make("math_v0", family=family, max_turns=1)
    right = {"reasoner_0": 0, "tool_1": 0}
    errors = set()
    for seed in range(60):
        env.reset(seed=seed)
        rng = random.Random(seed)
        play(env, *[env.unwrapped.noisy_expert(agent, rng) for agent in env.possible_agents])
        for agent in right:
            right[agent] += env.unwrapped.episode.local_rewards[agent]["right"] > 0
            errors.add(env.infos[agent]["error"])
    assert all(12 <= count <= 45 for count in right.values()), right
    assert len(errors) > 2


def test_every_program_imports_the_standard_library_and_takes_no_time():
    limits = Limits(time_limit=20.0)
    times = []
    for family in generator.FAMILIES:
        for level in generator.LEVELS:
            task = generator.sample_task(random.Random(7), family=family, level=level)
            assert "numpy" not in task.program
            assert "sympy" not in task.program
            started = time.perf_counter()
            read = scoring.parse_tool_answer(players.tool_program(task), limits, computed=True)
            times.append(time.perf_counter() - started)
            assert scoring.is_correct(task, read.value), task
    assert sorted(times)[len(times) // 2] < 0.5  # 0.02 on an idle machine


def test_a_thousand_checks_a_second(no_collector):
    env = llmzoo.make("math_v0", num_agents=1, max_turns=1).unwrapped
    rng = random.Random(0)
    started = time.process_time()
    for seed in range(1_000):
        env.reset(seed=seed)
        env.step(env.noisy_expert("reasoner_0", rng))
    assert time.process_time() - started < 1.0


def test_a_fork_in_mid_round_of_an_aggregator_env():
    env = make(reasoners=1, aggregator=True)
    env.step(BOX)
    copy = fork(env)
    copy.step(PROGRAM)
    assert "tool_1" not in env.unwrapped.episode.latest_answers
    assert env.agent_selection == "tool_1"


def test_canonical_forms():
    assert canonical(SUM) == "37 + 48"
    minus = MathTask("Compute 37 - 48.", "-11", terse="37 - 48")
    assert canonical(minus) == "37 - 48"
    story = MathTask("Ada has 3 apples, and 4 more. How many?", "7")
    assert canonical(story) == "ada has 3 apples and 4 more how many"


def test_infos_name_family_and_level():
    env = make(family="algebra", level="hard")
    env.reset(options={"task": 0})
    info = env.infos["reasoner_0"]
    assert (info["family"], info["level"], info["source"]) == ("algebra", "hard", "generator")
