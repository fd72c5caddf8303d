"""No symmetry of a task maps a test task onto a training task.

Each symmetry is written down here once more, on what an agent reads, apart from the keys that split the
tasks.
"""

from __future__ import annotations

import random
import re
from itertools import combinations, permutations

import pytest

import llmzoo
from llmzoo.envs.games.plan_path.tasks import PathTask
from llmzoo.envs.games.sokoban.tasks import SokobanTask
from llmzoo.envs.games.sudoku import symmetry
from llmzoo.envs.games.sudoku import tasks as sudoku_tasks
from llmzoo.envs.games.sudoku.tasks import SudokuTask
from llmzoo.envs.math import generator
from llmzoo.envs.symmetry_keys import commutative_key, linear_system_key, normalize_row, sorted_key

TRAIN_DRAWS = 6_000
TEST_DRAWS = 300


def drawn(id, split, draws, **kwargs):
    tasks = llmzoo.make(id, split=split, **kwargs).unwrapped.tasks
    rng = random.Random(f"{id} {split}")
    return [tasks.sample(rng) for _ in range(draws)]


def leaked(id, images, *, draws=TRAIN_DRAWS, **kwargs):
    """The test tasks of which an image was drawn for training."""
    train = {*drawn(id, "train", draws, **kwargs)}
    tests = {*drawn(id, "test", TEST_DRAWS, **kwargs)}
    return [task for task in tests if any(image in train for image in images(task))]


# Sudoku


def cells_moved(puzzle, rows, columns):
    side = int(len(puzzle) ** 0.5)
    return "".join(puzzle[row * side + column] for row in rows for column in columns)


def line_orders(size, rng=None):
    """All orders of the lines that keep bands together; some of them for a 9x9 grid."""
    box = int(size**0.5)
    if rng is not None:
        bands = rng.sample(range(box), box)
        return [band * box + line for band in bands for line in rng.sample(range(box), box)]
    return [
        [0, 1, 2, 3],
        [1, 0, 2, 3],
        [0, 1, 3, 2],
        [1, 0, 3, 2],
        [2, 3, 0, 1],
        [3, 2, 0, 1],
        [2, 3, 1, 0],
        [3, 2, 1, 0],
    ]


def sudoku_images(task):
    """All 3,072 images of a 4x4 puzzle."""
    for rows in line_orders(4):
        for columns in line_orders(4):
            moved = cells_moved(task.puzzle, rows, columns)
            turned = "".join(moved[4 * (cell % 4) + cell // 4] for cell in range(16))
            for digits in permutations("1234"):
                names = str.maketrans("1234", "".join(digits))
                yield SudokuTask(moved.translate(names), ())
                yield SudokuTask(turned.translate(names), ())


@pytest.mark.slow
def test_no_image_of_a_test_sudoku_is_a_training_puzzle():
    assert leaked("sudoku_v0", sudoku_images) == []


def test_images_of_a_large_sudoku_share_their_key():
    rng = random.Random(0)
    keys = set()
    for _ in range(8):
        puzzle = sudoku_tasks.sample_task(rng, 9, (36, 50)).puzzle
        key = symmetry.canonical_key(puzzle)
        for _ in range(5):
            image = cells_moved(puzzle, line_orders(9, rng), line_orders(9, rng))
            if rng.random() < 0.5:
                image = "".join(image[9 * (cell % 9) + cell // 9] for cell in range(81))
            names = str.maketrans("123456789", "".join(rng.sample("123456789", 9)))
            assert symmetry.canonical_key(image.translate(names)) == key
        keys.add(key)
    assert len(keys) == 8


def test_a_moved_given_changes_the_key_of_a_large_sudoku():
    puzzle = sudoku_tasks.sample_task(random.Random(3), 9, (36, 36)).puzzle
    given = next(cell for cell, digit in enumerate(puzzle) if digit != ".")
    assert symmetry.canonical_key(puzzle) != symmetry.canonical_key(
        puzzle[:given] + "." + puzzle[given + 1 :]
    )


@pytest.mark.slow
def test_number_of_classes_of_small_sudokus():
    """The 288 grids are two classes; a puzzle of a class is a choice of cells of one of two grids."""
    grids = {
        symmetry.canonical_key(grid): grid for grid in sudoku_tasks.solve("." * 16, limit=1000)
    }
    assert len(grids) == 2
    classes = set()
    for grid in grids.values():
        for clues in range(6, 11):
            for kept in combinations(range(16), clues):
                puzzle = "".join(grid[cell] if cell in kept else "." for cell in range(16))
                if len(sudoku_tasks.solve(puzzle, limit=2)) == 1:
                    classes.add(symmetry.canonical_key(puzzle))
    assert len(classes) == 3_895


# Grids


def grid_images(text):
    rows = text.split("\n")
    for _ in range(4):
        rows = ["".join(column) for column in zip(*rows[::-1], strict=True)]
        yield "\n".join(rows)
        yield "\n".join(row[::-1] for row in rows)


def path_images(task):
    for image in grid_images(task.grid):
        yield PathTask(image)
        yield PathTask(image.translate(str.maketrans("SG", "GS")))


def level_images(task):
    for image in grid_images(task.level):
        yield SokobanTask(image)


def test_no_image_of_a_test_path_is_a_training_grid():
    """On grids so small that both splits would share most of them, split by the grid as it is written."""
    small = {"height": 3, "width": 4, "density": 0.3, "min_distance": 2}
    assert leaked("plan_path_v0", path_images, **small) == []


@pytest.mark.slow
def test_no_image_of_a_test_level_is_a_training_level():
    assert leaked("sokoban_v0", level_images, draws=1_000, height=5, width=5) == []
    assert leaked("sokoban_v0", level_images, draws=3_000) == []


# Mathematics: images of the question in few words


def images_in_words(text):
    """Other ways to write a question in few words that ask the same."""
    yield text
    number = r"(\d+(?:\.\d+)?(?:/\d+)?)"
    patterns = {
        rf"{number} \+ {number}": r"\2 + \1",
        rf"{number} \* {number}": r"\2 * \1",
        rf"{number} hours at {number} then {number} hours at {number}": (
            r"\3 hours at \4 then \1 hours at \2"
        ),
        rf"jobs {number} hours and {number} hours first alone 0": (
            r"jobs \2 hours and \1 hours first alone 0"
        ),
        rf"buys {number} at {number} and {number} at {number}": r"buys \3 at \4 and \1 at \2",
        rf"has {number} plus {number} how": r"has \2 plus \1 how",
        rf"plus {number} of {number}": r"plus \2 of \1",
        r"x y with (.+) and (.+)": r"x y with \2 and \1",
        r"x y z with (.+) and (.+) and (.+)": r"x y z with \3 and \1 and \2",
        r"solve (-?\d+ x [+-] \d+) = (-?\d+ x [+-] \d+) for": r"solve \2 = \1 for",
    }
    for pattern, image in patterns.items():
        if re.search(pattern, text):
            yield re.sub(pattern, image, text, count=1)
    yield from images_by_sums(text)


def images_by_sums(text):
    """Images that have other numbers than the question."""
    if match := re.fullmatch(
        r"(?:all|larger|smaller) x with (.+x\^2) ([+-])( \d* ?x [+-].+)", text
    ):
        negative = {"+": "-", "-": "+"}[match[2]]
        for which in ("all", "larger", "smaller"):
            yield f"{which} x with {match[1]} {match[2]}{match[3]}"
            yield f"{which} x with {match[1]} {negative}{match[3]}"
    if match := re.fullmatch(r"solve (\d* ?x) ([+-]) (\d+) = (-?\d+) for x", text):
        term, b, c = match[1], int(match[2] + match[3]), int(match[4])
        for one, other in ((-b, -c), (-c, -b), (c, b)):
            yield f"solve {term} {'+' if one > 0 else '-'} {abs(one)} = {other} for x"


@pytest.mark.slow
@pytest.mark.parametrize("level", generator.LEVELS)
@pytest.mark.parametrize("family", generator.FAMILIES)
def test_no_image_of_a_test_question_is_a_training_question(family, level):
    settings = {"family": family, "level": level}
    train = {task.terse for task in drawn("math_v0", "train", TRAIN_DRAWS, **settings)}
    tests = {task.terse for task in drawn("math_v0", "test", TEST_DRAWS, **settings)}
    assert [text for text in tests if train & {*images_in_words(text)}] == []


def test_images_of_questions_are_written_as_questions_are():
    """The images above are spelled as the generator spells, so that looking for them finds them."""
    images = {
        "37 + 48": "48 + 37",
        "2 * (17 - 4)": None,
        "pays 50 buys 2 at 5 and 3 at 4 change": "pays 50 buys 3 at 4 and 2 at 5 change",
        "x y with -x + y = 3 and 2 x + y = 4": "x y with 2 x + y = 4 and -x + y = 3",
    }
    for text, image in images.items():
        assert [*images_in_words(text)] == [text, *([image] if image else [])]


# Keys


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("37 + 48", "48 + 37"),
        ("a * (b + c)", "(c + b) * a"),
        ("12 - 5", "5 - 12"),
        ("e - (a - b) * (c + d)", "(a - b) * (d + c) - e"),
        ("1/2 * 13/14", "13/14 * 1/2"),
        ("2^3 + 1", "1 + 2^3"),
        ("7 % 3 + 5 * 2", "2 * 5 + 7 % 3"),
    ],
)
def test_expressions_with_one_key(one, other):
    assert commutative_key(one) == commutative_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("8 / 2", "2 / 8"), ("2^3", "3^2"), ("7 % 3", "3 % 7"), ("1 + 2 * 3", "(1 + 2) * 3")],
)
def test_expressions_with_keys_of_their_own(one, other):
    assert commutative_key(one) != commutative_key(other)


def test_keys_of_equations():
    assert normalize_row([-4, 6, 0]) == (2, -3, 0)
    assert normalize_row([0, 0]) == (0, 0)
    # 2x + 3y = 8 and x - y = -1, as it is; in the other order; with x and y exchanged; times -2
    same = [
        linear_system_key([[2, 3], [1, -1]], [8, -1]),
        linear_system_key([[1, -1], [2, 3]], [-1, 8]),
        linear_system_key([[3, 2], [-1, 1]], [8, -1]),
        linear_system_key([[-4, -6], [1, -1]], [-16, -1]),
    ]
    assert len({*same}) == 1
    assert linear_system_key([[2, 3], [1, 1]], [8, -1]) != same[0]
    assert sorted_key("b", 3, "a") == "3 a b"
