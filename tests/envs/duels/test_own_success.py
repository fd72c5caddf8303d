"""Each player's last info tells its own success, and who has won."""

import pytest

import llmzoo


def last_infos(id, seed, texts=None):
    env = llmzoo.make(id)
    env.reset(seed=seed)
    infos = {}
    for agent in env.agent_iter():
        *_, terminated, truncated, info = env.last()
        if terminated or truncated:
            infos[agent] = dict(info)
            env.step(None)
        else:
            env.step(texts.pop(0) if texts else env.unwrapped.expert(agent))
    return infos


@pytest.mark.parametrize("id", ["kuhn_poker_v0", "leduc_poker_v0", "liars_dice_v0"])
def test_one_of_two_players_succeeds(id):
    for seed in range(6):
        infos = last_infos(id, seed)
        successes = {agent: info["success"] for agent, info in infos.items()}
        assert successes == {agent: info["won"] for agent, info in infos.items()}
        assert sum(successes.values()) <= 1
    assert any(last_infos(id, seed)["player_1"]["success"] for seed in range(20))


def test_the_second_player_of_tic_tac_toe_wins():
    """x: 1 2 7 6, o: 3 5 ... the diagonal 3 5 7 is o's."""
    infos = last_infos("tic_tac_toe_v0", 0, ["1", "3", "2", "5", "9", "7"])
    assert (infos["player_0"]["success"], infos["player_1"]["success"]) == (False, True)
    for info in infos.values():
        assert info["outcomes"] == {"player_0": "lost", "player_1": "won"}


def test_a_drawn_game_and_a_forfeited_one():
    drawn = last_infos("tic_tac_toe_v0", 0)["player_0"]  # the expert against itself
    assert (drawn["success"], set(drawn["outcomes"].values())) == (False, {"drawn"})
    given_up = last_infos("tic_tac_toe_v0", 0, ["nonsense", "nonsense"])["player_1"]
    assert (given_up["success"], set(given_up["outcomes"].values())) == (False, {"lost"})


def test_players_who_are_paid_alike_succeed_together():
    for seed in range(6):
        infos = last_infos("tiny_hanabi_v0", seed)
        assert "outcomes" not in infos["player_0"]
        assert infos["player_0"]["success"] == infos["player_1"]["success"]
