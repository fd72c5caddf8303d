from __future__ import annotations

import json
import random
import time

import pytest

import llmzoo
from llmzoo.envs.games.sudoku import players, scoring, tasks
from llmzoo.envs.games.sudoku.solving import find_solutions
from llmzoo.envs.games.sudoku.tasks import SudokuTask
from llmzoo.envs.tasks import assign_split
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError

GRID = "1234341221434321"
ROWS = ["1234", "3412", "2143", "4321"]
LINES = "\n".join(ROWS)
NINE = "".join(
    (
        *("123456789", "456789123", "789123456", "231564897", "564897231", "897231564"),
        *("312645978", "645978312", "978312645"),
    )
)


def grid_of(text, size=4):
    return scoring.fill_in("." * (size * size), scoring.parse_fills(text, size))


@pytest.mark.parametrize(
    "text",
    [
        LINES,
        f"  {LINES}  \n\n",
        f"```\n{LINES}\n```",
        f"```text\n{LINES}\n```",
        f"Here is my answer:\n{LINES}\nI hope it is right.",
        "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1",
        "1 2 | 3 4\n3 4 | 1 2\n----+----\n2 1 | 4 3\n4 3 | 2 1",
        "| 1 | 2 | 3 | 4 |\n| 3 | 4 | 1 | 2 |\n| 2 | 1 | 4 | 3 |\n| 4 | 3 | 2 | 1 |",
        "1,2,3,4\r\n3,4,1,2\r\n2,1,4,3\r\n4,3,2,1\r\n",
        "1234\n\n3412\n\n2143\n\n4321",
        "[[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]",
        '{"grid": [[1,2,3,4],[3,4,1,2],[2,1,4,3],[4,3,2,1]]}',
        "[\n [1, 2, 3, 4],\n [3, 4, 1, 2],\n [2, 1, 4, 3],\n [4, 3, 2, 1]\n]",
        f"The whole grid is {GRID}",
        f"1111\n2222\n3333\n4444\nNo, that was wrong:\n{LINES}",
        f"[1, 1, 4] comes to mind, but then\n{LINES}",
    ],
)
def test_grids_that_can_be_read(text):
    assert grid_of(text) == GRID


@pytest.mark.parametrize(
    ("text", "fills"),
    [
        ("[1, 2, 3]", [(1, 2, 3)]),
        ("[1,2,3],[4,4,1]", [(1, 2, 3), (4, 4, 1)]),
        ("[[1, 2, 3], [4, 4, 1]]", [(1, 2, 3), (4, 4, 1)]),
        ("I put a 3 there: [ 1 , 2 , 3 ] and [1, 2, 3] once more", [(1, 2, 3), (1, 2, 3)]),
        ("```json\n[[2, 2, 2]]\n```", [(2, 2, 2)]),
        ("12..\n....\n.0._\n....", [(1, 1, 1), (1, 2, 2)]),
        ("[3, 4] and [1, 1, 1, 1, 1] are no fills, [4, 1, 2] is", [(4, 1, 2)]),
    ],
)
def test_fills_that_can_be_read(text, fills):
    assert scoring.parse_fills(text, 4) == tuple(fills)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no 4x4 grid and no list of [row, column, value] in it"),
        ("no idea", "no 4x4 grid"),
        ("1234\n3412\n2143", "no 4x4 grid"),
        ("1234\n3412\n2143\n432", "no 4x4 grid"),
        ("1235\n3412\n2143\n4321", "no 4x4 grid"),
        ("....\n....\n....\n....", "no 4x4 grid"),
        ("12343412214343210", "no 4x4 grid"),
        ("[1, 1]", "no 4x4 grid"),
        ("[1, 1, 5]", "[1, 1, 5] has a number outside 1 to 4"),
        ("[0, 1, 1]", "[0, 1, 1] has a number outside 1 to 4"),
        ("[1, 1, 0]", "[1, 1, 0] has a number outside 1 to 4"),
        ("[1, 99, 1]", "[1, 99, 1] has a number outside 1 to 4"),
        ("[2, 3, 1] [2, 3, 4]", "row 2 column 3 is given two values"),
        ("[-1, 1, 1]", "no 4x4 grid"),
        ("١٢٣٤\n" * 4, "no 4x4 grid"),
        ("[١, ٢, ٣]", "no 4x4 grid"),
    ],
)
def test_malformed(text, reason):
    with pytest.raises(MalformedError) as error:
        scoring.parse_fills(text, 4)
    assert str(error.value).startswith(reason)


def test_nine_by_nine_is_read_in_every_form():
    rows = [NINE[i : i + 9] for i in range(0, 81, 9)]
    ruled = [" | ".join(" ".join(row[i : i + 3]) for i in (0, 3, 6)) for row in rows]
    ruled.insert(6, "------+-------+------")
    ruled.insert(3, "------+-------+------")
    for text in (
        "\n".join(rows),
        "\n".join(ruled),
        json.dumps([[int(digit) for digit in row] for row in rows]),
        f"answer {NINE}",
    ):
        assert grid_of(text, 9) == NINE
    assert scoring.parse_fills("[9, 9, 9]", 9) == ((9, 9, 9),)


def test_clashes_name_rows_columns_and_boxes():
    assert scoring.find_clashes(GRID) == []
    assert scoring.find_clashes("11" + "." * 14) == [("row", 1), ("box", 1)]
    assert scoring.find_clashes("1......." + "1.......") == [("column", 1)]
    assert scoring.find_clashes("." * 10 + "4..." + "4.") == [("column", 3), ("box", 4)]
    assert scoring.find_clashes("." * 10 + "4....4") == [("box", 4)]
    assert scoring.find_clashes("." * 9 + "4....4.") == []


def test_units_and_right_cells_on_random_grids():
    """Against sets of digits, and a count cell by cell."""
    rng = random.Random(0)
    (solution,) = tasks.solve(tasks.sample_task(rng, 9, (36, 36)).puzzle, limit=2)
    for _ in range(200):
        changed = rng.choices("." * 9 + "123456789", k=81)
        share = rng.random()
        grid = "".join(
            c if rng.random() < share else s for c, s in zip(changed, solution, strict=True)
        )
        units = [("row", n + 1, grid[9 * n : 9 * n + 9]) for n in range(9)]
        units += [("column", n + 1, grid[n::9]) for n in range(9)]
        for n in range(9):
            corner = 27 * (n // 3) + 3 * (n % 3)
            rows = [grid[corner + 9 * r : corner + 9 * r + 3] for r in range(3)]
            units.append(("box", n + 1, "".join(rows)))
        twice = [(k, n) for k, n, unit in units if any(unit.count(d) > 1 for d in "123456789")]
        assert scoring.find_clashes(grid) == twice
        right = sum(1 for cell in range(81) if grid[cell] == solution[cell])
        assert scoring.count_right_cells((solution,), grid) == right


def progress(puzzle, solutions, grid):
    return scoring.progress(puzzle, grid, scoring.count_right_cells(solutions, grid), puzzle)


def test_progress_by_hand():
    puzzle = "123434122143...."
    solutions = (GRID,)
    for row, share in (("....", 0), ("4...", 0.25), ("43..", 0.5), ("432.", 0.75), ("4321", 1)):
        assert progress(puzzle, solutions, puzzle[:12] + row) == share
    assert progress(puzzle, solutions, puzzle[:12] + "1111") == 0.25
    assert progress(puzzle, solutions, puzzle[:12] + "4322") == 0.75


def test_progress_follows_the_nearest_solution_and_is_1_for_each():
    solutions = tuple(tasks.solve("." * 16, limit=288))
    assert len(set(solutions)) == 288
    for solution in solutions[::17]:
        assert progress("." * 16, solutions, solution) == 1.0
        one_short = "." + solution[1:]
        assert progress("." * 16, solutions, one_short) == 15 / 16


def test_progress_is_never_1_unless_solved():
    """A solution that is not listed counts; a full grid that breaks a rule never does."""
    assert progress("." * 16, (GRID,), "2143432112343412") == 1.0
    assert progress("." * 16, (GRID,), "1" * 16) == 4 / 16
    assert progress("1" + "." * 15, (GRID,), "2" + GRID[1:]) == 14 / 15  # a given changed


def test_givens_are_never_overwritten():
    env = llmzoo.make("sudoku_v0", num_agents=1)
    for seed in range(20):
        env.reset(seed=seed)
        puzzle = env.unwrapped.episode.task.puzzle
        rng = random.Random(seed)
        while env.agents and not env.truncations["planner_0"] and not env.terminations["planner_0"]:
            env.step("\n".join("".join(rng.choice("1234.") for _ in range(4)) for _ in range(4)))
            grid = env.unwrapped.episode.world[1]
            assert all(given in (".", digit) for given, digit in zip(puzzle, grid, strict=True))


@pytest.mark.parametrize(("size", "n"), [(4, 200), (9, 10)])
def test_generated_puzzles_have_one_solution(size, n):
    rng = random.Random(size)
    for _ in range(n):
        task = tasks.sample_task(rng, size, tasks.clue_range(size, None, None))
        assert tuple(tasks.solve(task.puzzle, limit=2)) == task.solutions
        assert scoring.is_solved(task.puzzle, task.solutions[0])


def test_solver_lists_every_solution_once():
    assert tasks.solve(GRID, limit=5) == [GRID]
    assert tasks.solve("11" + "." * 14, limit=5) == []
    # rows 1 and 2 stand; row 3 is 2 or 4, then 1 or 3, then 4 or 2, then 3 or 1: two free choices
    result = tasks.solve("12343412" + "." * 8, limit=99)
    assert len(result) == len(set(result)) == 4
    assert all(scoring.is_solved("12343412" + "." * 8, grid) for grid in result)


@pytest.mark.parametrize(
    ("kwargs", "low", "high"),
    [
        ({}, 6, 10),
        ({"clues": 4}, 4, 4),
        ({"clues": 15}, 15, 15),
        ({"difficulty": "easy"}, 9, 11),
        ({"difficulty": "medium"}, 7, 8),
        ({"difficulty": "hard"}, 5, 6),
        ({"size": 9, "difficulty": "easy"}, 44, 50),
        ({"size": 9, "clues": 40}, 40, 40),
    ],
)
def test_number_of_clues(kwargs, low, high):
    drawn = llmzoo.make("sudoku_v0", split="all", **kwargs).unwrapped.tasks
    rng = random.Random(0)
    result = [len(task.puzzle.replace(".", "")) for task in (drawn.sample(rng) for _ in range(12))]
    assert low <= min(result) <= max(result) <= high
    assert low == high or len(set(result)) > 1


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"size": 5}, "size must be 4 or 9, got 5"),
        ({"clues": 3}, "clues must be from 4 to 15, got 3"),
        ({"clues": 16}, "clues must be from 4 to 15, got 16"),
        ({"size": 9, "clues": 23}, "clues must be from 24 to 80, got 23"),
        ({"clues": 8, "difficulty": "easy"}, "give clues or difficulty, not both"),
        (
            {"difficulty": "extreme"},
            "difficulty must be one of None, easy, medium, hard; got 'extreme'",
        ),
    ],
)
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("sudoku_v0", **kwargs)


def images(puzzle):
    """The eight turns and mirror images of a puzzle, by hand."""
    side = int(len(puzzle) ** 0.5)
    rows = [puzzle[i : i + side] for i in range(0, len(puzzle), side)]
    for _ in range(4):
        rows = ["".join(column) for column in zip(*rows[::-1], strict=True)]
        yield "".join(rows)
        yield "".join(row[::-1] for row in rows)


@pytest.mark.parametrize(("size", "n"), [(4, 40), (9, 3)])
def test_canonical_form_ignores_turns_mirrors_and_names(size, n):
    rng = random.Random(1)
    forms = set()
    for _ in range(n):
        task = tasks.sample_task(rng, size, tasks.clue_range(size, None, None))
        digits = "123456789"[:size]
        renamed = str.maketrans(digits, "".join(rng.sample(digits, size)))
        same = {tasks.canonical(SudokuTask(i.translate(renamed), ())) for i in images(task.puzzle)}
        assert same == {tasks.canonical(task)}
        forms |= same
    assert len(forms) > n // 2


def test_split_is_by_canonical_form():
    for split in ("train", "test"):
        drawn = llmzoo.make("sudoku_v0", split=split).unwrapped.tasks
        for index in range(50):
            assert assign_split(tasks.canonical(drawn[index])) == split


def test_noisy_expert_is_readable_and_mostly_wrong():
    rng = random.Random(0)
    solved = 0
    for _ in range(200):
        task = tasks.sample_task(rng, 4, (6, 10))
        fills = scoring.parse_fills(players.noisy_expert(task, rng), 4)
        assert scoring.find_broken_given(task.puzzle, fills) is None
        solved += scoring.is_solved(task.puzzle, scoring.fill_in(task.puzzle, fills))
    assert 0 < solved < 100


def test_files_of_both_kinds(tmp_path):
    lines, json_lines = tmp_path / "puzzles.txt", tmp_path / "puzzles.jsonl"
    lines.write_text("1234341221430000\n\n123434122143....\n")
    json_lines.write_text('{"puzzle": "1234341221430000", "other": 1}\n')
    one = SudokuTask("123434122143....", (GRID,))
    assert tasks.load_tasks(str(lines)).tasks == (one, one)
    assert tasks.load_tasks(str(json_lines)).tasks == (one,)
    assert tasks.load_tasks(str(lines)).tasks[0].solutions == (GRID,)


def test_a_file_that_has_changed_is_read_anew(tmp_path):
    path = tmp_path / "puzzle.txt"
    for puzzle in ("123434122143....", "1234341221434..."):
        path.write_text(puzzle)
        env = llmzoo.make("sudoku_v0", source=str(path), split="all")
        env.reset(seed=0)
        assert env.unwrapped.episode.task.puzzle == puzzle


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no records"),
        ("123\n", ":1: not a 4x4 or 9x9 puzzle: '123'"),
        ("1234341221430000\n12343412214300x0", ":2: not a 4x4 or 9x9 puzzle"),
        ("1134000000000000", ":1: this puzzle has no solution"),
        ('{"grid": "1234"}', ":1: field 'puzzle' is missing"),
        ('{"puzzle": ', ":1: not JSON"),
    ],
)
def test_wrong_files(tmp_path, content, message):
    path = tmp_path / "wrong.txt"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("sudoku_v0", source=str(path))


def test_a_file_whose_tasks_are_all_in_the_other_split(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("123434122143....")
    own = assign_split(tasks.canonical(SudokuTask("123434122143....", ())))
    other = {"train": "test", "test": "train"}[own]
    assert llmzoo.make("sudoku_v0", source=str(path), split=own).unwrapped.tasks.count == 1
    with pytest.raises(ConfigError, match=f"none of its 1 tasks is in split '{other}'"):
        llmzoo.make("sudoku_v0", source=str(path), split=other)


def test_every_valid_completion_of_real_puzzles_succeeds(shared_data):
    path = shared_data / "sudoku4x4_dev.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(records) == 200
    env = llmzoo.make("sudoku_v0", source=str(path), split="all", num_agents=1)
    several = 0
    for number, record in enumerate(records):
        puzzle = record["puzzle"].replace("0", ".")
        solutions = tasks.solve(puzzle, limit=1000)
        assert len(solutions) == record["n_solutions"]
        assert record["solution"] in solutions
        several += len(solutions) > 1
        for solution in solutions:
            env.reset(options={"task": number})
            env.step(scoring.format_rows(solution))
            assert env.infos["planner_0"]["success"] is True
            assert env.last()[1] == pytest.approx(2.0)
        blank = puzzle.index(".")
        for digit in "1234":
            near = solutions[0][:blank] + digit + solutions[0][blank + 1 :]
            env.reset(options={"task": number})
            env.step(scoring.format_rows(near))
            assert env.infos["planner_0"].get("success", False) is (near in solutions)
    assert several == sum(record["n_solutions"] > 1 for record in records) > 40


def test_solutions_are_those_of_plain_backtracking():
    rng = random.Random(3)
    several = 0
    for size, blanks in ((4, (3, 12)), (9, (30, 56))):
        for _ in range(40):
            cells = list(tasks._random_grid(rng, size))
            for cell in rng.sample(range(size * size), rng.randint(*blanks)):
                cells[cell] = "."
            if rng.random() < 0.2:  # often without a solution
                cells[rng.randrange(size * size)] = str(rng.randint(1, size))
            puzzle = "".join(cells)
            expected = sorted(tasks.solve(puzzle, limit=200))
            if len(expected) < 200:
                assert find_solutions(puzzle, 200) == expected
                several += len(expected) != 1
    assert several > 10
    assert len(find_solutions("." * 16, 288)) == len(find_solutions("." * 81, 288)) == 288


def test_a_file_of_sparse_puzzles_is_read_fast_and_once(tmp_path, no_collector):
    """Backtracking without looking ahead takes half a second for each of these."""
    sparse = "14......5.........7..5...6932...5...........2..........6.....5.2.8......43....79."
    names = ["123456789"[n:] + "123456789"[:n] for n in range(6)]
    renamed = [sparse.translate(str.maketrans("123456789", each)) for each in names]
    path = tmp_path / "sparse.txt"
    path.write_text("\n".join(renamed * 2))
    started = time.process_time()
    env = llmzoo.make("sudoku_v0", source=str(path), split="all")
    assert time.process_time() - started < 2.0
    env.reset(options={"task": 11})
    info = env.infos["proposer_0"]
    assert (info["tasks"], len(env.unwrapped.episode.task.solutions)) == (12, 288)
    started = time.process_time()
    for _ in range(20):
        llmzoo.make("sudoku_v0", source=str(path), split="all")
    assert time.process_time() - started < 0.2
