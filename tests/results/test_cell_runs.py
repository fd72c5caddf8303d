"""Tables of the runs that begin with models that read cells."""

import pytest

from tests.results.test_studies import ROOT


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))


def measured(solved, answers=2, tokens=8):
    success = solved.count("1") / len(solved)
    return {"solved": solved, "success": success, "answers": answers, "tokens": tokens}


def run(arm, before, after, **also):
    return {
        "task": "plan_path_v0",
        "arm": arm,
        "seed": 0,
        "before": {**measured(before), "greedy": measured(before)},
        "after": {**measured(after), "greedy": measured(after)},
        "also": {name: measured(solved) for name, solved in also.items()},
        "tokens": 4000,
        "seconds": 90,
        "curve": [{"tokens": 100, "success": part} for part in (0, 0.25, 0.5, 0.75, 1, 1)],
    }


def cells(table):
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()[2:]]


def test_success_is_told_beside_the_rounds_in_which_it_was_measured():
    from cell_runs import of_runs

    tables = of_runs([run("grpo_one_turn", "1000", "1100", four_turns="1110")])
    told = cells(tables["reinforced plan_path_v0"])
    rates = {(line[0], line[2]): line[3].split(" [")[0] for line in told if line[1] == "1"}
    assert rates == {
        ("no RL, the expert alone imitated", "1"): "not run",  # another start, of an arm of its own
        ("GRPO on single answers from there", "1"): "not run",
        ("the same in four rounds", "4"): "not run",
        ("no RL, the expert alone imitated", "4"): "not run",
        ("AT-GRPO from there", "4"): "not run",
        ("no RL", "1"): "25.0%",
        ("GRPO on single answers", "1"): "50.0%",
        ("no RL", "4"): "not run",  # only an arm over four rounds measures it
        ("GRPO on single answers", "4"): "75.0%",
        ("AT-GRPO", "4"): "not run",
    }
    grpo = told[6]
    assert grpo[5:] == ["0.5", "2.0", "50.0%", "4k", "1.5"]  # 2 answers and 8 tokens of 4 tasks


def test_arms_are_compared_in_equal_rounds_task_by_task():
    from cell_runs import of_runs

    rows = [
        run("grpo_one_turn", "0000", "1000", four_turns="1100"),
        run("at_grpo_one", "0000", "1011"),
    ]
    told = {line[0]: line[1:] for line in cells(of_runs(rows)["reinforced paired plan_path_v0"])}
    # tasks 3 and 4 against task 2: two-sided, 3 in 3 coins at least as uneven
    assert told["AT-GRPO of one agent, against GRPO in four rounds"] == ["2", "1", "1.0000"]
    assert told["GRPO, against no RL, one round"] == ["1", "0", "1.0000"]
    assert told["AT-GRPO of two agents, against AT-GRPO of one"] == ["not run", "", ""]


def test_parts_of_a_run_are_equal_and_hold_all_of_it():
    from cell_runs import parts_of

    found = parts_of(run("at_grpo", "0", "1"), 3)
    assert found == [(200, 0.125), (400, 0.625), (600, 1.0)]


def test_a_run_of_few_iterations_has_fewer_parts(tmp_path):
    from cell_runs import of_runs, parts_of, runs_figure

    short = {**run("at_grpo", "10", "11"), "curve": [{"tokens": 9, "success": 0.5}] * 2}
    assert parts_of(short, 6) == [(9, 0.5), (18, 0.5)]
    (line,) = cells(of_runs([short])["reinforced slope plan_path_v0"])
    assert line[1:] == ["0", "50.0%", "50.0%", "", "", "", ""]
    runs_figure([short], tmp_path / "runs.png")


def test_figures_show_one_game_and_a_start(tmp_path):
    from cell_runs import runs_figure, starts_figure

    point = {**measured("10"), "greedy": measured("11")}
    row = {
        "model": "path_cells",
        "settings": {"env": "plan_path_v0", "episodes_per_step": 4},
        "evaluations": [{**point, "step": 0}, {**point, "step": 2}],
    }
    starts_figure([row], tmp_path / "starts.png")
    runs_figure(
        [{**run("at_grpo", "10", "11"), "curve": [{"tokens": 9, "success": 1.0}] * 12}],
        tmp_path / "runs.png",
    )
    assert {path.name for path in tmp_path.iterdir()} == {"starts.png", "runs.png"}


def test_long_runs_are_told_by_rounds_and_pooled_over_seeds(tmp_path):
    from long_runs import figure, tables

    rows = [
        {
            **run("at_grpo_expert", "0000", after, one_turn="1000", eight_turns="1111"),
            "settings": {"env_args": {"max_turns": 4}},
            "also_args": {"one_turn": {"max_turns": 1}, "eight_turns": {"max_turns": 8}},
            **{"seed": seed, "tokens": 2_900_000, "seconds": 1500},
        }
        for seed, after in enumerate(("1100", "1110"))
    ]
    found = tables(rows)
    assert (
        "| before | after, 1 round | after, 4 rounds | after, 8 rounds | greedy before |"
        in found["long plan_path_v0"]
    )
    told = {
        line[1]: [cell.split(" ")[0] for cell in line[2:]]
        for line in cells(found["long plan_path_v0"])
    }
    assert told["0"] == ["2.9M", "25", "4", "0.0%", "25.0%", "50.0%", "100.0%", "0.0%", "50.0%"]
    assert told["all"] == ["", "", "4", "0.0%", "25.0%", "62.5%", "100.0%", "0.0%", "62.5%"]
    assert cells(found["long slope plan_path_v0"])[0][:4] == ["2", "0", "0.0%", "25.0%"]
    figure(rows, tmp_path / "long.png")


def test_arms_of_long_runs_are_compared_with_the_seeds_that_both_have():
    from long_runs import tables

    def long(arm, seed, after, **args):
        row = {**run(arm, "0000", after), "seed": seed, "also_args": {}}
        return {**row, "settings": {"env_args": {"max_turns": 4, **args}}}

    rows = [long("at_grpo", 0, "1000"), long("at_grpo_one_48", 0, "1101", num_agents=1)]
    rows.append(long("at_grpo_one_48", 1, "0000", num_agents=1))
    found = tables(rows)
    assert [line[:2] for line in cells(found["long plan_path_v0"])] == [
        ["2", "0"],
        ["1", "0"],
        ["1", "1"],
        ["1", "all"],
    ]
    # after, by seed: task 1 alone; tasks 1, 2 and 4, then none
    assert cells(found["long paired plan_path_v0"]) == [
        ["2, after against before", "1", "1", "0", "1.0000"],
        ["1, after against before", "2", "3", "0", "0.2500"],
        ["2 against 1", "1", "0", "2", "0.5000"],
    ]
