"""The study of several agents: fair controls, and numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import llmzoo

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))


def planned() -> dict:
    """The first seed's runs of each task, by arm."""
    from study import read, runs_of

    arms: dict = {}
    for run in runs_of(read("several", quick=False), Path("models")):
        if run.seed == 0:
            arms.setdefault(run.task, {})[run.arm] = run
    return arms


def made(run, split: str = "test"):
    args = run.settings.get("env_args", {})
    return llmzoo.make(run.settings["env"], prompt="terse", split=split, **args).unwrapped


def test_a_task_may_name_its_arms_and_set_what_is_its_own():
    from study import runs_of

    study = {
        "seeds": [0],
        "settings": {"steps": 1, "env_args": {"a": 1}},
        "tasks": {
            "every": {"env": "x"},
            "some": {"env": "y", "arms": {"two": {"env_args": {"b": 2}}}},
        },
        "arms": {"one": {}, "two": {"env_args": {"b": 1}}},
    }
    runs = {run.name: run.settings for run in runs_of(study, Path("models"))}
    assert runs.keys() == {"every-one-0", "every-two-0", "some-two-0"}
    shared = {"steps": 1, "model": "tiny", "seed": 0}
    assert runs["every-two-0"] == {**shared, "env": "x", "env_args": {"a": 1, "b": 1}}
    assert runs["some-two-0"] == {**shared, "env": "y", "env_args": {"a": 1, "b": 2}}


def test_the_arms_of_a_task_have_equal_tokens_settings_and_test_tasks():
    for task, arms in planned().items():
        kept = ("learner", "learner_args", "token_budget", "episodes_per_step", "eval_tasks")
        assert len({str([run.settings[key] for key in kept]) for run in arms.values()}) == 1, task
        seen = set()
        for run in arms.values():
            env, ids = made(run), []
            for number in range(5):
                env.reset(options={"task": number})
                ids.append(env.infos[env.agents[0]]["task_id"])
            seen.add(tuple(ids))
        assert len(seen) == 1, task


def test_controls_may_give_as_many_answers_as_two_agents():
    """Where an environment has rounds; a lone agent's partner is no model and gives none."""
    for arms in planned().values():
        most = {}
        for arm, run in arms.items():
            agents = made(run).possible_agents
            learning = 1 if run.settings.get("policies") in agents else len(agents)
            most[arm] = learning * run.settings.get("env_args", {}).get("max_turns", 0)
        if "one_more" in arms:
            assert most["one_more"] == most["two"] > most["one"]
            assert most.get("lone") == most.get("split")
        assert most.get("split_separate") == most.get("split")


@pytest.mark.parametrize("task", ["sudoku", "plan_path", "sokoban", "signal"])
def test_a_lone_agent_reads_its_half_and_nothing_of_its_partners(task):
    from llmzoo.policies import load
    from llmzoo.policies.base import PolicyRequest

    arms = planned()[task]
    lone, split = made(arms["lone"]), made(arms["split"])
    learning = arms["lone"].settings["policies"]
    (partner,) = set(lone.possible_agents) - {learning}
    for number in range(3):
        lone.reset(options={"task": number})
        before = str(lone.observe(learning))
        request = PolicyRequest(agent=partner, observation=lone.observe(partner), env=lone, seed=0)
        others = load(arms["lone"].settings.get("others", "expert"))
        lone.step(others.respond([request], 1)[0][0].text)
        assert str(lone.observe(learning)).replace("heard\n> \n", "") == before
        split.reset(options={"task": number})
        assert before.replace("1/2", "1/1") == str(split.observe(learning))


def test_the_silent_player_says_as_little_as_may_be_said():
    env = llmzoo.make("sudoku_v0", prompt="terse", view="split", split="test").unwrapped
    env.reset(options={"task": 0})
    assert llmzoo.evaluate("sudoku_v0", "silent", tasks=2).success == 0.0
    env.step("-")
    assert "heard\n> -\n" in env.observe("planner_1")
    assert env.infos["proposer_0"]["error"] is None


IDS = ["a", "b", "c", "c"]  # the last two are one task, which its source repeats


def of_run(task: str, arm: str, seed: int, solved: str, ids=IDS) -> dict:
    after = {
        "solved": solved,
        "ids": ids,
        "success": solved.count("1") / 4,
        "tasks": 4,
        "tokens": 40,
    }
    after["greedy"] = {"solved": solved, "ids": ids}
    return {
        **{"task": task, "arm": arm, "seed": seed, "settings": {}, "tokens": 1000, "seconds": 9.0},
        **{"before": after, "after": after, "also": {}},
    }


ROWS = [
    of_run("sudoku", "two", 0, "1110"),
    of_run("sudoku", "two", 1, "1010"),
    of_run("sudoku", "one_more", 1, "1000"),
    of_run("sudoku", "one_more", 0, "0010"),
    of_run("sudoku", "one_more", 2, "1111"),  # this seed has no other arm: left out
    of_run("functions", "two", 0, "0000"),
    of_run("functions", "one_more", 0, "1110"),
]


def test_arms_are_compared_by_held_out_tasks_and_pairs_of_runs():
    from questions import QUESTIONS, compared

    games, functions = compared(ROWS, QUESTIONS[0])
    assert (games.task, functions.task) == ("sudoku", "functions")
    assert games.counts == [2, 1]  # 1110 - 0010 and 1010 - 1000
    assert games.shares == [0.5, 0.25]
    assert games.clusters == [[1, 0], [1, 0], [0, 1, 0, 0]]
    assert games.p_value == 0.25  # three tasks of one sign: 2 / 2**3
    assert functions.counts == [-3]
    assert functions.p_value == 0.25


def test_runs_on_different_tasks_are_not_compared():
    from questions import QUESTIONS, compared

    other = of_run("sudoku", "one_more", 0, "0010", ids=["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="sudoku: runs that are compared"):
        compared([ROWS[0], other], QUESTIONS[0])


def test_questions_are_answered_by_pairs_of_runs_and_corrected_together():
    from several import tables

    made = tables(ROWS, [])
    line = made["several"].splitlines()[2].strip("| ").split(" | ")
    # differences of 50, 25 and -75 points; counts 2, 1, -3 add to 0, so every choice of signs is as far
    assert line[1:] == ["2", "3", "+0.0", "2 of 3", "1.0000", "1.0000"]
    assert len(made["several"].splitlines()) == 3  # no other question has runs
    games, functions = made["several agents"].splitlines()[2:]
    assert games.startswith("| sudoku | 62.5% [")
    assert "| +37.5 [" in games
    assert games.endswith("| +50.0, +25.0 | 0.2500 | 0.5000 |")  # the smaller of two, times two
    assert "| -75.0 [" in functions


def test_two_agents_of_the_longer_study_commit_as_often_as_one_in_two_rounds():
    from study import read, runs_of

    runs = {run.name: run.settings for run in runs_of(read("several_longer", quick=False), Path())}
    pairs = {name: runs[name.replace("two_", "one_")] for name in runs if "-two_more-" in name}
    assert len(pairs) == 9  # three games, three seeds
    for name, alone in pairs.items():
        both = runs[name]
        assert both["env_args"] == {k: v for k, v in alone["env_args"].items() if k != "num_agents"}
        # the runs of one agent are older than this option
        assert both["learner_args"] == alone["learner_args"] | {"weigh_by_reach": False}
        assert both["token_budget"] == alone["token_budget"]


def test_the_longer_study_is_the_same_but_for_its_tokens():
    from several import longer_tables, tables
    from study import read, runs_of

    runs, longer = (
        {run.name: dict(run.settings) for run in runs_of(read(name, quick=False), Path("models"))}
        for name in ("several", "several_longer")
    )
    longer = {name: settings for name, settings in longer.items() if "-two_more-" not in name}
    assert longer.keys() == {name for name in runs if not name.startswith("calendar")}
    for name, settings in longer.items():
        factor = settings.pop("token_budget") / runs[name].pop("token_budget")
        assert factor == {"plan_path": 8, "sokoban": 8, "signal": 3}.get(name.split("-")[0], 4)
        assert settings == runs[name]
    made = longer_tables(ROWS)
    assert made["several longer"] == tables(ROWS, [])["several"]
    assert "| sudoku | `two` | 2 |" in made["several longer arms"]
    cells = made["several longer tasks"].splitlines()[2].strip("| ").split(" | ")
    assert cells[:2] == ["sudoku", "+37.5 [+25.0, +50.0]"]  # p 0.5: not bold


def test_a_partner_of_another_seed_is_compared_with_ones_own():
    """Own partners solve 3 and 2 of 4 tasks, others 1 and 0: 1 of 8 beside 5 of 8."""
    from questions import partners
    from several import tables

    rows = [of_run("sudoku", "split_separate", seed, s) for seed, s in enumerate(("1110", "1010"))]
    crossed = [
        {**rows[0]["after"], "task": "sudoku", "arm": "split_separate", "seeds": seeds, "solved": s}
        | {"success": s.count("1") / 4}
        for seeds, s in (([0, 1], "1000"), ([1, 0], "0000"))
    ]
    assert partners(rows, crossed) == [("sudoku", -8, 16)]
    made = tables(rows, crossed)
    assert "| 1 | 1 | -50.0 | 0 of 1 | 1.0000 |" in made["several"]
    assert made["several partners"].splitlines()[2:] == [
        "| sudoku | seed 0 | 75.0% | 25.0% |",
        "| sudoku | seed 1 | 0.0% | 50.0% |",
    ]


@pytest.mark.slow
def test_agents_of_two_runs_are_played_together_once(tmp_path, monkeypatch):
    import crossplay
    import study
    import yaml

    from llmzoo.runs.named_policies import load_policy_for_agents

    small = {
        "seeds": [0, 1],
        "settings": {
            **{"env": "sudoku_v0", "env_args": {"max_turns": 1}, "learner": "magrpo", "steps": 1},
            **{"episodes_per_step": 1, "eval_tasks": 3, "max_new_tokens": 24, "record_every": 0},
        },
        "tasks": {"sudoku": {}},
        "arms": {"two_separate": {"policies": "separate"}, "two": {}},
    }
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(small))
    (tmp_path / "models.yaml").write_text("{}\n")
    monkeypatch.setattr(study, "HERE", tmp_path)
    for run in study.runs_of(study.read("small", quick=False), tmp_path / "models"):
        study.train(run, tmp_path / "small")
    played = []

    def evaluate(env, agents, **options):
        played.append({agent: _weights(policy) for agent, policy in agents.items()})
        return own_evaluate(env, agents, **options)

    own_evaluate = llmzoo.evaluate
    monkeypatch.setattr(llmzoo, "evaluate", evaluate)
    rows = crossplay.crossplay("small", tmp_path)
    assert [(row["arm"], row["seeds"]) for row in rows] == [
        ("two_separate", [0, 1]),
        ("two_separate", [1, 0]),
    ]
    assert all(len(row["solved"]) == row["tasks"] == 3 for row in rows)
    agents = ("proposer_0", "planner_1")
    folders = [tmp_path / "small" / "runs" / f"sudoku-two_separate-{seed}" for seed in (0, 1)]
    trained = [
        {a: _weights(p) for a, p in load_policy_for_agents(str(f), agents).items()} for f in folders
    ]
    assert played[0] == {"proposer_0": trained[0][agents[0]], "planner_1": trained[1][agents[1]]}
    assert played[1] == {"proposer_0": trained[1][agents[0]], "planner_1": trained[0][agents[1]]}
    assert trained[0] != trained[1]
    assert crossplay.crossplay("small", tmp_path) == rows
    assert len(played) == 2  # as the log has them


def _weights(policy) -> list:
    return [tensor.sum().item() for tensor in policy.model.state_dict().values()]
