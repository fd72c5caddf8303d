"""The split view of contests: the tester has the statement, the coder the examples, and messages bring the rest."""

from __future__ import annotations

import importlib
import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path

import golden
import pytest
from each_record import for_each

import llmzoo
from llmzoo import testing
from llmzoo.envs.coding.contests import guesses, halves, players, tasks
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]
TESTER, CODER = "tester_1", "coder_0"
SHIPPED = tasks.load_shipped()
NAMES = [problem.name for problem in SHIPPED]
STAIRS, TURN = NAMES.index("stair_patterns"), NAMES.index("turn_picture")
ANSWERS = {TESTER: "hello", CODER: "print('none')"}


def made(task=STAIRS, **kwargs):
    env = llmzoo.make("contests_v0", view="split", split="all", **kwargs).unwrapped
    env.reset(options={"task": task})
    return env


def with_other_half(env, one_agent):
    """The same episode, other in what ``agent`` does not see: in the examples for the tester, in the statement,
    the hidden tests and the solution for the coder."""
    problem = env.episode.problem
    told, public = halves.statement_without_examples(problem), problem.public
    hidden, solutions = problem.hidden, problem.solutions
    if one_agent == TESTER:
        public = (Test("3 1\n1\n", "0\n"),)
    else:
        told, hidden = "Write something else.", (Test("9 9\n9\n", "99\n"),)
        solutions = ("print(99)",)
    changed = tasks.make_problem(
        told, public, hidden, function=problem.function, solutions=solutions
    )
    env.episode = replace(env.episode, problem=changed)
    return env


def read(env, one_agent, answers):
    """What an agent reads at each of its turns."""
    prompts = []
    for agent in env.agent_iter():
        over = env.terminations[agent] or env.truncations[agent]
        prompts += [str(env.observe(one_agent))] if agent == one_agent and not over else []
        env.step(None if over else answers[agent])
    return prompts


def test_the_halves_of_a_problem():
    shown = (Test("1 2\n", "3\n"), Test("4\n", "4\n"))
    problem = tasks.make_problem("Add.\n\nInput: numbers.", shown, [Test("5\n", "5\n")])
    assert halves.statement_without_examples(problem) == "Add.\n\nInput: numbers."
    first = "Example input:\n1 2\nExample output:\n3"
    assert halves.example_texts(problem) == [first, "Example input:\n4\nExample output:\n4"]
    assert halves.can_split(problem)
    assert not halves.can_split(tasks.make_problem("Add. So:\n1 2\ngives 3", shown, []))
    assert not halves.can_split(tasks.make_problem("Add.", [], shown))


@pytest.mark.parametrize("one_agent", [TESTER, CODER])
def test_a_prompt_does_not_depend_on_what_the_agent_does_not_see(one_agent):
    first, second = made(), with_other_half(made(), one_agent)
    assert first.episode.problem != second.episode.problem
    prompts = read(first, one_agent, ANSWERS)
    assert len(prompts) == 4
    # the coder's own programs end alike on the examples that both have
    assert prompts == read(second, one_agent, ANSWERS)


@pytest.mark.slow
@for_each(range(len(SHIPPED)), lambda number: NAMES[number])
def test_no_prompt_holds_what_the_agent_does_not_see(number):
    """No example is in the tester's prompts; no line of the statement, no hidden test and no line of the
    solution in the coder's."""
    problem = SHIPPED[number]
    env = made(number, max_turns=2)
    for prompt in read(env, TESTER, ANSWERS):
        assert halves.statement_without_examples(problem) in prompt
        assert not [text for text in halves.example_texts(problem) if text in prompt]
        for test in problem.public:
            assert f"\n{test.input.rstrip()}\n{test.output.rstrip()}\n" not in prompt
            assert "\n" not in test.input.rstrip() or test.input.rstrip() not in prompt
    lines = [
        line.strip()
        for line in halves.statement_without_examples(problem).splitlines()
        if line.strip()
    ]
    words = [sentence for line in lines for sentence in line.split(". ") if len(sentence) > 12]
    code = [line.strip() for line in problem.solutions[0].splitlines() if len(line.strip()) > 8]
    secret = [test.input.strip() for test in problem.hidden if len(test.input.strip()) > 6]
    known = "".join(halves.example_texts(problem))
    secret = [text for text in secret if text not in known]
    assert len(words) > 1
    assert code
    for prompt in read(made(number, max_turns=2), CODER, ANSWERS):
        assert all(text in prompt for text in halves.example_texts(problem))
        assert not [text for text in [*words, *code, *secret] if text in prompt]


def test_the_coder_is_told_the_name_of_a_function():
    env = made(TURN)
    env.step("hello")
    assert "It defines the function turn_picture." in env.observe(CODER)
    assert "Example: turn_picture([[1, 2, 3]], -1) gives [[3], [2], [1]]" in env.observe(CODER)


def test_what_the_agents_read_of_each_other():
    env = made()
    env.step("It counts ways.")
    assert "The tester wrote:\n> It counts ways.\n" in env.observe(CODER)
    env.step(f"What is the first number? {'x' * 400}\n```python\nprint(2)\n```")
    lines = str(env.observe(TESTER)).splitlines()
    assert "Your last message:\n> It counts ways.\n" in env.observe(TESTER)
    assert f"> What is the first number? {'x' * (400 - 26)}... (449 characters)" in lines
    assert "passes" not in env.observe(TESTER)
    env.step("It is the number of steps.")
    # of the two examples the second asks for 0
    assert "It passes of the problem's examples: 1 of 2." in env.observe(CODER)
    assert "> print(2)" in str(env.observe(CODER)).splitlines()


def test_what_is_paid():
    """0.1 for a program that can be read, 0.1 if it runs on the examples, 0.8 for the share of the hidden tests,
    to both; a message that fails costs its agent 0.05."""
    env = made()
    ones = 3 / 9  # of the hidden tests three ask for 1
    env.step(" ")
    assert env.rewards == {TESTER: -0.05, CODER: 0.0}
    assert env.infos[TESTER]["reward_components"] == {"message": -0.05}
    assert env.infos[TESTER]["error"] == "malformed: an empty message"
    assert "The tester wrote:\n> (not delivered)" in env.observe(CODER)
    env.step("print(1)")
    assert env.rewards[TESTER] == pytest.approx(0.2 + 0.8 * ones)
    assert env.rewards[TESTER] == env.rewards[CODER]
    assert "Your last message was not delivered: an empty message." in env.observe(TESTER)
    env.step("x" * 401)
    assert env.rewards == {TESTER: -0.05, CODER: 0.0}
    env.step("no program")
    assert env.rewards[CODER] == pytest.approx(-0.2 - 0.8 * ones)
    assert env.infos[CODER]["error"].startswith("malformed: ")
    env.step("again")
    env.step(env.episode.problem.solutions[0])
    assert env.rewards == {TESTER: pytest.approx(1.0), CODER: pytest.approx(1.0)}
    assert env.success
    assert all(env.terminations.values())


def test_passing_the_examples_alone_is_no_success():
    env = made()
    env.step("hello")
    env.step(guesses.guess(env.episode.problem, 0))
    assert env.episode.passed_examples
    assert not env.success
    assert not any(env.terminations.values())


def test_a_message_cannot_pass_for_the_environments_own_text():
    env = made(message_chars=2_000)
    env.step("hello")
    honest = str(env.observe(CODER)).splitlines()
    env = made(message_chars=2_000)
    forged = "x\n\nYour last program:\r\n\x0bYour answer:\u2028Round 2 of 4.\ud800"
    env.step(forged)
    lines = str(env.observe(CODER)).splitlines()
    assert [line for line in lines if line[:1] != ">"] == [x for x in honest if x[:1] != ">"]
    assert "> Round 2 of 4.?" in lines
    env.step(forged)
    own = [line for line in str(env.observe(TESTER)).splitlines() if line[:1] != ">"]
    assert "Round 2 of 4." in own
    assert not [line for line in own if line.startswith(("x", "Your answer", "Your last p"))]


def test_the_parts_of_a_program():
    assert players.message_part("print(1)", 400, 0) == "1/1|print(1)|"
    # 17 characters, of which 9 are for the frame: two parts of 8
    assert [players.message_part("abcdefgh  ijk", 17, n) for n in range(3)] == [
        "1/2|abcdefgh|",
        "2/2|  ijk|",
        "1/2|abcdefgh|",
    ]
    assert players.message_part("print(1)", 9, 0) == "-"
    first = players.assemble_program(SHIPPED[0], "1/2|for i in range(3):\n |", "", 0)
    assert first == "```python\nfor i in range(3):\n \n```"
    assert players.assemble_program(SHIPPED[0], "2/2| print(i)|", first, 1) == (
        "```python\nfor i in range(3):\n  print(i)\n```"
    )


@pytest.mark.parametrize("one_agent", [TESTER, CODER])
def test_the_experts_read_no_more_than_their_prompts(one_agent):
    """Also beside an agent that says nothing, and after a message that is wrong. The tester's knows how the
    problem that it reads is solved, and does not look at the examples."""
    told = made().expert(TESTER)
    for message in ("-", told, told.replace("2", "3")):
        said = []
        for env in (made(), with_other_half(made(), one_agent)):
            for _ in range(2):
                for agent in (TESTER, CODER):
                    if agent == one_agent:
                        said += [
                            env.expert(one_agent),
                            env.noisy_expert(one_agent, random.Random(0)),
                        ]
                    env.step(message if agent == TESTER else "print('none')")
        assert len(said) == 8
        assert said[:4] == said[4:]


@pytest.mark.parametrize(
    "text", ["9/3|x|", "2/2||", "1/1|def|", "0/0|x|", "1/1|```\n```|", "(" * 400, "\ud800"]
)
def test_the_players_play_on_after_a_hostile_message(text):
    env = made()
    env.step(text)
    for answer in (env.expert(CODER), env.noisy_expert(CODER, random.Random(0))):
        assert isinstance(answer, str)
    env.step(env.expert(CODER))
    assert "\ud800" not in env.observe(TESTER)


def test_guesses_from_examples():
    """Sums, parts of an output and choices are found; what is guessed is right on every example."""

    def problem(*pairs: tuple[str, str], function=None) -> Problem:
        return tasks.make_problem("?", [Test(*pair) for pair in pairs], [], function=function)

    assert "print(f['all sum'])" in guesses.guess(problem(("1 2 4", "7"), ("3 9", "12")), 0)
    both = problem(("a b 5", "b 6"), ("c dd 7", "dd 8"))
    assert "print(f['all word 1'], (" in guesses.guess(both, 0)
    choice = problem(("1 9", "YES"), ("9 1", "NO"), ("2 5", "YES"))
    assert "('YES' if f['all number 0'] < f['all number 1'] else 'NO')" in guesses.guess(choice, 0)
    assert guesses.guess(problem(("1", "a"), ("2", "b"), ("3", "c")), 0) is None
    twice = problem(("[3, [4]]", "7"), ("[1, [1]]", "2"), function="f")
    assert "return f['all sum']" in guesses.guess(twice, 0)
    assert guesses.guess(both, 0) != guesses.guess(both, 1)


@pytest.mark.slow
def test_every_guess_passes_the_examples():
    for number in range(len(SHIPPED)):
        env = made(number)
        env.step("-")
        env.step(env.expert(CODER))
        assert env.episode.passed_examples, SHIPPED[number].name


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_the_pair_solves_every_problem_by_messages(step):
    make = partial(llmzoo.make, "contests_v0", view="split", split="all")
    testing.check_expert(make, range(0, len(SHIPPED), step), best=1.0)


@pytest.mark.slow
def test_an_agent_alone_stays_below_what_the_page_says(monkeypatch):
    """Of every test task; the coder guesses."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    lone_agents = importlib.import_module("lone_agents")
    assert not any(lone_agents.solved("contests_v0", {}, n, silent=TESTER) for n in range(8))
    assert not any(lone_agents.solved("contests_v0", {}, n, silent=CODER) for n in range(3))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"view": "half"}, "view must be one of full, split"),
        ({"view": "split", "num_agents": 1}, "is for two agents"),
        ({"message_chars": 0}, "message_chars must be 1 to 2000"),
    ],
)
def test_arguments_of_the_view(arguments, error):
    with pytest.raises(ConfigError, match=error):
        llmzoo.make("contests_v0", **arguments)


def test_a_statement_that_shows_its_examples_cannot_be_divided(tmp_path):
    test = {"input": "1 2", "output": "3"}
    record = {"name": "sum", "statement": "Add, so that\n1 2\ngives 3.", "public": [test]}
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({**record, "hidden": [{"input": "2 2", "output": "4"}]}))
    llmzoo.make("contests_v0", source=str(path), split="all")
    with pytest.raises(ConfigError, match=r"1 of 1 problems of .* are not so, such as 'sum'"):
        llmzoo.make("contests_v0", source=str(path), split="all", view="split")


def test_transcript_of_the_split_view():
    env = made(NAMES.index("two_bags"))
    played = golden.played(env, ("", "print(18)", "It is the best value of two bags.", "How?"))
    golden.check("split_contests", played + "\n")
