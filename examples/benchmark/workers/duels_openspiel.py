"""Games of OpenSpiel; run by its interpreter, asked by ``duel_peers.py``.

``environment``: its own ``rl_environment``, whose steps say who acts, the observations, the legal actions and
the rewards. ``states``: its states in C++, without an environment, and the text of the player's information.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pyspiel
from games import rate
from open_spiel.python import rl_environment
from serving import serve

EPISODES = 100
_players: dict[tuple[str, str], Callable[[], None]] = {}
_steps: dict[tuple[str, str], float] = {}


def _environment(name: str) -> list[list[int]]:
    """Plays an episode for each call; the actions of each were drawn beforehand."""
    env = rl_environment.Environment(name)
    scripts = []
    for seed in range(EPISODES):
        rng, script = random.Random(seed), []
        env.seed(seed)
        step = env.reset()
        while not step.last():
            legal = step.observations["legal_actions"][step.observations["current_player"]]
            script.append(rng.choice(legal))
            step = env.step([script[-1]])
        scripts.append(script)
    numbers = itertools.count()

    def play() -> None:
        seed = next(numbers) % EPISODES
        env.seed(seed)
        env.reset()
        for action in scripts[seed]:
            env.step([action])

    _players[name, "environment"] = play
    return scripts


def _states(name: str) -> list[list[int]]:
    game = pyspiel.load_game(name)
    scripts = []
    for seed in range(EPISODES):
        rng, script = random.Random(seed), []
        state = game.new_initial_state()
        while not state.is_terminal():
            script.append(rng.choice(state.legal_actions()))
            state.apply_action(script[-1])
        scripts.append(script)
    shown = game.get_type().provides_information_state_string
    numbers = itertools.count()

    def play() -> None:
        state = game.new_initial_state()
        for action in scripts[next(numbers) % EPISODES]:
            if not state.is_chance_node():
                player = state.current_player()
                _ = state.information_state_string(player) if shown else state.observation_string()
                _ = [state.action_to_string(player, legal) for legal in state.legal_actions()]
            state.apply_action(action)
        state.returns()

    _players[name, "states"] = play
    chance = [_chances(game, script) for script in scripts]
    return [
        [action for action, drawn in zip(s, c, strict=True) if not drawn]
        for s, c in zip(scripts, chance, strict=True)
    ]


def _chances(game: Any, script: list[int]) -> list[bool]:
    """Which actions of an episode chance took."""
    state, found = game.new_initial_state(), []
    for action in script:
        found.append(state.is_chance_node())
        state.apply_action(action)
    return found


def answer(do: str, name: str, **details: Any) -> dict[str, Any]:
    if do == "open":
        for form, make in (("environment", _environment), ("states", _states)):
            scripts = make(name)
            _steps[name, form] = sum(map(len, scripts)) / EPISODES
        return {}
    key = name, details["form"]
    return {"rate": rate(_players[key], details["seconds"]) * _steps[key]}


serve(answer)
