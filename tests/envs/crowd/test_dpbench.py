"""The table of philosophers_v0 does what DPBench's engine did in 200 recorded episodes."""

from __future__ import annotations

import json

import dpbench_engine
import pytest

from llmzoo.envs.crowd.philosophers import table as tables

EPISODES = [json.loads(line) for line in dpbench_engine.FILE.read_text().splitlines()]


def differing(episodes):
    return [e for e in episodes if any(own != their for own, their in dpbench_engine.replay(e))]


def test_the_record_has_every_kind_of_step():
    assert len(EPISODES) == 200
    assert {episode["philosophers"] for episode in EPISODES} == set(range(2, 9))
    assert sum(episode["deadlock"] for episode in EPISODES) > 20
    assert {letter for e in EPISODES for step in e["steps"] for letter in step[0]} == set("lrxw")
    assert sum(step[2].count("e") for e in EPISODES for step in e["steps"]) > 200


def test_every_step_of_every_recorded_episode_is_the_same():
    assert differing(EPISODES) == []


@pytest.mark.parametrize("rule", ["ties", "second round", "releases"])
def test_the_record_shows_a_rule_that_is_wrong(monkeypatch, rule):
    """The highest number wins a tie; a meal takes two rounds; a released fork is free in the next round."""
    if rule == "second round":
        guest = tables.Guest(hungry_from=0, meals=1000, eating=2)
        monkeypatch.setattr(dpbench_engine, "ALWAYS_HUNGRY", guest)
    if rule == "ties":
        mirrored = tables.play_round

        def play_round(table, guests, number, actions):
            """Each pair of philosophers who want one fork: only the higher takes it."""
            count = len(actions)
            wanted = {}
            for philosopher, action in enumerate(actions):
                if action in ("left", "right"):
                    fork = tables.forks_of(philosopher, count)[action == "right"]
                    wanted[fork] = philosopher
            kept = [
                "wait"
                if action in ("left", "right") and philosopher not in wanted.values()
                else action
                for philosopher, action in enumerate(actions)
            ]
            return mirrored(table, guests, number, kept)

        monkeypatch.setattr(dpbench_engine, "play_round", play_round)
    if rule == "releases":
        real = tables.play_round

        def play_round(table, guests, number, actions):
            takes = [a if a != "release" else "wait" for a in actions]
            after = real(table, guests, number, takes)
            puts = [a if a == "release" else "wait" for a in actions]
            kept = real(table, guests, number, puts)
            freed = {
                f for f, h in enumerate(kept.holders) if h is None and table.holders[f] is not None
            }
            holders = tuple(None if f in freed else h for f, h in enumerate(after.holders))
            return tables.Table(holders, after.eating, after.meals)

        monkeypatch.setattr(dpbench_engine, "play_round", play_round)
    assert len(differing(EPISODES)) > 20
