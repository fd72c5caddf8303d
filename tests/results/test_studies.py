"""Studies: which runs they are made of, that they go on, and that tables come from their logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from quick_cases import slow_but

from llmzoo.training import FitConfig, make_config

ROOT = Path(__file__).resolve().parents[2]
# those whose runs have as many tokens each, and those with as many iterations
BUDGETED = (
    *("games", "longer", "ablations", "learners", "sensitivity"),
    *("learners_rates", "learners_rates_long"),
    *("games_rates", "games_cells_rates"),
    *("smollm2", "smollm2_learners", "adapter_rates", "games_cells", "several", "several_longer"),
    "crowd_delegation",
)
STUDIES = (
    *BUDGETED,
    *("games_long", "games_cells_long"),
    *("signals", "kuhn", "tic_tac_toe", "counterfactual", "neighbours", "strangers"),
    *("step_bound", "crowd_hidden_profile", "coverage"),
)
FEW_RUNS = {
    "adapter_rates": 2,
    "longer": 2,
    "tic_tac_toe": 2,
    "games_long": 1,
    "games_cells_long": 1,
}
PAGES = ROOT / "docs" / "results"
# arms of studies whose runs are not yet in the committed logs
AWAITED: dict[str, set[str]] = {
    "games_cells": {"ippo"},
}


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))


def test_mappings_are_merged_and_null_takes_away():
    from study import merged

    under = {"a": 1, "in": {"b": 2, "c": 3, "gone": 4}}
    over = {"in": {"c": 5, "d": 6, "gone": None}, "e": 7}
    assert merged(under, over) == {"a": 1, "in": {"b": 2, "c": 5, "d": 6}, "e": 7}
    assert under["in"]["gone"] == 4


@pytest.mark.parametrize(("quick", "tokens"), [(False, 8), (True, 2)])
def test_a_study_lies_over_its_base_and_the_small_version_over_both(
    quick, tokens, tmp_path, monkeypatch
):
    import study

    monkeypatch.setattr(study, "HERE", tmp_path)
    (tmp_path / "short.yaml").write_text(
        "{seeds: [0, 1], settings: {steps: 1, tokens: 4}, quick: {settings: {tokens: 2}}}"
    )
    (tmp_path / "long.yaml").write_text("{base: short, settings: {tokens: 8}}")
    assert study.read("long", quick=quick) == {
        "seeds": [0, 1],
        "settings": {"steps": 1, "tokens": tokens},
    }


@pytest.mark.parametrize("quick", slow_but([False], [False, True]))
@pytest.mark.parametrize("name", STUDIES)
def test_every_run_has_settings_that_fit_takes(name, quick, tmp_path):
    from study import GIVEN, read, runs_of

    study = read(name, quick=quick)
    runs = list(runs_of(study, tmp_path))
    assert len({run.name for run in runs}) == len(runs) >= FEW_RUNS.get(name, 3)
    known = set(read("models", quick=quick))
    for run in runs:
        config = make_config(FitConfig, run.settings, "fit")
        assert (config.token_budget is not None) == (name in BUDGETED)
        assert run.settings["model"] in GIVEN or Path(run.settings["model"]).name in known
    assert {run.seed for run in runs} == set([0] if quick else study["seeds"])


@pytest.mark.parametrize("name", ["games", "longer", "games_cells"])
def test_arms_of_a_game_have_the_same_budget_and_rate(name, tmp_path):
    from study import read, runs_of

    runs = list(runs_of(read(name, quick=False), tmp_path))
    for run in runs:
        game = [other for other in runs if other.task == run.task]
        assert len({other.settings["token_budget"] for other in game}) == 1
        assert len({other.settings["learner_args"]["learning_rate"] for other in game}) == 1


def test_the_controls_of_two_agents_are_one_agent_with_the_same_learner(tmp_path):
    """As many answers a task at most, about as many tokens of play, and as many rounds."""
    from study import read, runs_of

    import llmzoo

    runs = {run.name: run for run in runs_of(read("games", quick=False), tmp_path)}
    team = runs["sudoku_v0-at_grpo-0"]
    allowed = {}
    for arm in ("at_grpo", "at_grpo_one", "at_grpo_one_8", "at_grpo_one_24", "at_grpo_one_48"):
        run = runs[f"sudoku_v0-{arm}-0"]
        agents = len(llmzoo.make("sudoku_v0", **run.settings["env_args"]).possible_agents)
        allowed[arm] = agents, agents * run.settings["env_args"]["max_turns"]
        assert run.settings["model"] == team.settings["model"] == "tiny"
        same = {**run.settings, "env_args": team.settings["env_args"]}
        assert same == team.settings  # learner, its options, budget, tasks
    assert allowed == {
        "at_grpo": (2, 8),
        "at_grpo_one": (1, 4),
        "at_grpo_one_8": (1, 8),
        "at_grpo_one_24": (1, 24),
        "at_grpo_one_48": (1, 48),
    }


SMALL = {
    "seeds": [0],
    "settings": {
        "env": "sudoku_v0",
        "env_args": {"max_turns": 1},
        "learner": "at_grpo",
        "learner_args": {"group_size": 2},
        "steps": 1,
        "episodes_per_step": 1,
        "eval_tasks": 4,
        "max_new_tokens": 8,
        "record_every": 0,
        "transcripts": 2,
    },
    "tasks": {"sudoku_v0": {}},
    "arms": {"base": {"also": {"two": {"max_turns": 2}, "swapped": {"swap": True}}}},
}


@pytest.mark.slow
def test_a_study_goes_on_and_refuses_other_settings(tmp_path, monkeypatch):
    import study

    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    (tmp_path / "models.yaml").write_text("{}\n")
    monkeypatch.setattr(study, "HERE", tmp_path)
    (run,) = study.runs_of(study.read("small", quick=False), tmp_path / "models")
    row = study.train(run, tmp_path / "out")
    assert row["before"]["tasks"] == len(row["after"]["solved"]) == 4
    assert [point["step"] for point in row["curve"]] == [1]
    assert row["also"].keys() == {"two", "swapped"}
    for when in (row["before"], row["before"]["greedy"], row["after"], row["after"]["greedy"]):
        assert when["answers"] == 4 * 2  # tasks, agents
        assert 8 <= when["tokens"] <= 8 * 8
    assert row["also"]["swapped"]["answers"] == 8
    assert 8 < row["also"]["two"]["answers"] <= 16  # two rounds, of what is not yet solved
    for when in ("before", "after"):
        shown = row["transcripts"][when]
        assert [episode["task"] for episode in shown] == row["after"]["ids"][:2]
        assert {agent for agent, _ in shown[0]["answers"]} == {"proposer_0", "planner_1"}
    line = tmp_path / "out" / "lines" / f"{run.name}.json"
    written = line.stat().st_mtime_ns
    assert study.train(run, tmp_path / "out") == row  # as it was kept, and not run again
    assert line.stat().st_mtime_ns == written
    other = {**SMALL, "settings": {**SMALL["settings"], "episodes_per_step": 2}}
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(other))
    (changed,) = study.runs_of(study.read("small", quick=False), tmp_path / "models")
    with pytest.raises(SystemExit, match="of other settings"):
        study.train(changed, tmp_path / "out")


@pytest.mark.slow
def test_runs_of_a_log_are_not_repeated(tmp_path, monkeypatch):
    import study

    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    (tmp_path / "models.yaml").write_text("{}\n")
    monkeypatch.setattr(study, "HERE", tmp_path)
    first = study.run_study("small", tmp_path / "one")
    log = tmp_path / "one" / "small.jsonl.gz"
    again = study.run_study("small", tmp_path / "two", known_runs=log)
    assert again == first
    assert not (tmp_path / "two" / "small" / "runs").exists()
    assert (tmp_path / "two" / "small.jsonl.gz").read_bytes() == log.read_bytes()


@pytest.mark.slow
def test_a_start_is_measured_once_for_arms_in_which_the_same_agents_learn(tmp_path, monkeypatch):
    import study

    arms = {
        "base": {},
        "lone": {"policies": "planner_1", "others": "expert"},
        "other": {"learner_args": {"group_size": 3}},
    }
    (tmp_path / "small.yaml").write_text(yaml.safe_dump({**SMALL, "arms": arms}))
    monkeypatch.setattr(study, "HERE", tmp_path)
    runs = study.runs_of(study.read("small", quick=False), tmp_path / "models")
    one, lone, other = (study.train(run, tmp_path / "out")["before"] for run in runs)
    assert one == other  # its seconds too
    assert len(list((tmp_path / "out" / "before").iterdir())) == 2
    # the proposer's answers are the expert's: the planner alone samples tokens, 8 at most for each of 4 tasks
    assert lone["tokens"] <= 8 * 4


def test_a_start_of_random_weights_keeps_its_tokenizer(tmp_path, monkeypatch):
    """A token for each word, before and after sft: the tokenizer of its architecture has other tokens."""
    import study

    from llmzoo.policies import load

    trained = {
        **{"env": "kuhn_poker_v0", "env_args": {"prompt": "terse"}, "learner": "sft", "steps": 1},
        **{"episodes_per_step": 2, "eval_tasks": 2, "max_new_tokens": 2, "record_every": 0},
    }
    study.train_model(
        {"random": {"words": "kuhn_poker_v0", "hidden": 8, "layers": 1, "seed": 0}},
        tmp_path / "new",
    )
    study.train_model({**trained, "model": str(tmp_path / "new")}, tmp_path / "taught")
    new, taught = load(str(tmp_path / "new")), load(str(tmp_path / "taught"))
    text = "kuhn 1 Q check\ncheck bet\nmove "
    words = ["kuhn", " ", "1", " ", "Q", " ", "check", "\n", "check", " ", "bet", "\n", "move", " "]
    assert [taught.tokenizer.decode(token) for token in taught.encode(text, "player_0")] == words
    assert taught.encode(text, "player_0") == new.encode(text, "player_0")


def test_each_cell_of_a_board_is_a_token_of_its_own(tmp_path):
    """Marks beside each other are not one word: a row would then have as many tokens as runs of marks."""
    import study

    from llmzoo.policies import load

    random = {"words": "tic_tac_toe_v0", "hidden": 8, "layers": 1, "seed": 0}
    study.train_model({"random": random}, tmp_path / "new")
    policy = load(str(tmp_path / "new"))
    ids = policy.encode("ttt 1 XXO 4OX 789\nmove ", "player_1")
    board = ["X", "X", "O", " ", "4", "O", "X", " ", "7", "8", "9"]
    words = [policy.tokenizer.decode(token) for token in ids]
    assert words == ["ttt", " ", "1", " ", *board, "\n", "move", " "]


def test_a_sentence_that_is_always_said_is_one_token_and_the_rest_is_read_by_character(tmp_path):
    import study

    from llmzoo import make
    from llmzoo.policies import load

    task = {"env": "tool_use_v0", "env_args": {"family": "arithmetic", "tools": ["calculator"]}}
    random = {"words": task, "hidden": 8, "layers": 1, "heads": [2, 2], "seed": 0}
    study.train_model({"random": random}, tmp_path / "new")
    policy = load(str(tmp_path / "new"))
    assert policy.model.config.num_key_value_heads == 2
    call = '<tool_call>{"name": "calculator", "arguments": {"expression": "3 * 40"}}</tool_call>'
    pieces = [policy.tokenizer.decode(token) for token in policy.tokenizer(call)["input_ids"]]
    assert pieces[:3] == ['<tool_call>{"name": ', '"calculator", "arguments": ', '{"expression": ']
    assert pieces[3:11] == [*'"3 * 40"']
    env = make(task["env"], **task["env_args"])
    for seed in range(1000, 1020):  # questions from which no token was taken
        env.reset(seed=seed)
        prompt = env.observe("planner_0")
        ids = policy.encode(prompt, "planner_0")
        assert policy.tokenizer.decode(ids) == prompt
        assert len(ids) < len(prompt) / 15


@pytest.mark.slow
def test_a_taught_start_plays_better_than_its_random_weights_and_is_the_same_twice(tmp_path):
    import study

    from llmzoo import make
    from llmzoo.evaluation.exploit import exploit
    from llmzoo.models.sampling import Sampling
    from llmzoo.policies import load

    shape = {"hidden": 16, "layers": 1, "seed": 0}
    study.train_model({"random": {"words": "tic_tac_toe_v0", **shape}}, tmp_path / "new")
    for name in ("taught", "again"):
        study.train_model({"taught": {**shape, "updates": 150}}, tmp_path / name)
    weights = [(tmp_path / n / "model.safetensors").read_bytes() for n in ("taught", "again")]
    assert weights[0] == weights[1]
    env = make("tic_tac_toe_v0", prompt="terse", tries=1)
    new, taught = (
        exploit(env, load(str(tmp_path / name), sampling=Sampling(max_new_tokens=1)))
        for name in ("new", "taught")
    )
    assert taught.legal > new.legal + 0.1
    assert sum(taught.draws) > sum(new.draws)


@pytest.mark.slow
def test_a_run_of_stages_is_one_curve_and_its_copies_are_measured(tmp_path, monkeypatch):
    import study

    stage = {
        "learner": "at_grpo",
        "steps": 2,
        "learner_args": {"group_size": 2, "select": "random"},
    }
    small = {
        "seeds": [0],
        "settings": {
            **{"env": "kuhn_poker_v0", "env_args": {"prompt": "terse", "tries": 1}},
            **{"learner": "at_grpo", "episodes_per_step": 2, "eval_tasks": 2, "eval_every": 1},
            **{"max_new_tokens": 2, "record_every": 0, "opponents": "fictitious"},
            **{"opponents_args": {"every": 1}, "averages": True, "copies": 1},
        },
        "tasks": {"kuhn": {"starts": {"random": "words"}}},
        "arms": {"two": {"start": "random", "stages": [stage, stage]}},
    }
    random = {"words": "kuhn_poker_v0", "hidden": 8, "layers": 1, "seed": 0}
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(small))
    study.train_model({"random": random}, tmp_path / "models" / "words")
    monkeypatch.setattr(study, "HERE", tmp_path)
    (run,) = study.runs_of(study.read("small", quick=False), tmp_path / "models")
    row = study.train(run, tmp_path / "out")
    assert [point["step"] for point in row["curve"]] == [1, 2, 3, 4]
    assert row["tokens"] == sum(point["tokens"] for point in row["curve"])
    assert [point["step"] for point in row["exact"]] == [0, 1, 2, 3, 4]
    tokens = [point["tokens"] for point in row["exact"]]
    assert tokens == [sum(p["tokens"] for p in row["curve"][:n]) for n in range(5)]
    assert row["exact"][-1]["exploitability"] == row["after"]["exact"]["exploitability"]
    # copies of the last stage, made before its first and its second iteration
    assert [point["step"] for point in row["averages"]] == [0, 1]
    first = row["averages"][0]
    assert first["all"] == first["newest"]
    assert first["newest"] == pytest.approx(row["exact"][2]["exploitability"], abs=1e-12)
    # one copy of all four, evenly, and the end
    assert [point["step"] for point in row["copies"]] == [0, 4]
    assert row["copies"][0]["exploitability"] == row["exact"][0]["exploitability"]
    assert row["copies"][1]["exploitability"] == row["exact"][-1]["exploitability"]


def test_the_agent_that_is_idle_is_paid_for_the_other_alone():
    from idle_seat import IdleSeat, Letters

    import llmzoo
    from llmzoo.testing import check_env, check_fork, check_rewards, check_seeds

    for check in (check_env, check_seeds, check_rewards, check_fork):
        check(IdleSeat)
    assert llmzoo.evaluate(IdleSeat, "expert", tasks=20).success == 1.0
    env = IdleSeat()
    # A is the first letter: the fourth of stuvwxyz for the first agent, the sixth for the second
    for counting, answers, paid in (
        (("first_0",), ("v", "s"), 1.0),
        (("first_0",), ("s", "x"), 0.0),
        (("first_0", "second_1"), ("v", "s"), 0.0),
        (("first_0", "second_1"), ("v", " x\n"), 1.0),
    ):
        env.reset(seed=0)
        env.episode = Letters({"first_0": 0, "second_1": 0}, counting)
        idle = "counts" if "second_1" in counting else "idle"
        assert [env.observe(a) for a in env.agents] == ["0 A counts\n", f"1 A {idle}\n"]
        env.step(answers[0])
        env.step(answers[1])
        assert env.rewards == {"first_0": paid, "second_1": paid}
        assert env.infos["second_1"]["success"] == bool(paid)


def test_tokens_until_a_level_are_those_of_the_first_five_iterations_that_hold_it():
    import counterfactual

    curve = [0.0, 1.0, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    point = {"tokens": 10, "rollout_seconds": 0.5, "update_seconds": 0.25}
    row = {"curve": [{**point, "success": success} for success in curve]}
    assert counterfactual.tokens_to(row, 0.5) == 10  # (0 + 1 + 0.5 + 0.5 + 0.5) / 5 = 0.5
    assert counterfactual.tokens_to(row, 0.8) == 40  # 0.5, 0.5, 1, 1, 1
    assert counterfactual.tokens_to(row, 1.0) == 60
    assert counterfactual.seconds_to(row, 1.0) == 4.5
    assert counterfactual.tokens_to({"curve": row["curve"][:6]}, 0.9) is None


def test_a_check_is_judged_by_the_rest_of_the_game_or_until_the_next_turn():
    """Worked out for uniform play: player 0 holds a jack and checks. In half of the games player 1 checks
    too, which loses 1. In the other half it bets; the jack then folds (-1) or calls (-2)."""
    import exact_credit

    from llmzoo.envs.duels import exact

    pair = exact.uniform_strategy, exact.uniform_strategy
    node = exact.decision_nodes(exact_credit.RULES)[0, "J"]
    checked = node.children[node.moves.index("check")]
    assert exact_credit.worth(checked, 0, pair, turn=False) == -1.25  # -1 / 2 + (-1 - 2) / 4
    assert exact_credit.worth(checked, 0, pair, turn=True) == -0.5


def test_a_tree_meets_hidden_cards_in_other_proportions_than_play():
    """Worked out for play that bets half of the hands: a check of the first player, whose answers all go on,
    is followed with chance 1/2, and a bet of the second if one of 8 answers is a bet: 255 in 256 times. Where a
    second player bets a king always and a jack never, a queen that is bet at is behind in both."""
    import exact_credit

    from llmzoo.envs.duels import exact

    def bets_kings(information, moves):
        return [0.0, 1.0] if information.startswith("K") else [1.0, 0.0]

    def found(other, answers):
        met = exact_credit.met((exact.uniform_strategy, other), answers)
        chances = {}
        for node, weight in met:
            if node.information == "Q check bet":
                chances[node.state.cards] = weight
        return chances

    in_play = found(exact.uniform_strategy, None)
    assert in_play == pytest.approx({"QJ": 1 / 24, "QK": 1 / 24}, rel=1e-12)
    assert found(exact.uniform_strategy, 8) == pytest.approx(
        dict.fromkeys(in_play, 255 / 3072), rel=1e-12
    )
    assert found(bets_kings, 8) == pytest.approx({"QK": 1 / 12}, rel=1e-12)

    def bets_jacks_seldom(information, moves):
        bet = 1.0 if information.startswith("K") else 0.25
        return [1 - bet, bet]

    # in play a jack is behind one bet in five, with a tree of two answers behind 7 in 23
    for answers, share in ((None, 1 / 5), (2, 7 / 23)):
        chances = found(bets_jacks_seldom, answers)
        assert chances["QJ"] / sum(chances.values()) == pytest.approx(share, rel=1e-12)


def test_exact_gradients_of_returns_come_near_an_equilibrium_and_those_of_turns_do_not():
    import exact_credit

    near = exact_credit.learned(rule="return", entropies=(0.1, 0.1), steps=400)
    far = exact_credit.learned(rule="turn", entropies=(0.1, 0.1), steps=400)
    biased = exact_credit.learned(rule="tree", entropies=(0.1, 0.1), steps=400)
    assert near["end"] < 0.03
    assert far["end"] > 0.1
    assert 0.05 < biased["end"] < 0.1


def test_the_exact_gradient_on_a_model_is_that_of_what_each_agent_earns(tmp_path):
    """Uniform play. A jack that checks earns -1.25 (above), and one in three first cards is a jack. Illegal
    answers are what is left to 1, so each move's slope has 2.1 more: (2.1 - 1.25) / 3."""
    import exact_model
    import torch
    import words

    from llmzoo.envs.duels import exact

    chances = torch.full((12, 2), 0.5, dtype=torch.float64, requires_grad=True)
    entropy = torch.full((12,), 0.7, dtype=torch.float64, requires_grad=True)
    pair = exact_model.strategies(chances.detach())
    exact_model.gain(chances, entropy, pair).backward()
    number = list(exact.decision_nodes(exact_model.RULES)).index((0, "J"))
    assert chances.grad[number, 0].item() == pytest.approx((2.1 - 1.25) / 3, rel=1e-12)
    assert entropy.grad[number].item() == pytest.approx(0.1 / 3, rel=1e-12)
    words.build_model(tmp_path / "random", words="kuhn_poker_v0", hidden=32, layers=1, seed=0)
    found = exact_model.learned(tmp_path / "random", momentum=0.0, rate=1e-3, steps=40)
    assert found["end"] < 0.3  # uniform play has 0.458


def test_games_without_text_are_full_trees_with_the_credit_of_their_groups():
    """Uniform play, groups of two. A jack that checks earns -1.25 (above); one that bets wins 1 in half of the
    games and loses 2 in the others: -0.5. So a check's credit is -0.375, of which a mean of two that counts itself
    leaves a half. Of three hands one has a jack, with one check on average: -0.1875 / 3. After it come two answers
    of the other player, one of them a bet, and two of the jack."""
    import numpy as np
    import sampled_model

    from llmzoo.envs.duels import exact

    chances = np.tile([0.5, 0.5, 0.0], (12, 1))
    rng = np.random.default_rng(0)
    credit, answers = sampled_model.played(chances, hands=30_000, group_size=2, rng=rng)
    states = list(exact.decision_nodes(sampled_model.RULES))
    first, last = states.index((0, "J")), states.index((0, "J check bet"))
    assert credit[first] / 30_000 == pytest.approx([-0.1875 / 3, 0.1875 / 3, 0], abs=0.01)
    assert answers[[first, last]] / 30_000 == pytest.approx([2 / 3, 2 / 3], abs=0.02)


@pytest.mark.slow
def test_a_model_for_cells_begins_with_random_weights_and_keeps_its_tokenizer(tmp_path):
    import study

    from llmzoo.envs.games import cells
    from llmzoo.policies import load

    study.train_model({"cells": {"layers": 1, "hidden": 32, "heads": 2}}, tmp_path / "cells")
    settings = {
        "env": "plan_path_v0",
        "env_args": {"num_agents": 1, "max_turns": 1, "prompt": "cells"},
        "learner": "sft",
        "learner_args": {"batch_size": 8},
        "model": str(tmp_path / "cells"),
        "steps": 2,
        "episodes_per_step": 8,
        "eval_tasks": 2,
        "eval_every": 1,
        "max_new_tokens": 4,
        "record_every": 0,
    }
    study.train_model(settings, tmp_path / "one")
    row = json.loads((tmp_path / "one.json").read_text())
    assert [found["step"] for found in row["evaluations"]] == [0, 1, 2]
    policy = load(str(tmp_path / "one"))
    assert policy.model.config.hidden_size == 32
    named = [cells.cell_name(r, c) for r in range(10) for c in range(10)]
    ids = [policy.tokenizer(f" {name}")["input_ids"] for name in named]
    assert len({one for (one,) in ids}) == 100  # a token of its own for each
    text = "walls: a1 j10\ngoal: b2\n\nc3 c4, R\u00fcbe"
    assert policy.tokenizer.decode(policy.tokenizer(text)["input_ids"]) == text


def test_the_same_rows_give_the_same_log(tmp_path):
    from logs import read_log, write_log

    rows = [{"arm": "a", "settings": {}, "after": {"solved": "01"}}, {"arm": "b", "settings": {}}]
    for name in ("one", "two"):
        write_log(tmp_path / name, rows)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert read_log(tmp_path / "one") == rows


def of_run(arm: str, seed: int, before: str, after: str) -> dict:
    """A line of a study, as far as tables read it."""

    def measured(solved: str) -> dict:
        return {
            "solved": solved,
            "success": solved.count("1") / len(solved),
            "tasks": len(solved),
            "answers": 2 * len(solved),
            "tokens": 25 * len(solved) - 1,
            "greedy": {"solved": "1" * len(solved)},
        }

    row = {"task": "sudoku_v0", "arm": arm, "seed": seed, "tokens": 2000, "seconds": 60.0}
    return {**row, "before": measured(before), "after": measured(after), "also": {}}


def test_rates_are_pooled_and_pairs_are_distinct_tasks_of_the_same_seeds():
    from tables import of_games

    rows = [
        of_run("grpo", 0, "1000", "1100"),
        of_run("grpo", 1, "0000", "1100"),
        of_run("at_grpo", 1, "0000", "1111"),
        of_run("at_grpo", 0, "1100", "1111"),
    ]
    tables = of_games(rows)
    lines = [line.split(" | ") for line in tables["games sudoku_v0"].splitlines()]
    assert lines[2][2].startswith("12.5% [")  # one of 8
    assert lines[3][2].startswith("25.0% [")
    assert [cell.split(" [")[0] for cell in (lines[4][2], lines[5][2])] == ["50.0%", "100.0%"]
    assert lines[0][4:6] == ["answers a task in play", "tokens a task in play"]
    assert lines[5][4:6] == ["2.0", "24.8"]  # (25 x 4 - 1) / 4
    assert lines[5][6:] == ["100.0%, 100.0%", "2k", "1.0 |"]
    assert "sudoku_v0" not in tables["headline"]  # there is no control
    controlled = of_games([*rows, of_run("at_grpo_one", 0, "0000", "1111")])["headline"]
    headline = [line.split(" | ") for line in controlled.splitlines()]
    assert [line[2] for line in headline if "one model" in line[0]] == [
        f"{lines[5][2]}, 25 tokens |"
    ]
    start, pair = tables["paired sudoku_v0"].splitlines()[2:]
    assert start.endswith(
        "| 4 | 0 | 0.1250 |"
    )  # 2 / 2**4: tasks 1 and 2 of one seed, 3 and 4 of both
    assert pair.endswith("| 2 | 0 | 0.5000 |")  # tasks 3 and 4, both under both seeds: 2 / 2**2


def test_intervals_in_tables_are_of_distinct_tasks():
    """Four tasks that end alike under three seeds tell as much as under one."""
    from tables import of_games

    rows = [of_run("at_grpo", seed, "0000", "1100") for seed in range(3)]
    seen = of_games(rows)["games sudoku_v0"], of_games(rows[:1])["games sudoku_v0"]
    cells = [table.splitlines()[3].split(" | ")[2] for table in seen]
    assert cells == ["50.0% [15.0%, 85.0%]"] * 2  # Wilson's of 2 in 4


def test_logs_without_answers_say_so():
    from tables import of_games

    row = of_run("at_grpo", 0, "0000", "1100")
    del row["after"]["answers"]
    line = of_games([row])["games sudoku_v0"].splitlines()[3]
    assert line.split(" | ")[4:6] == ["not recorded", "24.8"]


def test_tasks_of_other_collections_are_shown_before_sft_after_it_and_after_rl():
    from tables import of_neighbours

    def measured(solved: str, paid: float) -> dict:
        found = {"solved": solved, "mean_return": {"a": paid, "b": -paid}}
        return found | {"return_ci95": {"a": [paid, paid], "b": [-paid, -paid]}}

    stages = [measured("0000", 0.0), measured("1100", 1.0), measured("1100", 1.0)]
    ends = {"before": stages[0], "after": measured("1111", 2.0)}
    taught = {"settings": {"env": "one"}, "stages": [{}, {}], "evaluations": stages, **ends}
    lines = of_neighbours([taught, {"settings": {"env": "two"}, **ends}])["neighbours"].splitlines()
    cells = [[cell.split(" [")[0] for cell in line[2:-2].split(" | ")] for line in lines[2:]]
    assert cells == [
        ["`one`", "embedded model", "0.0%", "0.00"],
        ["`one`", "after sft", "50.0%", "1.00"],
        ["`one`", "after RL", "100.0%", "2.00"],
        ["`two`", "embedded model", "0.0%", "0.00"],
        ["`two`", "after RL", "100.0%", "2.00"],
    ]
    assert lines[4].endswith("| 2.00 [2.00, 2.00], -2.00 [-2.00, -2.00] |")


@pytest.fixture(scope="module")
def tables():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "examples" / "results"))
        from tables import tables_of

        return tables_of(PAGES / "logs")


@pytest.mark.slow
def test_the_committed_tables_come_from_the_committed_logs(tables):
    from tables import placed

    others = [ROOT / "README.md", ROOT / "docs" / "external.md", ROOT / "docs" / "paper.md"]
    pages = {page: page.read_text() for page in [*PAGES.rglob("*.md"), *others]}
    shown = [name for name in tables if any(f"<!-- {name} -->" in page for page in pages.values())]
    assert sorted(shown) == sorted(tables)
    for name, page in pages.items():
        assert placed(page, tables) == page, f"python examples/results/tables.py rewrites {name}"


def test_where_the_headline_stands_it_says_which_at_grpo_that_is():
    """Its settings, as the study has them, and what the intervals count."""
    from study import read

    games = read("games", quick=False)
    assert {**games["settings"]["learner_args"], **games["arms"]["at_grpo"]["learner_args"]} == {
        **{"group_size": 8, "learning_rate": 2e-4},
        **{"normalize": False, "kl": 0.05, "select": "random"},
    }
    text = (PAGES / "archive" / "games.md").read_text()
    above = " ".join(text[: text.index("<!-- headline -->")].split())[-2500:]
    assert "not divided by the group's standard deviation" in above
    assert "KL term of 0.05" in above
    assert "the answer that is carried out is chosen at random" in above
    assert "intervals by distinct tasks" in above or "interval by distinct tasks" in above


@pytest.mark.slow
def test_a_number_that_is_in_no_log_is_found(tables):
    from tables import placed

    page = (PAGES / "archive" / "games.md").read_text()
    table = tables["games sudoku_v0"]
    forged = page.replace(table, table.replace("1", "9", 1))
    assert forged != page
    assert placed(forged, tables) == page


@pytest.mark.slow
def test_logs_hold_what_they_say_and_little_more():
    from logs import read_log
    from run_queue import HERE, read_queue
    from study import read, runs_of

    queue = read_queue((HERE / "queue.yaml").read_text(), gpu=False)
    logs = sorted((PAGES / "logs").glob("*.jsonl.gz"))
    assert sum(path.stat().st_size for path in logs) < 30e6
    for name in STUDIES:
        path = PAGES / "logs" / f"{name}.jsonl.gz"
        planned = {run.name: run for run in runs_of(read(name, quick=False), Path("models"))}
        rows = read_log(path) if path.exists() else []
        for row in rows:
            run = planned[f"{row['task']}-{row['arm']}-{row['seed']}"]
            told = {**run.settings, "model": Path(run.settings["model"]).name}
            assert row["settings"] == json.loads(json.dumps(told)), run.name
        ended = {row["arm"] for row in rows}
        lacking = {run.arm for run in planned.values()} - ended
        queued = {planned[run.name].arm for run in queue if run.study == name} - ended
        assert lacking == AWAITED.get(name, set()) | queued, f"{name}: bring AWAITED up to date"


def test_the_curve_of_a_start_is_that_of_models_yaml():
    from logs import read_log
    from study import read

    rows = read_log(PAGES / "logs" / "cells.jsonl.gz")
    assert [row["model"] for row in rows] == ["path_cells", "path_cells_more", "sokoban_cells"]
    for row in rows:
        assert row["settings"] == read("models", quick=False)[row["model"]]
        assert row["ended"] == (len(row["curve"]) == row["settings"]["steps"])
        steps = [one["step"] for one in row["evaluations"]]
        assert steps == list(range(0, len(row["curve"]) + 1, row["settings"]["eval_every"]))
        for one in row["evaluations"]:
            assert one["solved"].count("1") == round(one["success"] * one["tasks"])
            assert len(one["solved"]) == one["tasks"] == row["settings"]["eval_tasks"]


@pytest.mark.parametrize("page", ["README.md", "docs/results/archive/games.md"])
def test_pages_say_that_runs_are_awaited_as_long_as_they_are(page):
    text = " ".join((ROOT / page).read_text().split())
    assert ("these runs are not in the logs yet" in text) == bool(AWAITED.get("games"))
