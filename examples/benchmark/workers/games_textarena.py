"""Sudoku and sokoban of textarena; run by its interpreter, asked by ``environment_peers.py``."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import textarena
from games import Games, answering, puzzle_text, room_text
from serving import serve

EPISODES = 12


def make(env_id: str, settings: dict[str, Any]) -> tuple[Games, list[str]]:
    # without wrappers: they keep all that they have shown, and a reset does not clear it
    bare = textarena.make(env_id.replace("-train", "-raw"), **settings)

    def reset(seed: int) -> object:
        bare.reset(num_players=1, seed=seed)
        return bare.get_observation()

    starts = []
    for seed in range(EPISODES):
        start = textarena.make(env_id, **settings)
        start.reset(num_players=1, seed=seed)
        start.get_observation()
        starts.append(start)
    games = Games(step, reset, [partial(copy.deepcopy, start) for start in starts])
    return games, [board(start) for start in starts]


def step(env: textarena.Env, move: str) -> bool:
    done, _ = env.step(f"[{move}]")
    if not done:
        env.get_observation()
    return done


def board(env: textarena.Env) -> str:
    if "Sudoku" in env.env_id:
        return puzzle_text(env.game_board)
    return room_text(env.room_state, env.room_fixed, env.player_position)


serve(answering(make))
