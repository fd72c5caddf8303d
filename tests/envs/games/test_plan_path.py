from __future__ import annotations

import json
import random
import re
import time

import pytest

import llmzoo
from llmzoo.envs.games.plan_path import players, scoring, tasks
from llmzoo.envs.games.plan_path.tasks import PathTask
from llmzoo.envs.tasks import assign_split
from llmzoo.errors import ConfigError

TINY = PathTask("S.#G\n#...\n....")
# moves to G, counted by hand
TINY_DISTANCES = ((5, 4, -1, 0), (-1, 3, 2, 1), (5, 4, 3, 2))


@pytest.fixture
def make(tmp_path):
    path = tmp_path / "grids.jsonl"
    path.write_text(json.dumps({"grid": TINY.grid}))

    def build(**kwargs):
        env = llmzoo.make("plan_path_v0", source=str(path), split="all", **kwargs)
        env.reset(seed=0)
        return env

    return build


def test_distances_by_hand():
    assert TINY.distances == TINY_DISTANCES
    assert (TINY.start, TINY.goal) == ((0, 0), (0, 3))


def test_what_is_cut_off_has_no_distance():
    task = PathTask("SG#.\n..##")
    assert task.distances == ((1, 0, -1, -1), (2, 1, -1, -1))


@pytest.mark.parametrize(
    ("start", "moves", "end", "blocked"),
    [
        ((0, 0), "R", (0, 1), None),
        ((0, 0), "RDRRU", (0, 3), None),
        ((0, 0), "RDRRUUUUU", (0, 3), None),  # what follows the goal is not walked
        ((0, 0), "RR", (0, 1), 2),  # a wall
        ((0, 0), "U", (0, 0), 1),  # outside, above
        ((0, 0), "L", (0, 0), 1),
        ((2, 3), "R", (2, 3), 1),
        ((2, 3), "D", (2, 3), 1),
        ((0, 0), "RDDLDRRRR", (2, 0), 5),
        ((0, 0), "", (0, 0), None),
    ],
)
def test_walks_by_hand(start, moves, end, blocked):
    assert scoring.walk(TINY, start, moves) == scoring.Walk(end, blocked)


def test_progress_by_hand():
    assert [scoring.progress(TINY, (0, c)) for c in (0, 1, 3)] == [0.0, 0.2, 1.0]
    assert [scoring.progress(TINY, (1, c)) for c in (1, 2, 3)] == [0.4, 0.6, 0.8]
    assert [scoring.progress(TINY, (2, c)) for c in (0, 1, 2, 3)] == [0.0, 0.2, 0.4, 0.6]


def test_farther_than_the_start_is_no_less_than_0():
    assert scoring.progress(PathTask("SG.\n..."), (1, 0)) == 0.0


def test_one_move_short_of_a_long_way_is_not_success(tmp_path):
    path = tmp_path / "corridor.jsonl"
    path.write_text(json.dumps({"grid": "S" + "." * 19 + "G\n" + "#" * 21}))
    env = llmzoo.make("plan_path_v0", source=str(path), split="all", num_agents=1)
    env.reset(seed=0)
    env.step("R" * 19)
    assert env.unwrapped.episode.progress == 0.95
    assert env.terminations == {"planner_0": False}
    env.step("R")
    assert env.terminations == {"planner_0": True}


def test_drawing_shows_the_position_and_the_goal_but_not_the_start():
    assert scoring.draw_grid(TINY, (0, 0)) == "@.#G\n#...\n...."
    assert scoring.draw_grid(TINY, (2, 1)) == "..#G\n#...\n.@.."
    assert scoring.draw_grid(TINY, (0, 3)) == "..#@\n#...\n...."


def test_expert_takes_the_first_of_udlr_that_is_nearer():
    assert players.expert(TINY, (0, 0)) == "RDRRU"
    assert players.expert(TINY, (2, 0)) == "RURRU"  # U before R where both are nearer
    assert players.expert(PathTask("S...\n....\n...G"), (0, 0)) == "DDRRR"
    assert players.expert(TINY, (0, 3)) == ""


def test_expert_walks_every_shortest_path_unblocked():
    rng = random.Random(0)
    for _ in range(200):
        task = tasks.sample_task(rng, 10, 10, 0.3, 4)
        path = players.expert(task, task.start)
        assert len(path) == task.distance(task.start)
        assert scoring.walk(task, task.start, path) == scoring.Walk(task.goal)


def test_noisy_expert_errs_but_not_always_and_never_says_nothing():
    rng = random.Random(0)
    ends = []
    for _ in range(400):
        task = tasks.sample_task(rng, 10, 10, 0.22, 4)
        plan = players.noisy_expert(task, task.start, rng)
        assert re.fullmatch("[UDLR]+", plan)
        walk = scoring.walk(task, task.start, plan)
        ends.append((walk.end == task.goal, walk.blocked is not None))
    solved, blocked = (sum(column) for column in zip(*ends, strict=True))
    assert 20 < solved < 200
    assert 100 < blocked < 300


def test_noisy_expert_one_move_from_the_goal():
    task = PathTask("SG\n..")
    rng = random.Random(0)
    plans = {players.noisy_expert(task, task.start, rng) for _ in range(200)}
    assert plans == {"R", "U", "D", "L"}


def test_where_you_are_now_is_shown_and_stays(make):
    env = make(num_agents=1)
    assert "\n@.#G\n#...\n....\n" in env.observe("planner_0")
    env.step("RDD")
    text = env.observe("planner_0")
    assert "Round 2 of 4. The current state:\n\n..#G\n#...\n.@..\n" in text
    assert (
        "Your last answer: every move was made; it ends at row 3, column 2, not at the goal" in text
    )
    env.step("URRU")
    assert env.infos["planner_0"]["success"] is True
    assert env.last()[1] == pytest.approx(0.8 + 0.64)  # progress from 1/5 to 5/5: team + 0.8 of it


@pytest.mark.parametrize(
    ("answer", "error", "terse"),
    [
        ("RR", "illegal: move 2 (R) was blocked; it ends at row 1, column 2", "at 1 2 blocked 2"),
        ("U", "illegal: move 1 (U) was blocked; it ends at row 1, column 1", "at 1 1 blocked 1"),
        ("RD", None, "at 2 2"),
    ],
)
def test_reports(make, answer, error, terse):
    env = make(num_agents=1, prompt="terse")
    env.step(answer)
    assert env.infos["planner_0"]["error"] == error
    assert env.observe("planner_0").endswith(f"\nlast {terse}\nanswer\n")


def test_planner_is_told_what_the_candidate_gives(make):
    env = make()
    env.step("My plan: R D R R U, go!")
    assert "Candidate plan:\nRDRRU\nIts simulation: goal reached: solved\n" in env.observe(
        "planner_1"
    )
    assert "@.#G\n" in env.observe("planner_1")
    terse = make(prompt="terse")
    terse.step("RDRRU")
    assert (
        terse.observe("planner_1")
        == "path planner 1/4\n@.#G\n#...\n....\ncandidate\nRDRRU\nsolved\nanswer\n"
    )


def test_a_blocked_walk_pays_its_way_but_not_legal(make):
    env = make(num_agents=1)
    env.step("RR")  # one of five moves done
    assert env.infos["planner_0"]["reward_components"] == pytest.approx(
        {"format": 0.1, "legal": 0.0, "quality": 0.16, "team": 0.2}
    )


def test_back_and_forth_earns_nothing(make):
    env = make(num_agents=1)
    paid = []
    for answer in ("RDR", "LUL", "RDR", "LUL"):
        env.step(answer)
        paid.append(env.last()[1])
    # progress 3/5: team 0.6 and 0.8 * 0.6; the first time format and legal
    assert paid == pytest.approx([0.2 + 1.08, -1.08, 1.08, -1.08])
    assert make(num_agents=1).last()[1] == 0.0


@pytest.mark.parametrize(
    ("kwargs", "height", "width"),
    [({}, 10, 10), ({"size": 5}, 5, 5), ({"height": 3, "width": 12}, 3, 12), ({"width": 4}, 10, 4)],
)
def test_generated_grids(kwargs, height, width):
    drawn = llmzoo.make("plan_path_v0", split="all", **kwargs).unwrapped.tasks
    rng = random.Random(0)
    for _ in range(200):
        task = drawn.sample(rng)
        assert len(task.rows) == height
        assert {len(row) for row in task.rows} == {width}
        assert set(task.grid) <= set("#.SG\n")
        assert (task.grid.count("S"), task.grid.count("G")) == (1, 1)
        assert task.distance(task.start) >= 4


@pytest.mark.parametrize("density", [0.0, 0.1, 0.22, 0.4])
def test_density(density):
    rng = random.Random(0)
    drawn = [tasks.sample_task(rng, 10, 10, density, 1) for _ in range(300)]
    share = sum(task.grid.count("#") for task in drawn) / (300 * 100)
    assert share == pytest.approx(density, abs=0.02)


@pytest.mark.parametrize("distance", [1, 2, 9, 14])
def test_min_distance(distance):
    rng = random.Random(0)
    result = [tasks.sample_task(rng, 8, 8, 0.22, distance) for _ in range(100)]
    distances = [task.distance(task.start) for task in result]
    assert min(distances) == distance
    assert max(distances) > distance


def test_generator_is_fast(no_collector):
    rng = random.Random(0)
    started = time.process_time()
    for _ in range(1_000):
        tasks.sample_task(rng, 10, 10, 0.22, 4)
    assert 1_000 / (time.process_time() - started) > 3_000  # about 18,000 a second


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"size": 1}, "height must be from 2 to 30, got 1"),
        ({"width": 31}, "width must be from 2 to 30, got 31"),
        ({"density": 1.0}, "density must be from 0 to less than 1, got 1.0"),
        ({"density": -0.1}, "density must be from 0 to less than 1, got -0.1"),
        ({"min_distance": 0}, "min_distance must be from 1 to 99 on a 10x10 grid, got 0"),
        ({"size": 2}, "min_distance must be from 1 to 3 on a 2x2 grid, got 4"),
    ],
)
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("plan_path_v0", **kwargs)


def test_what_no_grid_can_offer_is_said():
    env = llmzoo.make("plan_path_v0", size=3, density=0.0, min_distance=5)
    with pytest.raises(ConfigError, match=r"no 3x3 grid with density 0\.0 and min_distance 5"):
        env.reset(seed=0)


def test_few_tasks_are_counted():
    tiny = llmzoo.make("plan_path_v0", size=2, min_distance=2, split="all").unwrapped.tasks
    # start and goal in opposite corners; of the other two cells none or one is a wall
    assert {tiny[index].grid.count("#") for index in range(2)} == {0, 1}
    with pytest.raises(IndexError, match=r"about 2 distinct all tasks.*task 2 does not exist"):
        tiny[2]


def test_canonical_form_ignores_turns_and_mirrors():
    rng = random.Random(3)
    forms = set()
    for _ in range(40):
        task = tasks.sample_task(rng, 4, 7, 0.22, 3)
        rows = task.grid.split("\n")
        for _ in range(4):
            rows = ["".join(column) for column in zip(*rows[::-1], strict=True)]
            for image in (rows, [row[::-1] for row in rows]):
                assert tasks.canonical(PathTask("\n".join(image))) == tasks.canonical(task)
        forms.add(tasks.canonical(task))
    assert len(forms) == 40


def test_split_is_by_canonical_form():
    for split in ("train", "test"):
        drawn = llmzoo.make("plan_path_v0", split=split).unwrapped.tasks
        for index in range(50):
            assert assign_split(tasks.canonical(drawn[index])) == split


def test_a_file(tmp_path):
    path = tmp_path / "grids.jsonl"
    path.write_text('{"grid": "S.\\n.G", "other": 1}\n\n{"grid": "S.G\\n...\\n"}\n')
    assert tasks.load_tasks(str(path)).tasks == (PathTask("S.\n.G"), PathTask("S.G\n..."))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no records"),
        ("S.G", ":1: not JSON"),
        ('{"puzzle": 1}', ":1: field 'grid' is missing"),
        ("[1]", ":1: not a record but list"),
        ('{"grid": "S.G"}', ":1: field 'grid' is not a grid of 2x2 to 30x30 cells"),
        ('{"grid": "S.G\\n.."}', ":1: field 'grid' is not a grid of 2x2 to 30x30 cells"),
        ('{"grid": "S.\\n.."}', ":1: field 'grid' does not hold"),
        ('{"grid": "SG\\nG."}', ":1: field 'grid' does not hold"),
        ('{"grid": "S@\\nG."}', ":1: field 'grid' does not hold"),
        ('{"grid": "S#\\n#G"}', ":1: field 'grid' has a goal that cannot be reached"),
    ],
)
def test_wrong_files(tmp_path, content, message):
    path = tmp_path / "wrong.jsonl"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        tasks.load_tasks(str(path))
