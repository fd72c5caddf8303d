"""Leagues in which a side has several agents, which may leave during a game."""

from __future__ import annotations

from statistics import fmean

import pytest
from test_league import the_files

from llmzoo.envs.crowd.mafia.odds import MAFIA, NIGHT, VOTE, village_win_probability
from llmzoo.evaluation.league import league
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.records.episode_rows import load_episodes

FIVE = {"num_agents": 5}
SIDES = ("mafia_0", "detective_1, villager_2, villager_3, villager_4")


def sharp(request):
    """Knows all roles: the mafia kills the last villager by number, and all others vote for the mafia."""
    state = request.env.unwrapped.episode
    if request.agent == "mafia_0":
        chosen = state.alive[-1] if state.phase == NIGHT else "nobody"
    else:
        chosen = "mafia_0"
    return f"Answer: {state.names.get(chosen, chosen)}"


def idle(request):
    """Kills nobody, which is refused, checks the mafia, says nothing of it and removes nobody."""
    state = request.env.unwrapped.episode
    if state.phase != NIGHT:
        return "Answer: nobody"
    return "I sleep" if request.agent == "mafia_0" else f"Answer: {state.names['mafia_0']}"


def play(out, *, deals=2, **options):
    players = {"sharp": ScriptedPolicy(sharp, "sharp"), "idle": ScriptedPolicy(idle, "idle")}
    return league("mafia_v0", players, out=out, deals=deals, env_args=FIVE, **options)


def test_each_player_plays_both_sides_and_points_and_returns_are_those_of_sides(tmp_path):
    """A sharp village removes the idle mafia on the first day, before it has lost anybody: 1 for each of four, and
    -1.1 for the mafia, whose one night of three actions was refused.

    An idle village loses one agent in each of three nights, and then the game. The first two leave with the worth
    of the position, and the others have lost: of four players the detective is asked in 3 nights and 3 + 2 agents
    twice on two days, 13 actions.
    """
    result = play(tmp_path, deals=6)
    best, other = result.ranking()
    assert (best.name, best.won, best.drawn, best.lost, best.score) == ("sharp", 12, 0, 0, 1.0)
    assert (other.name, other.won, other.drawn, other.lost) == ("idle", 0, 0, 12)
    assert best.by_position == dict.fromkeys(SIDES, 1.0)
    assert best.rating_ci95[0] > 25 > other.rating_ci95[1]
    assert best.rating + other.rating == pytest.approx(50, abs=0.02)
    after_one = 2 * village_win_probability(1, 3, VOTE) - 1
    after_two = (
        2 / 9 - 1
    )  # one of three is removed in a third of the votes, the mafia in a third of them
    of_village = (after_one + after_two - 1 - 1) / 4
    assert best.mean_return == 1.0
    assert other.mean_return == pytest.approx((-1.1 + of_village) / 2, abs=1e-6)
    assert (best.errors, other.errors) == (0.0, 1 / 16)


def test_a_village_wins_with_those_that_it_has_lost(tmp_path):
    """A sharp mafia kills one villager before it is removed: that one was paid less than -0.5, and has won."""
    players = {name: ScriptedPolicy(sharp, name) for name in ("one", "other")}
    result = league("mafia_v0", players, out=tmp_path, deals=2, env_args=FIVE)
    worth = 2 * village_win_probability(1, 3, VOTE) - 1
    for game in load_episodes(tmp_path / "games" / "one" / "other"):
        assert game.totals["villager_4"] == pytest.approx(worth)
        assert worth < -0.5
        assert "villager_4" not in {d.agent for d in game.decisions}
        assert game.info["outcomes"]["villager_4"] == "won"
    (match,) = result.matches
    # the village wins in both orders
    assert (match.won, match.lost, match.mean_return[0]) == (2, 2, match.mean_return[1])
    assert match.mean_return[0] == pytest.approx((-1 + (3 + worth) / 4) / 2, abs=1e-6)
    assert result.players[0].by_position == {SIDES[0]: 0.0, SIDES[1]: 1.0}


def test_a_game_that_both_sides_lose_is_a_draw(tmp_path):
    players = {name: ScriptedPolicy(idle, name) for name in ("one", "other")}
    result = league("mafia_v0", players, out=tmp_path, deals=2, env_args=FIVE)
    assert [(player.drawn, player.score) for player in result.players] == [(4, 0.5)] * 2
    assert any("every game was a draw" in note for note in result.notes)


def test_scripted_players_meet_on_both_sides(tmp_path):
    """Of eight players two are mafia. Points and returns again, counted from the episodes."""
    args = {"num_agents": 8}
    result = league("mafia_v0", ["expert", "random"], out=tmp_path, deals=8, env_args=args)
    won, returns = 0, []
    for first, second in (("expert", "random"), ("random", "expert")):
        for game in load_episodes(tmp_path / "games" / first / second):
            own = [a for a in game.totals if a.startswith(MAFIA) == (first == "expert")]
            assert len(own) == (2 if first == "expert" else 6)
            won += game.info["outcomes"][own[0]] == "won"
            returns.append(fmean(game.totals[agent] for agent in own))
    (match,) = result.matches
    assert (match.won, match.drawn, match.lost) == (won, 0, 16 - won)
    assert match.mean_return[0] == pytest.approx(fmean(returns), abs=1e-5)
    assert result.ranking()[0].name == "expert"


def test_a_league_that_was_cut_off_ends_the_same(tmp_path):
    play(tmp_path, deals=4, concurrency=2)
    whole = the_files(tmp_path)
    (tmp_path / "league.json").unlink()
    killed = tmp_path / "games" / "idle" / "sharp"  # in the middle of the third game
    (killed / "result.json").unlink()
    episodes = killed / "episodes.jsonl"
    lines = episodes.read_bytes().splitlines(keepends=True)
    episodes.write_bytes(b"".join(lines[:2]) + lines[2][:100])
    play(tmp_path, deals=4, concurrency=2)
    assert the_files(tmp_path) == whole
