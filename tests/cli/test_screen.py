"""``llmzoo play`` prints what is new of each prompt, and the state once."""

import io

import llmzoo as package
from llmzoo.cli.screen import SHOWN_BEFORE, SHOWN_BOARD, Screen


def test_a_board_is_printed_once_until_it_changes(llmzoo):
    env = package.make("sokoban_v0")
    env.reset(seed=0)
    start = env.unwrapped.board()
    said = llmzoo("play", "sokoban_v0", "--policy", "expert").out
    assert said.count(start) == 1  # in the proposer's prompt
    assert said.count(SHOWN_BOARD) == 1  # in the planner's, who reads the same
    env.step(env.unwrapped.expert("proposer_0"))
    env.step(env.unwrapped.expert("planner_1"))
    assert said.count(env.unwrapped.board()) == 1  # after the planner's answer


def test_a_prompt_is_not_printed_again_after_an_answer(llmzoo):
    said = llmzoo("play", "coop_functions_v0", "--policy", "expert", "--source", "sample").out
    assert said.count("You are a helper.") == 1


def test_a_prompt_is_shortened_to_what_is_new():
    env = package.make("math_v0")
    env.reset(seed=0)
    screen = Screen(env)
    first = "You add.\n\nThe problem: 1 + 1\n\nRound 1.\n\nYour answer:"
    assert screen.prompt("a_0", first) == first
    other = "You check.\n\nThe problem: 1 + 1\n\nRound 1.\n\nYour answer:"
    assert screen.prompt("b_1", other) == f"You check.\n\n{SHOWN_BEFORE}\n\nYour answer:"
    second = first.replace("Round 1.", "Round 2.")
    assert screen.prompt("a_0", second) == f"{SHOWN_BEFORE}\n\nRound 2.\n\nYour answer:"


def test_a_board_that_returns_is_printed_again():
    env = package.make("sokoban_v0")
    env.reset(seed=0)
    screen = Screen(env)
    start = env.unwrapped.board()
    prompt = env.observe(env.agent_selection)
    assert start in screen.prompt("proposer_0", prompt)
    assert screen.board() == ""
    before = env.unwrapped.fork()
    env.step("R")
    env.step("R")
    moved = screen.board()
    assert moved == env.unwrapped.board() != start
    env.unwrapped.__dict__.update(before.__dict__)
    assert screen.board() == start
    assert SHOWN_BOARD in screen.prompt("proposer_0", prompt)


def test_what_ends_an_answer_is_said_at_the_first_prompt(llmzoo, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n\n\n"))
    said = llmzoo("play", "sudoku_v0", "--human", "planner_1", "--env.max_turns", 2)
    assert said.out.count("An empty line ends your answer") == 1
    assert said.out.index("--- planner_1 ---") < said.out.index("An empty line ends your answer")
