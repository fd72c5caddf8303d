"""The page as text: what stands in it, and that nothing foreign gets out of its place."""

import base64
import errno
import hashlib
import html.parser
import json
import math
import re
from xml.etree import ElementTree

import pytest
from made_runs import answer, episode, evaluation, iteration, learning, make

from llmzoo.report import page
from llmzoo.report.figures import make_plots, save_plots
from llmzoo.report.page import RunReport, read_asset, write_page
from llmzoo.report.plotting import plot_success
from llmzoo.report.runs import load_run
from llmzoo.report.series import group_runs
from llmzoo.report.summary import (
    format_count,
    format_duration,
    page_heading,
    run_row,
    summary_tiles,
)
from llmzoo.report.svg import to_inline_svg

HOSTILE = "</script><img src=x onerror=alert(1)><!--<script>"


def page_of(*folders):
    report = RunReport(folders)
    report.read()
    return report.render_html()


class Elements(html.parser.HTMLParser):
    """Every element of a page: (name, attributes, text directly in it)."""

    def __init__(self, text):
        super().__init__()
        self.result, self.tolerance = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.result.append([tag, dict(attrs), ""])
        self.tolerance = True

    def handle_data(self, data):
        if self.tolerance:
            self.result[-1][2] += data

    def handle_endtag(self, tag):
        self.tolerance = False

    def of(self, tag):
        return [(attrs, text) for name, attrs, text in self.result if name == tag]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The page of a run of 20 iterations with two episodes."""
    folder = tmp_path_factory.mktemp("run") / "a"
    return page_of(make(folder, learning(20), [episode(1, 1), episode(2, 2)]))


def test_a_page_has_everything_of_its_run(text):
    elements = Elements(text)
    assert [t for _, t in elements.of("h2")] == [
        *("Success", "Rewards", "Answers", "Learning", "Time"),
        *("The run", "Settings that are not the defaults"),
    ]
    titles = [t for _, t in elements.of("figcaption")]
    assert "Reward components of planner_1" in titles
    assert "Entropy" in titles
    assert "30.0% → 80.0%" in text
    assert "[21.9%, 39.6%]" in text  # Wilson's interval of 30 of 100
    ids = [attrs["id"] for _, attrs, _ in elements.result if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched_and_the_policy_says_so(text):
    elements = Elements(text)
    for tag, attrs, _ in elements.result:
        for name, value in attrs.items():
            assert not name.startswith("on"), (tag, name)
            assert name != "style", tag
            if name in ("src", "href"):
                assert value.startswith(("#", "data:,")), (tag, value)
    metas = {attrs.get("http-equiv"): attrs.get("content") for attrs, _ in elements.of("meta")}
    policy = dict(part.split(" ", 1) for part in metas["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"

    def sha(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    # the only style and the only script that runs are those that are named
    assert [sha(text) for _, text in elements.of("style")] == [policy["style-src"]]
    running = [text for attrs, text in elements.of("script") if "type" not in attrs]
    assert [sha(text) for text in running] == [policy["script-src"]]


@pytest.mark.slow
def test_hostile_names_and_texts_are_escaped(tmp_path):
    rows = [iteration(1, 0.5, **{HOSTILE: 1.0}), evaluation(1, 5)]
    rows[0]["return"] = {HOSTILE: 1.0, "b": 2.0}
    rows[0]["agents"] = {HOSTILE: {"reward_components": {HOSTILE: 1.0, "b": 1.0}}}
    turn = {
        "agent": HOSTILE,
        "turn": 0,
        "path": [],
        "prompt": HOSTILE,
        "answers": [answer(HOSTILE, 1)],
    }
    played = [episode(1, 1, turns=[turn], returns={HOSTILE: 1.0})]
    folder = make(tmp_path / "a", rows, played, learner=HOSTILE, env=HOSTILE, model=HOSTILE)
    elements = Elements(page_of(folder, make(tmp_path / "b", rows, played, seed=HOSTILE)))
    assert elements.of("img") == []
    types = [attrs.get("type") for attrs, _ in elements.of("script")]
    assert types == [None, "application/json", *["application/gzip"] * 3]
    facts = json.loads(elements.of("script")[1][1])
    assert facts["runs"][0]["agents"] == [HOSTILE]


def test_figures_of_a_page_are_svg_without_styles(tmp_path):
    (group,) = group_runs([load_run(make(tmp_path / "a", learning(5)), "a")])
    one, two = (
        to_inline_svg(plot_success([group]), name, "Success <1>") for name in ("one", "two")
    )
    root = ElementTree.fromstring(one)
    assert root.attrib["aria-label"] == "Success <1>"
    assert "style" not in {name for element in root.iter() for name in element.attrib}
    assert not list(root.iter("{http://www.w3.org/2000/svg}style"))
    ids, others = (set(re.findall(r' id="([^"]+)"', text)) for text in (one, two))
    assert ids
    assert not ids & others
    # what is referred to is there
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', one)) <= ids
    assert 'stroke="var(--series-0)"' in one
    assert ">iteration</text>" in one
    assert "#3355cc" not in one


@pytest.mark.slow
def test_figures_are_files_too(tmp_path):
    run = load_run(make(tmp_path / "a", learning(5)), "a")
    names = {path.name for path in save_plots([run], tmp_path / "plots", "svg")}
    assert {"success.svg", "return.svg", "reward-parts-planner_1.svg", "time.svg"} <= names
    for path in (tmp_path / "plots").iterdir():
        ElementTree.parse(path)
    assert (tmp_path / "plots" / "success.svg").read_text().count("#3355cc") > 0
    (first, *_) = save_plots([run], tmp_path / "png", "png")
    assert first.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_wide_figure_has_a_second_form_for_a_phone(text):
    wide = re.search(r'<figure class="wide">(.*?)</figure>', text, re.DOTALL)
    boxes = re.findall(r'<svg[^>]* viewBox="0 0 ([0-9.]+) ', wide[1])
    assert [float(width) for width in boxes] == [72 * 6.6, 72 * 3.6]
    assert not re.search(r'<svg[^>]* (width|height)="', text)  # they take the room that there is
    css = read_asset("page.css")
    assert not re.search(r"svg[^{}]*\{[^}]*min-width", css)  # so that none is wider than a window
    _, narrow = css.split("@media (max-width: 44rem)")
    for rules, shown, hidden in ((css[: css.index("@media (max-width")], 1, 2), (narrow, 2, 1)):
        assert f".wide .plot svg:nth-child({hidden}) {{ display: none; }}" in rules
        assert f".wide .plot svg:nth-child({shown}) {{ display: none; }}" not in rules


@pytest.mark.slow
def test_numbers_that_are_none_leave_gaps(tmp_path):
    rows = [
        iteration(1, 0.5, loss=math.nan),
        iteration(2, math.inf, loss=math.nan),
        evaluation(2, 5),
    ]
    names = [p.name for p in make_plots(group_runs([load_run(make(tmp_path / "a", rows), "a")]))]
    assert "learning-loss" not in names
    assert "learning-entropy" in names
    page_of(tmp_path / "a")


def test_an_older_run_without_the_newer_numbers(tmp_path):
    old = {"kind": "train", "step": 1, "success": 0.5, "return": {"a_0": 1.0}, "loss": 0.1}
    old |= {"rollout_seconds": 1.0, "update_seconds": 2.0, "tokens": 5}
    run = load_run(make(tmp_path / "a", [old, {**old, "step": 2}]), "a")
    names = [p.name for p in make_plots(group_runs([run]))]
    assert names == ["success", "return", "learning-loss", "time"]
    text = page_of(tmp_path / "a")
    assert "playing" in text
    assert ">sampling<" not in text


def test_a_run_that_has_just_begun_has_a_page(tmp_path):
    folder = make(tmp_path / "a", ended=False)
    (folder / "before.json").unlink()
    text = page_of(folder)
    assert "not ended" in text
    assert "No episodes were recorded" in text


def test_broken_lines_are_told_on_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "make_plots", lambda groups: [])
    folder = make(tmp_path / "a", learning(2), [episode(1, 1)])
    for name in ("metrics.jsonl", "played.jsonl"):
        with (folder / name).open("a") as file:
            file.write("{broken\n")
    text = page_of(folder)
    assert "a: 1 of 5 lines of metrics.jsonl cannot be read." in text
    assert "a: 1 lines of played.jsonl cannot be read." in text


def test_what_explains_the_gain_stands_below_the_main_numbers(tmp_path):
    folder = make(tmp_path / "run", [evaluation(0, 30)])
    marks = {"before": "1" * 30 + "0" * 70, "after": "1" * 80 + "0" * 20}
    cold = {"success": 0.85, "solved": "1" * 85 + "0" * 15}
    for name, solved in marks.items():
        whole = json.loads((folder / f"{name}.json").read_text())
        whole |= {"solved": solved, "lower_temperatures": {"0.3": cold}}
        whole["greedy"]["solved"] = solved
        (folder / f"{name}.json").write_text(json.dumps(whole))
    text = page_of(folder)
    assert "Sampled success rose by 50.0 points; greedy success rose by 50.0 points." in text
    assert "The starting model reaches 85.0% at temperature 0.3: less random sampling" in text
    damaged = json.loads((folder / "before.json").read_text()) | {"lower_temperatures": {"0.3": 7}}
    (folder / "before.json").write_text(json.dumps(damaged))
    assert "Sampled success rose" not in page_of(folder)


def test_several_policies_have_a_line_each(tmp_path):
    rows = [
        iteration(1, 0.5, **{"planner_1/loss": 0.1, "proposer_0/loss": 0.2, "logps/chosen": -3.0})
    ]
    names = [p.name for p in make_plots(group_runs([load_run(make(tmp_path / "a", rows), "a")]))]
    assert names.count("learning-loss") == 1
    assert "learning-logps-chosen" in names


def test_environments_have_figures_of_their_own(tmp_path):
    runs = [
        load_run(make(tmp_path / env, learning(3), env=env), env)
        for env in ("sudoku_v0", "other_v0")
    ]
    result = make_plots(group_runs(runs))
    names = [plot.name for plot in result]
    assert {"sudoku_v0-success", "other_v0-success"} <= set(names)
    assert len(names) == len(set(names))
    assert "Success, other_v0" in [plot.title for plot in result]


def test_words_of_a_run(tmp_path):
    run = load_run(make(tmp_path / "a", learning(20)), "a")
    assert page_heading([run])[0] == "at_grpo on sudoku_v0"
    assert [tile["value"] for tile in summary_tiles(run)] == [
        "30.0% → 80.0%",
        "30.0% → 80.0%",  # greedy
        "20.0k",
        "1 min 23 s",
    ]
    row = run_row(run)
    assert (row["steps"], row["tokens"]) == ("20", "20,000")
    going = load_run(make(tmp_path / "b", learning(5), ended=False, learner="grpo"), "b")
    assert run_row(going)["steps"] == "5 of 20"
    assert page_heading([run, going]) == (
        "2 runs on sudoku_v0",
        "at_grpo and grpo · 1 of them ended",
    )


@pytest.mark.parametrize(
    ("seconds", "said"), [(52.4, "52 s"), (252, "4 min 12 s"), (12_000, "3 h 20 min"), (0, "0 s")]
)
def test_durations(seconds, said):
    assert format_duration(seconds) == said


def test_counts():
    assert [format_count(n) for n in (950, 9999, 12_345, 4_567_000)] == [
        "950",
        "9,999",
        "12.3k",
        "4.57M",
    ]


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "new" / "report.html"
    write_page(path, "first")
    full = OSError(errno.ENOSPC, "No space left on device")
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", lambda _: (_ for _ in ()).throw(full))
        with pytest.raises(OSError, match="No space left"):
            write_page(path, "second")
    assert path.read_text() == "first"
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    write_page(path, "half a pair \ud800")  # as a run's settings may hold
    assert path.read_text() == "half a pair ?"


def test_a_page_of_several_settings_begins_with_what_they_reached(tmp_path):
    def folder(name, learner, solved, seed=0, env_args=None):
        after = {**evaluation(20, solved, tasks=10), "ids": [f"t{i}" for i in range(10)]}
        after |= {"solved": "1" * solved + "0" * (10 - solved)}
        after |= {"returns": {"planner_1": [float(i < solved) for i in range(10)]}}
        config = {"learner": learner, "seed": seed, "env_args": env_args or {"size": 4}}
        run = make(tmp_path / name, learning(20), **config)
        (run / "after.json").write_text(json.dumps(after))
        return run

    runs = [folder("a", "at_grpo", 9), folder("b", "grpo", 1), folder("c", "grpo", 1, seed=1)]
    text = page_of(*runs)
    headings = [t for _, t in Elements(text).of("h2")]
    assert headings[:3] == ["Comparison", "Runs", "Success"]
    cells = [t for _, t in Elements(text).of("td")]
    assert any(cell.startswith("90.0% [") and cell.endswith("(30.0%)") for cell in cells)
    # at_grpo solves 8 tasks more often than both runs of grpo: 2 * 0.5 ** 8 = 0.0078
    assert "0.0078" in cells
    assert "1 of 1 pairs differ in success at 5%" in text
    # settings of the environment make another column, and no pair of learners
    apart = page_of(runs[0], folder("d", "at_grpo", 9, env_args={"size": 9}))
    heads = [t for _, t in Elements(apart).of("th")]
    assert {"sudoku_v0 size=4", "sudoku_v0 size=9"} <= set(heads)
    assert "pairs differ" not in apart
    # seeds of one setting are no comparison
    assert "Comparison" not in page_of(*runs[1:])


def test_a_page_says_where_a_run_was_made_and_greedy_success(tmp_path):
    run = make(tmp_path / "a", learning(20))
    starts = {"starts": [{"command": "llmzoo train --seed 7", "commit": "0123abcd"}]}
    (run / "provenance.json").write_text(json.dumps(starts))
    text = page_of(run)
    assert "Versions, command and machine" in text
    assert "llmzoo train --seed 7" in text
    assert "0123abcd" in text
    assert "<small>greedy 80.0%</small>" in text
    (run / "provenance.json").write_text('{"starts": 3}')
    assert "provenance.json cannot be read" in page_of(run)


def test_a_curve_of_the_best_answers_says_so(tmp_path):
    best = make(tmp_path / "a", learning(20), learner_args={"select": "greedy"})
    own = make(tmp_path / "b", learning(20), learner_args={"select": "random"})
    told = "in play, best answers"
    for folder, says in ((best, True), (own, False)):
        (axes,) = plot_success(group_runs([load_run(folder, "run")])).axes
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert any(label.startswith(told) for label in labels) is says
