"""Sudoku and sokoban of gem-llm; run by its interpreter, asked by ``environment_peers.py``."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import gem
from games import Games, answering, puzzle_text, room_text
from gem.wrappers.observation_wrapper import ObservationWrapper
from serving import serve

EPISODES = 12


def make(env_id: str, settings: dict[str, Any]) -> tuple[Games, list[str]]:
    bare = gem.make(env_id, **settings)
    env = ObservationWrapper(bare, include_action=False, include_chat_template=False)  # "concat"
    starts = []
    for seed in range(EPISODES):
        env.reset(seed=seed)
        starts.append(copy.deepcopy(env))
    games = Games(step, env.reset, [partial(copy.deepcopy, start) for start in starts])
    return games, [board(start) for start in starts]


def step(env: gem.Env, move: str) -> bool:
    _, _, terminated, truncated, _ = env.step(f"\\boxed{{{move}}}")
    return terminated or truncated


def board(env: gem.Env) -> str:
    env = env.unwrapped
    if "Sudoku" in env.env_id:
        return puzzle_text(env.board)
    return room_text(env.room_state, env.room_fixed, env.player_position)


serve(answering(make))
