"""Episodes whose agents are played from outside: the same as in evaluation, answer for answer."""

from __future__ import annotations

import pytest
from toy_envs import Adder, Matcher

import llmzoo
from llmzoo.adapters.answered_episode import AnsweredEpisode
from llmzoo.policies import load
from llmzoo.records import Completion
from llmzoo.rollout.episodes import play_episodes


def say(played: AnsweredEpisode, *texts: str) -> None:
    played.submit_completions([Completion(text=text) for text in texts])


def test_in_turns_everything_that_an_agent_is_paid_is_counted():
    played = AnsweredEpisode(Adder(max_turns=2), seed=0, task=0)
    for agent, text in (("a_0", "1"), ("b_1", "2"), ("a_0", "3")):
        assert [ask.request.agent for ask in played.pending_requests] == [agent]
        say(played, text)
    assert played.totals == {"a_0": 4.0, "b_1": 2.0}  # 1 + 3, and 2
    assert played.metrics("a_0") == {
        "success": 0.0,
        "decisions": 2.0,
        "errors": 0.0,
        "component_number": 4.0,
    }
    say(played, "4")  # the team is paid (1 + 2 + 3 + 4) / 10
    assert played.pending_requests == []
    assert played.totals == pytest.approx({"a_0": 5.0, "b_1": 7.0})
    assert played.metrics("b_1") == pytest.approx(
        {
            "success": 1.0,
            "decisions": 2.0,
            "errors": 0.0,
            "component_number": 6.0,
            "component_team": 1.0,
        }
    )


def test_agents_that_act_together_are_asked_together():
    played = AnsweredEpisode(Matcher(max_turns=2), seed=0, task=0)
    assert [ask.request.agent for ask in played.pending_requests] == ["a_0", "b_1"]
    say(played, "2", "3")
    say(played, "1", "1")
    assert played.totals == {"a_0": 2 * 3 + 2 + 1 + 1, "b_1": 2 * 3 + 3 + 1 + 1}
    assert played.metrics("a_0")["component_own"] == 3.0


def test_each_request_carries_the_chance_that_it_has_in_evaluation():
    """A policy that errs by chance plays the same episode here as there."""
    noisy_expert = load("noisy_expert")
    for task in range(6):
        seed = 40 + task
        played = AnsweredEpisode(llmzoo.make("sudoku_v0", split="test"), seed, task)
        while asks := played.pending_requests:
            played.submit_completions([noisy_expert.respond([ask.request])[0][0] for ask in asks])
        (there,) = play_episodes(
            lambda: llmzoo.make("sudoku_v0", split="test"), noisy_expert, [seed], tasks=[task]
        )
        assert played.totals == there.totals
        assert played.metrics("planner_1")["success"] == there.success
        assert played.metrics("planner_1")["decisions"] == len(there.decisions_of("planner_1"))
        parts = played.metrics("planner_1")
        assert sum(v for n, v in parts.items() if n.startswith("component_")) == pytest.approx(
            there.totals["planner_1"]
        )


def test_errors_are_counted_up_to_where_play_stops():
    played = AnsweredEpisode(llmzoo.make("sudoku_v0"), 0, 0)
    say(played, "nonsense")
    say(played, "nonsense")
    assert played.metrics("proposer_0")["errors"] == 1.0
    assert played.metrics("planner_1")["errors"] == 1.0
    assert played.metrics("planner_1")["success"] == 0.0
