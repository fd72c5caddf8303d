"""Kuhn poker of textarena, one round an episode; run by its interpreter, asked by ``duel_peers.py``."""

from __future__ import annotations

import itertools
import random
from typing import Any

import textarena
from games import rate
from serving import serve

EPISODES = 100
_env = textarena.make("KuhnPoker-v0", max_rounds=1)
_scripts: list[list[str]] = []
_numbers = itertools.count()


def _legal() -> list[str]:
    return sorted(_env.state.game_state["current_legal_action_tree"])


def _write() -> None:
    """The moves of each episode, drawn beforehand."""
    for seed in range(EPISODES):
        rng, script, done = random.Random(seed), [], False
        _env.reset(num_players=2, seed=seed)
        while not done:
            _env.get_observation()
            script.append(f"[{rng.choice(_legal())}]")
            done, _ = _env.step(script[-1])
        _scripts.append(script)


def play() -> None:
    seed = next(_numbers) % EPISODES
    _env.reset(num_players=2, seed=seed)
    for move in _scripts[seed]:
        _env.get_observation()
        _env.step(move)


def answer(do: str, **details: Any) -> dict[str, Any]:
    if do == "open":
        _write()
        return {}
    return {"rate": rate(play, details["seconds"]) * sum(map(len, _scripts)) / EPISODES}


serve(answer)
