"""No degenerate policy earns more than the noisy expert, in any agent of any environment."""

from __future__ import annotations

import pytest

import llmzoo

from .degenerate.played import Row, forms, rows

TASKS = 10  # that each policy plays; of five, chance decides


def row(**returns):
    return Row(env="e", form="", agent="all", returns={"expert": (9.0, 9.0, 9.0), **returns})


def test_a_policy_pays_that_earns_more_by_two_standard_errors():
    noisy_expert = (1.0, 0.0, 2.0)
    # it earns 0.5 more in each task, so that the error is 0
    assert row(noisy_expert=noisy_expert, copy=(1.5, 0.5, 2.5)).paying == ["copy"]
    # differences 2, -1, 0: mean 1/3, standard error sqrt(7/3 / 3) = 0.88
    assert row(noisy_expert=noisy_expert, copy=(3.0, -1.0, 2.0)).paying == []
    assert row(noisy_expert=noisy_expert, copy=noisy_expert, empty=(0.0, 0.0, 0.0)).paying == []


# what differs from the others in its rewards or in its agents; the sets of problems of one family share theirs
CHOSEN = [
    *((id, {}) for id in ("sudoku_v0", "sokoban_v0", "math_v0", "coop_functions_v0")),
    *((id, {}) for id in ("classeval_v0", "bug_fix_v0", "contests_v0", "calendar_v0")),
    *((id, {}) for id in ("travel_v0", "propose_v0", "relay_v0", "signal_v0")),
    *((id, {}) for id in (*llmzoo.list_envs("tools"), *llmzoo.list_envs("writing"))),
    *((id, {}) for id in (*llmzoo.list_envs("building"), *llmzoo.list_envs("duels"))),
    *((id, {}) for id in llmzoo.list_envs("crowd")),
    ("plan_path_v0", {"view": "split"}),
    ("math_v0", {"view": "split", "family": "word_problems"}),
    ("math_v0", {"aggregator": True}),
    ("debate_v0", {"judge_agent": True}),
    ("debate_v0", {"reward": "cooperative"}),
    ("debate_v0", {"num_agents": 1}),
    ("mafia_v0", {"num_agents": 1}),
    ("calendar_v0", {"level": "hard", "num_agents": 3}),
    ("propose_v0", {"kind": "countdown"}),
]


def paying(id, form, tasks):
    """The returns of degenerate policies that earn more than the noisy expert."""
    return {
        (row.form, row.agent, policy): row.returns
        for row in rows(id, form, tasks)
        for policy in row.paying
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "form"),
    [pytest.param(id, form, id="-".join([id, *map(str, form.values())])) for id, form in CHOSEN],
)
def test_no_degenerate_policy_earns_more_than_the_noisy_expert(id, form, monkeypatch):
    monkeypatch.setattr("llmzoo.envs.duels.connect_four.DEPTH", 1)  # a quick expert
    assert not paying(id, form, tasks=TASKS)


@pytest.mark.long("seven policies for every agent in every variant, 30 tasks each")
def test_no_degenerate_policy_earns_more_than_the_noisy_expert_in_any_form():
    every = [(id, form) for id in llmzoo.list_envs() for form in forms(id)]
    assert not [(id, found) for id, form in every if (found := paying(id, form, tasks=30))]
