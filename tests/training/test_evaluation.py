import json
import math
import random
from itertools import chain
from pathlib import Path

import pytest

import llmzoo
from llmzoo.cli import main
from llmzoo.errors import ConfigError, LlmzooError, NoScriptedPolicyError
from llmzoo.evaluation.collect import resolve_policy
from llmzoo.evaluation.league import league
from llmzoo.evaluation.statistics import (
    mcnemar_test,
    mean_interval,
    paired_test_over_seeds,
    pool_success,
    repeated_success_interval,
    wilson_interval,
)


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
    assert wilson_interval(successes, trials) == pytest.approx(expected, abs=1e-4)


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
    result = mcnemar_test(a, b)
    assert (result.only_first, result.only_second) == expected[:2]
    assert result.p_value == pytest.approx(expected[2])
    assert mcnemar_test(b, a).p_value == result.p_value


def test_only_evaluations_of_the_same_tasks_are_paired():
    with pytest.raises(ValueError, match=r"shorter|longer"):
        mcnemar_test([True], [True, False])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        paired_test_over_seeds(marks("11", "10"), marks("11", "1"))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        paired_test_over_seeds(marks("11", "10"), marks("11"))


def marks(*solved):
    """Evaluations, each a string of 0 and 1."""
    return [[mark == "1" for mark in one] for one in solved]


def test_the_interval_of_one_evaluation_is_wilsons():
    for solved in ("0110100", "1111", "000", ""):
        one = marks(solved)
        assert repeated_success_interval(one) == pytest.approx(
            wilson_interval(sum(one[0]), len(one[0])), abs=1e-12
        )


@pytest.mark.parametrize(
    ("solved", "trials"),
    [
        # sum over tasks of (solved of it - 3p)^2, over np(1 - p), with p = 6/12: 4 x 1.5^2 / 3 = 3
        (("1100", "1100", "1100"), 4),  # three seeds tell no more than one
        # solved of each task 3, 2, 1, 0: 2 x (1.5^2 + 0.5^2) / 3 = 5/3
        (("1100", "1010", "1100"), 12 / (5 / 3)),
        # solved of each task 2, 2, 1, 1: 4 x 0.5^2 / 3 = 1/3, which counts as 1
        (("1100", "1010", "0101"), 12),
        # the second has played two tasks; p = 3/5; tasks (1 - 0.6 x 1)^2 + (2 - 0.6 x 2)^2
        # + (0 - 0.6 x 2)^2 = 0.16 + 0.64 + 1.44, over 5 x 0.24
        (("101", "10"), None),
    ],
)
def test_the_interval_over_seeds_counts_tasks(solved, trials):
    result = repeated_success_interval(marks(*solved))
    if trials is None:
        # tasks were solved 2 of 2, 0 of 2, 1 of 1 times: 0.8^2 + 1.2^2 + 0.4^2 = 2.24
        trials = 5 / (2.24 / 1.2)
    rate = sum(one.count("1") for one in solved) / sum(map(len, solved))
    assert result == pytest.approx(wilson_interval(rate * trials, trials), abs=1e-12)


def test_rates_are_pooled_from_rows():
    rows = [{"solved": "1100", "success": 0.5, "tasks": 4}] * 2
    assert pool_success(rows) == (0.5, pytest.approx(wilson_interval(2, 4)))
    assert pool_success([{"success": 0.5, "tasks": 4}] * 3) == (0.5, wilson_interval(2, 4))
    assert pool_success([rows[0], {"success": 1.0, "tasks": 6}]) == (
        0.8,
        wilson_interval(0.8 * 6, 6),
    )


def test_results_on_one_task_are_a_cluster_wherever_they_stand():
    once = {"solved": "1010", "ids": ["a", "b", "a", "b"]}
    again = {"solved": "1010", "ids": ["b", "a", "b", "a"]}
    apart = {"solved": "1010", "ids": ["a", "b", "c", "d"]}
    assert pool_success([once]) == (
        0.5,
        pytest.approx(wilson_interval(1, 2)),
    )  # two tasks, each one way
    assert pool_success([once, again]) == (
        0.5,
        pytest.approx(wilson_interval(4, 8)),
    )  # each task half and half
    assert pool_success([apart, apart]) == (
        0.5,
        pytest.approx(wilson_interval(2, 4)),
    )


def test_where_all_or_none_are_solved_the_distinct_tasks_count():
    assert repeated_success_interval(marks("1" * 50, "1" * 50)) == wilson_interval(50, 50)
    assert repeated_success_interval(marks("00", "00", "0")) == wilson_interval(0, 2)


def test_the_interval_over_seeds_covers_the_rate_of_all_tasks():
    """Tasks of rates drawn from Beta(0.5, 0.5), whose mean is 0.5, each played under three seeds.

    Half of a trial's variance is between tasks, so the design effect is 1 + (3 - 1) / 2 = 2. An
    interval that takes each trial for a task of its own covers the rate far less often.
    """
    chance = random.Random(0)
    covered = naive = 0
    for _ in range(1000):
        rates = [chance.betavariate(0.5, 0.5) for _ in range(100)]
        solved = [[chance.random() < rate for rate in rates] for _ in range(3)]
        low, high = repeated_success_interval(solved)
        covered += low <= 0.5 <= high
        low, high = wilson_interval(sum(map(sum, solved)), 300)
        naive += low <= 0.5 <= high
    assert 930 <= covered <= 970  # three standard errors of 95% of 1,000 are 21
    assert naive < 880


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # differences of tasks 2, 1, -1: of the sums of +-2 +-1 +-1 six in eight are 2 or more off 0
        (("110", "100"), ("000", "001"), (2, 1, 6 / 8)),
        # three tasks solved under both seeds by the first only: all signs alike, 2 of 2^3
        (("111", "111"), ("000", "000"), (3, 0, 2 / 8)),
        (("10", "01"), ("01", "10"), (0, 0, 1.0)),  # no task differs over its seeds
    ],
)
def test_pairs_over_seeds_are_distinct_tasks(first, second, expected):
    result = paired_test_over_seeds(marks(*first), marks(*second))
    assert (result.only_first, result.only_second) == expected[:2]
    assert result.p_value == pytest.approx(expected[2], abs=1e-12)


def test_over_one_seed_the_test_is_mcnemars():
    one, other = marks("1110110"), marks("0001011")
    assert paired_test_over_seeds(one, other) == mcnemar_test(one[0], other[0])
    # only the first solved tasks 1, 2, 3, 5, only the second 4 and 7: 2 x (1 + 6 + 15) / 2^6
    assert mcnemar_test(one[0], other[0]).p_value == pytest.approx(44 / 64)


@pytest.mark.slow
def test_the_test_over_seeds_rejects_as_seldom_as_it_says():
    """Two policies that solve the same share of tasks, but others: one is not better."""
    chance = random.Random(1)
    wrong = naive = 0
    for _ in range(500):
        rates = [[chance.betavariate(0.3, 0.3) for _ in range(60)] for _ in range(2)]
        one, two = ([[chance.random() < rate for rate in each] for _ in range(3)] for each in rates)
        wrong += paired_test_over_seeds(one, two).p_value < 0.05
        naive += mcnemar_test([*chain(*one)], [*chain(*two)]).p_value < 0.05
    assert wrong <= 25 + 3 * 4.9
    assert naive > 60


def test_the_interval_of_a_mean_counts_clusters():
    singles = mean_interval([[0.0], [1.0], [2.0], [3.0]], z=2.0)
    half = 2.0 * math.sqrt((2.25 + 0.25 + 0.25 + 2.25) * 4 / 3) / 4
    assert singles == pytest.approx((1.5 - half, 1.5 + half))
    pairs = mean_interval([[0.0, 0.0], [3.0, 3.0]], z=2.0)  # deviations of -3 and 3 a cluster
    assert pairs == pytest.approx((1.5 - 3.0, 1.5 + 3.0))
    assert mean_interval([[1.0, 2.0]]) is None


def test_the_interval_of_a_mean_covers_it_as_often_as_it_says():
    chance, covered = random.Random(0), 0
    for _ in range(400):
        clusters = []
        for _ in range(50):
            of_task = chance.gauss(0, 1)
            clusters.append([0.7 + of_task + chance.gauss(0, 0.3) for _ in range(2)])
        low, high = mean_interval(clusters)
        covered += low <= 0.7 <= high
    assert 400 * 0.95 - 3 * 4.4 <= covered <= 400 * 0.95 + 3 * 4.4


def test_an_evaluation_gives_the_return_of_each_task():
    result = llmzoo.evaluate("sudoku_v0", "noisy_expert", tasks=20, env_args={"max_turns": 1})
    for agent, mean in result.mean_return.items():
        returns = result.returns[agent]
        assert len(returns) == 20
        assert sum(returns) / 20 == pytest.approx(mean)
        assert result.return_ci95[agent] == pytest.approx(mean_interval([[r] for r in returns]))
    assert len(set(result.returns["planner_1"])) > 1


def test_an_evaluation_says_which_tasks_were_solved():
    result = llmzoo.evaluate("sudoku_v0", "noisy_expert", tasks=40, env_args={"max_turns": 1})
    assert sum(result.solved) == result.success * 40
    assert 0 < sum(result.solved) < 40
    again = llmzoo.evaluate("sudoku_v0", "noisy_expert", tasks=10, env_args={"max_turns": 1})
    assert again.solved == result.solved[:10]
    assert result.to_dict()["solved"] == "".join(str(int(one)) for one in result.solved)


def test_the_expert_solves_and_random_text_does_not():
    best = llmzoo.evaluate("sudoku_v0", "expert", tasks=20)
    assert best.success == 1.0
    assert best.mean_return == {"proposer_0": pytest.approx(2.0), "planner_1": pytest.approx(2.0)}
    assert best.mean_turns == 1.0
    assert best.tokens == 0
    assert best.answers == 20 * 2  # one of each agent
    assert (best.split, best.source, best.decoding) == ("test", "generator", "sampled")
    worst = llmzoo.evaluate("sudoku_v0", "random", tasks=20, env_args={"max_turns": 2})
    assert worst.success == 0.0
    assert worst.mean_turns == 2.0
    assert worst.answers == 20 * 2 * 2


def test_a_function_of_observation_and_agent_is_a_policy():
    seen = []

    def shrug(observation, agent):
        seen.append(agent)
        return "no idea"

    result = llmzoo.evaluate("plan_path_v0", shrug, tasks=2, env_args={"max_turns": 1})
    assert result.policy == "shrug"
    assert result.success == 0.0
    assert seen == ["proposer_0"] * 2 + ["planner_1"] * 2


def test_agents_may_have_different_policies():
    mixed = {
        "proposer_0": llmzoo.policies.load("random"),
        "planner_1": llmzoo.policies.load("expert"),
    }
    result = llmzoo.evaluate("sudoku_v0", mixed, tasks=5)
    assert result.success == 1.0
    assert result.policy == "proposer_0: random, planner_1: expert"


def test_the_same_seed_gives_the_same_result():
    def once():
        result = llmzoo.evaluate("sudoku_v0", "noisy_expert", tasks=20, seed=3).to_dict()
        return {k: v for k, v in result.items() if k != "seconds"}

    assert once() == once()
    assert 0 < once()["success"] < 1


def test_a_small_source_is_played_to_its_end(tmp_path):
    file = tmp_path / "puzzles.txt"
    file.write_text("1234341221434..1\n123434122143.321\n")
    result = llmzoo.evaluate(
        "sudoku_v0", "expert", tasks=50, split="all", env_args={"source": str(file)}
    )
    assert result.tasks == result.distinct_tasks == 2
    assert result.source == str(file)
    # both solved: the interval is [2 / (2 + z^2), 1]
    (note,) = result.notes
    assert note.startswith(
        "the all split of this source has 2 tasks, too few to compare learners: "
        "the 95% interval of the 2 tasks played is [34.2%, 100.0%]"
    )
    assert result.to_dict()["notes"] == [note]


def test_thirty_tasks_are_not_few(tmp_path):
    file = tmp_path / "numbers.jsonl"
    for count, notes in ((29, 1), (30, 0)):
        rows = [{"question": f"What is {n} + 1?", "answer": f"#### {n + 1}"} for n in range(count)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        asked = {"env_args": {"source": str(file)}, "split": "all"}
        result = llmzoo.evaluate("gsm8k_v0", "random", tasks=3, **asked)
        assert (result.tasks, len(result.notes)) == (3, notes)


def test_tasks_that_were_played_again_are_named():
    from functools import partial

    made = partial(llmzoo.make, "classeval_v0", source="sample", split="test")
    result = llmzoo.evaluate(made, lambda observation, agent: "pass", tasks=8)
    assert result.tasks == 8
    assert result.distinct_tasks <= 3
    assert f"{result.distinct_tasks} of the 8 tasks are distinct" in result.notes[1]


def test_the_interval_counts_distinct_tasks(tmp_path):
    """Each of 20 tasks stands in the file twice: 40 are played, and their results are alike in pairs."""
    file = tmp_path / "numbers.jsonl"
    rows = [{"question": f"What is {n} + 1?", "answer": f"#### {n + 1}"} for n in range(20)] * 2
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = {"env_args": {"source": str(file), "num_agents": 1, "max_turns": 1}, "split": "all"}
    result = llmzoo.evaluate(
        "gsm8k_v0", lambda observation, agent: "\\boxed{7}", tasks="all", **asked
    )
    assert (result.tasks, result.split_tasks, result.distinct_tasks) == (40, 40, 20)
    assert sum(result.solved) == 2
    # between tasks: 1 x (2 - 2/20)^2 + 19 x (2/20)^2 = 3.8; of independent trials 40 x 0.05 x 0.95 =
    # 1.9: the design effect is 2, so that the interval is that of 1 of 20
    assert result.success_ci95 == pytest.approx(wilson_interval(1, 20), abs=1e-12)
    assert len(set(result.ids)) == 40


def test_the_command_line_says_that_a_sample_is_small(capsys):
    argv = "eval --env classeval_v0 --source sample --policy expert"
    assert main([*argv.split(), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["tasks"] == 3
    (note,) = json.loads(printed.out)["notes"]
    assert (
        "has 3 tasks, too few to compare learners: the 95% interval of the 3 tasks played is [43.9%, 100.0%]"
        in note
    )
    assert printed.err.splitlines() == [f"note: {note}"]
    assert main(argv.split()) == 0
    assert "the 95% interval of the 3 tasks played is [43.9%, 100.0%]" in capsys.readouterr().err


def test_no_tasks_are_refused():
    with pytest.raises(ConfigError):
        llmzoo.evaluate("sudoku_v0", "expert", tasks=0)


def test_the_ends_of_the_interval_are_exact():
    assert wilson_interval(50, 50)[1] == 1.0
    assert wilson_interval(0, 31)[0] == 0.0


def test_a_missing_scripted_player_is_named():
    from toy_envs import Adder

    with pytest.raises(NoScriptedPolicyError, match="adder_v0 has no scripted expert"):
        llmzoo.evaluate(Adder, "expert", tasks=1)


@pytest.mark.slow
def test_a_run_folder_is_played_as_the_command_line_plays_it(tmp_path, capsys):
    run = str(tmp_path / "run")
    asked = {"env_args": {"max_turns": 1}}
    fitted = llmzoo.fit(
        "magrpo",
        "sudoku_v0",
        out=run,
        model="tiny",
        policies="separate",
        temperature=0.5,
        learner_args={"group_size": 2, "learning_rate": 1e-2},
        steps=1,
        episodes_per_step=1,
        eval_tasks=6,
        trackers=(),
        quiet=True,
        **asked,
    )
    result = llmzoo.evaluate("sudoku_v0", run, tasks=6, greedy=True, **asked).to_dict()
    assert result["policy"] == run
    assert result["solved"] == fitted.after["greedy"]["solved"]  # the weights of each agent

    sampled = llmzoo.evaluate("sudoku_v0", run, tasks=6, seed=3, **asked).to_dict()
    argv = f"eval --env sudoku_v0 --env.max_turns 1 --policy {run} --tasks 6 --seed 3 --json"
    assert main(argv.split()) == 0
    printed = json.loads(capsys.readouterr().out)
    for either in (sampled, printed):
        either.pop("seconds")
    assert sampled == printed

    episodes = llmzoo.collect("sudoku_v0", run, tasks=3, split="test", greedy=True, **asked)
    assert [e.success for e in episodes] == [mark == "1" for mark in result["solved"][:3]]


def test_a_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(ConfigError, match="absent"):
        llmzoo.evaluate("sudoku_v0", str(tmp_path / "absent"), tasks=1)


@pytest.mark.slow
def test_a_generator_with_fewer_tasks_is_played_to_its_end():
    """4x4 puzzles with 6 clues are few under the symmetries of sudoku."""
    few = llmzoo.evaluate("sudoku_v0", "expert", tasks=100, env_args={"clues": 6, "max_turns": 1})
    assert few.tasks == 75
    assert few.success == 1.0


# What evaluate takes


@pytest.mark.parametrize(
    "policy",
    [
        {"proposer_0": "expert", "planner_1": "expert"},
        {"planner_1": "expert", "proposer_0": Path("expert")},
        Path("expert"),
    ],
)
def test_a_name_may_be_given_for_each_agent_and_as_a_path(policy):
    for play in (llmzoo.evaluate, llmzoo.collect):
        play("sudoku_v0", policy, tasks=2)
    assert llmzoo.evaluate("sudoku_v0", policy, tasks=2).success == 1.0


def test_a_function_may_be_given_for_each_agent():
    seen = []

    def note(observation, agent):
        seen.append(agent)
        return ""

    mixed = {"proposer_0": note, "planner_1": "expert"}
    result = llmzoo.evaluate("sudoku_v0", mixed, tasks=2, env_args={"max_turns": 1})
    assert seen == ["proposer_0"] * 2
    assert result.policy == "proposer_0: note, planner_1: expert"
    assert result.mean_return["proposer_0"] != result.mean_return["planner_1"]


def test_agents_of_one_name_share_a_policy():
    agents, _ = resolve_policy({"proposer_0": "tiny", "planner_1": "tiny"}, "sudoku_v0")
    assert agents["proposer_0"] is agents["planner_1"]


TAKEN = "a policy must be a name, a path, a function"


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (7, f"{TAKEN}.*got 7"),
        (None, f"{TAKEN}.*got None"),
        ({"proposer_0": "expert", "planner_1": 7}, f"{TAKEN}.*got 7"),
        ({"proposer_0": "expert"}, "no policy for planner_1"),
        ({"proposer_0": "expart", "planner_1": "expert"}, "Did you mean 'expert'"),
    ],
)
def test_what_is_no_policy_is_refused(policy, said):
    for play in (llmzoo.evaluate, llmzoo.collect):
        with pytest.raises(LlmzooError, match=said):
            play("sudoku_v0", policy, tasks=2)


def test_an_environment_object_is_refused(tmp_path):
    message = "an environment must be an id or a function that makes an AEC environment, got"
    env, other = llmzoo.make("tic_tac_toe_v0"), llmzoo.parallel("tic_tac_toe_v0")
    for given in (env, other, 7, lambda: other):
        with pytest.raises(ConfigError, match=message):
            llmzoo.evaluate(given, "expert", tasks=2)
        with pytest.raises(ConfigError, match=message):
            llmzoo.collect(given, "expert", tasks=2)
        with pytest.raises(ConfigError, match=message):
            llmzoo.fit("magrpo", given, out=tmp_path / "run")
        with pytest.raises(ConfigError, match=message):
            league(given, ["expert", "random"], out=tmp_path / "league")
