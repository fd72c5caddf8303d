"""The prompt form of cells: names, answers by hand, what is said of wrong ones, and the expert's draws."""

from __future__ import annotations

import json
import random
import time

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.games import cells
from llmzoo.envs.games.sokoban import scoring
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError
from llmzoo.policies import expert
from llmzoo.rollout import play_episodes

WALKS = ("plan_path_v0", "sokoban_v0")
GRID = "S.#G\n#...\n...."  # walls c1 and a2
LEVEL = "######\n#@   #\n# $. #\n#    #\n######"


@pytest.fixture
def make(tmp_path):
    def build(id, **kwargs):
        path = tmp_path / ("grid.jsonl" if id == "plan_path_v0" else "level")
        path.write_text(json.dumps({"grid": GRID}) if id == "plan_path_v0" else LEVEL)
        env = llmzoo.make(id, source=str(path), split="all", prompt="cells", **kwargs)
        env.reset(seed=0)
        return env

    return build


def test_names_by_hand():
    named = {
        (0, 0): "a1",
        (1, 2): "c2",
        (9, 9): "j10",
        (0, 25): "z1",
        (0, 26): "aa1",
        (39, 39): "an40",
    }
    assert {cell: cells.cell_name(*cell) for cell in named} == named
    assert len({cells.cell_name(r, c) for r in range(40) for c in range(40)}) == 1600


@pytest.mark.parametrize(
    ("answer", "moves"),
    [
        ("b1 b2 c2", "RDR"),
        ("a1 b1 b2", "RD"),  # the cell where it stands may lead
        ("B1, b2 -> C2.", "RDR"),
        ("b1b2c2", "RDR"),
        ("```\n[b1, b2]\n```", "RD"),
        ("1. b1 2. b2 and then b3", "RDD"),
        ("c9 is far\nAnswer: b1 b2\n\n", "RD"),  # the last line, after its last colon
        ("The walk is b1 b2", "RD"),
        ("b1 b2\nRDD", "RDD"),  # moves in the last line
        ("so b1 b2\nI go right, down, down", "RDD"),
        ("b1 b3 b4", "RJ"),  # what follows a jump does not count
        ("b2", "J"),  # a cell across a corner is no neighbour
        ("b1 b1", "RJ"),
        ("a0", "U"),  # off the grid, where every step is blocked
    ],
)
def test_walks_from_a1_by_hand(answer, moves):
    assert cells.parse_walk(answer, (0, 0)) == moves


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "no walk in its last line"),
        ("b1 b2\nI am done", "no walk in its last line"),
        ("a1", "only the cell where the walk begins"),
        ("b1 then onwards b2", "word 2 of its last line is no cell"),
        ("b1 R", "word 2 of its last line is no cell"),
        ("b1 b100", "word 2 of its last line is no cell"),
        ("\u017f1 \u212a2", "no walk"),  # letters whose lower case is a letter of ASCII
        ("b1 a1 " * 501, "1002 steps; at most 1000"),
        ("RL" * 501, "1002 moves; at most 1000"),
    ],
)
def test_what_is_no_walk(answer, why):
    with pytest.raises(MalformedError, match=why):
        cells.parse_walk(answer, (0, 0))


def test_walks_are_written_as_their_cells():
    assert cells.format_walk("RDR", (0, 0), (3, 4)) == "b1 b2 c2"
    assert cells.format_walk("RJ", (0, 0), (3, 4)) == "b1"
    assert cells.format_walk("RRRRRR", (0, 0), (3, 4)) == "b1 c1 d1"  # up to the edge
    assert cells.format_walk("U", (0, 0), (3, 4)) == "U"
    assert cells.format_walk("J", (0, 0), (3, 4)) == "no step"


def test_what_was_wrong_is_said_in_the_next_prompt(make):
    env = make("plan_path_v0", num_agents=1)
    assert "walls: c1 a2\ngoal: d1\nplayer: a1\n" in env.observe("planner_0")
    env.step("b1 c1 d1")
    assert env.infos["planner_0"]["error"] == "illegal: move 2 (R) was blocked; it ends at b1"
    assert "player: b1\n\nYour last answer: move 2 (R) was blocked; it ends at b1\n" in env.observe(
        "planner_0"
    )
    env.step("b2 d2")
    assert env.infos["planner_0"]["error"] == "illegal: move 2 led to no neighbour; it ends at b2"
    env.step("over there: b2 c2 dd")
    assert env.infos["planner_0"]["error"].startswith(
        "malformed: word 3 of its last line is no cell"
    )
    env.step("c2 d2 d1 c1")  # what follows the goal is not walked
    assert env.infos["planner_0"]["success"] is True
    assert sum(env.unwrapped.episode.scores["planner_0"]) == pytest.approx(1.0)


def test_a_level_is_solved_by_the_cells_of_the_player(make):
    env = make("sokoban_v0")
    assert (
        "floor: b2 c2 d2 e2 b3 c3 d3 e3 b4 c4 d4 e4\ngoals: d3\nboxes: c3\nplayer: b2\n"
        in env.observe("proposer_0")
    )
    env.step("box: c3 c4\nc2 c3")  # from above: the box goes down
    assert (
        "Candidate plan:\nc2 c3\nIts simulation: all 2 moves were made; the player is at c3; "
        in (text := env.observe("planner_1"))
    )
    assert "the box is at c4" in text
    env.step("box: c3 d3\nb3 c3")
    assert env.infos["planner_1"]["success"] is True


def test_a_jump_is_blocked_wherever_it_stands():
    world = scoring.start_position(LEVEL)
    assert scoring.run_moves(world, "J") == scoring.MovesResult(world, 0, "J")
    done = scoring.run_moves(world, "RJD")
    assert (done.made, done.blocked) == (1, "J")


@pytest.mark.parametrize("id", WALKS)
def test_the_expert_draws_by_the_episodes_seed(id):
    def answers(seed):
        played = play_episodes(make, expert(), [seed] * 4, tasks=[0, 1, 2, 3])
        return [[d.completion.text for d in episode.decisions] for episode in played]

    def make():
        return llmzoo.make(id, prompt="cells", split="test")

    given = [answers(seed) for seed in range(12)]
    assert given == [answers(seed) for seed in range(12)]
    assert len({str(texts) for texts in given}) > 3
    # the planner writes what the proposer wrote
    assert all(first == second for texts in given for first, second in texts)


@pytest.mark.parametrize("id", WALKS)
def test_the_experts_solution_is_as_short_as_in_the_other_forms(id):
    for number in range(30):
        lengths = []
        for prompt in ("full", "cells"):
            env = llmzoo.make(id, prompt=prompt, num_agents=1, size=8).unwrapped
            env.reset(seed=number, options={"task": number})
            moves = env.parse(env.episode, env.expert("planner_0"))
            pushes = scoring_pushes(env, moves) if id == "sokoban_v0" else len(moves)
            lengths.append(pushes)
            env.step(env.expert("planner_0"))
            assert env.success
        assert lengths[0] == lengths[1]


def scoring_pushes(env, moves):
    world, pushes = env.episode.world, 0
    for move in moves:
        after = scoring.run_moves(world, move).world
        pushes += after.boxes != world.boxes
        world = after
    return pushes


@pytest.mark.parametrize("id", WALKS)
def test_the_experts_and_the_noisy_experts_answers_are_read(id):
    rng = random.Random(0)
    env = llmzoo.make(id, prompt="cells", num_agents=1).unwrapped
    solved = 0
    for seed in range(100):
        env.reset(seed=seed)
        env.step(env.noisy_expert("planner_0", rng))
        assert "malformed" not in str(env.infos["planner_0"]["error"])
        solved += env.success
    assert 0 < solved < 60


@pytest.mark.parametrize("id", WALKS)
def test_other_forms_draw_nothing_more(id):
    """Their tasks follow from a seed as before: a form of cells draws after the task is chosen."""
    full, listed = (llmzoo.make(id, prompt=p).unwrapped for p in ("full", "cells"))
    for env in (full, listed):
        env.reset(seed=5)
    assert full.episode.task == listed.episode.task
    assert full._random.getstate() != listed._random.getstate()


def test_hostile_answers_never_raise_and_take_little_time(no_collector):
    texts = [
        *testing.hostile_texts(200, seed=0),
        "a1" * 10_000,
        "a1 " * 6_000,
        ":" * 20_000,
        "a1b" * 6_000,
    ]
    started = time.process_time()
    for text in texts:
        try:
            moves = cells.parse_walk(text[:20_000], (3, 3))
        except MalformedError:
            continue
        assert set(moves) <= set("UDLRJ")
    assert time.process_time() - started < 20


@pytest.mark.parametrize("id", WALKS)
def test_halves_are_not_listed(id):
    with pytest.raises(ConfigError, match="prompt='cells' lists the whole grid"):
        llmzoo.make(id, prompt="cells", view="split")


def test_sudoku_has_no_such_form():
    with pytest.raises(ConfigError, match="prompt must be one of full, terse; got 'cells'"):
        llmzoo.make("sudoku_v0", prompt="cells")
