"""A league in the page of its run, and as pictures."""

from __future__ import annotations

import json

import pytest
from made_runs import learning, make

from llmzoo.evaluation.standings import League, Match, PlayerStanding
from llmzoo.report import page as report_page
from llmzoo.report.figures import make_plots
from llmzoo.report.league import plot_ratings, plot_wins, save_league_plots
from llmzoo.report.page import RunReport
from llmzoo.report.runs import load_run
from llmzoo.report.series import group_runs

HOSTILE = "<script>alert(1)</script>"


def standing(name, rating, **more):
    fields = {
        **{"name": name, "run": None, "iteration": None, "rating": rating},
        **{"rating_ci95": (rating - 20.0, rating + 30.0), "won": 3, "drawn": 0, "lost": 1},
        **{"score": 0.75, "score_ci95": (0.4, 0.9), "by_position": {"a": 1.0, "b": 0.5}},
        **{"mean_return": 0.5, "return_ci95": (0.1, 0.9), "errors": 0.0},
    }
    return PlayerStanding(**{**fields, **more})


def match(first, second, score):
    return Match(
        first=first,
        second=second,
        won=1,
        drawn=0,
        lost=1,
        score=score,
        score_ci95=(0.2, 0.8),
        mean_return=(0.0, 0.0),
    )


def a_league(first="r@0"):
    players = (
        standing(first, -50.0, run="runs/r", iteration=0),
        standing("r@10", 60.0, run="runs/r", iteration=10),
        standing("expert", 90.0),
    )
    return League(
        env="kuhn_poker_v0",
        split="test",
        seed=0,
        deals=2,
        distinct_deals=2,
        players=players,
        matches=(
            match(first, "r@10", 0.25),
            match(first, "expert", 0.1),
            match("r@10", "expert", 0.5),
        ),
        notes=(),
    )


def put(folder, text):
    (folder / "league").mkdir()
    (folder / "league" / "league.json").write_text(text)
    return folder


def test_ratings_over_iterations_with_lines_for_the_others():
    (axes,) = plot_ratings(a_league()).axes
    line = axes.lines[0]
    assert list(line.get_xdata()) == [0.0, 10.0]
    assert list(line.get_ydata()) == [-50.0, 60.0]
    _, labels = axes.get_legend_handles_labels()
    assert labels == ["expert", "r"]


def test_who_beats_whom():
    (axes,) = plot_wins(a_league()).axes
    told = {text.get_position(): text.get_text() for text in axes.texts}
    # (column, row): the share of points of the row
    assert told == {
        **{(1, 0): "25%", (0, 1): "75%", (2, 0): "10%"},
        **{(0, 2): "90%", (2, 1): "50%", (1, 2): "50%"},
    }
    assert sorted(patch.get_alpha() for patch in axes.patches) == pytest.approx(
        [0.0, 0.0, 0.3, 0.3, 0.48, 0.48]
    )


def test_many_players_have_no_numbers_in_their_cells():
    names = [f"p{n}" for n in range(20)]
    many = League(
        **{
            **{
                name: getattr(a_league(), name)
                for name in ("env", "split", "seed", "deals", "notes")
            },
            "distinct_deals": 2,
            "players": tuple(standing(name, 0.0) for name in names),
            "matches": tuple(match(a, b, 0.5) for n, a in enumerate(names) for b in names[n + 1 :]),
        }
    )
    (axes,) = plot_wins(many).axes
    assert len(axes.texts) == 0
    (axes,) = plot_ratings(many).axes
    assert len(axes.get_yticklabels()) == 20


@pytest.mark.slow
def test_the_pictures_are_reproducible(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        save_league_plots(a_league(), tmp_path / name)
    for picture in ("ratings.png", "wins.png"):
        assert (tmp_path / "a" / picture).read_bytes() == (tmp_path / "b" / picture).read_bytes()


def test_the_page_of_a_run_has_its_league(tmp_path, monkeypatch):
    def of_leagues(groups):
        return [plot for plot in make_plots(groups) if plot.section == "League"]

    monkeypatch.setattr(report_page, "make_plots", of_leagues)  # the others take a second to draw
    folder = put(make(tmp_path / "a", learning(2)), json.dumps(a_league(HOSTILE).to_dict()))
    report = RunReport([folder])
    report.read()
    page = report.render_html()
    assert '<h2 id="section-1">League</h2>' in page
    assert 'aria-label="Share of points"' in page
    assert HOSTILE not in page  # what stands in the file stays text
    assert "&lt;script&gt;alert" in page


def test_only_runs_with_a_league_have_its_figures(tmp_path):
    without = load_run(make(tmp_path / "a", learning(2)), "a")
    run = load_run(
        put(make(tmp_path / "b", learning(2), seed=1), json.dumps(a_league().to_dict())), "b"
    )
    assert [p.name for p in make_plots(group_runs([without])) if p.section == "League"] == []
    alone = [(p.name, p.title) for p in make_plots(group_runs([run])) if p.section == "League"]
    assert alone == [("league-ratings", "Ratings"), ("league-wins", "Share of points")]
    both = [
        (p.name, p.title) for p in make_plots(group_runs([without, run])) if p.section == "League"
    ]
    assert both == [("league-ratings-2", "Ratings, b"), ("league-wins-2", "Share of points, b")]


@pytest.mark.parametrize("text", ["{}", "[1]", "{", '{"players": [], "matches": [], "notes": []}'])
def test_a_league_that_cannot_be_read_is_a_note(tmp_path, text):
    run = put(make(tmp_path / "a", learning(5)), text)
    found = load_run(run, "a")
    assert found.league is None
    assert found.notes == ("league/league.json cannot be read",)
