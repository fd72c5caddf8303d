"""Dialogues of bfcl_multi_turn_v0 beside bfcl-eval, and whole episodes of the environment.

    python examples/benchmark/dialogue_peers.py

The dialogues are the first 100 of BFCL's multi-turn base category, which bfcl-eval ships. Each is played
with the calls of its ground truth, given as text: the calls are executed one after the other, and the turns
are judged by state and response. Both sides do what they do for a model's calls, and both find every
dialogue valid. bfcl-eval plays the ground truth again for each verdict; ours plays it once for each dialogue
and keeps what it gave. The processes take turns, a third of a second of processor time each, and medians are
compared.

``episodes_bfcl_multi_turn`` is ours alone: an episode through ``last()`` and ``step()`` with one caller, by
the expert's answers, with prompts, rewards and the reset.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from typing import Any

import peers
from environment_peers import SLICE, WORKERS
from environment_steps import expert_answers, player
from timing import Row, row
from workers.games import rate

import llmzoo
from llmzoo.envs.tools.bfcl_multi_turn import checking, execution, tasks

DIALOGUES = 100


def compare(repeats: int = 15) -> list[Row]:
    """The rows; without bfcl-eval none, and why not is printed."""
    try:
        with peers.Peer("bfcl", WORKERS / "dialogues_bfcl.py") as peer:
            folder = peer.ask(do="where")["folder"]
            records = _base(folder)
            peer.ask(do="dialogues", dialogues=records)
            return [_dialogues(records, peer, repeats), _episodes(folder, repeats)]
    except peers.PeerAbsent as absent:
        print(f"left out: {absent}")
        return []


def _base(folder: str) -> list[dict[str, Any]]:
    records = (record for _, record in tasks.records_of(folder))
    base = (record for record in records if "multi_turn_base" in record["id"])
    return list(itertools.islice(base, DIALOGUES))


def _dialogues(records: list[dict[str, Any]], peer: peers.Peer, repeats: int) -> Row:
    play = _playing(records)
    rate(play, SLICE / 10)  # whatever is made at the first call is not timed
    peer.ask(do="play", seconds=SLICE / 10)
    pairs = [
        (rate(play, SLICE), peer.ask(do="play", seconds=SLICE)["rate"]) for _ in range(repeats)
    ]
    ours, theirs = map(statistics.median, zip(*pairs, strict=True))
    return row("dialogues_vs_bfcl", ours, "dialogues/s", theirs=theirs)


def _playing(records: list[dict[str, Any]]) -> Callable[[], None]:
    """Plays one dialogue after the other."""
    dialogues = [(tasks.parse_record(record), record["ground_truth"]) for record in records]
    turn = itertools.count()

    def play() -> None:
        dialogue, truth = dialogues[next(turn) % len(dialogues)]
        turns = [
            [[execution.parse_call(call) for call in calls]] if calls else [] for calls in truth
        ]
        if (wrong := checking.first_wrong_turn(dialogue, turns, None)) is not None:
            raise RuntimeError(f"turn {wrong} is wrong by its own ground truth")

    return play


def _episodes(folder: str, repeats: int) -> Row:
    env = llmzoo.make("bfcl_multi_turn_v0", source=folder, split="all", num_agents=1)
    play = player(env, [expert_answers(env, task) for task in range(DIALOGUES)])
    rates = [rate(play, SLICE) * DIALOGUES for _ in range(max(1, repeats // 3))]
    return row("episodes_bfcl_multi_turn", statistics.median(rates), "episodes/s")


if __name__ == "__main__":
    for found in compare():
        theirs = "" if found["theirs"] is None else f"theirs {found['theirs']:>8,.0f}: "
        ratio = "" if found["ratio"] is None else f"{found['ratio']:.2f} times"
        print(f"{found['name']:<32}{found['ours']:>10,.1f} {found['unit']:<12}{theirs}{ratio}")
