"""What of played.jsonl goes into the page."""

import base64
import gzip
import json
import math

import pytest
from made_runs import answer, episode

from llmzoo.envs.drawing import Board, BoardCell
from llmzoo.report import episodes
from llmzoo.report.episodes import (
    RecordedEpisodes,
    episode_body,
    gzip_base64,
    index_row,
    json_number,
    node_path,
    pack_index,
)


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


@pytest.fixture
def played(tmp_path):
    return RecordedEpisodes(tmp_path / "played.jsonl")


def write(played, *lines, mode="w"):
    with played.path.open(mode) as file:
        file.writelines(
            line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines
        )


def bodies(played):
    return [body for chunk in played.all_chunks() for body in unpacked(chunk)]


def test_a_row_of_the_index():
    turn = {"agent": "a_0", "turn": 0, "path": [], "prompt": "p"}
    turns = [
        {**turn, "answers": [answer("x", 1.0, error="illegal"), answer("y", 0.0, truncated=True)]},
        {**turn, "agent": "b_1", "answers": [answer("z", None)]},
    ]
    row = index_row(episode(3, 2**60, 0.5, turns=turns))
    assert row == {
        "step": 3,
        "seed": "1152921504606846976",
        "success": 0.5,
        "returns": {"proposer_0": 1.5, "planner_1": 1.0},
        "acted": ["a_0", "b_1"],
        "turns": 2,
        "answers": 3,
        "errors": 1,
        "truncated": 1,
    }


def test_episodes_are_packed_in_chunks(played, monkeypatch):
    monkeypatch.setattr(episodes, "CHUNK_CHARS", 3000)
    write(played, *(episode(step, 7) for step in range(9)))
    played.update()
    assert len(played.all_chunks()) > 2
    result = bodies(played)
    assert len(result) == 9
    places = [(row["chunk"], row["place"]) for row in played.index]
    assert places == [
        (chunk, place)
        for chunk, text in enumerate(played.all_chunks())
        for place in range(len(unpacked(text)))
    ]


def test_what_is_added_is_read_and_nothing_twice(played, monkeypatch):
    monkeypatch.setattr(episodes, "CHUNK_CHARS", 3000)
    write(played, *(episode(step, 7) for step in range(4)))
    played.update()
    full = list(played.chunks)
    text = json.dumps(episode(4, 7)) + "\n"
    write(played, text[:50], mode="a")  # half of a line
    played.update()
    assert [row["step"] for row in played.index] == [0, 1, 2, 3]
    write(played, text[50:], mode="a")
    played.update()
    assert [row["step"] for row in played.index] == [0, 1, 2, 3, 4]
    assert played.chunks[: len(full)] == full
    assert played.unreadable == 0


def test_another_file_is_read_anew(played):
    write(played, episode(1, 7), episode(2, 7))
    played.update()
    write(played, episode(5, 8))  # shorter: a resumed run has dropped what it plays again
    played.update()
    assert [(row["step"], row["seed"]) for row in played.index] == [(5, "8")]
    replaced = played.path.with_name("new")
    replaced.write_text("".join(json.dumps(episode(step, 9)) + "\n" for step in range(4)))
    replaced.replace(played.path)  # longer, but another
    played.update()
    assert [row["step"] for row in played.index] == [0, 1, 2, 3]
    played.path.unlink()
    played.update()
    assert (played.index, played.all_chunks()) == ([], [])


def test_lines_that_are_no_episodes_are_counted(played):
    wrong = [
        {"step": 1},
        {**episode(1, 1), "turns": [{"agent": "a"}]},
        {**episode(1, 1), "turns": 3},
    ]
    write(played, episode(1, 1), "{half\n", "[]\n", *wrong, "\n", episode(2, 1))
    played.update()
    assert [row["step"] for row in played.index] == [1, 2]
    assert played.unreadable == 5


def test_numbers_that_are_none():
    assert [json_number(value) for value in (1, 0.5, None, math.nan, -math.inf)] == [
        *(1, 0.5, None, "nan", "-inf")
    ]
    record = episode(
        1, 1, turns=[{**episode(1, 1)["turns"][0], "answers": [answer("x", math.nan)]}]
    )
    assert episode_body(record)["turns"][0]["answers"][0]["return"] == "nan"


def test_half_a_surrogate_pair_survives():
    assert unpacked(gzip_base64(episodes.compact_json(["\ud83d", "日本 🦓"]))) == [
        "\ud83d",
        "日本 🦓",
    ]


def test_the_index_counts_chunks_through_all_runs(tmp_path):
    files = []
    for name in ("a", "b"):
        files.append(RecordedEpisodes(tmp_path / name))
        write(files[-1], episode(1, 1))
        files[-1].update()
    columns = unpacked(pack_index(files))
    assert (columns["run"], columns["chunk"], columns["place"]) == ([0, 1], [0, 1], [0, 0])


def test_places_in_a_tree():
    assert [node_path(path) for path in ([], [3], [3, 1, 0], [[0, 1], 2], None)] == [
        *("", "3", "3·1·0", "0·1·2", "")
    ]


BOARD = Board(rows=((BoardCell("3", "given"), BoardCell(".", "empty")),), block=2)


def test_the_board_after_an_answer():
    turn = {**episode(1, 1)["turns"][0], "answers": [answer("x", 1.0, board=BOARD.to_dict())]}
    (body,) = episode_body(episode(1, 1, turns=[turn]))["turns"][0]["answers"]
    assert body["board"] == {"rows": [[("3", "given"), (".", "empty")]], "block": 2}


def test_episodes_recorded_without_boards_have_none():
    bodies = [
        answer["board"]
        for turn in episode_body(episode(1, 1))["turns"]
        for answer in turn["answers"]
    ]
    assert set(bodies) == {None}


@pytest.mark.parametrize(
    "board",
    [3, {"rows": []}, {**BOARD.to_dict(), "rows": [[0, 7]]}, {**BOARD.to_dict(), "cells": [["3"]]}],
)
def test_an_episode_with_a_board_of_another_shape_is_counted(board, played):
    turn = {**episode(1, 1)["turns"][0], "answers": [answer("x", 1.0, board=board)]}
    write(played, episode(1, 1, turns=[turn]), episode(2, 1))
    played.update()
    assert ([row["step"] for row in played.index], played.unreadable) == ([2], 1)
