"""The boards in the prompts of the games: found where they stand, cell by cell as the world is."""

from __future__ import annotations

import contextlib
import itertools
import random
import time

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.games.sokoban.levels import build_tables

LEVELS = """\
  #####
###   #
#.@$  #
### $.#
#.##$ #
# # . ##
#$ *$$.#
#   .  #
########

#######
#+  $ #
# $ . #
#######
"""
FORMS = [  # of each game several sizes, with both prompts
    ("sudoku_v0", {}, "full"),
    ("sudoku_v0", {"difficulty": "hard", "num_agents": 1}, "terse"),
    ("sudoku_v0", {"size": 9}, "terse"),
    ("sokoban_v0", {}, "terse"),
    ("sokoban_v0", {"height": 6, "width": 9, "boxes": 3, "walls": 0.1}, "full"),
    ("sokoban_v0", {"size": 8, "boxes": 2, "num_agents": 1}, "full"),
    ("sokoban_v0", {"source": "levels"}, "terse"),
    ("plan_path_v0", {}, "full"),
    ("plan_path_v0", {"height": 3, "width": 7, "density": 0.4, "num_agents": 1}, "full"),
    ("plan_path_v0", {"size": 30}, "terse"),
]


def made(id, prompt="full", tmp_path=None, **kwargs):
    if "source" in kwargs:
        (tmp_path / "levels").write_text(LEVELS)
        kwargs |= {"source": str(tmp_path / "levels"), "split": "all"}
    return llmzoo.make(id, prompt=prompt, **kwargs).unwrapped


def kinds(board):
    return [[cell.kind for cell in row] for row in board.rows]


def symbols(board):
    return board.text().split("\n")


# what each game's world looks like, from its own numbers and not from its text


def sudoku_cells(env, world):
    puzzle, grid, _ = world
    size = env.episode.task.size
    side = int(size**0.5)

    def clashing(one, other):
        (a, b), (c, d) = divmod(one, size), divmod(other, size)
        together = a == c or b == d or (a // side, b // side) == (c // side, d // side)
        return one != other and together and grid[one] == grid[other] != "."

    def kind(cell):
        if grid[cell] == ".":
            return "empty"
        if puzzle[cell] != ".":
            return "given"
        return "wrong" if any(clashing(cell, other) for other in range(len(grid))) else "filled"

    return [[(grid[r * size + c], kind(r * size + c)) for c in range(size)] for r in range(size)]


def sokoban_cells(env, world):
    board = build_tables(world.level)
    walls = [symbol == "#" for symbol in world.level.replace("\n", "")]

    def cell(index):
        goal, box = (bool(mask >> index & 1) for mask in (board.goals, world.boxes))
        if index == world.player:
            return ("+", "player_on_goal") if goal else ("@", "player")
        if box:
            return ("*", "box_on_goal") if goal else ("$", "box")
        if walls[index]:
            return "#", "wall"
        return (".", "goal") if goal else (" ", "floor")

    width = board.width
    return [[cell(r * width + c) for c in range(width)] for r in range(board.height)]


def path_cells(env, world):
    task = env.episode.task

    def cell(index):
        if index == world:
            return ("@", "player_on_goal") if index == task.goal else ("@", "player")
        if index == task.goal:
            return "G", "goal"
        return (".", "floor") if task.is_open(index) else ("#", "wall")

    height, width = len(task.rows), len(task.rows[0])
    return [[cell((r, c)) for c in range(width)] for r in range(height)]


CELLS = {"sudoku_v0": sudoku_cells, "sokoban_v0": sokoban_cells, "plan_path_v0": path_cells}


def cells_of(env, world):
    return tuple(map(tuple, CELLS[env.metadata["name"]](env, world)))


def answer(env, agent, rng):
    """What an agent says: mostly somebody's plan, at times nonsense or an illegal one."""
    if env.metadata["name"] == "sudoku_v0":
        size = env.episode.task.size
        one, two, value = (rng.randint(1, size) for _ in range(3))
        others = [f"[{one}, {two}, {value}]", "\n".join(["1" * size] * size)]
    else:
        others = ["".join(rng.choices("UDLR", k=rng.randint(1, 40))), "U" * 1000]
    chance = rng.random()
    if chance < 0.5:
        return env.noisy_expert(agent, rng)
    return env.expert(agent) if chance < 0.6 else rng.choice([*others, "I do not know"])


def episode(env, seed):
    """(observation, world, what carrying out the candidate gives or None) at each turn."""
    env.reset(seed=seed)
    rng = random.Random(seed)
    candidate = None
    for agent in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        world = env.episode.world
        yield observation, world, candidate
        if terminated or truncated:
            env.step(None)
            continue
        text = answer(env, agent, rng)
        candidate = None
        if agent == "proposer_0":
            with contextlib.suppress(ValueError):
                candidate = env.execute(env.episode.task, world, env.parse(env.episode, text))
        env.step(text)


@pytest.mark.parametrize(("id", "kwargs", "prompt"), FORMS)
def test_the_boards_are_those_of_the_environment(id, kwargs, prompt, tmp_path):
    env = made(id, prompt, tmp_path, **kwargs)
    simulated = 0
    for seed in range(12):
        for text, world, candidate in episode(env, seed):
            state, *others = type(env).find_boards(text)
            assert state.board.rows == cells_of(env, world)
            assert state.board == env.picture()
            assert text[state.start : state.end] == env.board()
            assert state.shows == "state"
            if candidate is None:
                assert others == []
                continue
            (plan,) = others
            simulated += 1
            assert plan.shows == "simulation"
            result = cells_of(env, candidate.world)
            if id == "sudoku_v0":
                if candidate.legal:
                    assert plan.board.rows == result
                else:
                    assert "wrong" in itertools.chain(*kinds(plan.board))
                continue
            assert plan.start == plan.end
            assert text[: plan.start].endswith("\n" + env.episode.candidate)
            if id == "sokoban_v0":
                assert plan.board.rows == result
            else:  # but for the way, which the world does not keep
                for cell, there in zip(
                    itertools.chain(*plan.board.rows), itertools.chain(*result), strict=True
                ):
                    assert cell == there or (
                        cell.kind in ("start", "path") and there == (".", "floor")
                    )
    assert simulated > 10 or kwargs.get("num_agents") == 1


def test_a_solved_world_and_the_end_of_an_episode():
    for id in CELLS:
        env = made(id)
        env.reset(seed=1)
        while not env.success:
            env.step(env.expert(env.agent_selection))
        (seen,) = env.find_boards(env.observe("proposer_0"))
        assert seen.board.rows == cells_of(env, env.episode.world)


def test_a_walk_is_drawn_where_it_went(tmp_path):
    (tmp_path / "grid").write_text(r'{"grid": "S..#\n.#.G\n...."}')
    env = llmzoo.make("plan_path_v0", source=str(tmp_path / "grid"), split="all").unwrapped
    env.reset(options={"task": 0})
    for moves, there, shown in (
        ("RRDDL", True, ["S>v#", ".#vG", ".@<."]),
        ("RRDRDL", True, ["S>v#", ".#>@", "...."]),  # it ends at the goal
        ("DDRRRR", False, ["S..#", "v#.G", ">>>@"]),  # the last move leaves the grid
        ("RLRL", True, ["@<.#", ".#.G", "...."]),  # it ends where it began
        ("UUU", False, ["@..#", ".#.G", "...."]),
    ):
        env.reset(options={"task": 0})
        env.step(moves)
        assert (env.infos["proposer_0"]["error"] is None) == there
        _, plan = env.find_boards(env.observe("planner_1"))
        assert symbols(plan.board) == shown
    assert kinds(plan.board)[0] == ["player", "floor", "floor", "wall"]
    env.reset(options={"task": 0})
    env.step("RRDR")
    _, plan = env.find_boards(env.observe("planner_1"))
    assert kinds(plan.board)[:2] == [
        ["start", "path", "path", "wall"],
        ["floor", "wall", "path", "player_on_goal"],
    ]


def test_a_candidate_that_changes_a_given_shows_where(tmp_path):
    (tmp_path / "puzzle").write_text("12..341.2143....")
    env = llmzoo.make("sudoku_v0", source=str(tmp_path / "puzzle"), split="all").unwrapped
    env.reset(options={"task": 0})
    env.step("[1, 1, 2] [1, 3, 3] [4, 1, 4]")
    state, plan = env.find_boards(env.observe("planner_1"))
    assert symbols(state.board) == ["12..", "341.", "2143", "...."]
    assert symbols(plan.board) == ["223.", "341.", "2143", "4..."]
    assert kinds(plan.board)[0] == ["wrong", "given", "filled", "empty"]
    assert plan.board.to_dict()["rows"][3][0] == {"symbol": "4", "kind": "filled"}
    assert (plan.board.block, state.board.to_dict()["block"]) == (2, 2)


@pytest.mark.parametrize("prompt", ["full", "terse"])
@pytest.mark.parametrize("id", list(CELLS))
def test_a_conversation_shows_all_its_boards_and_answers_none(id, prompt):
    env = made(id, prompt)
    env.reset(seed=4)
    said = []
    for _ in range(4):
        agent = env.agent_selection
        said += [f"<|user|>{env.observe(agent)}<|assistant|>", f"```\n{env.board()}\n```\n"]
        env.step("no plan")
    values = env.find_boards("".join(said))
    assert len(values) == 4
    assert {seen.board for seen in values} == {env.picture()}
    assert env.find_boards("".join(said[1::2])) == ()
    assert env.find_boards(f"The current state:\n\n{env.board()}\n\nYour answer:") == ()


@pytest.mark.parametrize("prompt", ["full", "terse"])
@pytest.mark.parametrize("id", list(CELLS))
def test_a_prompt_that_was_cut_off_shows_no_board_but_whole_ones(id, prompt):
    env = made(id, prompt)
    env.reset(seed=4)
    env.step(env.noisy_expert("proposer_0", random.Random(1)))
    text = env.observe("planner_1")
    whole = env.find_boards(text)
    assert len(whole) == 2
    for cut in range(len(text)):
        for seen in env.find_boards(text[:cut]):
            assert seen in whole
    for cut in range(1, len(text)):
        for seen in env.find_boards(text[cut:]):
            assert seen.board in [other.board for other in whole]


NEARLY = [
    ("sudoku_v0", "12..\n341.\n2143"),  # a row too few
    ("sudoku_v0", "12..\n341.\n2143\n....\n...."),
    ("sudoku_v0", "12..\n341.\n2153\n...."),  # a 5 in a small one
    ("sudoku_v0", "12..\n341.\n2143\n....\ngivens\n12..\n341.\n2143\n4..."),  # a given is gone
    ("sudoku_v0", "12..\n341.\n2143\n....\ngivens\n" + "\n".join(["." * 9] * 9)),
    ("sokoban_v0", "####\n#@@#\n#$.#\n####"),  # two players
    ("sokoban_v0", "####\n# $.#\n####"),  # none, and lines of different lengths
    ("sokoban_v0", "#####\n#@$.#\n####"),
    ("plan_path_v0", "@.G\n.@."),
    ("plan_path_v0", "@.G\n..G"),
    ("plan_path_v0", "@.G\n...."),
    ("plan_path_v0", "..G\n..."),
]


@pytest.mark.parametrize(("id", "board"), NEARLY)
def test_what_is_nearly_a_board(id, board):
    env = made(id)
    assert env.find_boards(f"{env.terse_name} proposer 1/4\n{board}\nanswer\n") == ()
    full = board.replace("givens", "The givens among these are:")
    assert env.find_boards(f"Round 1 of 4. The current state:\n\n{full}\n\nYour answer:") == ()


def test_a_candidate_of_another_size():
    env = made("sudoku_v0")
    state = "sudoku planner 1/4\n12..\n341.\n2143\n....\ncandidate\n"
    plan = "\n".join(["123456789"] * 9)
    (seen,) = env.find_boards(f"{state}{plan}\nleft 0 twice none\nanswer\n")
    assert seen.shows == "state"
    assert len(env.find_boards(f"{state}1234\n3412\n2143\n4321\nsolved\nanswer\n")) == 2


def test_text_without_boards():
    rng = random.Random(0)
    for id in CELLS:
        env = made(id)
        env.reset(seed=0)
        for text in ("", "\n", env.rules(env.episode.task), *testing.hostile_texts(50)):
            assert env.find_boards(text) == ()
        text = env.observe("proposer_0")
        for _ in range(500):  # a prompt with characters changed: it may be a board or none
            positions = [rng.randrange(len(text)) for _ in range(3)]
            changed = list(text)
            for index in positions:
                changed[index] = rng.choice("#. @$*+SG1290\n\x00\ud800é²٣")
            for seen in env.find_boards("".join(changed)):
                assert seen.board.text().split("\n")
    for id in ("math_v0", "debate_v0", "coop_functions_v0"):
        env = llmzoo.make(id).unwrapped
        env.reset(seed=0)
        assert type(env).find_boards(env.observe(env.agents[0])) == ()


def attacks(id, name):
    """Texts of about 100,000 characters that look like boards for as long as they can."""
    full, terse = "Round 1 of 4. The current state:\n\n", f"{name} planner 1/4\n"
    row = {"sudoku_v0": "12.." * 2 + "1", "sokoban_v0": "# $.", "plan_path_v0": "#.G"}[id]
    board = f"{row}\n" * 9
    for heading in (full, terse):
        yield heading * (100_000 // len(heading))
        yield heading + row * 27_000
        yield heading + f"{row}\n" * 20_000
        yield heading + f"{row}@\n" + f"{row}.\n" * 17_000 + "\nYour answer:"
        yield (heading + board) * (100_000 // len(heading + board))
        yield (heading + "@" * 9 + "\n") * 2_000
        yield heading + "@\n\nCandidate plan:\n" + "U" * 100_000
        yield heading + "\n" * 100_000
    yield f"{name} planner " * 20_000
    yield "Round 1" * 13_000
    yield "1" * 100_000


@pytest.mark.parametrize("id", list(CELLS))
def test_long_texts_take_time_in_proportion(id, no_collector):
    env = made(id)
    for text in attacks(id, env.terse_name):
        begun = time.process_time()
        env.find_boards(text)
        assert time.process_time() - begun < 1.0


@pytest.mark.slow
def test_a_million_cells_and_a_thousand_moves(no_collector):
    env = made("sokoban_v0")
    rows = ["#" * 1000, "#@" + " " * 997 + "#", *["#" + " " * 998 + "#"] * 997, "#" * 1000]
    text = "\n".join(rows)
    begun = time.process_time()
    text = f"Round 1 of 2. The current state:\n\n{text}\n\nCandidate plan:\n{'R' * 990}\nIts simulation: "
    state, plan = env.find_boards(text)
    assert time.process_time() - begun < 10.0  # about a second as a rule
    assert len(state.board.rows) == 1000
    assert plan.board.rows[1][1].kind == "player"  # nothing is left to do, so nobody moves
