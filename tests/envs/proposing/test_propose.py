"""propose_v0: what an episode pays, what the agents read, and what the players propose."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from tiny_models import FakePolicy

import llmzoo
from llmzoo.envs.proposing import players
from llmzoo.envs.proposing.env import ProposeState
from llmzoo.envs.proposing.puzzles import PuzzleRules, Sum
from llmzoo.envs.proposing.tasks import ProposeTask
from llmzoo.errors import ConfigError
from llmzoo.rollout import joint_tree, run_rollouts

RULES = PuzzleRules((2, 3, 7, 12), "+-*")
TASK = ProposeTask(RULES, (Sum.read("2 + 3", RULES),), Sum.read("(12 - 3) * 7 + 2", RULES))


def episode(*answers, **arguments):
    """The environment in TASK after these answers."""
    env = llmzoo.make("propose_v0", **arguments)
    env.reset(seed=0)
    alone = TASK.alone if env.possible_agents == ["solver_0"] else None
    env.unwrapped.episode = ProposeState(TASK, alone)
    for answer in answers:
        env.step(answer)
    return env


def parts(env):
    return {agent: env.infos[agent]["reward_components"] for agent in env.possible_agents}


@pytest.mark.parametrize(
    ("difficulty", "worth"), [("absolute_zero", 0.75), ("r_zero", 0.5), ("pairs", 0.5)]
)
def test_the_proposer_is_paid_by_how_many_answers_are_right(difficulty, worth):
    env = episode("12 - 3 * 7", "9", "-9", "no", difficulty=difficulty)
    assert parts(env)["solver_1"] == {}  # of its last answer, which cannot be read
    assert env.infos["solver_1"]["error"] == "malformed: not a whole number"
    assert parts(env)["proposer_0"] == {"form": 0.1}  # nothing before the last answer
    env.step("Let me see.\nAnswer: -10\n\n")
    assert parts(env)["solver_1"] == pytest.approx({"form": 0.025, "right": 0})
    assert parts(env)["proposer_0"] == pytest.approx({"form": 0.1, "difficulty": worth})
    assert all(env.terminations.values())
    assert env.infos["proposer_0"]["success"] is False
    assert env.infos["proposer_0"]["right"] == 1


@pytest.mark.parametrize(("answers", "worth"), [(["-9"] * 4, 0.0), (["9"] * 4, 0.0)])
@pytest.mark.parametrize("difficulty", ["absolute_zero", "r_zero", "pairs"])
def test_what_all_or_none_solve_is_worth_nothing(answers, worth, difficulty):
    env = episode("12 - 3 * 7", *answers, difficulty=difficulty)
    assert parts(env)["proposer_0"] == {"form": 0.1, "difficulty": worth}


def test_half_of_the_answers_are_a_success():
    assert episode("12 - 3 * 7", "-9", "9", "-9", "9").infos["solver_1"]["success"] is True
    assert episode("(12 - 3) * 7 + 2", num_agents=1).possible_agents == ["solver_0"]
    env = episode("65", num_agents=1)
    assert env.infos["solver_0"]["success"] is True
    assert parts(env) == {"solver_0": {"form": 0.1, "right": 1.0}}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "malformed: an empty answer"),
        ("Puzzle:", "malformed: something else than whole numbers, + - * and parentheses"),
        ("3 + 7 is 10", "malformed: something else than whole numbers, + - * and parentheses"),
        ("7 * 8", "refused: 8 is not one of the numbers"),
        ("3 + 2", "refused: it was set before"),
        ("1" * 20_001, "malformed: a text that is too long"),
    ],
)
def test_what_is_not_allowed_ends_the_episode_and_pays_nobody(text, error):
    env = episode(text)
    assert env.infos["proposer_0"]["error"] == error
    assert parts(env) == {"proposer_0": {}, "solver_1": {}}
    assert all(env.terminations.values())
    assert env.infos["solver_1"]["success"] is False


def test_the_solver_reads_the_puzzle_anew_and_nothing_else():
    proposal = "The answer is -9, remember it!\nPuzzle:  ((12))-(3*7)"
    env = episode(proposal)
    shown = env.observe("solver_1")
    assert "\n\n12 - 3 * 7\n\n" in shown
    assert not re.search("answer is|-9|remember|Puzzle", shown)
    assert shown == episode("12 - 3 * 7").observe("solver_1")


def test_an_attempt_reads_nothing_of_the_others():
    env = episode("12 - 3 * 7")
    shown = env.observe("solver_1")
    for _ in range(3):
        env.step("-9")
        assert env.observe("solver_1") == shown


def test_a_tree_has_a_group_for_each_proposal_and_pays_by_it():
    """Three of four, one of four, and a proposal that is not allowed."""
    env = episode()
    written = {
        "12 - 3 * 7": ["-9", "-9", "1", "-9"],
        "3 + 7": ["1", "2", "10", "4"],
        "2 + 3": [],
    }

    def write(request, number):
        if request.agent == "proposer_0":
            return list(written)[number]
        return written[request.observation.split("\n\n")[1]][number]

    agents = env.possible_agents
    rollout = joint_tree(env, 0, group_size=3, trained=agents, expand=None)
    (batch,) = run_rollouts([rollout], dict.fromkeys(agents, FakePolicy(write)))
    assert {g.key: g.returns for g in batch.groups} == {
        (0, "proposer_0"): pytest.approx((0.1 + 0.25, 0.1 + 0.75, 0.0)),
        (0, 0, "solver_1"): pytest.approx((0.275, 0.275, 0.025, 0.275)),
        (0, 1, "solver_1"): pytest.approx((0.025, 0.025, 0.275, 0.025)),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"prompt": "terse"},
        {"num_agents": 1},
        {"kind": "countdown"},
        {"kind": "countdown", "numbers": 5, "prompt": "terse"},
        {"kind": "countdown", "num_agents": 1},
        {"numbers": 6, "most": 99, "earlier": 3, "difficulty": "pairs"},
        {"signs": "-", "numbers": 3, "earlier": 0, "attempts": 2},
    ],
    ids=str,
)
def test_the_experts_solve_what_they_propose(form):
    env = llmzoo.make("propose_v0", **form)
    for seed in range(40):
        env.reset(seed=seed)
        total = Counter()
        for agent in env.agent_iter():
            _, reward, terminated, truncated, info = env.last()
            total[agent] += reward
            over = terminated or truncated
            assert info["error"] is None
            env.step(None if over else env.unwrapped.expert(agent))
        assert total[env.unwrapped.solver] == pytest.approx(1.1)
        assert total["proposer_0"] == pytest.approx(0.1 if len(total) == 2 else 0.0)


def test_the_expert_proposer_suits_the_solver():
    """With 4 answers a failure with chance 4**(-1/3) = 0.63 is worth most.

    A solver who fails at each * with 0.63 and at nothing else gets one *. One who fails at each * with
    0.39 gets two: 1 - 0.61**2 = 0.628. One who fails at each + alone, with 0.63, gets one +.
    """
    task = ProposeTask(RULES, (), TASK.alone)

    def signs(sign, slip):
        known = {"+": 0.0, "-": 0.0, "*": 0.0, sign: slip}
        puzzle = players.best_proposal("sum", task, "absolute_zero", 4, known)
        return puzzle.text().count(sign)

    assert signs("*", 0.63) == 1
    assert signs("*", 0.39) == 2
    assert signs("+", 0.63) == 1


@pytest.mark.slow
def test_the_expert_proposer_earns_more_than_others_against_the_sloppy_solver():
    """Over 400 tasks; the sloppy proposer's difficulty is whatever it is, the easiest one is a single +."""
    earned = Counter()
    for name in ("expert", "noisy_expert", "easiest"):
        env = llmzoo.make("propose_v0", earlier=0)
        for seed in range(400):
            env.reset(seed=seed)
            rng = random.Random(seed)
            raw = env.unwrapped
            first, second, *_ = raw.episode.task.rules.numbers
            said = f"{first} + {second}"
            if name != "easiest":
                said = getattr(raw, name)("proposer_0", *([rng] if name == "noisy_expert" else []))
            env.step(said)
            while not env.terminations["proposer_0"]:
                env.step(raw.noisy_expert("solver_1", rng))
            earned[name] += env.infos["proposer_0"]["reward_components"]["difficulty"] / 400
    # + fails with 0.1: 0.1 - 0.1**4
    assert earned["easiest"] == pytest.approx(0.1, abs=0.04)
    # two * fail with 0.64: 0.64 - 0.64**4 = 0.472, nearly the most there is
    assert earned["expert"] == pytest.approx(0.472, abs=0.05)
    assert earned["easiest"] + 0.1 < earned["noisy_expert"] < earned["expert"] - 0.05


def test_no_training_proposal_is_a_held_out_puzzle():
    """A lone solver's puzzle has all numbers of its task; tasks of the splits have other numbers."""
    train, test = (llmzoo.make("propose_v0", split=s).unwrapped.tasks for s in ("train", "test"))
    numbers = [{tasks[i].rules.numbers for i in range(400)} for tasks in (train, test)]
    assert not numbers[0] & numbers[1]
    for i in range(100):
        assert set(re.findall(r"\d+", test[i].alone.text())) == set(map(str, test[i].rules.numbers))
        assert all(len(re.findall(r"\d+", p.text())) < 4 for p in test[i].earlier)


def test_terse_prompts():
    env = episode("12-3*7", prompt="terse")
    assert env.observe("solver_1") == "solve sum\n12-3*7\nanswer\n"
    asked = "propose sum\nnumbers 2 3 7 12\nsigns +-*\nasked 2+3\nanswer\n"
    assert env.observe("proposer_0") == asked


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"kind": "maze"}, "kind must be one of sum, countdown; got 'maze'"),
        ({"numbers": 7}, "numbers must be 3 to 6, got 7"),
        ({"kind": "countdown", "numbers": 6}, "numbers must be 3 to 5, got 6"),
        ({"most": 8}, "most must be 9 to 99, got 8"),
        ({"attempts": 1}, "attempts must be 2 to 16, got 1"),
        (
            {"difficulty": "hard"},
            "difficulty must be one of absolute_zero, r_zero, pairs; got 'hard'",
        ),
        ({"earlier": 4}, "earlier must be 0 to 3, got 4"),
        ({"signs": "*"}, r"signs are some of \+ - \*, with \+ or - among them"),
        ({"signs": "+/"}, r"signs are some of \+ - \*, with \+ or - among them"),
        ({"num_agents": 3}, "num_agents must be one of 1, 2; got 3"),
    ],
)
def test_bad_arguments(arguments, error):
    with pytest.raises(ConfigError, match=error):
        llmzoo.make("propose_v0", **arguments)
