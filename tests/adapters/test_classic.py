"""Games of PettingZoo's classic family, which we did not write."""

import itertools
import json
import random
import sys

import numpy as np
import pettingzoo
import pytest
from tiny_models import FakePolicy

from llmzoo import registry, testing
from llmzoo.adapters import classic, discrete_to_text
from llmzoo.adapters.classic import connect_four, perfect_tic_tac_toe, tic_tac_toe
from llmzoo.errors import MissingExtraError
from llmzoo.evaluation import evaluate as evaluation
from llmzoo.policies import load
from llmzoo.rollout import agent_turn_tree, fork, joint_tree, play_episodes, run_rollouts

GAMES = [tic_tac_toe, connect_four]
PATH = "llmzoo.adapters.classic:tic_tac_toe"


def rps(**options):
    return discrete_to_text(
        pettingzoo.make("aec", "classic/rps-v2", max_cycles=3),
        actions=["Rock", "Paper", "Scissors"],
        **options,
    )


def leduc(**options):
    return discrete_to_text(
        pettingzoo.make("aec", "classic/leduc_holdem-v4"),
        actions=["Call", "Raise", "Fold", "Check"],
        forfeit_penalty=8.0,
        **options,
    )


def legal_player(env, agent):
    return env.unwrapped.noisy_expert(agent, random.Random(env.observe(agent)))


def play(env, *moves):
    env.reset(seed=0)
    for move in moves:
        env.step(f"Move: {move}")
    return env


@pytest.mark.parametrize("make", [*GAMES, rps, leduc])
def test_conformance(make):
    testing.check_env(make, cycles=20)
    testing.check_text_spaces(make)
    for act in (None, legal_player):
        testing.check_seeds(make, act=act)
        testing.check_rewards(make, episodes=3, act=act)
        testing.check_observations_do_not_grow(make, episodes=3, act=act)
        testing.check_fork(make, act=act)
    testing.check_hostile_text(make, testing.hostile_texts(60))


def test_what_a_player_of_tic_tac_toe_reads():
    env = play(tic_tac_toe(), 4, 0)
    assert env.observe("player_1") == (
        "You are player_1 in tictactoe_v3. Two players set their marks in turn on a board of 3 x 3 "
        "squares. Three of your own in a row, a column or a diagonal win. A move is the number of an "
        "empty square.\n\nYou are X.\nO | 1 | 2\n--+---+--\n3 | X | 5\n--+---+--\n6 | 7 | 8\n\n"
        'Legal moves: 1, 2, 3, 5, 6, 7, 8\n\nEnd your answer with a line such as "Move: 1".'
    )
    assert "You are O.\nO | 1 | 2\n" in env.observe("player_2")


def test_the_numbers_on_the_board_are_those_of_the_game():
    """Every line of three on the board as shown wins, and nothing else does."""
    board = play(tic_tac_toe(prompt="terse")).observe("player_1").split("\n")
    shown = [row.split(" | ") for row in board[1:6:2]]
    assert shown == [["0", "1", "2"], ["3", "4", "5"], ["6", "7", "8"]]
    lines = [*shown, *map(list, zip(*shown, strict=True))]
    lines += [[shown[i][i] for i in range(3)], [shown[i][2 - i] for i in range(3)]]
    for triple in itertools.combinations(range(9), 3):
        others = [square for square in range(9) if square not in triple]
        order = [triple[0], others[0], triple[1], others[1], triple[2]]
        env = play(tic_tac_toe(), *order)
        wins = sorted(map(str, triple)) in [sorted(line) for line in lines]
        assert env.rewards["player_1"] == (1 if wins else 0), triple


def test_what_a_player_of_connect_four_reads():
    env = play(connect_four(prompt="terse"), 3, 3, 0)
    assert env.observe("player_1") == (
        "You are O.\n0 1 2 3 4 5 6\n. . . . . . .\n. . . . . . .\n. . . . . . .\n. . . . . . .\n"
        ". . . O . . .\nX . . X . . .\nLegal moves: 0, 1, 2, 3, 4, 5, 6\nMove:"
    )
    full = play(connect_four(), 3, 3, 3, 3, 3, 3)
    assert "Legal moves: 0, 1, 2, 4, 5, 6\n" in full.observe("player_0")
    full.step("Move: 3")
    assert full.infos["player_0"]["error"] == "3 is not legal now"


def test_winning_and_losing():
    env = play(tic_tac_toe(), 0, 3, 1, 4, 2)
    assert env.rewards == {"player_1": 1, "player_2": -1}
    assert {a: i["reward_components"] for a, i in env.infos.items()} == {
        "player_1": {"game": 1},
        "player_2": {"game": -1},
    }
    assert [(i["success"], i["won"]) for i in env.infos.values()] == [(True, True), (True, False)]
    draw = play(tic_tac_toe(), 0, 1, 2, 4, 3, 5, 7, 6, 8)
    assert all(draw.terminations.values())
    assert [(i["success"], i["won"]) for i in draw.infos.values()] == [(False, False)] * 2


@pytest.mark.parametrize("id", ["classic/tictactoe-v3", "classic/connect_four-v3"])
def test_one_try_without_a_penalty_for_it_is_pettingzoos_own_rule(id):
    theirs = pettingzoo.make("aec", id)
    theirs.reset(seed=0)
    ours = discrete_to_text(pettingzoo.make("aec", id), tries=1, illegal_penalty=0.0)
    ours.reset(seed=0)
    for env, moves in ((theirs, [0] * 7), (ours, ["0"] * 7)):
        for move in moves:
            if not any(env.terminations.values()):
                env.step(move)
    assert ours.rewards == theirs.rewards
    assert ours.terminations == theirs.terminations
    assert ours.agents == theirs.agents


@pytest.mark.parametrize("make", GAMES)
def test_a_fork_leaves_the_original_at_every_move(make):
    """The board itself is compared, behind the wrappers, against a game that was never forked."""

    def squares(env):
        raw = env.unwrapped.game.unwrapped
        return list(raw.board.squares if make is tic_tac_toe else raw.board)

    env, untouched = make(), make()
    env.reset(seed=0)
    untouched.reset(seed=0)
    rng = random.Random(5)
    while not any(env.terminations.values()):
        answers = [env.unwrapped.noisy_expert(env.agent_selection, rng) for _ in range(3)]
        forks = [fork(env) for _ in answers]
        for forked, answer in zip(forks, answers, strict=True):
            assert squares(forked) == squares(env)
            forked.step(answer)
            while not any(forked.terminations.values()):
                forked.step(forked.unwrapped.noisy_expert(forked.agent_selection, rng))
        assert squares(env) == squares(untouched)
        env.step(answers[0])
        untouched.step(answers[0])
        assert squares(env) == squares(untouched)
        assert env.rewards == untouched.rewards
    assert sum(map(bool, squares(env))) >= 5


def test_perfect_play_never_loses():
    def opponents(env, mine):
        """Plays the expert against every line of the other; yields what it was paid."""
        if any(env.terminations.values()):
            yield env.rewards[mine]
            return
        agent = env.agent_selection
        moves = env.unwrapped.legal(agent)
        answers = [env.unwrapped.expert(agent)] if agent == mine else [f"Move: {m}" for m in moves]
        for answer in answers:
            forked = fork(env)
            forked.step(answer)
            yield from opponents(forked, mine)

    centre_and_edge = play(tic_tac_toe(prompt="terse"), 4, 1)
    assert set(opponents(centre_and_edge, "player_1")) == {1}  # the edge loses
    assert set(opponents(play(tic_tac_toe(prompt="terse"), 4, 0), "player_2")) == {0, 1}


def test_the_expert_wins_where_it_can_and_blocks_where_it_must():
    def best(*moves):
        env = play(tic_tac_toe(), *moves)
        agent = env.agent_selection
        return perfect_tic_tac_toe(env.unwrapped.game.observe(agent), agent)

    assert best(0, 3, 1, 4) == 2  # wins, although 5 would block
    assert best(0, 4, 1) == 2  # blocks


def test_evaluation_by_path_is_meaningful_beside_a_fixed_opponent():
    agents = {"player_1": load("expert"), "player_2": load("noisy_expert")}
    result = evaluation.evaluate(PATH, agents, tasks=40)
    assert (result.env, result.source, result.split) == (PATH, "tictactoe_v3", "test")
    assert result.success > 0.9
    # whose win is a success is an option
    other = evaluation.evaluate(PATH, agents, tasks=40, env_args={"success": "player_2"})
    assert other.success == 0
    # between two perfect players nobody wins
    assert evaluation.evaluate(PATH, "expert", tasks=2).success == 0


def test_a_game_of_chance_is_dealt_by_the_seed_and_the_split():
    def dealt(split, seed):
        env = leduc(split=split)
        env.reset(seed=seed)
        return env.agent_selection, env.observe("player_0"), env.observe("player_1")

    assert dealt("test", 3) == dealt("test", 3)
    assert len({dealt("train", seed) for seed in range(20)}) > 5
    assert [dealt("train", s) for s in range(20)] != [dealt("test", s) for s in range(20)]


def test_a_simultaneous_game_is_played_in_turns_without_a_look():
    env = rps()
    env.reset(seed=0)
    assert env.metadata["is_parallelizable"] is False
    before = env.observe("player_1")
    first, second = fork(env), fork(env)
    first.step("Rock")
    second.step("Paper")
    assert first.observe("player_1") == second.observe("player_1") != before
    second.step("Scissors")
    assert second.rewards == {"player_0": -1, "player_1": 1}


def test_joint_tree_credits_each_player_with_its_own_return():
    """Returns worked out by hand.

    After 0, 1, 2, 3, 5, 4 the board is X O X / O O X / 6 7 8. X answers "6", "8" and "?", and where
    the tree does not branch its first answer again, "6". O answers "7".

    * 8 completes the column 2, 5, 8: X is paid 1, O -1.
    * 6 lets O complete 1, 4, 7: X is paid -1, O 1.
    * "?" costs X 0.1; asked again it answers 6, and the game goes as above: X has -1.1, O 1.
    """
    env = play(tic_tac_toe(), 0, 1, 2, 3, 5, 4)
    answers = {"player_1": ["Move: 6", "Move: 8", "?"], "player_2": ["Move: 7"] * 3}
    policy = FakePolicy(lambda request, i: answers[request.agent][i])
    (batch,) = run_rollouts(
        [joint_tree(env, 9, group_size=3, trained=["player_1"], expand=0)],
        dict.fromkeys(env.possible_agents, policy),
    )
    root = next(group for group in batch.groups if group.turn == 0)
    assert root.agent == "player_1"
    assert root.returns == pytest.approx((-1.0, 1.0, -1.1))
    assert sorted(ending.totals["player_2"] for ending in batch.endings) == [-1, 1, 1]


def test_agent_turn_tree_goes_on_from_the_best_answer():
    def write(request, i):
        legal = request.env.unwrapped.legal(request.agent)
        return "?" if i == 0 else f"Move: {legal[i % len(legal)]}"

    env = tic_tac_toe()
    env.reset(seed=0)
    (batch,) = run_rollouts(
        [agent_turn_tree(env, 1, group_size=3, trained=env.possible_agents)],
        dict.fromkeys(env.possible_agents, FakePolicy(write)),
    )
    agents = [group.agent for group in batch.groups]
    assert agents == ["player_1", "player_2"] * (len(agents) // 2) + ["player_1"] * (
        len(agents) % 2
    )
    assert {group.returns[0] for group in batch.groups} == {-0.1}
    (ending,) = batch.endings
    assert sum(ending.totals.values()) == 0  # a legal answer was carried out each time


def test_episodes_of_random_text_end_soon():
    for episode in play_episodes(tic_tac_toe, load("random"), range(20)):
        assert episode.terminated
        assert len(episode.decisions) <= 2 * 9


def test_without_pygame_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[classic\]"):
        classic.tic_tac_toe()
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[classic\]"):
        registry.make(PATH)


@pytest.mark.slow
def test_magrpo_learns_in_self_play_for_two_steps(tmp_path, small_model):
    from llmzoo.training import fit

    result = fit(
        "magrpo",
        PATH,
        env_args={"prompt": "terse"},
        learner_args={"group_size": 8, "learning_rate": 1e-3},
        model=small_model,
        out=tmp_path / "run",
        steps=2,
        episodes_per_step=2,
        eval_tasks=3,
        max_new_tokens=6,
        quiet=True,
    )
    assert result.steps == 2
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row["kind"] == "train"]
    assert [row["step"] for row in rows] == [1, 2]
    assert all(row["groups"] > 0 and set(row["return"]) == {"player_1", "player_2"} for row in rows)
    assert any(row["grad_norm"] > 0 for row in rows)
    assert np.isfinite(list(result.after["mean_return"].values())).all()
