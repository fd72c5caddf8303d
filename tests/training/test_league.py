"""Leagues: what is played, what is kept, what is in memory, what is refused."""

from __future__ import annotations

import gc
import itertools
import json
import random
import shutil
import signal
import subprocess
import sys
import time
import weakref

import pytest
from tiny_models import model, tokenizer

import llmzoo
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.evaluation.entrants import expand_names, make_entrants
from llmzoo.evaluation.league import league, pair_order
from llmzoo.evaluation.league_games import Games, GameTable
from llmzoo.evaluation.league_summary import summarize_league
from llmzoo.evaluation.standings import League
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Completion, Decision, Episode
from llmzoo.records.episode_rows import load_episodes
from llmzoo.runs import named_policies, run_folder
from llmzoo.training import fit

KUHN, TERSE = "kuhn_poker_v0", {"prompt": "terse", "tries": 1}
SCRIPTED = ["expert", "noisy_expert", "random"]


def always(*moves):
    """A player of the first of these moves that is legal."""

    def answer(request):
        game = request.env.unwrapped
        legal = game.choices(game.episode, request.agent).names
        return next(move for move in moves if move in legal)

    return ScriptedPolicy(answer, f"always {moves[0]}")


def the_files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with four copies, of iterations 0 to 3, and checkpoints after the second and the fourth."""
    folder = tmp_path_factory.mktemp("runs")
    made = model(initializer_range=0.1, max_position_embeddings=512)
    TransformersPolicy(made, tokenizer()).save(folder / "start")
    common = {"env": KUHN, "env_args": TERSE, "max_new_tokens": 8, "eval_tasks": 2, "quiet": True}
    fit(
        "sft",
        model=str(folder / "start"),
        out=folder / "moves",
        learner_args={"source": "noisy_expert", "success_only": False, "learning_rate": 1e-2},
        steps=12,
        episodes_per_step=16,
        **common,
    )
    fit(
        "at_grpo",
        model=str(folder / "moves"),
        out=folder / "own",
        steps=4,
        episodes_per_step=4,
        opponents="uniform",
        opponents_args={"every": 1},
        learner_args={"learning_rate": 0.003},
        checkpoint_every=2,
        **common,
    )
    return folder / "own"


# what is played


def test_both_agents_on_the_same_deals(tmp_path):
    league(KUHN, ["expert", "noisy_expert"], out=tmp_path, deals=12, seed=5)
    there = [
        load_episodes(tmp_path / "games" / a / b)
        for a, b in (("expert", "noisy_expert"), ("noisy_expert", "expert"))
    ]
    assert [e.seed for e in there[0]] == [e.seed for e in there[1]] == [*range(5, 17)]
    for one, other in zip(*there, strict=True):
        # the first prompt of an agent shows its card, whoever sits there
        assert (
            one.decisions_of("player_0")[0].observation
            == other.decisions_of("player_0")[0].observation
        )
        assert one.info["task_id"] == other.info["task_id"]


def test_luck_of_the_deal_cancels_between_equals(tmp_path):
    """Who always bets and calls shows down every time, so the better card wins: one win each in every deal."""
    two = {"one": always("bet", "call"), "other": always("bet", "call")}
    result = league(KUHN, two, out=tmp_path, deals=30)
    (match,) = result.matches
    assert (match.won, match.drawn, match.lost, match.score) == (30, 0, 30, 0.5)
    assert match.mean_return == (0.0, 0.0)
    one, other = result.players
    # each won 30 of 60: within the intervals the ratings are equal
    assert one.rating_ci95[0] < other.rating < one.rating_ci95[1]


def test_points_and_returns_are_those_of_the_games(tmp_path):
    """A meek player always checks and folds: against a bold one it loses the ante of one chip in each game."""
    result = league(
        KUHN,
        {"bold": always("bet", "call"), "meek": always("check", "fold")},
        out=tmp_path,
        deals=10,
    )
    bold, meek = result.ranking()
    assert (bold.name, bold.won, bold.lost, bold.mean_return) == ("bold", 20, 0, 1.0)
    assert (meek.name, meek.won, meek.lost, meek.mean_return) == ("meek", 0, 20, -1.0)
    assert bold.by_position == {"player_0": 1.0, "player_1": 1.0}
    assert bold.errors == 0.0
    assert bold.rating_ci95[0] > 25 > meek.rating_ci95[1]
    assert bold.rating + meek.rating == pytest.approx(
        50, abs=0.02
    )  # what one gains the other loses
    assert any("10 distinct deals are few" in note for note in result.notes)


SIDES = (("a",), ("b",))


def games(ids, first, second):
    """Games with one action of each agent; the rules refused the first one of a."""

    def decision(agent, number):
        refused = "malformed" if (agent, number) == ("a", 0) else None
        completion = Completion(text="x")
        return Decision(
            agent=agent,
            turn=0,
            observation="?",
            completion=completion,
            reward=0.0,
            info={"error": refused},
        )

    episodes = [
        Episode(
            env_id="x",
            seed=number,
            decisions=tuple(decision(agent, number) for agent in "ab"),
            terminated=True,
            truncated=False,
            success=True,
            totals={"a": own, "b": theirs},
            info={"task_id": id},
        )
        for number, (id, own, theirs) in enumerate(zip(ids, first, second, strict=True))
    ]
    return Games.from_episodes(episodes, SIDES)


def test_a_game_whose_sum_is_not_zero_is_won_by_the_larger_return():
    """Deals x, y, x: the third repeats the first. Player 0 wins 5:4 and 3:1 and draws 2:2 in its first agent, and
    loses 1:6, draws 0:0 and wins 2:1 in the other."""
    results = {
        (0, 1): games(("x", "y", "x"), (5.0, 2.0, 3.0), (4.0, 2.0, 1.0)),
        (1, 0): games(("x", "y", "x"), (6.0, 0.0, 1.0), (1.0, 0.0, 2.0)),
    }
    table = GameTable(2, SIDES, results)
    assert table.deals == 3
    assert table.distinct_deals == 2
    assert [*table.iter_games()] == [
        *((0, 1, 1.0), (1, 0, 1.0)),
        *((0, 1, 0.5), (1, 0, 0.5)),
        *((0, 1, 1.0), (1, 0, 0.0)),
    ]
    own = table.player_results(0)
    assert (own["won"], own["drawn"], own["lost"]) == (3, 2, 1)
    assert own["score"] == pytest.approx(4 / 6, abs=1e-6)
    assert own["by_position"] == {"a": pytest.approx(2.5 / 3, abs=1e-6), "b": 0.5}
    assert own["mean_return"] == pytest.approx((5 + 2 + 3 + 1 + 0 + 2) / 6, abs=1e-6)
    assert own["errors"] == pytest.approx(1 / 6, abs=1e-6)
    assert table.pair_results(0, 1)["mean_return"] == (
        pytest.approx(13 / 6, abs=1e-6),
        pytest.approx(14 / 6, abs=1e-6),
    )


def test_returns_that_differ_by_a_rounding_error_are_a_draw():
    assert 0.1 + 0.2 > 0.3
    assert games(("x",), (0.1 + 0.2,), (0.3,)).points == ((0.5,), (0.5,))


def test_where_all_are_paid_alike_every_game_is_a_draw(tmp_path):
    result = league("tiny_hanabi_v0", ["expert", "noisy_expert"], out=tmp_path, deals=4)
    assert {player.drawn for player in result.players} == {8}
    assert any("same rewards" in note for note in result.notes)


@pytest.mark.slow
def test_models_meet_models_and_the_result_comes_back_from_its_file(run, tmp_path):
    result = league(KUHN, [str(run), "noisy_expert"], out=tmp_path, deals=6, env_args=TERSE)
    assert [player.name for player in result.players] == ["own@4", "noisy_expert"]
    assert [player.iteration for player in result.players] == [4, None]
    assert League.from_dict(json.loads((tmp_path / "league.json").read_text())) == result


# who plays


def test_what_names_stand_for(run):
    def ends(*names, **options):
        return [
            name.removeprefix(f"{run}/") for name in expand_names([*map(str, names)], **options)
        ]

    copies = [f"opponents/00000{n}" for n in range(4)]
    # the checkpoint of iteration 2 has the weights of the copy
    everything = ["opponents/000000", "opponents/000001", "checkpoints/step_000002"]
    everything += ["opponents/000003", "checkpoints/step_000004"]
    assert ends(run) == everything
    assert ends(run, at_most=3) == [everything[0], everything[2], everything[4]]
    assert ends(run / "opponents") == copies
    assert ends(run, "expert") == ["checkpoints/step_000004", "expert"]
    assert ends(run, run / "opponents") == ["checkpoints/step_000004", *copies]
    assert ends(run / "opponents", run / "checkpoints", at_most=2) == [
        *(copies[0], copies[3]),
        *("checkpoints/step_000002", "checkpoints/step_000004"),
    ]


def test_a_copy_and_the_checkpoint_of_its_iteration_are_equal(run):
    names = [str(run / "opponents" / "000002"), str(run / "checkpoints" / "step_000002")]
    one, other = make_entrants(names, ["player_0", "player_1"])
    assert one.fingerprint == other.fingerprint
    third = make_entrants([str(run / "opponents" / "000003")], ["player_0", "player_1"])[0]
    assert third.fingerprint != one.fingerprint


def test_a_checkpoint_of_a_run_is_a_policy_anywhere(run):
    first = llmzoo.evaluate(KUHN, str(run / "opponents" / "000000"), tasks=8, env_args=TERSE)
    newest = llmzoo.evaluate(
        KUHN, str(run / "checkpoints" / "step_000004"), tasks=8, env_args=TERSE
    )
    assert newest.returns == llmzoo.evaluate(KUHN, str(run), tasks=8, env_args=TERSE).returns
    assert first.policy.endswith("000000")
    agents = named_policies.load_policy_for_agents(
        str(run / "opponents" / "000000"), ["player_0", "player_1"]
    )
    assert agents["player_0"] is agents["player_1"]
    assert agents["player_0"].sampling.max_new_tokens == 8  # the run's


# what is in memory


@pytest.mark.parametrize("count", [2, 3, 4, 7, 40])
def test_each_pair_shares_a_player_with_the_one_before(count):
    pairs = [*pair_order(count)]
    assert sorted(pairs) == [*itertools.combinations(range(count), 2)]
    assert all({*a} & {*b} for a, b in itertools.pairwise(pairs))


@pytest.mark.slow
def test_at_most_two_models_are_in_memory(run, tmp_path, monkeypatch):
    there: weakref.WeakSet = weakref.WeakSet()
    loads, most = [], []
    load = TransformersPolicy.load.__func__

    def counted(cls, name, **options):
        loads.append(name)
        policy = load(cls, name, **options)
        there.add(policy.model)
        gc.collect()
        most.append(len(there))
        return policy

    monkeypatch.setattr(TransformersPolicy, "load", classmethod(counted))
    gc.freeze()  # so that a collection looks at what this test makes alone
    copies = [str(run / "opponents")]
    result = league(KUHN, copies, out=tmp_path / "l", deals=2, env_args=TERSE)
    assert len(result.matches) == 6
    assert max(most) == 2
    # two for the first pair and one for each other: fewer are impossible with two places
    assert len(loads) == len(result.matches) + 1
    loads.clear()
    (tmp_path / "l" / "league.json").unlink()
    league(KUHN, copies, out=tmp_path / "l", deals=2, env_args=TERSE)
    assert loads == []  # the games are there


# what is kept


@pytest.mark.slow
def test_a_league_that_was_cut_off_anywhere_ends_the_same(run, tmp_path):
    options = {"deals": 5, "env_args": TERSE, "concurrency": 3}
    names = [str(run / "opponents" / "000003"), "expert", "noisy_expert"]
    league(KUHN, names, out=tmp_path / "whole", **options)
    whole = the_files(tmp_path / "whole")
    chance = random.Random(0)
    for number in range(3):
        folder = shutil.copytree(tmp_path / "whole", tmp_path / f"cut_{number}")
        (folder / "league.json").unlink()
        sets = sorted(path.parent for path in folder.rglob("episodes.jsonl"))
        chance.shuffle(sets)
        for at in sets[:2]:  # killed while these were played
            (at / "result.json").unlink()
            episodes = at / "episodes.jsonl"
            content = episodes.read_bytes()
            episodes.write_bytes(content[: chance.randrange(len(content))])
        for at in sets[2:4]:  # and before these
            for path in sorted(at.iterdir()):
                path.unlink()
        league(KUHN, names, out=folder, **options)
        assert the_files(folder) == whole


def test_players_who_come_later_leave_the_games_as_they_are(tmp_path):
    league(KUHN, SCRIPTED, out=tmp_path / "per_iteration", deals=4)
    league(KUHN, SCRIPTED[:2], out=tmp_path / "later", deals=4)
    league(KUHN, SCRIPTED, out=tmp_path / "later", deals=4)
    assert the_files(tmp_path / "later") == the_files(tmp_path / "per_iteration")


def test_weights_that_changed_are_found(run, tmp_path):
    names = {"own": str(run / "opponents" / "000000"), "noisy_expert": "noisy_expert"}
    league(KUHN, names, out=tmp_path, deals=2, env_args=TERSE)
    names["own"] = str(run / "opponents" / "000001")
    with pytest.raises(CheckpointError, match=r"players=.*remove this folder to play"):
        league(KUHN, names, out=tmp_path, deals=2, env_args=TERSE)


KILLED = """
import sys
from llmzoo.evaluation.league import league
league("kuhn_poker_v0", sys.argv[2:], out=sys.argv[1], deals=40, concurrency=5,
       env_args={"prompt": "terse", "tries": 1})
"""


@pytest.mark.slow
def test_a_killed_league_goes_on(run, tmp_path):
    """A real SIGKILL while the second of the two sets of games is written."""
    names = [str(run / "opponents" / "000003"), "noisy_expert"]
    options = {"deals": 40, "concurrency": 5, "env_args": TERSE}
    league(KUHN, names, out=tmp_path / "whole", **options)
    killed = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(killed), *names])
    while len([*killed.rglob("episodes.jsonl")]) < 2:
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (killed / "league.json").exists()
    league(KUHN, names, out=killed, **options)
    assert the_files(killed) == the_files(tmp_path / "whole")


# what is refused


@pytest.mark.parametrize(
    ("env", "names", "options", "match"),
    [
        (KUHN, ["expert"], {}, "at least two players"),
        (KUHN, [], {}, "at least two players, got nobody"),
        (KUHN, {"one": "expert"}, {}, "at least two"),
        (KUHN, ["expert", "expert"], {}, "expert is given twice"),
        (KUHN, ["expert", "human"], {}, "cannot include people"),
        (KUHN, ["expert", "noisy_expert"], {"deals": 1}, "deals must be at least 2"),
        (KUHN, ["expert", "noisy_expert"], {"device": "cpu"}, "device would have no effect"),
        (KUHN, {"a": "expert", "b": "noisy_expert"}, {"device": "cpu"}, "device are for names"),
        ("relay_v0", ["expert", "noisy_expert"], {}, "two sides, .*has 3 .*llmzoo eval compare"),
        ("sudoku_v0", ["expert", "noisy_expert"], {"env_args": {"num_agents": 1}}, "has 1 "),
        (
            "debate_v0",
            ["expert", "random"],
            {"env_args": {"judge_agent": True}},
            "; judge_2.: choose",
        ),
    ],
)
def test_what_is_refused(env, names, options, match, tmp_path):
    with pytest.raises(ConfigError, match=match):
        league(env, names, out=tmp_path / "l", **options)
    assert not (tmp_path / "l").exists()


def test_a_run_that_did_not_train_every_agent_is_refused(run, tmp_path):
    folder = tmp_path / "copy"
    (folder / "checkpoints" / "step_000001" / "player_0").mkdir(parents=True)
    config = run_folder.require_config(run)
    for changed in ({"policies": "player_0"}, {"agent_args": {"player_1": {"policy": "expert"}}}):
        (folder / "config.json").write_text(json.dumps({**config, **changed}))
        with pytest.raises(ConfigError, match="did not train player_1: in a league"):
            league(KUHN, [str(folder), "expert"], out=tmp_path / "l", deals=2)


@pytest.mark.slow
def test_folders_of_something_else_are_refused(run, tmp_path):
    with pytest.raises(ConfigError, match="is a run folder: choose another one"):
        league(KUHN, SCRIPTED, out=run, deals=2)
    league(KUHN, SCRIPTED, out=tmp_path, deals=2)
    with pytest.raises(CheckpointError, match=r"deals=2 \(now 3\): choose another folder"):
        league(KUHN, SCRIPTED, out=tmp_path, deals=3)
    games = tmp_path / "games" / "expert" / "noisy_expert" / "result.json"
    games.write_text('{"ids": ["a"]}')
    with pytest.raises(CheckpointError, match="cannot be read"):
        league(KUHN, SCRIPTED, out=tmp_path, deals=2)


@pytest.mark.parametrize(
    "change",
    [
        {"players": 3},
        {"matches": []},
        {"deals": "many"},
        {"env": None, "players": [{"name": "x"}]},
    ],
)
def test_what_is_no_result_of_a_league(tmp_path, change):
    result = league(KUHN, ["expert", "noisy_expert"], out=tmp_path, deals=2)
    row = json.loads(json.dumps(result.to_dict()))
    assert League.from_dict(row) == result
    with pytest.raises(CheckpointError, match="not the result of a league"):
        League.from_dict({**row, **change})
    older = {**row, "players": [{**row["players"][0], "openskill": [25.0, 8.0]}]}
    with pytest.raises(CheckpointError, match="unknown fields"):
        League.from_dict(older)
    row["players"][0]["rating"] = float("nan")
    with pytest.raises(CheckpointError, match="is not a number"):
        League.from_dict(row)


def test_enough_deals_and_wins_need_no_note():
    results = {
        (0, 1): games(tuple(map(str, range(40))), (1.0, 0.0) * 20, (0.0, 1.0) * 20),
        (1, 0): games(tuple(map(str, range(40))), (1.0, 0.0) * 20, (0.0, 1.0) * 20),
    }
    two = make_entrants(["expert", "noisy_expert"], ["a", "b"])
    result = summarize_league(two, SIDES, results, env="x", seed=0, split="test")
    assert result.notes == ()
    assert [player.score for player in result.players] == [0.5, 0.5]
