"""``llmzoo play``"""

import io

import numpy as np
import pytest
from PIL import Image

import llmzoo as package
from llmzoo.envs.drawing import pixels, terminal
from llmzoo.policies.base import ScriptedPolicy


def solution(task: int) -> str:
    env = package.make("sudoku_v0")
    env.reset(seed=0, options={"task": task})
    return package.scripted_expert(env)()


def test_a_person_takes_an_agent(llmzoo, monkeypatch):
    typed = f"I do not know\n\n{solution(3)}\n\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    said = llmzoo(*["play", "sudoku_v0", "--human", "planner_1", "--task", "3", "--seed", "1"])
    assert said.code == 0
    assert "--- proposer_0 (expert) ---" in said.out
    assert "You are the planner." in said.out  # the person's own prompt
    assert "planner_1: malformed: " in said.out
    assert "reward of planner_1: +2.000" in said.out
    assert "team +1.000" in said.out
    assert solution(3) in said.out
    assert "\nsolved\n" in said.out
    # the expert's plan was right in both rounds; the person's second answer too
    assert "returns: proposer_0 2.000, planner_1 2.000" in said.out


def test_the_first_agent_unless_told(llmzoo, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    said = llmzoo("play", "sudoku_v0", "--env.prompt", "terse")
    assert "--- planner_1 (expert) ---" in said.out
    assert "proposer_0: malformed" in said.out
    assert "\nsolved\n" in said.out


@pytest.mark.parametrize("policy", ["noisy_expert", "random"])
def test_a_policy_plays_all_agents(llmzoo, policy):
    said = llmzoo("play", "--env", "plan_path_v0", "--policy", policy, "--env.max_turns", 2)
    assert said.code == 0
    assert f"--- planner_1 ({policy}) ---" in said.out
    assert "returns: proposer_0 " in said.out


def test_a_model_beside_a_person(llmzoo, model_folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{solution(0)}\n\n"))
    argv = ["play", "sudoku_v0", "--human", "planner_1", "--others", model_folder, "--task", 0]
    said = llmzoo(*argv, "--env.max_turns", 1)
    assert said.code == 0, said.err
    assert "sudoku planner 1/1" in said.out  # the model reads terse prompts, so all do
    assert "\nsolved\n" in said.out


def test_boards_are_drawn_in_colour_where_colours_are_shown(llmzoo, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain = llmzoo("play", "plan_path_v0", "--policy", "expert").out
    assert "\x1b" not in plain
    assert "\nIts simulation: goal reached" in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    drawn = llmzoo("play", "plan_path_v0", "--policy", "expert").out
    env = package.make("plan_path_v0").unwrapped
    env.reset(seed=0)
    start = terminal.render_coloured(env.picture())
    assert drawn.count(start) == 1  # the agents read the same board, which stays on the screen
    for agent in env.possible_agents:
        env.step(env.expert(agent))
    assert terminal.render_coloured(env.picture()) in drawn
    assert env.board() in plain
    assert env.board() not in drawn
    monkeypatch.setenv("NO_COLOR", "1")
    assert llmzoo("play", "plan_path_v0", "--policy", "expert").out == plain


def test_a_person_sees_boards_and_a_policy_reads_text(llmzoo, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{solution(0)}\n\n"))
    read = []
    monkeypatch.setattr(
        ScriptedPolicy, "respond", watched(ScriptedPolicy.respond, read), raising=True
    )
    argv = ["--env.prompt", "terse", "--env.max_turns", 1, "--task", 0]
    said = llmzoo("play", "sudoku_v0", *argv)
    assert said.out.startswith("\n--- proposer_0 ---\nsudoku proposer 1/1\n\x1b[38;5;")
    assert ["\x1b" in text for text in read] == [True, False]
    assert "\nsolved\n" in said.out


def watched(respond, read):
    def respond_and_note(self, requests, *args, **kwargs):
        read.extend(request.observation for request in requests)
        return respond(self, requests, *args, **kwargs)

    return respond_and_note


def test_an_episode_is_recorded(llmzoo, tmp_path):
    film = tmp_path / "play.gif"
    argv = ["play", "sokoban_v0", "--policy", "expert", "--seed", 3, "--record", film]
    said = llmzoo(*argv)
    assert said.code == 0, said.err
    assert f"recorded in {film}" in said.out
    env = package.make("sokoban_v0").unwrapped
    env.reset(seed=3)
    size = np.asarray(pixels.to_image(env.picture(), 28)).shape
    with Image.open(film) as frames:
        assert (frames.height, frames.width) == size[:2]
        assert (
            frames.n_frames == 2
        )  # the start and the planner's answer; the proposer's changes nothing
        frames.seek(1)
        last = np.asarray(frames.convert("RGB")).astype(int)
    for agent in env.possible_agents:
        env.step(env.expert(agent))
    assert np.abs(last - np.asarray(pixels.to_image(env.picture(), 28))).mean() < 3


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["sudoku_v0", "--record", "play.mp4"], "play.mp4 does not end in .gif"),
        (["sudoku_v0", "--record", "nowhere/play.gif"], "there is no folder nowhere"),
        (["math_v0", "--record", "play.gif"], "math_v0 has no board to draw"),
    ],
)
def test_records_that_cannot_be_made(llmzoo, argv, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = llmzoo("play", *argv, "--policy", "expert")
    assert said.code != 0
    assert reason in said.err
    assert "---" not in said.out  # nothing has been played
    assert list(tmp_path.iterdir()) == []


# moves the cursor, writes to the clipboard, is read from right to left, and cannot be encoded
RAW = "1\x1b[2J\x1b]52;c;aGk=\x07 \u202e \x9b31m \ud800"


def test_what_a_model_writes_moves_no_cursor(llmzoo, monkeypatch):
    from llmzoo.cli import play
    from llmzoo.policies import ScriptedPolicy

    def agents(options, agents):
        return dict.fromkeys(agents, ScriptedPolicy(lambda request: RAW, "raw"))

    monkeypatch.setattr(play, "_agent_policies", agents)
    out = llmzoo("play", "--env", "debate_v0", "--policy", "expert").out  # each reads the other
    assert r"1\x1b[2J\x1b]52;c;aGk=\x07 \u202e \x9b31m \ud800" in out
    assert all(c.isprintable() or c == "\n" for c in out)


def test_agents_with_policies_of_their_own(llmzoo, monkeypatch):
    argv = ["play", "sudoku_v0", "--env.max_turns", 1, "--task", 3]
    watched = llmzoo(*argv, "--policy", "silent", "--agent.planner_1.policy", "expert")
    assert watched.code == 0, watched.err
    assert "--- proposer_0 (silent) ---" in watched.out
    assert "--- planner_1 (expert) ---" in watched.out
    # a person takes the first agent that no policy plays
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{solution(3)}\n\n"))
    played = llmzoo(*argv, "--agent.proposer_0.policy", "silent")
    assert "--- proposer_0 (silent) ---" in played.out
    assert "\nsolved\n" in played.out


def test_an_agent_is_played_by_one(llmzoo):
    said = llmzoo("play", "sudoku_v0", "--human", "planner_1", "--agent.planner_1.policy", "expert")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "planner_1 is played by expert" in said.err
    said = llmzoo("play", "sudoku_v0", "--policy", "expert", "--others", "silent")
    assert "--others and --policy exclude each other" in said.err
