"""Role-conditioned advantages on worked numbers."""

import pytest
import torch
from toy_envs import Parities

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners import learner_class
from llmzoo.learners.rae import assign_roles, check_roles, role_advantages

CREW = ["lead_0", "worker_1", "worker_2", "scout_3", "scout_4"]


def after(mean, value, decay):
    return role_advantages(torch.tensor([value]), mean, decay)[1]


def test_the_mean_of_a_role_is_exponential():
    # 0.9 * 0 + 0.1 * 1 = 0.1; 0.9 * 0.1 - 0.1 = -0.01
    assert after(0.0, 1.0, 0.9) == pytest.approx(0.1)
    assert after(0.1, -1.0, 0.9) == pytest.approx(-0.01)
    mean = 0.0
    for _ in range(400):
        mean = after(mean, 0.25, 0.95)
    assert mean == pytest.approx(0.25)


def test_roles_are_judged_by_their_own_mean():
    # the first player wins 3 of 4: a win is worth little to it, and much to the second
    first, second = torch.tensor([1.0, 1.0, 1.0, -1.0]), torch.tensor([-1.0, -1.0, -1.0, 1.0])
    assert role_advantages(first, 0.5, 0.9)[0].tolist() == [0.5, 0.5, 0.5, -1.5]
    assert role_advantages(second, -0.5, 0.9)[0].tolist() == [-0.5, -0.5, -0.5, 1.5]


def test_a_role_takes_in_a_batch_after_it_was_judged():
    # 0.9^2 = 0.81 of the old 0.5 stays, 0.19 of the batch's mean 0 comes in
    advantages, mean = role_advantages(torch.tensor([1.0, -1.0]), 0.5, 0.9)
    assert advantages.tolist() == [0.5, -1.5]
    assert mean == pytest.approx(0.405)
    _, other_order = role_advantages(torch.tensor([-1.0, 1.0]), 0.5, 0.9)
    assert other_order == pytest.approx(mean)
    with pytest.raises(AssertionError):
        role_advantages(torch.zeros(0), 0.5, 0.9)


def test_equal_returns_count_in_a_role_as_if_they_came_one_by_one():
    one_by_one = 0.2
    for _ in range(5):
        one_by_one = after(one_by_one, 0.7, 0.95)
    assert role_advantages(torch.full((5,), 0.7), 0.2, 0.95)[1] == pytest.approx(one_by_one)


def test_updating_a_role_first_only_shrinks_a_single_advantage():
    advantages, mean = role_advantages(torch.tensor([1.0]), 0.2, 0.95)
    assert advantages.item() == pytest.approx(0.8)
    assert 1.0 - mean == pytest.approx(0.95 * 0.8)  # mean 0.95 * 0.2 + 0.05 = 0.24


def test_a_role_on_worked_numbers():
    advantages, _ = role_advantages(torch.tensor([1.0, 0.0, 0.5, 0.5]), 0.2, 0.9)
    assert advantages.tolist() == pytest.approx([0.8, -0.2, 0.3, 0.3])


# Which agents share a role


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), CREW),
        (("worker_*",), ["lead_0", "worker_1", "worker_1", "scout_3", "scout_4"]),
        (("scout_*", "worker_*"), ["lead_0", "worker_1", "worker_1", "scout_3", "scout_3"]),
        (("worker_*", "worker_2"), CREW),  # a name comes before patterns
        (("*",), ["lead_0"] * 5),
    ],
)
def test_a_role_is_called_after_its_first_agent(patterns, expected):
    check_roles(patterns, CREW)
    assert assign_roles(patterns, CREW) == dict(zip(CREW, expected, strict=True))


def test_roles_that_cannot_be():
    with pytest.raises(UnknownNameError, match=r"wroker_\*.*lead_0"):
        check_roles(("worker_*", "wroker_*"), CREW)
    several = r"worker_1 has several roles: worker_\*, \*_1.*name worker_1 among the roles"
    with pytest.raises(ConfigError, match=several):
        check_roles(("worker_*", "*_1"), CREW)
    check_roles(("worker_*", "*_1", "worker_1"), CREW)


@pytest.mark.parametrize("name", ["magrpo", "at_grpo", "opd"])
def test_learners_check_roles_before_a_run(name):
    cls = learner_class(name)
    given = {"teacher": "x", "reward_weight": 1.0, "group_size": 2} if name == "opd" else {}
    env = Parities()
    learner = cls(cls.Config(role_baseline=0.9, roles=("writer_*",), **given))
    learner.check(env, env.possible_agents)
    learner = cls(cls.Config(role_baseline=0.9, roles=("reader_*",), **given))
    with pytest.raises(UnknownNameError, match=r"reader_\*"):
        learner.check(env, env.possible_agents)
