from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import time
from pathlib import Path

import pytest

import llmzoo
from llmzoo.envs.games.moves import parse_moves
from llmzoo.envs.games.sokoban import players, scoring, tasks
from llmzoo.envs.games.sokoban.levels import NEVER, build_tables, cells_in_mask, flood_fill
from llmzoo.envs.games.sokoban.scoring import Position
from llmzoo.envs.games.sokoban.tasks import SokobanTask
from llmzoo.envs.tasks import GeneratedTasks, assign_split
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError, SkippedRecordsWarning

ROOM = """\
######
#@   #
# $ .#
#    #
######"""
SHELF = """\
######
#@   #
#    #
# $ .#
######"""
PAIR = """\
#######
#@    #
# $ . #
# $ . #
#######"""
SHARED = Path(
    os.environ.get("LLMZOO_SHARED_DATA", Path(__file__).parents[3].parent / "shared" / "data")
)


def is_dead(world):
    return scoring.measure_standing(world.level, world.boxes).hopeless


def world_of(level, boxes=None, player=None):
    """A position of ``level``; boxes and player as (row, column), counted from 1."""
    start = scoring.start_position(level)
    width = build_tables(level).width

    def cell(index):
        return (index[0] - 1) * width + index[1] - 1

    return Position(
        level,
        start.player if player is None else cell(player),
        start.boxes if boxes is None else sum(1 << cell(index) for index in boxes),
    )


def one_agent(tmp_path, level, **kwargs):
    (tmp_path / "level.txt").write_text(level)
    env = llmzoo.make(
        "sokoban_v0", source=str(tmp_path / "level.txt"), split="all", num_agents=1, **kwargs
    )
    env.reset(seed=0)
    return env


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("RRDLU", "RRDLU"),
        ("rrDLu", "RRDLU"),
        ("R R D", "RRD"),
        ("R, R, D", "RRD"),
        ("R -> R -> D", "RRD"),
        ("R\nR\nD", "RRD"),
        ("1. R\n2. R\n3. D", "RRD"),
        ("Step 1: right\nStep 2: down", "RD"),
        ("left", "L"),
        ("up, down, left", "UDL"),
        ('["R","D"]', "RD"),
        ('["right", "down"]', "RD"),
        ('{\n "moves": [\n  "R",\n  "D"\n ]\n}', "RD"),
        ('{"moves": "RRD"}', "RRD"),
        ("Answer: RRD", "RRD"),
        ("**Final answer:** RRD.", "RRD"),
        ("Answer:\n\nRRD", "RRD"),
        ("Answer: R", "R"),
        ("Answer: left, then up and right!", "LUR"),
        ("The answer is RR because the box is near.", "RR"),
        ("<answer>RRD</answer>", "RRD"),
        ("\\boxed{RRD}", "RRD"),
        ("```\nRRD\n```", "RRD"),
        ("```text\nRRD\n```\nThis pushes the box.", "RRD"),
        ("```r\nLLU\n```", "LLU"),
        ("```\nRRD", "RRD"),
        ("```\nRRD\n```\nor better\n```\nLLU\n```", "LLU"),
        ("LLL\n```\nRRD\n```\nUUU", "RRD"),
        ("```\nRRD\n```\nNo. Answer: LLU", "LLU"),
        ("The level is\n```\n####\n#@$.#\n```\nRRD", "RRD"),
        ("Answer: RRD\n\nDULL", "RRD"),
        ("It is a DULL level.\nAnswer: RRD", "RRD"),
        ("First RRR\nLLU\n\nDDU", "DDU"),
        ("The moves ['R', 'D'] solve it", "RD"),
        ("Use `U` or `D`; I take `RRD` here", "RRD"),
        ("I think RRDLU does it", "RRDLU"),
        ("I go right, right, down and then up.", "RRDU"),
    ],
)
def test_moves_that_can_be_read(text, moves):
    assert parse_moves(text) == moves


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would go left",
        "I'd say we'll do it",
        "a DULL level",
        "see the URL",
        "Use U, D, L and R",
        "go up, down, left, right",
        "My plan: push the box left",
        "R2",
        "RRX",
        "[]",
        "3 4 1 2",
        "######\n# @$.#\n######",
    ],
)
def test_texts_without_moves(text):
    with pytest.raises(MalformedError, match="no moves"):
        parse_moves(text)


def test_an_answer_of_nothing_but_moves_is_read_as_a_line_of_moves_is():
    rng = random.Random(0)
    answers = ["".join(rng.choices("udlrUDLR", k=rng.randint(1, 9))) for _ in range(300)]
    for text in (*answers, "dull", "URL", "up"):
        assert parse_moves(text) == parse_moves(f"{text}\n")


def test_at_most_a_thousand_moves():
    assert len(parse_moves("RL" * 500)) == 1000
    with pytest.raises(MalformedError, match="1001 moves; at most 1000"):
        parse_moves("R" * 1001)
    assert parse_moves("RRR", limit=3) == "RRR"
    with pytest.raises(MalformedError, match="4 moves; at most 3"):
        parse_moves("RRRR", limit=3)


@pytest.mark.parametrize(
    "piece",
    ["plan:", "answer:\n", "[", "`", "```", "R\n", "\n", "1.", "[R", "answer: R x\n", "R ", "a ", "RRx "],
)  # fmt: skip
def test_hostile_texts_are_read_in_linear_time(piece, no_collector):
    def spent(length):
        text = (piece * length)[:length]
        began = time.process_time()
        with contextlib.suppress(MalformedError):
            parse_moves(text)
        return time.process_time() - began

    short, long = (min(spent(length) for _ in range(3)) for length in (5_000, 20_000))
    assert long < 8 * short + 0.005  # 4 times as long takes 4 times as long; 16 times if quadratic


def test_pushing_onto_the_goal_ends_the_plan():
    done = scoring.run_moves(scoring.start_position(ROOM), "DRRUUU")
    assert (done.made, done.blocked) == (3, None)
    assert scoring.is_solved(done.world)
    assert scoring.draw_position(done.world) == "######\n#    #\n#  @*#\n#    #\n######"
    assert scoring.report(done) == "solved after 3 moves"
    assert scoring.terse_report(done) == "solved"


def test_a_wall_blocks_and_what_went_before_stands():
    done = scoring.run_moves(scoring.start_position(ROOM), "RRRRD")
    assert (done.made, done.blocked) == (3, "R")
    assert scoring.draw_position(done.world).splitlines()[1] == "#   @#"
    assert scoring.report(done) == (
        "move 4 (R) was blocked and what followed it was not made; the player is at row 2 column 5; "
        "the box is at row 3 column 3; boxes on goals: 0 of 1"
    )
    assert scoring.terse_report(done) == "player 2 5 box 3 3 placed 0/1 blocked 4"


def test_a_box_against_a_wall_blocks_and_is_lost():
    done = scoring.run_moves(
        scoring.start_position(ROOM), "DDRUU"
    )  # pushed up to the wall, where no goal is
    assert (done.made, done.blocked) == (4, "U")
    assert scoring.report(done) == (
        "move 5 (U) was blocked and what followed it was not made; the player is at row 3 column 3; "
        "the box is at row 2 column 3; boxes on goals: 0 of 1; "
        "the box at row 2 column 3 can never reach a goal"
    )
    assert scoring.terse_report(done) == "player 3 3 box 2 3 placed 0/1 blocked 5 dead 2 3"
    assert scoring.progress(done.world) == 0


def test_a_box_against_a_box_blocks():
    done = scoring.run_moves(scoring.start_position(PAIR), "RD")  # two boxes one behind the other
    assert (done.made, done.blocked) == (1, "D")
    assert scoring.terse_report(done) == "player 2 3 box 3 3 4 3 placed 0/2 blocked 2"


def test_boxes_that_hold_each_other_are_lost():
    level = "#######\n#..   #\n#   $ #\n# @ $ #\n#     #\n#######"
    along_the_wall = world_of(level, boxes=[(2, 4), (2, 5)], player=(3, 3))
    lost = [
        divmod(cell, 7)
        for cell in cells_in_mask(
            scoring.find_lost_boxes(along_the_wall.level, along_the_wall.boxes)
        )
    ]
    assert lost == [(1, 3), (1, 4)]  # rows and columns from 0
    apart = world_of(level, boxes=[(2, 3), (2, 5)], player=(3, 3))
    assert not is_dead(apart)
    on_goals = world_of(level, boxes=[(2, 2), (2, 3)], player=(3, 3))
    assert not is_dead(on_goals)
    assert scoring.is_solved(on_goals)


def test_too_few_goals_within_reach():
    level = "########\n#@  .  #\n# $ $  #\n#   .  #\n########"
    world = world_of(level, boxes=[(4, 4), (4, 6)], player=(3, 3))  # both along the lower wall
    assert scoring.find_lost_boxes(world.level, world.boxes) == 0
    assert is_dead(world)
    done = scoring.run_moves(world, "U")
    assert scoring.report(done).endswith("; the boxes can no longer reach a goal each")
    assert scoring.terse_report(done).endswith(" placed 0/2 dead")


def test_progress_by_hand():
    start = scoring.start_position(ROOM)  # 2 pushes from the goal
    assert scoring.progress(start) == 0
    assert (
        scoring.progress(scoring.run_moves(start, "DR").world) == 0.25
    )  # half of the pushes saved
    assert scoring.progress(scoring.run_moves(start, "DRR").world) == 1
    pair = scoring.start_position(PAIR)  # 2 + 2 pushes
    assert (
        scoring.progress(scoring.run_moves(pair, "DRR").world) == 0.5
    )  # 1 of 2 placed, 2 of 4 saved
    assert scoring.progress(scoring.run_moves(pair, "DRRLLDRR").world) == 1
    away = world_of(ROOM, boxes=[(3, 2)])  # on the left wall, which no box leaves
    assert scoring.progress(away) == 0


def test_progress_counts_from_what_was_placed_at_the_start():
    level = "#######\n#@    #\n# $ . #\n#  *  #\n#######"
    start = scoring.start_position(level)
    assert scoring.measure_standing(level, start.boxes).placed == 1
    assert scoring.progress(start) == 0
    assert scoring.progress(scoring.run_moves(start, "DR").world) == 0.25
    assert scoring.progress(scoring.run_moves(start, "DRR").world) == 1


def test_the_assignment_is_that_of_trying_all():
    rng = random.Random(1)
    for number in range(40):
        world = scoring.start_position(
            tasks.sample_task(rng, boxes=1 + number % 4, height=7, width=7).level
        )
        board = build_tables(world.level)
        for _ in range(10):
            cells = rng.sample(list(cells_in_mask(board.floor)), world.boxes.bit_count())
            tried = [
                sum(distances[cell] for cell, distances in zip(cells, order, strict=True))
                for order in itertools.permutations(board.distances)
            ]
            left = scoring.min_pushes_left(world.level, sum(1 << cell for cell in cells))
            assert left == min(NEVER, *tried)


def test_the_assignment_is_the_cheapest_one():
    level = "#########\n#@      #\n# $. $. #\n#       #\n#########"
    start = scoring.start_position(level)
    assert scoring.min_pushes_left(level, start.boxes) == 2  # 1 + 1, not 4 for the other pairing
    many = "\n".join(["######", "#@   #", *["# $. #"] * 9, "#    #", "######"])
    start = scoring.start_position(many)
    assert scoring.min_pushes_left(many, start.boxes) == 9
    assert scoring.progress(scoring.run_moves(start, "DR").world) == pytest.approx(1 / 9)
    solved = scoring.run_moves(start, "DR" + "LDR" * 8)
    assert (solved.blocked, scoring.progress(solved.world)) == (None, 1)


def solvable(world):
    """Whether some order of moves solves ``world``: every position is tried, none is cut off."""
    board = build_tables(world.level)
    seen, frontier = set(), [world]
    while frontier:
        here = frontier.pop()
        reach = flood_fill(1 << here.player, board.floor & ~here.boxes, board.width)
        if (here.boxes, reach) in seen:
            continue
        seen.add((here.boxes, reach))
        if here.boxes == board.goals:
            return True
        for cell in cells_in_mask(here.boxes):
            for step in board.steps.values():
                to = 1 << cell + step
                if reach >> (cell - step) & 1 and board.floor & ~here.boxes & to:
                    frontier.append(Position(world.level, cell, here.boxes ^ (1 << cell | to)))
    return False


def test_no_solvable_position_is_called_dead():
    rng = random.Random(3)
    called_dead = alive = 0
    for number in range(200):
        level = tasks.sample_task(rng, boxes=1 + number % 3).level
        positions, world = set(), scoring.start_position(level)
        for _ in range(60):
            world = scoring.run_moves(world, rng.choice("UDLR")).world
            positions.add(world)
        dead = {w.boxes: w for w in positions if is_dead(w)}
        called_dead += len(dead)
        assert not any(solvable(w) for w in dead.values())
        assert all(scoring.progress(w) == 0 for w in dead.values())
        for w in rng.sample(sorted(positions), 2):
            solution = players.solve(w)
            assert (solution is not None) == solvable(w)
            if solution is not None:
                alive += 1
                assert not is_dead(w)
                assert scoring.is_solved(scoring.run_moves(w, solution).world)
    assert called_dead > 100
    assert alive > 100


def test_a_long_walk_to_and_fro_earns_nothing(tmp_path):
    env = one_agent(tmp_path, ROOM, max_turns=2)
    env.step("RL" * 250)
    assert env.rewards["planner_0"] == pytest.approx(0.2)  # format and legal
    assert "team" not in env.infos["planner_0"]["reward_components"]
    env.step("RL" * 250)
    assert env.rewards["planner_0"] == pytest.approx(0)


def test_500_turns_of_pushing_to_and_fro_earn_nothing(tmp_path):
    env = one_agent(tmp_path, ROOM, max_turns=500)
    paid = team = 0.0
    for turn in range(500):
        env.step(("DR", "URRDLULL")[turn % 2])
        paid += env.rewards["planner_0"]
        change = env.infos["planner_0"]["reward_components"]["team"]
        assert change == pytest.approx((0.25, -0.25)[turn % 2])
        team += change
    assert env.truncations["planner_0"]
    assert team == pytest.approx(0)
    assert paid == pytest.approx(0.2)
    assert env.unwrapped.board() == ROOM


def test_the_position_stays_between_rounds(tmp_path):
    (tmp_path / "level.txt").write_text(ROOM)
    source = str(tmp_path / "level.txt")
    env = llmzoo.make("sokoban_v0", source=source, split="all", prompt="terse")
    env.reset(seed=0)
    assert str(env.observe("proposer_0")) == f"sokoban proposer 1/4\n{ROOM}\nanswer\n"
    env.step("DDRU")  # a bad plan changes nothing
    assert str(env.observe("planner_1")) == (
        f"sokoban planner 1/4\n{ROOM}\ncandidate\nDDRU\n"
        "player 3 3 box 2 3 placed 0/1 dead 2 3\nanswer\n"
    )
    env.step("DR")
    after = "######\n#    #\n# @$.#\n#    #\n######"
    assert str(env.observe("proposer_0")) == (
        f"sokoban proposer 2/4\n{after}\nlast player 3 3 box 2 3 placed 0/1 dead 2 3\nanswer\n"
    )
    env.step("RU")
    env.step("R")
    assert env.unwrapped.success
    assert env.infos["planner_1"]["reward_components"]["team"] == pytest.approx(0.75)
    full = llmzoo.make("sokoban_v0", source=source, split="all")
    full.reset(seed=0)
    full.step("I do not know")
    full.step("DR")
    assert after in full.observe("proposer_0")
    assert "malformed answer: no moves in it" in full.observe("proposer_0")


@pytest.mark.parametrize(
    "arguments",
    [{}, {"boxes": 2}, {"height": 5, "width": 8}, {"height": 8, "width": 8, "boxes": 3}],
)
def test_generated_levels(arguments):
    rng = random.Random(1)
    for _ in range(75):
        task = tasks.sample_task(rng, **arguments)
        rows = task.level.split("\n")
        assert (len(rows), len(rows[0])) == (
            arguments.get("height", 6),
            arguments.get("width", 6),
        )
        assert set(rows[0] + rows[-1] + "".join(row[0] + row[-1] for row in rows)) == {"#"}
        assert "*" not in task.level  # no box on a goal
        assert task.level.count("$") == arguments.get("boxes", 1)
        assert build_tables(task.level).floor.bit_count() == sum(c not in "#\n" for c in task.level)
        solution = players.solve(task)
        assert solution is not None
        done = scoring.run_moves(scoring.start_position(task.level), solution)
        assert scoring.is_solved(done.world)
        assert pushes_in(task.level, solution) >= 2


def pushes_in(level, moves):
    world, pushes = scoring.start_position(level), 0
    for move in moves:
        after = scoring.run_moves(world, move).world
        pushes += after.boxes != world.boxes
        world = after
    return pushes


def test_the_least_number_of_pushes_is_kept():
    rng = random.Random(0)
    for arguments in ({"min_pushes": 4}, {"min_pushes": 5, "boxes": 2}):
        for _ in range(15):
            task = tasks.sample_task(rng, **arguments)
            assert pushes_in(task.level, players.solve(task)) >= arguments["min_pushes"]
    assert tasks.sample_task(rng, height=3, width=5).level in (
        "#####\n#@$.#\n#####",
        "#####\n#.$@#\n#####",
    )
    with pytest.raises(ConfigError, match="at least 9 pushes"):
        tasks.sample_task(rng, height=4, width=4, min_pushes=9)


def test_drawing_is_fast(no_collector):
    rng = random.Random(0)
    began = time.process_time()
    for _ in range(1000):
        tasks.sample_task(rng)
    assert 1000 / (time.process_time() - began) > 3000


def mirrored(task):
    return SokobanTask("\n".join(row[::-1] for row in task.level.split("\n")))


def turned(task):
    rows = task.level.split("\n")
    return SokobanTask("\n".join("".join(column) for column in zip(*rows[::-1], strict=True)))


def test_symmetric_levels_and_walks_share_a_canonical_form():
    rng = random.Random(2)
    for arguments in ({}, {"height": 5, "width": 8, "boxes": 2}):
        for _ in range(30):
            task = tasks.sample_task(rng, **arguments)
            for image in (mirrored(task), turned(task), mirrored(turned(turned(task)))):
                assert tasks.canonical(image) == tasks.canonical(task)
    walked = SokobanTask(
        scoring.draw_position(scoring.run_moves(scoring.start_position(ROOM), "RRRDD").world)
    )
    pushed = SokobanTask(
        scoring.draw_position(scoring.run_moves(scoring.start_position(ROOM), "DR").world)
    )
    wider = SokobanTask("\n".join(f"#{row}" for row in ROOM.split("\n")))
    assert tasks.canonical(walked) == tasks.canonical(wider) == tasks.canonical(SokobanTask(ROOM))
    assert tasks.canonical(pushed) != tasks.canonical(SokobanTask(ROOM))


def test_splits_are_distinct_and_disjoint_by_content(tmp_path):
    forms = {}
    for split in ("train", "test"):
        generated = GeneratedTasks(tasks.sample_task, tasks.canonical, split=split, name="sokoban")
        levels = [generated[i] for i in range(200)]
        assert len(set(levels)) == 200
        forms[split] = {tasks.canonical(task) for task in levels}
        images = [image(task) for task in levels for image in (mirrored, turned)]
        assert all(assign_split(tasks.canonical(task)) == split for task in images)
        if split == "test":
            path = tmp_path / "mirrored.txt"
            path.write_text("\n\n".join(task.level for task in images))
            with pytest.raises(ConfigError, match="none of its 400 tasks is in split 'train'"):
                llmzoo.make("sokoban_v0", source=str(path))
    assert not forms["train"] & forms["test"]


def test_levels_from_a_file(tmp_path):
    path = tmp_path / "levels.txt"
    path.write_text(
        f"; 0\n{ROOM}\n\n; 1\n####\n#--#####\n#@$_ . #\n########\n; 2\n{PAIR}\n", encoding="utf-8"
    )
    first, second, third = tasks.load_tasks(str(path)).tasks
    assert (first.level, third.level) == (ROOM, PAIR)
    assert second.level == "####    \n#  #####\n#@$  . #\n########"
    assert players.solve(second) == "RRR"
    assert tasks.canonical(second) == tasks.canonical(mirrored(second))


@pytest.mark.parametrize(
    ("level", "error"),
    [
        ("", "holds no records"),
        ("#####\n# $.#\n#####", "one player .*, not 0"),
        ("######\n#@$.@#\n######", "one player .*, not 2"),
        ("######\n#@$$.#\n######", "as many boxes as goals.*not 2 and 1"),
        ("####\n#@ #\n####", "as many boxes as goals"),
        ("#####\n#@$X#\n#####", "unknown characters 'X'"),
        ("#####\n#@$. \n#####", "not enclosed"),
        ("#####\n#@$.#\n### #", "not enclosed"),
        ("#####\n@ $.#\n#####", "not enclosed"),
        ("#####\n#@ *#\n#####", "on a goal already"),
        ("#######\n#@$.#*#\n#######", "row 2 column 6 is walled off"),
    ],
)
def test_bad_levels(tmp_path, level, error):
    path = tmp_path / "bad.txt"
    path.write_text(level)
    with pytest.raises(ConfigError, match=error):
        tasks.load_tasks(str(path), "error")


def test_a_bad_level_is_skipped_and_named(tmp_path):
    path = tmp_path / "levels.txt"
    path.write_text(f"{ROOM}\n\n; bad\n#######\n#@$.#*#\n#######\n\n{PAIR}\n")
    line = ROOM.count("\n") + 4
    with pytest.warns(
        SkippedRecordsWarning, match=f"1 of 3 records .*:{line}: row 2 column 6 is walled"
    ):
        env = llmzoo.make("sokoban_v0", source=str(path), split="all")
    env.reset(seed=0)
    assert env.infos["planner_1"]["tasks"] == 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"size": 2}, "from 3 to 40"),
        ({"size": 6, "height": 5}, "not both"),
        ({"boxes": 0}, "boxes must be from 1 to 7"),
        ({"boxes": 8}, "boxes must be from 1 to 7"),
        ({"walls": 0.9}, "walls must be"),
        ({"min_pushes": 0}, "min_pushes must be at least 1"),
        ({"source": "levels.txt", "boxes": 2}, "boxes are for generated levels"),
        ({"split": "dev"}, "split must be"),
    ],
)
def test_arguments_are_checked(arguments, error):
    with pytest.raises(ConfigError, match=error):
        llmzoo.make("sokoban_v0", **arguments)


def test_boards_of_both_shapes():
    env = llmzoo.make("sokoban_v0", height=5, width=9, boxes=2)
    env.reset(seed=0)
    rows = env.unwrapped.board().split("\n")
    assert [len(row) for row in rows] == [9] * 5


def boxoban():
    if not (SHARED / "boxoban_solved_dev.jsonl").exists():
        pytest.skip("no shared data; LLMZOO_SHARED_DATA names its folder")
    lines = (SHARED / "boxoban_solved_dev.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_boxoban_solutions_replay(tmp_path):
    for number, record in enumerate(boxoban()):
        path = tmp_path / f"{number}.txt"
        path.write_text("\n".join(record["level"]))
        (task,) = tasks.load_tasks(str(path)).tasks
        moves = parse_moves(record["solution"])
        done = scoring.run_moves(scoring.start_position(task.level), moves)
        assert (done.made, done.blocked) == (record["moves"], None)
        assert scoring.is_solved(done.world)
        if number < 15:  # the solver needs no more pushes than theirs
            assert pushes_in(task.level, players.solve(task)) == record["pushes"]


def test_boxoban_file_is_read():
    path = SHARED / "boxoban_dev.txt"
    if not path.exists():
        pytest.skip("no shared data; LLMZOO_SHARED_DATA names its folder")
    levels = tasks.load_tasks(str(path)).tasks
    assert len(levels) == 60
    assert all(task.level.count("$") == 4 for task in levels)


@pytest.mark.parametrize("arguments", [{}, {"size": 7, "boxes": 2}])
def test_the_expert_solves_100_of_100_test_tasks(arguments):
    env = llmzoo.make("sokoban_v0", split="test", **arguments)
    for task in range(100):
        env.reset(options={"task": task})
        total = dict.fromkeys(env.agents, 0.0)
        for agent in ("proposer_0", "planner_1"):
            env.step(env.unwrapped.expert(agent))
            for name, reward in env.rewards.items():
                total[name] += reward
        assert env.unwrapped.success
        assert total == pytest.approx({"proposer_0": 2.0, "planner_1": 2.0})


def test_the_expert_goes_on_from_the_current_position():
    env = llmzoo.make("sokoban_v0", num_agents=1, boxes=2)
    env.reset(seed=4)
    env.step(env.unwrapped.expert("planner_0")[:-1])
    assert not env.unwrapped.success
    assert len(env.unwrapped.expert("planner_0")) == 1
    env.step(env.unwrapped.expert("planner_0"))
    assert env.unwrapped.success


def test_an_unsolvable_position_gets_a_harmless_step():
    lost = scoring.run_moves(scoring.start_position(ROOM), "DDRU").world
    assert players.solve(lost) is None
    move = players.expert(lost)
    done = scoring.run_moves(lost, move)
    assert (len(move), done.blocked, done.world.boxes) == (1, None, lost.boxes)
    assert players.noisy_expert(lost, random.Random(0))


def test_the_noisy_expert_fails_and_succeeds():
    rng = random.Random(0)
    env = llmzoo.make("sokoban_v0", num_agents=1, max_turns=1)
    won = 0
    for seed in range(200):
        env.reset(seed=seed)
        env.step(env.unwrapped.noisy_expert("planner_0", rng))
        won += env.unwrapped.success
    assert 10 < won < 150
    start = scoring.start_position(PAIR)
    assert players.noisy_expert(start, rng, slips=(0, 0)) == players.expert(start)
