import pytest

import llmzoo
from llmzoo.errors import ConfigError, NoPlayerError
from llmzoo.evaluation import paired, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "expected"),
    [
        # (p + z2/2n -+ z sqrt(p(1-p)/n + z2/4n2)) / (1 + z2/n) with z = 1.96
        (0, 10, (0.0, 0.2775)),
        (5, 10, (0.2366, 0.7634)),
        (500, 500, (0.9924, 1.0)),
        (50, 50, (0.9286, 1.0)),
        (100, 200, (0.4313, 0.5687)),
        (0, 0, (0.0, 1.0)),
    ],
)
def test_wilson_interval(successes, trials, expected):
    assert wilson(successes, trials) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("1100", "1100", (0, 0, 1.0)),  # nothing to tell them apart
        ("1110", "0001", (3, 1, 0.625)),  # 2 * (1 + 4) / 16
        ("1111111000", "0000000000", (7, 0, 2 / 128)),
        ("10", "01", (1, 1, 1.0)),  # never above 1
    ],
)
def test_mcnemar(first, second, expected):
    a, b = ([mark == "1" for mark in marks] for marks in (first, second))
    found = paired(a, b)
    assert (found.only_first, found.only_second) == expected[:2]
    assert found.p_value == pytest.approx(expected[2])
    assert paired(b, a).p_value == found.p_value


def test_only_evaluations_of_the_same_tasks_are_paired():
    with pytest.raises(ValueError, match=r"shorter|longer"):
        paired([True], [True, False])


def test_an_evaluation_says_which_tasks_were_solved():
    found = llmzoo.evaluate("sudoku_v0", "amateur", tasks=40, env_args={"max_turns": 1})
    assert sum(found.solved) == found.success * 40
    assert 0 < sum(found.solved) < 40
    again = llmzoo.evaluate("sudoku_v0", "amateur", tasks=10, env_args={"max_turns": 1})
    assert again.solved == found.solved[:10]
    assert found.to_dict()["solved"] == "".join(str(int(one)) for one in found.solved)


def test_the_oracle_solves_and_random_text_does_not():
    best = llmzoo.evaluate("sudoku_v0", "oracle", tasks=20)
    assert best.success == 1.0
    assert best.mean_return == {"proposer_0": pytest.approx(2.0), "planner_1": pytest.approx(2.0)}
    assert best.mean_turns == 1.0
    assert best.tokens == 0
    assert (best.split, best.source, best.decoding) == ("test", "generator", "sampled")
    worst = llmzoo.evaluate("sudoku_v0", "random", tasks=20, env_args={"max_turns": 2})
    assert worst.success == 0.0
    assert worst.mean_turns == 2.0


def test_a_function_of_observation_and_agent_is_a_policy():
    seen = []

    def shrug(observation, agent):
        seen.append(agent)
        return "no idea"

    found = llmzoo.evaluate("plan_path_v0", shrug, tasks=2, env_args={"max_turns": 1})
    assert found.policy == "shrug"
    assert found.success == 0.0
    assert seen == ["proposer_0"] * 2 + ["planner_1"] * 2


def test_seats_may_have_different_policies():
    mixed = {
        "proposer_0": llmzoo.policies.load("random"),
        "planner_1": llmzoo.policies.load("oracle"),
    }
    found = llmzoo.evaluate("sudoku_v0", mixed, tasks=5)
    assert found.success == 1.0
    assert found.policy == "proposer_0: random, planner_1: oracle"


def test_the_same_seed_gives_the_same_result():
    def once():
        found = llmzoo.evaluate("sudoku_v0", "amateur", tasks=20, seed=3).to_dict()
        return {k: v for k, v in found.items() if k != "seconds"}

    assert once() == once()
    assert 0 < once()["success"] < 1


def test_a_small_source_is_played_to_its_end(tmp_path):
    file = tmp_path / "puzzles.txt"
    file.write_text("1234341221434..1\n123434122143.321\n")
    found = llmzoo.evaluate(
        "sudoku_v0", "oracle", tasks=50, split="all", env_args={"source": str(file)}
    )
    assert found.tasks == 2
    assert found.source == str(file)


def test_no_tasks_are_refused():
    with pytest.raises(ConfigError):
        llmzoo.evaluate("sudoku_v0", "oracle", tasks=0)


def test_the_ends_of_the_interval_are_exact():
    assert wilson(50, 50)[1] == 1.0
    assert wilson(0, 31)[0] == 0.0


def test_a_missing_scripted_player_is_named():
    from toy_envs import Adder

    with pytest.raises(NoPlayerError, match="adder_v0 has no scripted expert"):
        llmzoo.evaluate(Adder, "oracle", tasks=1)
