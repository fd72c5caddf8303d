"""The table and the heatmap of learners beside one another."""

import pytest

from llmzoo.evaluation.statistics import wilson_interval
from llmzoo.report.bench import (
    is_self_play,
    markdown_table,
    mean_tokens,
    save_heatmap,
    summarize_cell,
)
from llmzoo.report.bench_tests import run_paired_tests


def run(learner, seed, before, after, env="sudoku_v0", tasks=100, agents=2, **more):
    return {
        "env": env,
        "learner": learner,
        "seed": seed,
        "steps": 20,
        "tasks": tasks,
        "before": before,
        "after": after,
        "return_after": dict.fromkeys(range(agents), 1.0),
        **more,
    }


FAILED = {"env": "sudoku_v0", "learner": "grpo", "seed": 1, "steps": 20, "error": "nan"}
ROWS = [
    run("grpo", 0, 0.2, 0.5),
    run("at_grpo", 0, 0.2, 0.6),
    run("at_grpo", 1, 0.3, 0.9, tasks=300),
    FAILED,
]


def test_tasks_are_pooled_over_seeds():
    result = summarize_cell(ROWS, "sudoku_v0", "at_grpo")
    assert result.before == pytest.approx((20 + 90) / 400)
    assert result.after == pytest.approx((60 + 270) / 400)
    assert result.failed == 0


def test_the_interval_of_several_seeds_is_of_distinct_tasks():
    """Two seeds that solved the same tasks tell as much as one."""
    solved = "1" * 50 + "0" * 50
    rows = [run("at_grpo", seed, 0.2, 0.5, solved=solved) for seed in (0, 1)]
    assert summarize_cell(rows, "sudoku_v0", "at_grpo").after_ci95 == pytest.approx(
        wilson_interval(50, 100)
    )
    assert summarize_cell(rows[:1], "sudoku_v0", "at_grpo").after_ci95 == pytest.approx(
        wilson_interval(50, 100)
    )


def test_rows_that_do_not_say_which_tasks_were_solved_get_the_widest_interval():
    """82.5% of the 300 distinct tasks."""
    assert summarize_cell(ROWS, "sudoku_v0", "at_grpo").after_ci95 == pytest.approx(
        wilson_interval(247.5, 300)
    )


def test_a_run_that_diverged_is_counted_apart():
    result = summarize_cell(ROWS, "sudoku_v0", "grpo")
    assert result.after == 0.5
    assert result.failed == 1
    assert summarize_cell([FAILED], "sudoku_v0", "grpo") is None


def test_table():
    low, high = wilson_interval(247.5, 300)
    lines = markdown_table(ROWS, "llmzoo bench --steps 20").splitlines()
    assert lines[0] == "`llmzoo bench --steps 20`"
    assert "| learner | sudoku_v0 |" in lines
    assert f"| at_grpo | 82.5% [{low:.1%}, {high:.1%}] (27.5%) |" in lines
    assert any(line.startswith("| grpo | 50.0% [") and "1 failed" in line for line in lines)
    assert lines[-1] == "20 iterations a run, 100 or 300 tasks an evaluation."


def test_tokens_stand_in_the_table_where_runs_count_them():
    rows = [
        run("grpo", 0, 0.2, 0.5, agents=1, tokens=1000, steps=3),
        run("ippo", 0, 0.2, 0.6, tokens=1000, steps=4),
        run("ippo", 1, 0.2, 0.6, tokens=1501, steps=7),
    ]
    lines = markdown_table([*rows, FAILED], "llmzoo bench").splitlines()
    assert "| learner | sudoku_v0 | tokens a run |" in lines
    assert any(line.startswith("| grpo |") and line.endswith("| 1,000 |") for line in lines)
    # (1000 + 1501) / 2
    assert any(line.startswith("| ippo |") and line.endswith("| 1,250 |") for line in lines)
    assert "3 to 7 iterations a run, 100 tasks an evaluation." in lines
    assert lines[-1] == "One agent alone, which is another task: grpo."
    assert mean_tokens([*rows, run("ippo", 2, 0.2, 0.6)], "ippo") is None
    alone = markdown_table([rows[0]], "llmzoo bench")
    assert "alone" not in alone


def test_a_table_of_failures_only():
    assert "| grpo | failed |" in markdown_table([FAILED], "llmzoo bench")


def test_what_was_not_run_has_not_failed():
    rows = [run("grpo", 0, 0.1, 0.5), run("ippo", 0, 0.1, 0.5, env="sokoban_v0")]
    lines = markdown_table(rows, "llmzoo bench").splitlines()
    assert any(line.startswith("| grpo |") and line.endswith("| not run |") for line in lines)


def test_heatmap(tmp_path):
    path = save_heatmap(
        [*ROWS, run("grpo", 0, 0.1, 0.0, env="sokoban_v0")], tmp_path / "heatmap.png"
    )
    assert path.read_bytes().startswith(b"\x89PNG")


GAME = {"win_rate": {"player_0": 0.4, "player_1": 0.5}, "success": 0.4}


@pytest.mark.parametrize(
    ("agents", "evaluation", "told"),
    [
        ("shared", GAME, True),
        ("separate", GAME, True),
        ("player_1", GAME, True),  # success is the first player's, a scripted one here
        ({"player_0": "a", "player_1": "b"}, GAME, True),
        ("player_0", GAME, False),
        ("shared", {"win_rate": None, "success": 0.4}, False),
        ("shared", {"success": 0.4}, False),
    ],
)
def test_what_is_self_play(agents, evaluation, told):
    assert is_self_play({"policies": agents}, evaluation) == told


def test_self_play_has_no_success_in_the_table():
    kuhn = {"env": "kuhn_poker_v0", "self_play": True, "solved": "1" * 100, "ids": [*range(100)]}
    returns = {"returns": {"player_0": [0.0] * 100}}
    rows = [run(name, 0, 0.3, 0.9, **kuhn, **returns) for name in ("grpo", "ippo")]
    text = markdown_table([*ROWS, *rows], "llmzoo bench")
    (line,) = [line for line in text.splitlines() if line.startswith("| ippo")]
    assert line == "| ippo | not run | self-play |"
    assert "Self-play: what a model wins against itself says nothing" in text
    assert "Self-play" not in markdown_table(ROWS, "llmzoo bench")
    assert run_paired_tests(rows) == {}
    assert set(run_paired_tests([{**row, "self_play": False} for row in rows])) == {"kuhn_poker_v0"}
