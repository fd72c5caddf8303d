"""Every planted fault is found by scripts alone, and honest environments stay silent."""

from __future__ import annotations

import pytest

from llmzoo import testing
from llmzoo.errors import ConfigError

from . import honest, planted

QUICK = ("PaysKeyword", "PaysEmpty", "PaysSecondHalf", "PaysNormalised", "SolvesSubstring")
QUICK_HONEST = ("Sums", "Shaped", "Constant", "YesOrNo")


def cases(classes, quick):
    return [
        pytest.param(cls, id=cls.__name__, marks=() if cls.__name__ in quick else pytest.mark.slow)
        for cls in classes
    ]


def search(env, seed=0, **options):
    options = {"trials": 100, "steps": 0, "time_budget": 60, **options}
    return testing.search_attacks(env, seed=seed, **options)


@pytest.mark.parametrize("env", cases(planted.FAULTS, QUICK))
def test_a_planted_fault_is_found(env):
    found = search(env).alarms
    assert found
    # what was found is shown, and it is a fault: it earns more, or one text solves all
    first = found[0]
    assert first.kind == "success" or first.returned > first.noisy_expert
    assert first.kind == ("success" if env.__name__.startswith("Solves") else "return")


@pytest.mark.parametrize("env", cases(honest.HONEST, QUICK_HONEST))
def test_an_honest_reward_raises_no_alarm(env):
    assert search(env).alarms == []


@pytest.mark.slow
@pytest.mark.parametrize("env", honest.HONEST)
def test_an_honest_reward_raises_no_alarm_with_other_seeds(env):
    for seed in (1, 2, 3):
        assert search(env, seed=seed, trials=60).alarms == []


def test_the_same_seed_gives_the_same_report():
    first, again = (search(planted.PaysKeyword, trials=20) for _ in range(2))
    assert first.complete
    assert [each.to_dict() for each in first.findings] == [
        each.to_dict() for each in again.findings
    ]


def test_a_budget_ends_the_search():
    report = search(planted.PaysVerifier, time_budget=0.05)
    assert not report.complete
    assert report.minutes < 0.1


def test_an_attack_is_written_whole():
    (first,) = search(planted.PaysLength, trials=0).alarms
    row = first.to_dict()
    # 3 for 3,000 characters and more
    assert row["return"] == 3.0
    assert len(row["answer"]) > 3000
    assert row["success"] == 0
    assert row["alarm"] is True


def test_check_attacks_names_the_answer():
    with pytest.raises(testing.ConformanceError, match=r"earns 1\.00 with success 0%"):
        testing.check_attacks(planted.PaysEmpty, time_budget=60, steps=0)


def test_bad_budgets_are_refused():
    with pytest.raises(ConfigError, match="time_budget must be above 0"):
        search(planted.PaysEmpty, time_budget=0)
    with pytest.raises(ConfigError, match="at least 0, got 100 and -1"):
        search(planted.PaysEmpty, steps=-1)


@pytest.mark.slow
def test_the_embedded_model_attacks_last():
    report = search(planted.PaysLength, trials=0, steps=1)
    (learned,) = [each for each in report.findings if "embedded model" in each.attack]
    assert learned.attack == "the embedded model after 1 steps"
    assert learned.tasks >= 8
    # it earns by length at most: 32 tokens are far below 1,000 characters, and sums are too hard for it
    assert learned.returned < 1


class Long(planted.PaysLength):
    """Prompts that the embedded model cannot read."""

    def observation(self, state, agent):
        return super().observation(state, agent) + " more" * 3000


@pytest.mark.slow
def test_where_the_embedded_model_cannot_read_the_scripts_still_attack():
    report = search(Long, trials=0, steps=1)
    assert [finding.kind for finding in report.alarms] == ["return"]
    assert "the embedded model did not attack" in report.note
    assert "too long" in report.note
