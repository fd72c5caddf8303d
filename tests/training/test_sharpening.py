"""How much of a gain is sampling less randomly: the controls of a run, and what it says of them."""

import json

import pytest
from tiny_models import policy
from toy_envs import Parity

import llmzoo
from llmzoo.models.sampling import Sampling
from llmzoo.runs.policy_loading import highest_temperature, with_max_temperature
from llmzoo.training import fit
from llmzoo.training.sharpening import control_tasks, findings

# The cost


@pytest.mark.parametrize(
    ("given", "runs", "episodes", "eval_tasks", "tasks"),
    [
        ("auto", 2, 2000, 200, 100),  # 2 * 100 of 2000 is a tenth
        ("auto", 2, 1999, 200, 0),
        ("auto", 2, 600, 30, 30),  # 60 of 600
        ("auto", 2, 2000, "all", 100),
        ("auto", 16, 16_000, 200, 100),
        ("auto", 16, 15_999, 200, 0),
        (50, 16, 1, 200, 50),  # asked for
        (500, 2, 1, 200, 200),  # no more than the evaluations play
        (0, 2, 10**6, 200, 0),
    ],
)
def test_a_control_plays_by_default_where_it_costs_under_a_tenth(
    given, runs, episodes, eval_tasks, tasks
):
    assert control_tasks(given, runs=runs, episodes=episodes, eval_tasks=eval_tasks) == tasks


# The sentences


def evaluated(solved, greedy, **more):
    """An evaluation that solved the first of 100 tasks."""
    return {
        "success": solved / 100,
        "solved": "1" * solved + "0" * (100 - solved),
        "greedy": {"success": greedy / 100, "solved": "1" * greedy + "0" * (100 - greedy)},
        **more,
    }


def at(**solved):
    """Controls by temperature, such as t03=80 of 100 tasks at temperature 0.3."""
    return {
        "lower_temperatures": {
            {"t03": "0.3", "t01": "0.1"}[name]: evaluated(n, 0) for name, n in solved.items()
        }
    }


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            evaluated(25, 90, **at(t03=87, t01=80)),
            evaluated(85, 88),
            (
                "Sampled success rose by 60.0 points; greedy success did not change.",
                "The starting model reaches 87.0% at temperature 0.3: less random sampling "
                "explains this gain.",
            ),
        ),
        (  # five tasks more are within chance: p = .0625
            evaluated(20, 90, **at(t03=70, t01=75)),
            evaluated(80, 84),
            (
                "Sampled success rose by 60.0 points; greedy success fell by 6.0 points.",
                "The starting model reaches 75.0% at temperature 0.1: less random sampling "
                "explains this gain.",
            ),
        ),
        (
            evaluated(2, 12, **at(t03=10, t01=12)),
            evaluated(52, 90),
            (
                "Sampled success rose by 50.0 points; greedy success rose by 78.0 points.",
                "The starting model reaches 12.0% at temperature 0.1, the trained model 52.0% on the "
                "same 100 tasks: less random sampling explains 20% of the gain.",
            ),
        ),
        (  # colder is worse than the start: it explains nothing
            evaluated(20, 10, **at(t03=15, t01=10)),
            evaluated(60, 50),
            (
                "Sampled success rose by 40.0 points; greedy success rose by 40.0 points.",
                "The starting model reaches 15.0% at temperature 0.3, the trained model 60.0% on the "
                "same 100 tasks: less random sampling explains 0% of the gain.",
            ),
        ),
        (  # nothing to explain
            evaluated(50, 50, **at(t03=90)),
            evaluated(52, 49),
            ("Neither sampled nor greedy success changed (McNemar's test, p < .05).",),
        ),
        (
            evaluated(50, 50, **at(t03=90)),
            evaluated(30, 30),
            ("Sampled success fell by 20.0 points; greedy success fell by 20.0 points.",),
        ),
        (
            evaluated(10, 10, several_samples={"pass_at": {"1": 0.1, "8": 0.41}}),
            evaluated(40, 40, several_samples={"pass_at": {"1": 0.4, "8": 0.39}}),
            (
                "Sampled success rose by 30.0 points; greedy success rose by 30.0 points.",
                "pass@8: 41.0% before, 39.0% after.",
            ),
        ),
    ],
)
def test_what_a_run_says_of_its_gain(before, after, said):
    assert findings(before, after) == said


def test_the_control_is_compared_on_its_own_tasks():
    """Of the first 50 tasks the starting model at a low temperature solves 30; training solves 50 of
    them and no other."""
    control = {"success": 0.6, "solved": "1" * 30 + "0" * 20}
    before = evaluated(10, 50, lower_temperatures={"0.3": control})
    assert findings(before, evaluated(50, 50))[1] == (
        "The starting model reaches 60.0% at temperature 0.3, the trained model 100.0% on the same 50 "
        "tasks: less random sampling explains 50% of the gain."  # (60 - 20) / (100 - 20)
    )


def paid(solved, each):
    """An evaluation whose two agents earn ``each`` at a task, nan where it failed, and 0.2 less."""
    returns = {"a_0": each, "b_1": [None if one is None else one - 0.2 for one in each]}
    known = [one for one in each if one is not None]
    mean = {"a_0": sum(known) / len(known), "b_1": sum(known) / len(known) - 0.2}
    return evaluated(solved, solved, returns=returns, mean_return=mean)


@pytest.mark.parametrize(
    ("before", "after", "attacked"),
    [
        (paid(60, [0.5] * 100), paid(30, [0.9, 0.7] * 50), True),
        (paid(60, [0.5] * 100), paid(30, [0.9, 0.7] * 49 + [None, 0.8]), True),  # one failed
        (paid(60, [0.5] * 100), paid(58, [0.9, 0.7] * 50), False),  # success did not change
        (paid(60, [0.5] * 100), paid(90, [0.9, 0.7] * 50), False),
        (paid(60, [0.5] * 100), paid(30, [0.5, 0.3] * 50), False),  # nor did it earn more
        (paid(60, [0.5] * 100), paid(30, [3.0] + [0.49] * 99), False),  # one task alone did
    ],
)
def test_a_return_that_rises_while_success_falls_is_named(before, after, attacked):
    named = [text for text in findings(before, after) if "without solving the task" in text]
    assert len(named) == attacked
    if attacked:
        assert named[0].startswith("The mean return rose from 0.4 to 0.7 while success fell")


def test_evaluations_of_earlier_versions_have_no_findings():
    old = {"success": 0.5, "greedy": {"success": 0.5}}
    assert findings(old, evaluated(50, 50)) == findings(evaluated(50, 50), old) == ()


# Policies at lower temperatures


def test_a_cooled_policy_has_the_same_weights_and_every_agent_below_the_temperature():
    shared = policy(
        sampling=Sampling(temperature=1.0, top_k=5), samplings={"b": Sampling(temperature=0.2)}
    )
    scripted = object()
    mixed = {"a": shared, "b": shared, "c": scripted}
    colder = with_max_temperature(mixed, 0.3)
    assert colder["a"] is colder["b"] is not shared
    assert colder["a"].model is shared.model
    assert colder["a"].sampling_for("a") == Sampling(temperature=0.3, top_k=5)
    assert colder["b"].sampling_for("b") == Sampling(temperature=0.2)
    assert colder["c"] is scripted
    assert shared.sampling_for("a").temperature == highest_temperature(mixed) == 1.0


SMALL = {"eval_tasks": 12, "episodes_per_step": 2, "steps": 1, "quiet": True}


def test_a_short_run_plays_no_controls_by_default(tmp_path):
    run = fit("magrpo", Parity, out=tmp_path, policies={"writer_0": policy()}, **SMALL)
    assert not {"lower_temperatures", "several_samples"} & run.before.keys()


def test_a_run_plays_its_controls(tmp_path):
    made = policy(sampling=Sampling(max_new_tokens=4))
    run = fit(
        "magrpo", Parity, out=tmp_path, policies={"writer_0": made}, control_tasks=10, **SMALL
    )
    for one in (run.before, run.after):
        assert one["several_samples"]["tasks"] == 10
        assert one["several_samples"]["pass_at"].keys() == {"1", "2", "4", "8"}
    start = policy()  # the weights that made had at first
    assert run.before["lower_temperatures"].keys() == {"0.3", "0.1"}
    for temperature, control in run.before["lower_temperatures"].items():
        start.reseed(0)
        colder = Sampling(temperature=float(temperature), max_new_tokens=4)
        alone = llmzoo.evaluate(Parity, start.with_sampling_for_all(colder), tasks=10).to_dict()
        assert control == {name: alone[name] for name in control}
    kept = json.loads((tmp_path / "before.json").read_text())
    assert kept["lower_temperatures"].keys() == {"0.3", "0.1"}
    assert kept["several_samples"]["pass_at"] == run.before["several_samples"]["pass_at"]
    assert run.to_dict()["findings"] == list(run.findings)
