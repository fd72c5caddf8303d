"""Steps a second of the duels beside OpenSpiel and textarena.

    python examples/benchmark/duel_peers.py

All sides play 100 episodes of the same game by moves that were drawn uniformly and written down beforehand.
Resets are timed and not counted as steps. The processes take turns, a third of a second of processor time each,
and medians are compared.

``_vs_openspiel``: OpenSpiel's own environment (``open_spiel.python.rl_environment``), which gives the
observations as tensors, the legal actions and the rewards of all players; a move is a number. Ours writes a
prompt for the agent that acts and reads its move from text. ``kuhn_poker_vs_states``: the states of OpenSpiel in
C++ without any environment, with the texts of the player's information and of its moves, but without prompts,
agents, rewards by name or checks; this is what an environment in Python can at most come near to.
``kuhn_poker_vs_textarena``: one round of Kuhn poker, which both sides show and read as text.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import peers
from environment_peers import SLICE, WORKERS
from environment_steps import player
from timing import Row, row
from workers.games import rate

import llmzoo

EPISODES = 100
GAMES = {  # ours, and the same game of OpenSpiel
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "liars_dice": "liars_dice",
    "tic_tac_toe": "tic_tac_toe",
    "connect_four": "connect_four",
    "tiny_hanabi": "tiny_hanabi",
}


def compare(repeats: int = 15) -> list[Row]:
    """The rows of the peers that can be had; of the others, why not is printed."""
    rows: list[Row] = []
    for name, measure in (("openspiel", _openspiel), ("textarena", _textarena)):
        try:
            with peers.Peer(name, WORKERS / f"duels_{name}.py") as peer:
                rows += measure(peer, repeats)
        except peers.PeerAbsent as absent:
            print(f"left out: {absent}")
    return rows


def _openspiel(peer: peers.Peer, repeats: int) -> Iterator[Row]:
    for game, theirs in GAMES.items():
        peer.ask(do="open", name=theirs)
        yield _beside(
            f"{game}_vs_openspiel", game, peer, repeats, {"name": theirs, "form": "environment"}
        )
        if game == "kuhn_poker":
            yield _beside(
                f"{game}_vs_states", game, peer, repeats, {"name": theirs, "form": "states"}
            )


def _textarena(peer: peers.Peer, repeats: int) -> Iterator[Row]:
    peer.ask(do="open")
    yield _beside("kuhn_poker_vs_textarena", "kuhn_poker", peer, repeats, {})


def _beside(name: str, game: str, peer: peers.Peer, repeats: int, asked: Mapping[str, Any]) -> Row:
    ours = _playing(game)
    ours(SLICE / 10)  # whatever is made at the first call is not timed
    peer.ask(do="play", seconds=SLICE / 10, **asked)
    pairs = [
        (ours(SLICE), peer.ask(do="play", seconds=SLICE, **asked)["rate"]) for _ in range(repeats)
    ]
    mine, others = map(statistics.median, zip(*pairs, strict=True))
    return row(name, mine, "steps/s, resets included", theirs=others)


def _playing(game: str) -> Callable[[float], float]:
    """Steps per second of ours in as many seconds."""
    env = llmzoo.make(f"{game}_v0", split="all")
    scripts = [_script(env, number) for number in range(EPISODES)]
    play = player(env, scripts)
    steps = sum(map(len, scripts))
    return lambda seconds: steps * rate(play, seconds)


def _script(env: Any, number: int) -> list[str]:
    """Moves drawn uniformly, of one episode."""
    rng, script = random.Random(number), []
    env.reset(seed=number, options={"task": number})
    for agent in env.agent_iter():
        if env.terminations[agent] or env.truncations[agent]:
            env.step(None)
            continue
        script.append(env.unwrapped.noisy_expert(agent, rng))
        env.step(script[-1])
    return script


if __name__ == "__main__":
    for found in compare():
        print(
            f"{found['name']:<28}{found['ours']:>10,.0f} {found['unit']:<26}"
            f"theirs {found['theirs']:>9,.0f}: {found['ratio']:.2f} times"
        )
