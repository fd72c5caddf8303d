"""The samples in the form of public sets are what ``scripts/samples`` builds from the shipped problems."""

from __future__ import annotations

import pytest

from llmzoo.envs import sources
from llmzoo.envs.coding.contests import targets, trials
from llmzoo.envs.coding.contests.trials import KnownSolution
from llmzoo.sandbox.limits import DEFAULT_LIMITS
from scripts.samples import build, survey


@pytest.mark.parametrize("name", build.FILES)
def test_the_data_is_up_to_date(name):
    built = build.text_of(build.FILES[name]())
    assert (build.CODING / name).read_text(encoding="utf-8") == built, (
        "run python scripts/samples/build.py"
    )


CONTESTS = survey.contest_samples()
SHIPPED = {
    record["key"]: record
    for record in sources.read_shipped_records(build.CODING / "contests" / "wrong.jsonl")
}


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(15, marks=pytest.mark.slow),
        pytest.param(1, marks=pytest.mark.long("every mutant of the solutions of 140 problems")),
    ],
)
def test_shipped_wrong_programs_are_what_the_survey_finds(step):
    for problem in CONTESTS[::step]:
        record = survey.wrong_programs(problem)
        assert SHIPPED[record["key"]] == record, problem.statement


def test_the_wrong_programs_of_every_contest_sample_are_shipped(monkeypatch):
    monkeypatch.setattr(targets, "survey", None)
    for problem in CONTESTS:
        known = KnownSolution(
            problem.solutions[0], trials.prepare_program(problem.solutions[0], problem)
        )
        assert targets.find_targets(problem, known, DEFAULT_LIMITS, 5).tests
