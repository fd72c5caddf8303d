"""docs/papers.md names every published algorithm and benchmark, with settings that exist."""

from __future__ import annotations

import re

import pytest
from builders import papers
from pages import ROOT

import llmzoo
from llmzoo.cli.reference_docs import environment_docs
from llmzoo.learners import learner_class

PACKAGE = ROOT / "llmzoo"
LISTED = papers.LISTED
HUB_ID = re.compile(r"`[A-Za-z][\w-]*/[\w.-]+`")


def test_every_learner_has_a_row():
    names = [n for n in llmzoo.list_learners() if learner_class(n).__module__.startswith("llmzoo.")]
    assert sorted(LISTED["learners"]) == sorted(names)


def test_every_environment_with_a_public_source_has_a_row():
    for id in llmzoo.list_envs():
        if llmzoo.spec(id).family == "third-party":
            continue
        prose = environment_docs(id)
        cited = papers.ARXIV.findall(prose)
        if cited or HUB_ID.search(prose):
            assert id in LISTED["environments"], id
            assert set(cited) <= set(LISTED["environments"][id]["papers"]), id


@pytest.fixture(scope="module")
def text():
    return papers.page()


def test_every_paper_that_the_package_cites_is_on_the_page(text):
    for file in PACKAGE.rglob("*.py"):
        for key in papers.ARXIV.findall(file.read_text(encoding="utf-8")):
            assert f"https://arxiv.org/abs/{key}" in text, f"{file} cites {key}"


def test_every_listed_paper_is_used(text):
    unused = [key for key, (title, *_) in LISTED["papers"].items() if title not in text]
    assert not unused


def test_files_of_options_and_other_parts_cite_their_paper():
    named = [(file, key) for *_, key, file in LISTED["options"]]
    named += [(file, key) for key, file in LISTED["others"].items()]
    for file, key in named:
        assert key in (PACKAGE / file).read_text(encoding="utf-8"), f"{file} does not cite {key}"


@pytest.mark.parametrize("name", sorted(LISTED["learners"]))
def test_settings_of_a_learner_are_accepted(name):
    config = learner_class(name).Config
    config(**LISTED["learners"][name].get("options", {}))
    assert (ROOT / "configs" / "learners" / f"{name}.yaml").exists()


@pytest.mark.parametrize("row", LISTED["options"], ids=lambda row: f"{row[0]}-{next(iter(row[1]))}")
def test_options_are_accepted(row):
    learner, options, *_ = row
    config = learner_class(learner).Config(**{k: _frozen(v) for k, v in options.items()})
    for option, value in options.items():
        assert getattr(config, option) == _frozen(value)


@pytest.mark.parametrize("id", sorted(LISTED["environments"]))
def test_settings_of_an_environment_are_accepted(id):
    options = LISTED["environments"][id].get("options", {})
    env = llmzoo.make(id, **{**options, **llmzoo.spec(id).offline})  # without a network
    env.reset(seed=0)
    assert len(env.possible_agents) == options.get("num_agents", len(env.possible_agents))


TABLE = """# Results

## Sudoku, 4x4

|  | before | after |
| --- | --- | --- |
| `magrpo` | 1.0% [0.1%, 2.0%] (5), 6 s | 3.0% |
| twice | 1 | 2 |
| twice | 3 | 4 |

## Other

| magrpo | 7 | 8 |
"""


def told(**changed: str) -> dict[str, str]:
    at = {"page": "page.md", "heading": "Sudoku, 4x4", "row": "magrpo", "column": "before"}
    return {**at, **changed}


@pytest.fixture
def results(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text(TABLE)
    monkeypatch.setattr(papers, "DOCS", tmp_path)


def test_a_number_is_copied_from_its_table(results):
    assert papers.cell(told()) == "1.0% [0.1%, 2.0%]"
    assert papers.cell(told(column="after")) == "3.0%"


@pytest.mark.parametrize(
    "changed",
    [{"heading": "Sokoban"}, {"row": "grpo"}, {"row": "twice"}, {"column": "greedy"}],
    ids=str,
)
def test_a_number_that_is_not_there_once_is_an_error(results, changed):
    with pytest.raises(ValueError, match=r"page\.md"):
        papers.cell(told(**changed))


def _frozen(value):
    return tuple(value) if isinstance(value, list) else value


def test_an_environment_is_linked_to_the_file_that_its_page_is_written_in(text):
    for id in LISTED["environments"]:
        (row,) = [line for line in text.splitlines() if line.startswith(f"| [`{id}`]")]
        (file,) = re.findall(r"\(\.\./llmzoo/(envs/[^)]*)\)", row)
        assert id in (PACKAGE / file).read_text(encoding="utf-8"), f"{id} is linked to {file}"
