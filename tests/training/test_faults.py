"""A trained agent whose groups stay flat is named, with the likely reason."""

import warnings

import pytest
from toy_envs import Parity

import llmzoo
from llmzoo.engine.base import Iteration
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.errors import ZeroVarianceWarning
from llmzoo.records import Batch, Completion, EpisodeOutcome, Group
from llmzoo.rollout.stepping import RolloutClock
from llmzoo.training.faults import WINDOW, NoSignalMonitor


def group(returns, agent="a_0", texts=None, infos=()):
    texts = texts or [str(i) for i in range(len(returns))]
    return Group(
        agent=agent,
        turn=0,
        key=(0, agent),
        prompt_ids=(1,),
        completions=tuple(Completion(text=text, ids=(1,)) for text in texts),
        returns=tuple(returns),
        infos=tuple(infos),
    )


def iteration(*groups, credits=None, total=0.0):
    if credits is None:  # the group baseline's
        means = [sum(g.returns) / len(g.returns) for g in groups]
        credits = [r - m for g, m in zip(groups, means, strict=True) for r in g.returns]
    ending = EpisodeOutcome(seed=0, success=False, totals={"a_0": total, "b_1": total}, decisions=2)
    return Iteration(
        batch=Batch(groups=groups, endings=(ending,)),
        clock=RolloutClock(),
        tokens=0,
        rollout_seconds=0.0,
        update_metrics={},
        credits=credits,
        update_seconds=0.0,
    )


def warned(iterations, agents=("a_0", "b_1"), *, end=False):
    watch = NoSignalMonitor(agents, window=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for result in iterations:
            watch.check_iteration(result)
        if end:
            watch.end()
    assert all(w.category is ZeroVarianceWarning for w in caught)
    return [str(w.message) for w in caught]


def test_the_flat_agent_is_named_once_after_a_whole_window():
    flat = iteration(group([0.3, 0.3]), group([0.0, 1.0], "b_1"))
    assert warned([flat] * 2) == []
    (said,) = warned([flat] * 9)
    assert said.startswith("a_0 has learned nothing in 3 iterations")
    assert "Their mean return is 0.3" in said
    assert warned([flat] * 9, agents=["b_1"]) == []


def test_a_run_that_is_shorter_than_the_window_is_judged_at_its_end():
    flat = iteration(group([0.3, 0.3]), group([0.0, 1.0], "b_1"))
    (said,) = warned([flat] * 2, end=True)
    assert said.startswith("a_0 has learned nothing in 2 iterations: ")
    (said,) = warned([flat], end=True)
    assert said.startswith("a_0 has learned nothing in 1 iteration: ")
    assert len(warned([flat] * 5, end=True)) == 1  # it was said at the third
    informative = iteration(group([0.3, 0.4]), group([0.3, 0.4], "b_1"))
    assert warned([informative, flat], end=True) == []


def test_one_group_that_differs_begins_the_window_anew():
    flat = iteration(group([0.3, 0.3]), group([0.3, 0.3]))
    informative = iteration(group([0.3, 0.3]), group([0.3, 0.4]))
    assert warned([flat, flat, informative, flat, flat]) == []
    assert len(warned([flat] * 3 + [informative] + [flat] * 3)) == 2


def test_rounding_is_no_difference_and_an_advantage_without_differences_is_one():
    rounded = iteration(group([0.1 + 0.2, 0.3]), credits=[5e-9, -5e-9])
    assert len(warned([rounded] * 3)) == 1
    raw_returns = iteration(group([0.5, 0.5]), credits=[0.5, 0.5])  # without a baseline
    assert warned([raw_returns] * 3) == []
    without = iteration(group([0.5, 0.5]), credits=[None, None])  # a learner of preferences
    assert len(warned([without] * 3)) == 1


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (iteration(group([0.0, 0.0])), "All rewards were 0"),
        (iteration(group([0.0, 0.0]), total=0.5), "mean episode return is 0.5"),
        (iteration(group([0.2, 0.2], texts=["x", "x"])), "identical: raise the temperature"),
        (
            iteration(group([-0.1, -0.1], infos=[{"error": "malformed: no box"}] * 2)),
            "refused (the last: 'malformed: no box')",
        ),
        (iteration(group([1.0, 1.0], infos=[{"success": True}] * 2)), "too easy"),
    ],
)
def test_the_likely_reason(result, reason):
    (said,) = warned([result] * 3)
    assert reason in said


def test_agents_without_groups_are_not_judged():
    assert warned([iteration(group([0.0, 0.0], "b_1"))] * 3, agents=["a_0"]) == []


class Unpaid(TextEnv):
    """Two agents in turns; only the second is ever paid, and at its own step."""

    metadata = {**TextEnv.metadata, "name": "unpaid_v0"}

    def __init__(self, **kwargs):
        super().__init__(["mute_0", "writer_1"], **kwargs)

    def reset_task(self, rng, task):
        return None

    def observation(self, state, agent):
        return agent

    def apply(self, state, actions):
        local = {a: {"length": float(len(text))} for a, text in actions.items() if a == "writer_1"}
        return state, Outcome(local=local)


@pytest.mark.slow
def test_fit_names_the_agent(tmp_path):
    settings = {
        "steps": WINDOW,
        "episodes_per_step": 1,
        "eval_tasks": 1,
        "record_every": 0,
        "quiet": True,
    }
    options = {"learner_args": {"group_size": 3}, "max_new_tokens": 8, **settings}
    with pytest.warns(ZeroVarianceWarning) as caught:
        llmzoo.fit("at_grpo", Unpaid, out=tmp_path / "flat", **options)
    assert [str(w.message).split()[0] for w in caught if w.category is ZeroVarianceWarning] == [
        "mute_0"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroVarianceWarning)
        llmzoo.fit("at_grpo", Parity, out=tmp_path / "fine", **{**options, "episodes_per_step": 4})
