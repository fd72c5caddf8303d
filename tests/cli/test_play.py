"""``llmzoo play``"""

import io

import pytest

import llmzoo as package


def solution(task: int) -> str:
    env = package.make("sudoku_v0")
    env.reset(seed=0, options={"task": task})
    return package.oracle(env)()


def test_a_person_takes_a_seat(llmzoo, monkeypatch):
    typed = f"I do not know\n\n{solution(3)}\n\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    said = llmzoo(*["play", "sudoku_v0", "--seat", "planner_1", "--task", "3", "--seed", "1"])
    assert said.code == 0
    assert "--- proposer_0 (oracle) ---" in said.out
    assert "You are the planner." in said.out  # the person's own prompt
    assert "planner_1: malformed: " in said.out
    assert "reward of planner_1: +2.000" in said.out
    assert "team +1.000" in said.out
    assert solution(3) in said.out
    assert "\nsolved\n" in said.out
    # the oracle's plan was right in both rounds; the person's second answer too
    assert "returns: proposer_0 2.000, planner_1 2.000" in said.out


def test_the_first_seat_unless_told(llmzoo, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    said = llmzoo("play", "sudoku_v0", "--env.prompt", "terse")
    assert "--- planner_1 (oracle) ---" in said.out
    assert "proposer_0: malformed" in said.out
    assert "\nsolved\n" in said.out


@pytest.mark.parametrize("policy", ["amateur", "random"])
def test_a_policy_plays_all_seats(llmzoo, policy):
    said = llmzoo("play", "--env", "plan_path_v0", "--policy", policy, "--env.max_turns", 2)
    assert said.code == 0
    assert f"--- planner_1 ({policy}) ---" in said.out
    assert "returns: proposer_0 " in said.out


def test_a_model_beside_a_person(llmzoo, model_folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{solution(0)}\n\n"))
    argv = ["play", "sudoku_v0", "--seat", "planner_1", "--others", model_folder, "--task", 0]
    said = llmzoo(*argv, "--env.max_turns", 1)
    assert said.code == 0, said.err
    assert "sudoku planner 1/1" in said.out  # the model reads terse prompts, so all do
    assert "\nsolved\n" in said.out
